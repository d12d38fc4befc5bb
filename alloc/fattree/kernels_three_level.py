"""Placements over pods in whole leaves, for LaaS and Jigsaw (see `kernels_bits`).

``give_up`` and ``count_gaps`` as in `kernels_two_level`, with pods in the place of leaves.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import (
    CUT,
    Ints,
    Plan,
    Shape,
    Tree,
    Word,
    lowest,
    popcount,
    write_shape,
)
from netsim.kernels_options import INNER_ALLOCATING_KERNEL, INNER_KERNEL

Flags = NDArray[np.bool_]


@njit(**INNER_KERNEL)
def remainder_pod(
    r: int, shape: Shape, tree: Tree, is_whole: Flags, n_full: Ints, common: Ints
) -> tuple[bool, int, Word]:
    """Return whether pod r can hold Lr whole leaves and nr more: (fits, remainder leaf, positions).

    ``positions`` is the mask of L2 positions with a spine for the remainder leaf.
    """
    Lr, nr, m2, w2 = shape.Lr, shape.nr, tree.m2, tree.w2
    positions: Word = 0
    if n_full[r] < Lr:
        return False, -1, positions
    for i in range(w2):
        c = popcount(common[i] & tree.spine[r * w2 + i])
        if c < Lr:
            return False, -1, positions
        if c > Lr:
            positions |= 1 << i
    if nr == 0:
        return True, -1, positions
    if popcount(positions) < nr:
        return False, -1, positions
    # The first pair in the order of Algorithm 1: sets of whole leaves in lexicographic
    # order, then the first other leaf that fits. The first set, the Lr lowest whole leaves,
    # is as good as any: one whole leaf more would fit, so without one no other set helps.
    seen = 0
    for leaf in range(r * m2, (r + 1) * m2):
        if is_whole[leaf] and seen < Lr:
            seen += 1
        elif tree.free[leaf] >= nr and popcount(tree.up[leaf] & positions) >= nr:
            return True, leaf, positions
    return False, -1, positions


@njit(**INNER_ALLOCATING_KERNEL)
def plan_pods(
    shape: Shape,
    tree: Tree,
    rest_pod: int,
    rest_leaf: int,
    positions: Word,
    chosen: Ints,
    common: Ints,
    is_whole: Flags,
    count_gaps: bool,
    plan: Plan,
) -> tuple[int, int]:
    """Write the plan of T pods with L whole leaves and the remainder: (leaves, L2 switches)."""
    _, L, T, Lr, nr = shape
    leaves = np.empty(T * L + Lr, dtype=np.int64)
    n = 0
    for j in range(T + 1):
        left = L if j < T else Lr
        leaf = (chosen[j] if j < T else rest_pod) * tree.m2
        while left > 0:
            if is_whole[leaf]:
                leaves[n] = leaf
                n += 1
                left -= 1
            leaf += 1
    alone = T == 1 and rest_pod < 0
    # A lone leaf needs no links; LaaS's program gives it all (where a pod is one leaf).
    no_up = alone and L == 1 and not count_gaps
    up = 0 if no_up else (1 << tree.w2) - 1
    rest_up = lowest(tree.up[rest_leaf] & positions, nr) if nr > 0 else 0
    a, b = write_shape(
        shape, tree, up, rest_up, rest_pod, rest_leaf, leaves, common, count_gaps, plan
    )
    return a, 0 if alone else b


@njit(**INNER_ALLOCATING_KERNEL)
def search_three_level(
    N: int, tree: Tree, give_up: bool, count_gaps: bool, budget: int, plan: Plan
) -> tuple[int, int, int]:
    """Place N nodes over pods, in whole leaves but for one: (leaves or 0 or CUT, L2s, budget).

    L, the whole leaves of the equal pods, falls from min(m2, N div m1) to 1. As a whole leaf
    takes all its up-links, one set of whole leaves in a pod is as good as any other, so
    only their number counts.
    """
    m1, m2, m3, w2 = tree.m1, tree.m2, tree.m3, tree.w2
    is_whole = np.zeros(m2 * m3, dtype=np.bool_)
    n_full = np.zeros(m3, dtype=np.int64)
    for leaf in range(m2 * m3):
        if tree.free[leaf] == m1 and popcount(tree.up[leaf]) == w2:
            is_whole[leaf] = True
            n_full[leaf // m2] += 1
    chosen = np.empty(m3, dtype=np.int64)
    common = np.empty((m3 + 1, w2), dtype=np.int64)
    common[0, :] = (1 << tree.w3) - 1
    for L in range(min(m2, N // m1), 0, -1):
        T = N // (L * m1)
        rest = N - T * L * m1
        Lr = rest // m1
        nr = rest - Lr * m1
        if T + (1 if rest > 0 else 0) > m3:
            break
        able = 0
        for pod in range(m3):
            if n_full[pod] >= L:
                able += 1
        if able < T:
            continue
        shape = Shape(m1, L, T, Lr, nr)
        need = L if T > 1 else Lr
        depth = 0
        pod = 0
        while True:
            deeper = False
            while pod <= m3 - (T - depth):
                good = n_full[pod] >= L
                if good:
                    for i in range(w2):
                        mask = common[depth, i] & tree.spine[pod * w2 + i]
                        if popcount(mask) < need:
                            good = False
                            break
                        common[depth + 1, i] = mask
                if good:
                    if budget <= 0:
                        return CUT, 0, budget
                    budget -= 1
                    chosen[depth] = pod
                    if depth < T - 1:
                        depth += 1
                        pod += 1
                        deeper = True
                        break
                    fits = rest == 0
                    r = -1
                    leaf = -1
                    positions = 0
                    while not fits and r < m3 - 1:
                        r += 1
                        taken = False
                        for j in range(T):
                            if chosen[j] == r:
                                taken = True
                                break
                        if not taken:
                            fits, leaf, positions = remainder_pod(
                                r, shape, tree, is_whole, n_full, common[T]
                            )
                    if fits:
                        a, b = plan_pods(
                            shape,
                            tree,
                            r,
                            leaf,
                            positions,
                            chosen,
                            common[T],
                            is_whole,
                            count_gaps,
                            plan,
                        )
                        return a, b, budget
                    if give_up:
                        break
                pod += 1
            if deeper:
                continue
            if depth == 0:
                break
            depth -= 1
            pod = chosen[depth] + 1
    return 0, 0, budget
