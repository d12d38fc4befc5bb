"""The search of LC: placements over pods with any number of nodes on the equal leaves.

State and plans as in `kernels_bits`. The search adds one leaf at a time. ``ports`` is the set
of L2 positions that all leaves so far have free; ``common`` the spines at each position that
all pods so far have free. A partial placement lives on while enough positions have both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import (
    CUT,
    Ints,
    Known,
    Numbers,
    Plan,
    Shape,
    Tree,
    Word,
    has_common_spines,
    has_room,
    lowest,
    no_bounds,
    nothing_known,
    plan_of,
    popcount,
    read_bounds,
    split,
    tree_of,
    write_plan,
    write_shape,
)
from alloc.fattree.kernels_search import search
from netsim.kernels_options import HOT_KERNEL, INNER_ALLOCATING_KERNEL, INNER_KERNEL, KERNEL


@njit(**HOT_KERNEL)
def join_spines(pod: int, need: int, w2: int, spine: Ints, before: Ints, after: Ints) -> Word:
    """Add a pod to the common spines: the mask of positions that keep ``need`` of them."""
    good = 0
    for i in range(w2):
        after[i] = before[i] & spine[pod * w2 + i]
        if popcount(after[i]) >= need:
            good |= 1 << i
    return good


class Partial(NamedTuple):
    """A partial placement: ``ports[k]`` after k leaves, ``common[s]`` and ``good[s]`` after s pods.

    Leaves are chosen one by one: *stage* s is pod s, stage T the remainder's equal leaves.
    ``able``: leaves of a pod that could be equal leaves; ``used``: pods that have begun.
    """

    able: Ints
    chosen: Ints
    ports: Ints
    common: Ints
    good: Ints
    used: NDArray[np.bool_]


@njit(**INNER_KERNEL)
def able_leaves(n_L: int, m2: int, free: Ints, up: Ints, able: Ints) -> None:
    """Count into ``able`` the leaves of each pod that could be equal leaves."""
    able[:] = 0
    for leaf in range(len(free)):
        if free[leaf] >= n_L and popcount(up[leaf]) >= n_L:
            able[leaf // m2] += 1


@njit(**INNER_ALLOCATING_KERNEL)
def begin(shape: Shape, tree: Tree, able: Ints) -> Partial:
    """Return the state in which no leaf is chosen yet."""
    total = shape.T * shape.L + shape.Lr
    chosen = np.full(total + 1, -1, dtype=np.int64)
    ports = np.empty(total + 1, dtype=np.int64)
    common = np.empty((shape.T + 2, tree.w2), dtype=np.int64)
    good = np.empty(shape.T + 2, dtype=np.int64)
    ports[0] = (1 << tree.w2) - 1
    common[0, :] = (1 << tree.w3) - 1
    good[0] = ports[0]
    return Partial(able, chosen, ports, common, good, np.zeros(tree.m3, dtype=np.bool_))


@njit(**INNER_KERNEL)
def stage_of(shape: Shape, k: int) -> int:
    """Return the stage of the leaf that is chosen after k others."""
    return k // shape.L if k < shape.T * shape.L else shape.T


@njit(**INNER_KERNEL)
def last_leaf(
    shape: Shape, tree: Tree, pod: int, positions: Word, chosen: Ints, start: int, stop: int
) -> int:
    """Return the first leaf of a pod, not among chosen[start:stop], for the nr nodes left; -1 if
    none."""
    for leaf in range(pod * tree.m2, (pod + 1) * tree.m2):
        if tree.free[leaf] < shape.nr or popcount(tree.up[leaf] & positions) < shape.nr:
            continue
        taken = False
        for j in range(start, stop):
            if chosen[j] == leaf:
                taken = True
        if not taken:
            return leaf
    return -1


@njit(**INNER_KERNEL)
def rest_beside_leaves(shape: Shape, tree: Tree, part: Partial) -> tuple[bool, int, int, Word]:
    """Return the nr nodes on a leaf of the pod that has the Lr equal ones."""
    T, first = shape.T, shape.T * shape.L
    total = first + shape.Lr
    pod = int(part.chosen[total - 1]) // tree.m2
    if shape.nr == 0:
        return True, pod, -1, 0
    wider = 0
    for i in range(tree.w2):
        free = popcount(part.common[T + 1, i]) > shape.Lr
        if free and (part.ports[total] & part.good[T] & part.good[T + 1]) >> i & 1:
            wider |= 1 << i
    leaf = last_leaf(shape, tree, pod, wider, part.chosen, first, total)
    if leaf < 0:
        return False, pod, -1, 0
    return True, pod, leaf, lowest(tree.up[leaf] & wider, shape.nr)


@njit(**INNER_KERNEL)
def rest_alone(shape: Shape, tree: Tree, part: Partial) -> tuple[bool, int, int, Word]:
    """Return the nr nodes on a leaf of a pod that has none of the equal ones."""
    T = shape.T
    for pod in range(tree.m3):
        if part.used[pod]:
            continue
        more = join_spines(pod, 1, tree.w2, tree.spine, part.common[T], part.common[T + 1])
        positions = more & part.ports[T * shape.L] & part.good[T]
        leaf = last_leaf(shape, tree, pod, positions, part.chosen, 0, 0)
        if leaf >= 0:
            return True, pod, leaf, lowest(tree.up[leaf] & positions, shape.nr)
    return False, -1, -1, 0


@njit(**INNER_KERNEL)
def rest_of(shape: Shape, tree: Tree, part: Partial) -> tuple[bool, int, int, Word]:
    """Return the remainder after the equal leaves: (placed, pod, leaf or -1, its positions)."""
    if shape.Lr > 0:
        return rest_beside_leaves(shape, tree, part)
    if shape.nr > 0:
        return rest_alone(shape, tree, part)
    return True, -1, -1, 0


@njit(**HOT_KERNEL)
def next_leaf(
    shape: Shape, tree: Tree, part: Partial, k: int, leaf: int, joined: int
) -> tuple[int, int]:
    """Return the next leaf, from ``leaf`` on, that can follow the k chosen ones; -1 if there is
    none.

    ``joined`` is the pod in ``common[stage + 1]``; returns its new value.
    """
    m2, n_L = tree.m2, shape.n_L
    stage = stage_of(shape, k)
    before = k - stage * shape.L  # leaves of this stage
    wanted = shape.L if stage < shape.T else shape.Lr
    spines = shape.L if stage < shape.T and shape.T > 1 else shape.Lr
    end = m2 * tree.m3
    if before > 0:
        end = (part.chosen[k - 1] // m2 + 1) * m2 - (wanted - before) + 1
    while leaf < end:
        pod = leaf // m2
        if before == 0 and (
            part.used[pod]
            or part.able[pod] < wanted
            or leaf % m2 > m2 - wanted
            or (0 < stage < shape.T and pod <= part.chosen[k - 1] // m2)
        ):
            leaf = (pod + 1) * m2
            continue
        if tree.free[leaf] >= n_L:
            if before == 0 and joined != pod:
                part.good[stage + 1] = join_spines(
                    pod, spines, tree.w2, tree.spine, part.common[stage], part.common[stage + 1]
                )
                joined = pod
                if popcount(part.ports[k] & part.good[stage] & part.good[stage + 1]) < n_L:
                    leaf = (pod + 1) * m2
                    continue
            ports = part.ports[k] & tree.up[leaf]
            if popcount(ports & part.good[stage] & part.good[stage + 1]) >= n_L:
                return leaf, joined
        leaf += 1
    return -1, joined


@njit(**INNER_ALLOCATING_KERNEL)
def write_found(
    shape: Shape, tree: Tree, part: Partial, pod: int, leaf: int, rest_up: Word, plan: Plan
) -> tuple[int, int]:
    """Write the plan of a placement whose remainder is known: (leaves, L2s)."""
    T = shape.T
    positions = part.ports[T * shape.L + shape.Lr] & part.good[T]
    if shape.Lr > 0:
        positions &= part.good[T + 1]
    n_more = shape.n_L - popcount(rest_up)
    used = rest_up | lowest(positions & ~rest_up, n_more)
    leaves, common, no = part.chosen, part.common[T], np.bool_(False)
    return write_shape(shape, tree, used, rest_up, pod, leaf, leaves, common, no, plan)


@njit(**INNER_ALLOCATING_KERNEL)
def search_shape(shape: Shape, tree: Tree, able: Ints, budget: int, plan: Plan) -> tuple[int, int]:
    """Place one shape, depth first: (leaves, L2s), (0, 0), or (`CUT`, 0) if the budget ran out."""
    m2, first = tree.m2, shape.T * shape.L
    part = begin(shape, tree, able)
    k = leaf = 0
    joined = -1
    while True:
        if k == first + shape.Lr:
            placed, rest_pod, rest_leaf, rest_up = rest_of(shape, tree, part)
            if placed:
                return write_found(shape, tree, part, rest_pod, rest_leaf, rest_up, plan)
            leaf = -1
        else:
            leaf, joined = next_leaf(shape, tree, part, k, leaf, joined)
        if leaf >= 0:
            if budget <= 0:
                return CUT, 0
            budget -= 1
            if k == stage_of(shape, k) * shape.L:
                part.used[leaf // m2] = True
            part.chosen[k] = leaf
            part.ports[k + 1] = part.ports[k] & tree.up[leaf]
            k += 1
            leaf += 1
            # a new stage begins in the pods behind the last one, the remainder anywhere
            if k == first:
                leaf, joined = 0, -1
            elif k < first and k % shape.L == 0:
                leaf, joined = (leaf - 1) // m2 * m2 + m2, -1
            continue
        if k == 0:
            return 0, 0
        k -= 1
        leaf = part.chosen[k] + 1
        if k == stage_of(shape, k) * shape.L:
            joined = part.chosen[k] // m2
            part.used[joined] = False


@njit(**INNER_ALLOCATING_KERNEL)
def search_least(
    N: int, budget: int, shape_budget: int, tree: Tree, known: Known, plan: Plan
) -> tuple[int, int, int]:
    """Return the first placement: Jigsaw's, then fewer nodes a leaf: (leaves, 0 if there is none,
    CUT if a bound was hit; L2s; steps left of ``budget``)."""
    m1, m2, m3 = tree.m1, tree.m2, tree.m3
    no = np.bool_(False)
    a, b, left = search(N, m1 * m2 >= N, no, no, budget, tree, known, plan)
    if a > 0:
        return a, b, left
    cut = a == CUT
    able = np.empty(m3, dtype=np.int64)
    bounds = known.bounds
    if bounds.read[0] == 0:
        read_bounds(tree, bounds)
    for n_L in range(m1 - 1, 0, -1):
        counted = False
        for L in range(min(N // n_L, bounds.most[n_L]), 0, -1):
            shape = split(N, n_L, L)
            if shape.T + (shape.Lr + shape.nr > 0) > m3:
                break
            if shape.T == 1 and shape.Lr + shape.nr == 0:
                continue  # one pod: two-level, seen already
            if not (has_room(shape, bounds, m3) and has_common_spines(shape, bounds, m3)):
                continue
            if not counted:
                able_leaves(n_L, m2, tree.free, tree.up, able)
                counted = True
            enough = 0
            for pod in range(m3):
                enough += able[pod] >= L
            if enough < shape.T:
                continue
            a, b = search_shape(shape, tree, able, shape_budget, plan)
            if a > 0:
                return a, b, left
            cut = cut or a == CUT
    return CUT if cut else 0, 0, left


@njit(**KERNEL)
def place_least(
    N: int,
    budget: int,
    shape_budget: int,
    words: Ints,
    plan_rows: Ints,
    out_nodes: Numbers,
    out_links: Numbers,
) -> tuple[int, int]:
    """Place as `alloc.fattree.kernels_search.place` does."""
    plan, tree = plan_of(plan_rows), tree_of(words, True)
    known = nothing_known(tree, no_bounds(tree.m1, tree.m2, tree.w2, tree.w3))
    n_leaves, n_l2, _ = search_least(N, budget, shape_budget, tree, known, plan)
    if n_leaves <= 0:
        return n_leaves, 0
    return write_plan(plan, n_leaves, n_l2, tree, out_nodes, out_links)
