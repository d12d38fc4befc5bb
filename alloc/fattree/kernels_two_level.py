"""Placements within one pod, for LaaS and Jigsaw (see `kernels_bits` for state and plans).

``give_up`` is LaaS's slip: when the last of the equal leaves has been found and no
remainder fits, the choice of that last one fails at once; Jigsaw tries on. ``count_gaps`` is
another (`kernels_bits.keep`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from alloc.fattree.kernels_bits import CUT, Ints, Known, Plan, Tree, Word, keep, lowest, popcount
from netsim.kernels_options import INNER_ALLOCATING_KERNEL, INNER_KERNEL


class PodShape(NamedTuple):
    """R leaves of A nodes and, if B is above 0, one of B."""

    R: int
    A: int
    B: int


@njit(**INNER_KERNEL)
def remainder_leaf(base: int, chosen: Ints, R: int, B: int, mask: Word, tree: Tree) -> int:
    """Return the first leaf outside ``chosen`` with B free nodes and B up-links in ``mask``; -1 if
    none."""
    for r in range(tree.m2):
        if tree.free[base + r] < B or popcount(mask & tree.up[base + r]) < B:
            continue
        taken = False
        for j in range(R):
            if chosen[j] == r:
                taken = True
                break
        if not taken:
            return r
    return -1


@njit(**INNER_ALLOCATING_KERNEL)
def search_pod(
    pod: int,
    shape: PodShape,
    tree: Tree,
    give_up: bool,
    count_gaps: bool,
    budget: int,
    chosen: Ints,
    masks: Ints,
    plan: Plan,
) -> tuple[int, int]:
    """Place a shape in a pod: (leaves or 0 or CUT, budget left)."""
    R, A, B = shape
    m2, w2, free, up = tree.m2, tree.w2, tree.free, tree.up
    base = pod * m2
    need = A if R > 1 else B
    depth = 0
    masks[0] = (1 << w2) - 1
    leaf = 0
    while True:
        deeper = False
        while leaf <= m2 - (R - depth):
            if free[base + leaf] >= A:
                mask = masks[depth] & up[base + leaf]
                if popcount(mask) >= need:
                    if budget <= 0:
                        return CUT, budget
                    budget -= 1
                    chosen[depth] = leaf
                    if depth < R - 1:
                        depth += 1
                        masks[depth] = mask
                        leaf += 1
                        deeper = True
                        break
                    r = -1
                    if B > 0:
                        r = remainder_leaf(base, chosen, R, B, mask, tree)
                    if B == 0 or r >= 0:
                        rest = lowest(mask & up[base + r], B) if B > 0 else 0
                        all_of = keep(mask, rest, need, w2, count_gaps)
                        for j in range(R):
                            plan.leaf[j] = base + chosen[j]
                            plan.taken[j] = A
                            plan.up[j] = all_of
                        if B > 0:
                            plan.leaf[R] = base + r
                            plan.taken[R] = B
                            plan.up[R] = rest
                        return R + (1 if B > 0 else 0), budget
                    if give_up:
                        break
            leaf += 1
        if deeper:
            continue
        if depth == 0:
            return 0, budget
        depth -= 1
        leaf = chosen[depth] + 1


@njit(**INNER_ALLOCATING_KERNEL)
def search_two_level(
    N: int,
    tree: Tree,
    give_up: bool,
    count_gaps: bool,
    budget: int,
    known: Known,
    plan: Plan,
) -> tuple[int, int]:
    """Return a placement of N nodes within a pod: (leaves planned or 0 or CUT, budget left).

    A, the nodes of the equal leaves, falls from min(N, m1) to 1; pods with fewest free
    nodes come first, ties by number.
    """
    m1, m2, m3 = tree.m1, tree.m2, tree.m3
    if known.most < N:
        return 0, budget
    pod_free = np.zeros(m3, dtype=np.int64)
    order = np.empty(m3, dtype=np.int64)
    at_least = np.zeros((m3, m1 + 1), dtype=np.int64)
    n_pods = 0
    for pod in range(m3):
        if known.changed[pod] <= known.since:
            continue
        for leaf in range(pod * m2, (pod + 1) * m2):
            pod_free[pod] += tree.free[leaf]
            at_least[pod, tree.free[leaf]] += 1
        if pod_free[pod] < N:
            continue
        for c in range(m1 - 1, -1, -1):
            at_least[pod, c] += at_least[pod, c + 1]
        i = n_pods  # a stable insertion: argsort takes longer to compile than this search
        while i > 0 and pod_free[order[i - 1]] > pod_free[pod]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = pod
        n_pods += 1
    if n_pods == 0:
        return 0, budget
    chosen = np.empty(m2, dtype=np.int64)
    masks = np.empty(m2 + 1, dtype=np.int64)
    for A in range(min(N, m1), 0, -1):
        R = N // A
        B = N - R * A
        if R + (1 if B > 0 else 0) > m2:
            break
        for pod in order[:n_pods]:
            # Enough leaves with A nodes, and one more with B?
            if at_least[pod, A] < R or at_least[pod, B] < R + (1 if B > 0 else 0):
                continue
            n_leaves, budget = search_pod(
                pod, PodShape(R, A, B), tree, give_up, count_gaps, budget, chosen, masks, plan
            )
            if n_leaves != 0:
                return n_leaves, budget
    return 0, budget
