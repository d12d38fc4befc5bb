"""The searches of LaaS and Jigsaw: within a pod first, then over pods."""

from __future__ import annotations

from numba import njit

from alloc.fattree.kernels_bits import Ints, Numbers, Plan, Tree, free_nodes, write_plan
from alloc.fattree.kernels_three_level import search_three_level
from alloc.fattree.kernels_two_level import search_two_level
from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL


@njit(**INNER_ALLOCATING_KERNEL)
def search(
    N: int,
    two_level: bool,
    round_up: bool,
    give_up: bool,
    count_gaps: bool,
    budget: int,
    tree: Tree,
    plan: Plan,
) -> tuple[int, int]:
    """Return the first placement: (leaves planned, 0 if there is none, CUT if the bound ended it;
    L2s)."""
    if two_level:
        found, budget = search_two_level(N, tree, give_up, count_gaps, budget, plan)
        if found != 0:
            return found, 0
    if round_up:
        N = (N + tree.m1 - 1) // tree.m1 * tree.m1
    found, n_l2, budget = search_three_level(N, tree, give_up, count_gaps, budget, plan)
    return found, n_l2


@njit(**KERNEL)
def place(
    N: int,
    two_level: bool,
    round_up: bool,
    give_up: bool,
    count_gaps: bool,
    budget: int,
    m1: int,
    m2: int,
    m3: int,
    w2: int,
    w3: int,
    nodes: Ints,
    up: Ints,
    spine: Ints,
    first: Ints,
    leaves: Ints,
    taken: Ints,
    leaf_up: Ints,
    l2: Ints,
    l2_spines: Ints,
    out_nodes: Numbers,
    out_links: Numbers,
) -> tuple[int, int]:
    """Write the first placement: its nodes (0 if there is none, CUT if the bound ended it) and
    links."""
    # a tuple of arrays takes longer to pass from Python than its arrays
    plan = Plan(leaves, taken, leaf_up, l2, l2_spines)
    tree = Tree(m1, m2, m3, w2, w3, nodes, up, spine, free_nodes(nodes))
    found, n_l2 = search(N, two_level, round_up, give_up, count_gaps, budget, tree, plan)
    if found <= 0:
        return found, 0
    return write_plan(plan, found, n_l2, tree, first, out_nodes, out_links)
