"""The search of LC: placements over pods with any number of nodes on the equal leaves.

State and plans as in `kernels_bits`. The search adds one leaf at a time. ``ports`` is the set
of L2 positions that all leaves so far have free; ``common`` the spines at each position that
all pods so far have free. A partial placement lives on while enough positions have both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from alloc.fattree.kernels_bits import CUT, Ints, Plan, Word, lowest, popcount, write_shape
from alloc.fattree.kernels_search import search


@njit(cache=True)
def join_spines(pod: int, need: int, w2: int, spine: Ints, before: Ints, after: Ints) -> Word:
    """Add a pod to the common spines: the mask of positions that keep ``need`` of them."""
    good = 0
    for i in range(w2):
        after[i] = before[i] & spine[pod * w2 + i]
        if popcount(after[i]) >= need:
            good |= 1 << i
    return good


@njit(cache=True)
def last_leaf(
    pod: int,
    nr: int,
    m2: int,
    free: Ints,
    up: Ints,
    positions: Word,
    chosen: Ints,
    start: int,
    stop: int,
) -> int:
    """First leaf of a pod, not among chosen[start:stop], for the nr nodes left; -1 if none."""
    for leaf in range(pod * m2, (pod + 1) * m2):
        if free[leaf] < nr or popcount(up[leaf] & positions) < nr:
            continue
        taken = False
        for j in range(start, stop):
            if chosen[j] == leaf:
                taken = True
        if not taken:
            return leaf
    return -1


@njit(cache=True)
def search_shape(
    n_L: int,
    L: int,
    T: int,
    Lr: int,
    nr: int,
    m2: int,
    m3: int,
    w2: int,
    w3: int,
    free: Ints,
    up: Ints,
    spine: Ints,
    budget: int,
    plan: Plan,
) -> tuple[int, int]:
    """T pods of L leaves of n_L nodes, a pod of Lr such leaves and one of nr: (leaves, L2s)."""
    able = np.zeros(m3, dtype=np.int64)
    for leaf in range(m2 * m3):
        if free[leaf] >= n_L and popcount(up[leaf]) >= n_L:
            able[leaf // m2] += 1
    enough = 0
    for pod in range(m3):
        if able[pod] >= L:
            enough += 1
    if enough < T:
        return 0, 0
    total = T * L + Lr
    need = L if T > 1 else Lr
    has_rest = Lr > 0 or nr > 0
    chosen = np.full(total + 1, -1, dtype=np.int64)
    ports = np.empty(total + 1, dtype=np.int64)
    common = np.empty((T + 2, w2), dtype=np.int64)
    good = np.empty(T + 2, dtype=np.int64)
    used = np.zeros(m3, dtype=np.bool_)
    ports[0] = (1 << w2) - 1
    common[0, :] = (1 << w3) - 1
    good[0] = ports[0]
    k = 0
    leaf = 0
    joined = -1  # the pod that stands in common[stage + 1]
    while True:
        stage = k // L if k < T * L else T
        at_start = k - stage * L == 0
        wanted = L if stage < T else Lr
        done = k == total
        deeper = False
        if done:
            # All equal leaves are there: the remainder leaf, if any.
            rest_pod = -1
            rest_leaf = -1
            positions = ports[k] & good[T]
            found = not has_rest
            if has_rest and Lr > 0:
                rest_pod = chosen[k - 1] // m2
                positions = ports[k] & good[T] & good[T + 1]
                found = True
                if nr > 0:
                    more = 0
                    for i in range(w2):
                        if (positions >> i) & 1 and popcount(common[T + 1, i]) > Lr:
                            more |= 1 << i
                    rest_leaf = last_leaf(rest_pod, nr, m2, free, up, more, chosen, T * L, total)
                    found = rest_leaf >= 0
                    if found:
                        rest_up = lowest(up[rest_leaf] & more, nr)
                else:
                    rest_up = 0
            elif has_rest:
                rest_up = 0
                for r in range(m3):
                    if used[r]:
                        continue
                    more = join_spines(r, 1, w2, spine, common[T], common[T + 1])
                    rest_leaf = last_leaf(r, nr, m2, free, up, more & positions, chosen, 0, 0)
                    if rest_leaf >= 0:
                        rest_pod = r
                        rest_up = lowest(up[rest_leaf] & more & positions, nr)
                        found = True
                        break
            else:
                rest_up = 0
            if found:
                S = rest_up | lowest(positions & ~rest_up, n_L - popcount(rest_up))
                return write_shape(
                    n_L,
                    L,
                    T,
                    Lr,
                    nr,
                    S,
                    rest_up,
                    rest_pod,
                    rest_leaf,
                    m2,
                    w2,
                    chosen,
                    common[T],
                    spine,
                    plan,
                )
        else:
            end = m2 * m3
            if not at_start:
                end = (chosen[k - 1] // m2 + 1) * m2 - (wanted - (k - stage * L)) + 1
            while leaf < end:
                pod = leaf // m2
                if at_start and (
                    used[pod]
                    or able[pod] < wanted
                    or leaf % m2 > m2 - wanted
                    or (stage < T and stage > 0 and pod <= chosen[k - 1] // m2)
                ):
                    leaf = (pod + 1) * m2
                    continue
                if free[leaf] >= n_L:
                    if at_start and joined != pod:
                        good[stage + 1] = join_spines(
                            pod,
                            need if stage < T else Lr,
                            w2,
                            spine,
                            common[stage],
                            common[stage + 1],
                        )
                        joined = pod
                        if popcount(ports[k] & good[stage] & good[stage + 1]) < n_L:
                            leaf = (pod + 1) * m2
                            continue
                    mask = ports[k] & up[leaf]
                    if popcount(mask & good[stage] & good[stage + 1]) >= n_L:
                        if budget <= 0:
                            return CUT, 0
                        budget -= 1
                        chosen[k] = leaf
                        k += 1
                        ports[k] = mask
                        if at_start:
                            used[pod] = True
                        leaf += 1
                        deeper = True
                        break
                leaf += 1
        if deeper:
            # A new stage begins in the pods behind the last one; the remainder anywhere.
            if k < total:
                if k == T * L:
                    leaf = 0
                    joined = -1
                elif k < T * L and k % L == 0:
                    leaf = (chosen[k - 1] // m2 + 1) * m2
                    joined = -1
            continue
        if k == 0:
            return 0, 0
        k -= 1
        leaf = chosen[k] + 1
        stage = k // L if k < T * L else T
        if k - stage * L == 0:
            used[chosen[k] // m2] = False
            joined = chosen[k] // m2


@njit(cache=True)
def search_least(
    N: int,
    budget: int,
    shape_budget: int,
    m1: int,
    m2: int,
    m3: int,
    w2: int,
    w3: int,
    nodes: Ints,
    up: Ints,
    spine: Ints,
    plan: Plan,
) -> tuple[int, int, bool]:
    """First placement: Jigsaw's, then fewer nodes a leaf: (leaves or 0, L2s, a bound was hit)."""
    two_level = m1 * m2 >= N
    a, b = search(
        N, two_level, False, False, False, budget, m1, m2, m3, w2, w3, nodes, up, spine, plan
    )
    if a > 0:
        return a, b, False
    cut = a == CUT
    free = np.empty(m2 * m3, dtype=np.int64)
    for leaf in range(m2 * m3):
        free[leaf] = popcount(nodes[leaf])
    for n_L in range(m1 - 1, 0, -1):
        for L in range(min(m2, N // n_L), 0, -1):
            T = N // (L * n_L)
            rest = N - T * L * n_L
            Lr = rest // n_L
            nr = rest - Lr * n_L
            if T + (1 if rest > 0 else 0) > m3:
                break
            if T == 1 and rest == 0:
                continue  # one pod: two-level, seen already
            a, b = search_shape(
                n_L, L, T, Lr, nr, m2, m3, w2, w3, free, up, spine, shape_budget, plan
            )
            if a > 0:
                return a, b, cut
            cut = cut or a == CUT
    return 0, 0, cut
