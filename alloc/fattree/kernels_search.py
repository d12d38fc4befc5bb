"""The searches of LaaS and Jigsaw: within a pod first, then over pods."""

from __future__ import annotations

from numba import njit

from alloc.fattree.kernels_bits import (
    Ints,
    Known,
    Numbers,
    Plan,
    Tree,
    no_bounds,
    nothing_known,
    plan_of,
    tree_of,
    write_plan,
)
from alloc.fattree.kernels_three_level import search_three_level
from alloc.fattree.kernels_two_level import search_two_level
from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL


@njit(**INNER_ALLOCATING_KERNEL)
def search(
    N: int,
    two_level: bool,
    like_laas: bool,
    count_gaps: bool,
    budget: int,
    tree: Tree,
    known: Known,
    plan: Plan,
) -> tuple[int, int, int]:
    """Return the first placement: (leaves planned, 0 if there is none, CUT if the bound ended it;
    L2s; steps left).

    ``like_laas``: round up to whole leaves over pods, and give up early (`kernels_two_level`).
    """
    if two_level:
        n_leaves, budget = search_two_level(N, tree, like_laas, count_gaps, budget, known, plan)
        if n_leaves != 0:
            return n_leaves, 0, budget
    if like_laas:
        N = (N + tree.m1 - 1) // tree.m1 * tree.m1
    if tree.m1 > N or known.whole_leaves < N // tree.m1:
        return 0, 0, budget
    return search_three_level(N, tree, like_laas, count_gaps, budget, plan)


@njit(**KERNEL)
def place(
    N: int,
    two_level: bool,
    like_laas: bool,
    count_gaps: bool,
    budget: int,
    words: Ints,
    plan_rows: Ints,
    out_nodes: Numbers,
    out_links: Numbers,
) -> tuple[int, int]:
    """Write the first placement in a tree: its nodes (0 if there is none, CUT if the bound ended
    it) and links."""
    plan, tree = plan_of(plan_rows), tree_of(words, True)
    known = nothing_known(tree, no_bounds(0, 0, 0, 0))
    n_leaves, n_l2, _ = search(N, two_level, like_laas, count_gaps, budget, tree, known, plan)
    if n_leaves <= 0:
        return n_leaves, 0
    return write_plan(plan, n_leaves, n_l2, tree, out_nodes, out_links)
