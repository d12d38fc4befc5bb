"""Bit masks of free nodes, leaf up-links and L2 up-links; plans and the placements they describe.

A *plan* is what a search hands back: leaves with how many nodes and which up-links a job
takes there, and L2 switches with which spines. State: ``nodes[leaf]``, ``up[leaf]`` and
``spine[pod*w2 + position]`` are masks (bit i: node i, L2 position i, spine i is free).

From Python both come as one array each, since a tuple of arrays takes longer to pass: a tree's
``words`` are its sizes, the first links, and the masks (`tree_of`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Word = Any
"""A mask: int64 when compiled."""

CUT = -1
"""Returned for the number of leaves when the step bound ended a search."""


N_SIZES, N_HEADER = 5, 9
"""Words of a tree before its first links, and before its masks."""


class Tree(NamedTuple):
    """Sizes of a fat-tree, and what is free: masks, and ``free``, the nodes of each leaf.

    ``first`` holds the numbers of the first up1, down1, up2 and down2 link.
    """

    m1: int
    m2: int
    m3: int
    w2: int
    w3: int
    first: Ints
    nodes: Ints
    up: Ints
    spine: Ints
    free: Ints


class Shape(NamedTuple):
    """T pods of L leaves of n_L nodes; in one more pod Lr such leaves and one of nr nodes."""

    n_L: int
    L: int
    T: int
    Lr: int
    nr: int


class Plan(NamedTuple):
    """Room for the largest plan; how much of it is used comes separately."""

    leaf: Ints
    taken: Ints
    up: Ints
    """leaf, taken, up: In the order in which ranks are laid; ``up`` is a mask of L2 positions."""
    l2: Ints
    spines: Ints
    """l2, spines: L2 switches (pod*w2 + position), and masks of their spines."""


@njit(**INNER_ALLOCATING_KERNEL)
def plan_of(rows: Ints) -> Plan:
    """Return the plan in a table of five rows."""
    return Plan(rows[0], rows[1], rows[2], rows[3], rows[4])


@njit(**INNER_ALLOCATING_KERNEL)
def popcount(x: Word) -> Word:
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    x = x + (x >> 8)
    x = x + (x >> 16)
    x = x + (x >> 32)
    return x & 0x7F


@njit(**INNER_ALLOCATING_KERNEL)
def tree_of(words: Ints, counted: bool) -> Tree:
    """Return the tree in an array of words; its free nodes are counted on request."""
    m1, m2, m3, w2, w3 = words[0], words[1], words[2], words[3], words[4]
    n_leaves = m2 * m3
    nodes = words[N_HEADER : N_HEADER + n_leaves]
    up = words[N_HEADER + n_leaves : N_HEADER + 2 * n_leaves]
    free = np.empty(n_leaves if counted else 0, dtype=np.int64)
    for leaf in range(len(free)):
        free[leaf] = popcount(nodes[leaf])
    first, spine = words[N_SIZES:N_HEADER], words[N_HEADER + 2 * n_leaves :]
    return Tree(m1, m2, m3, w2, w3, first, nodes, up, spine, free)


@njit(**INNER_ALLOCATING_KERNEL)
def lowest(x: Word, k: Word) -> Word:
    """Return the k lowest set bits of x (all of them if there are fewer)."""
    out = x & 0
    for _ in range(k):
        bit = x & -x
        out |= bit
        x ^= bit
    return out


@njit(**INNER_ALLOCATING_KERNEL)
def keep(mask: Word, rest: Word, need: int, width: int, count_gaps: bool) -> Word:
    """Return the ``need`` lowest bits of ``mask``, those of its subset ``rest`` before all others.

    ``count_gaps`` is a slip of LaaS's program: it clears the bits too many from position
    ``width`` - 1 down, and counts a position that is not in the mask as one cleared. So it
    keeps more than ``need`` bits where the mask has gaps.
    """
    out = rest | lowest(mask & ~rest, need - popcount(rest))
    if count_gaps and need > 0:
        out = mask
        too_many = popcount(mask) - need
        for i in range(width - 1, -1, -1):
            if too_many > 0 and not (rest >> i) & 1:
                out &= ~(1 << i)
                too_many -= 1
    return out


@njit(**INNER_ALLOCATING_KERNEL)
def write_plan(
    plan: Plan,
    n_leaves: int,
    n_l2: int,
    tree: Tree,
    out_nodes: Numbers,
    out_links: Numbers,
) -> tuple[int, int]:
    """Write the nodes in rank order and links (each cable up, then down) of a plan; their
    numbers."""
    m1, w2, w3, first = tree.m1, tree.w2, tree.w3, tree.first
    a = 0
    b = 0
    for j in range(n_leaves):
        leaf = plan.leaf[j]
        mask = lowest(tree.nodes[leaf], plan.taken[j])
        for i in range(m1):
            if (mask >> i) & 1:
                out_nodes[a] = leaf * m1 + i
                a += 1
        for i in range(w2):
            if (plan.up[j] >> i) & 1:
                out_links[b] = first[0] + leaf * w2 + i
                out_links[b + 1] = first[1] + leaf * w2 + i
                b += 2
    for j in range(n_l2):
        l2 = plan.l2[j]
        for i in range(w3):
            if (plan.spines[j] >> i) & 1:
                out_links[b] = first[2] + l2 * w3 + i
                out_links[b + 1] = first[3] + l2 * w3 + i
                b += 2
    return a, b


@njit(**KERNEL)
def set_bits(placed: Numbers, links: Numbers, on: bool, all_change: bool, words: Ints) -> int:
    """Set or clear a placement's nodes and cables in a tree; how many nodes that changes.

    ``all_change``: if a node or cable is so already, change nothing and return -1.
    """
    m1, _, _, w2, w3, first, nodes, up, spine, _ = tree_of(words, False)
    one = np.int64(1)
    if all_change:
        for v in placed:
            if (nodes[v // m1] >> (v % m1)) & 1 == on:
                return -1
        for link in links:
            if first[0] <= link < first[1]:
                k = link - first[0]
                if (up[k // w2] >> (k % w2)) & 1 == on:
                    return -1
            elif first[2] <= link < first[3]:
                k = link - first[2]
                if (spine[k // w3] >> (k % w3)) & 1 == on:
                    return -1
    changed = 0
    for v in placed:
        bit = one << (v % m1)
        before = nodes[v // m1]
        nodes[v // m1] = (before | bit) if on else (before & ~bit)
        changed += nodes[v // m1] != before
    for link in links:
        if first[0] <= link < first[1]:
            k = link - first[0]
            bit = one << (k % w2)
            up[k // w2] = (up[k // w2] | bit) if on else (up[k // w2] & ~bit)
        elif first[2] <= link < first[3]:
            k = link - first[2]
            bit = one << (k % w3)
            spine[k // w3] = (spine[k // w3] | bit) if on else (spine[k // w3] & ~bit)
    return changed


@njit(**KERNEL)
def most_nodes(words: Ints, whole_leaves: bool) -> int:
    """Return a number of nodes that no placement exceeds: the most by leaves of A nodes and one of
    fewer.

    A job in a pod has, for some A, leaves of A nodes and at most one of B < A. One over pods has
    leaves of A nodes and as many up-links, and one of fewer; ``whole_leaves``: A = m1.
    """
    tree = tree_of(words, True)
    m1, m2 = tree.m1, tree.m2
    in_pod = np.zeros(m1 + 1, dtype=np.int64)
    in_all = np.zeros(m1 + 1, dtype=np.int64)
    most = 0
    for leaf in range(len(tree.free)):
        if leaf % m2 == 0:
            in_pod[:] = 0
        free = tree.free[leaf]
        linked = min(free, popcount(tree.up[leaf]))
        for A in range(1, free + 1):
            in_pod[A] += 1
            in_all[A] += linked >= A
        if leaf % m2 == m2 - 1:
            free_in_pod = tree.free[leaf - m2 + 1 : leaf + 1].sum()
            for A in range(1, m1 + 1):
                if in_pod[A] > 0:
                    most = max(most, min(free_in_pod, in_pod[A] * A + A - 1))
    for A in range(m1 if whole_leaves else 1, m1 + 1):
        if in_all[A] > 0:
            most = max(most, in_all[A] * A + A - 1)
    return most


@njit(**INNER_ALLOCATING_KERNEL)
def write_shape(
    shape: Shape,
    tree: Tree,
    S: Word,
    rest_up: Word,
    rest_pod: int,
    rest_leaf: int,
    chosen: Ints,
    common: Ints,
    plan: Plan,
) -> tuple[int, int]:
    """Plan T pods with L leaves of n_L nodes and the remainder: (leaves, L2 switches).

    ``chosen`` lists the equal leaves, those of the remainder pod last; ``common[i]`` the spines
    that the T pods have in common at position i; S and ``rest_up`` the positions in use.
    """
    n_L, L, T, Lr, nr = shape
    m2, w2, spine = tree.m2, tree.w2, tree.spine
    total = T * L + Lr
    for j in range(total):
        plan.leaf[j] = chosen[j]
        plan.taken[j] = n_L
        plan.up[j] = S
    if nr > 0:
        plan.leaf[total] = rest_leaf
        plan.taken[total] = nr
        plan.up[total] = rest_up
    b = 0
    for i in range(w2):
        if not (S >> i) & 1:
            continue
        rest = 0
        if rest_pod >= 0:
            k = Lr + ((rest_up >> i) & 1)
            rest = lowest(common[i] & spine[rest_pod * w2 + i], k)
        every = rest
        if T > 1:
            every = rest | lowest(common[i] & ~rest, L - popcount(rest))
        for j in range(T):
            plan.l2[b] = chosen[j * L] // m2 * w2 + i
            plan.spines[b] = every
            b += 1
        if rest != 0:
            plan.l2[b] = rest_pod * w2 + i
            plan.spines[b] = rest
            b += 1
    return total + (1 if nr > 0 else 0), b
