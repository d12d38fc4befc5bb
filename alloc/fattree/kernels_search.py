"""Searches of LaaS and Jigsaw on masks (see `kernels_bits` for state and plans).

Both look at two-level placements (one pod) first, then at placements over pods in whole
leaves. ``give_up`` is LaaS's slip: when the last of the equal leaves (or pods) has been
found and no remainder fits, the choice of that last one fails at once; Jigsaw tries on.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from alloc.fattree.kernels_bits import Ints, Plan, Word, lowest, popcount

Flags = NDArray[np.bool_]

CUT = -1
"""Returned for the number of leaves when the step bound ended a search."""


@njit(cache=True)
def remainder_leaf(
    base: int, m2: int, chosen: Ints, R: int, B: int, mask: Word, free: Ints, up: Ints
) -> int:
    """First leaf outside ``chosen`` with B free nodes and B up-links in ``mask``; -1 if none."""
    for r in range(m2):
        if free[base + r] < B or popcount(mask & up[base + r]) < B:
            continue
        taken = False
        for j in range(R):
            if chosen[j] == r:
                taken = True
                break
        if not taken:
            return r
    return -1


@njit(cache=True)
def search_pod(
    pod: int,
    R: int,
    A: int,
    B: int,
    m2: int,
    w2: int,
    free: Ints,
    up: Ints,
    give_up: bool,
    budget: int,
    chosen: Ints,
    masks: Ints,
    plan: Plan,
) -> tuple[int, int]:
    """R leaves of A nodes and one of B in a pod: (leaves planned or 0 or CUT, budget left)."""
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
                        r = remainder_leaf(base, m2, chosen, R, B, mask, free, up)
                    if B == 0 or r >= 0:
                        rest = lowest(mask & up[base + r], B) if B > 0 else 0
                        all_of = rest | lowest(mask & ~rest, need - B)
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


@njit(cache=True)
def search_two_level(
    N: int,
    m1: int,
    m2: int,
    m3: int,
    w2: int,
    free: Ints,
    pod_free: Ints,
    up: Ints,
    give_up: bool,
    budget: int,
    plan: Plan,
) -> tuple[int, int]:
    """A placement of N nodes within a pod: (leaves planned or 0 or CUT, budget left).

    A, the nodes of the equal leaves, falls from min(N, m1) to 1; pods with fewest free
    nodes come first, ties by number.
    """
    order = np.argsort(pod_free, kind="mergesort")
    chosen = np.empty(m2, dtype=np.int64)
    masks = np.empty(m2 + 1, dtype=np.int64)
    at_least = np.zeros((m3, m1 + 1), dtype=np.int64)
    for leaf in range(m2 * m3):
        at_least[leaf // m2, free[leaf]] += 1
    for pod in range(m3):
        for c in range(m1 - 1, -1, -1):
            at_least[pod, c] += at_least[pod, c + 1]
    for A in range(min(N, m1), 0, -1):
        R = N // A
        B = N - R * A
        if R + (1 if B > 0 else 0) > m2:
            break
        for pod in order:
            # Enough leaves with A nodes, and one more with B?
            if at_least[pod, A] < R or at_least[pod, B] < R + (1 if B > 0 else 0):
                continue
            found, budget = search_pod(
                pod, R, A, B, m2, w2, free, up, give_up, budget, chosen, masks, plan
            )
            if found != 0:
                return found, budget
    return 0, budget


@njit(cache=True)
def remainder_pod(
    r: int,
    Lr: int,
    nr: int,
    m2: int,
    w2: int,
    free: Ints,
    is_whole: Flags,
    whole: Ints,
    up: Ints,
    spine: Ints,
    common: Ints,
) -> tuple[bool, int, Word]:
    """Can pod r hold Lr whole leaves and nr nodes more? (fits, remainder leaf, positions).

    ``positions`` is the mask of L2 positions with a spine for the remainder leaf.
    """
    positions: Word = 0
    if whole[r] < Lr:
        return False, -1, positions
    for i in range(w2):
        c = popcount(common[i] & spine[r * w2 + i])
        if c < Lr:
            return False, -1, positions
        if c > Lr:
            positions |= 1 << i
    if nr == 0:
        return True, -1, positions
    if popcount(positions) < nr:
        return False, -1, positions
    # The first pair in the order of Algorithm 1: sets of whole leaves in lexicographic
    # order, then the first other leaf that fits. The first set is the Lr lowest whole leaves;
    # if only leaves of that set fit, the first set without one of them lacks the last.
    seen = 0
    inside = -1
    for leaf in range(r * m2, (r + 1) * m2):
        if is_whole[leaf]:
            seen += 1
        if free[leaf] >= nr and popcount(up[leaf] & positions) >= nr:
            if is_whole[leaf] and seen <= Lr:
                if whole[r] > Lr:
                    inside = leaf
            else:
                return True, leaf, positions
    return inside >= 0, inside, positions


@njit(cache=True)
def plan_pods(
    T: int,
    L: int,
    Lr: int,
    nr: int,
    rest_pod: int,
    rest_leaf: int,
    positions: Word,
    chosen: Ints,
    common: Ints,
    m1: int,
    m2: int,
    w2: int,
    is_whole: Flags,
    up: Ints,
    spine: Ints,
    plan: Plan,
) -> tuple[int, int]:
    """Write the plan of T pods with L whole leaves and the remainder: (leaves, L2 switches)."""
    full = (1 << w2) - 1
    alone = T == 1 and rest_pod < 0
    rest_up = lowest(up[rest_leaf] & positions, nr) if nr > 0 else 0
    a = 0
    b = 0
    for j in range(T):
        left = L
        leaf = chosen[j] * m2
        while left > 0:
            if is_whole[leaf]:
                plan.leaf[a] = leaf
                plan.taken[a] = m1
                plan.up[a] = 0 if alone and L == 1 else full
                a += 1
                left -= 1
            leaf += 1
    if rest_pod >= 0:
        left = Lr
        leaf = rest_pod * m2
        while left > 0:
            if is_whole[leaf] and leaf != rest_leaf:
                plan.leaf[a] = leaf
                plan.taken[a] = m1
                plan.up[a] = full
                a += 1
                left -= 1
            leaf += 1
        if nr > 0:
            plan.leaf[a] = rest_leaf
            plan.taken[a] = nr
            plan.up[a] = rest_up
            a += 1
    if alone:
        return a, 0
    for i in range(w2):
        rest = 0
        if rest_pod >= 0:
            k = Lr + ((rest_up >> i) & 1)
            rest = lowest(common[i] & spine[rest_pod * w2 + i], k)
        all_of = rest
        if T > 1:
            all_of = rest | lowest(common[i] & ~rest, L - popcount(rest))
        for j in range(T):
            plan.l2[b] = chosen[j] * w2 + i
            plan.spines[b] = all_of
            b += 1
        if rest_pod >= 0 and rest != 0:
            plan.l2[b] = rest_pod * w2 + i
            plan.spines[b] = rest
            b += 1
    return a, b


@njit(cache=True)
def search_three_level(
    N: int,
    m1: int,
    m2: int,
    m3: int,
    w2: int,
    w3: int,
    free: Ints,
    up: Ints,
    spine: Ints,
    give_up: bool,
    budget: int,
    plan: Plan,
) -> tuple[int, int, int]:
    """N nodes over pods, in whole leaves but for one: (leaves or 0 or CUT, L2s, budget).

    L, the whole leaves of the equal pods, falls from min(m2, N div m1) to 1. As a whole leaf
    takes all its up-links, one set of whole leaves in a pod is as good as any other, so
    only their number counts.
    """
    is_whole = np.zeros(m2 * m3, dtype=np.bool_)
    whole = np.zeros(m3, dtype=np.int64)
    for leaf in range(m2 * m3):
        if free[leaf] == m1 and popcount(up[leaf]) == w2:
            is_whole[leaf] = True
            whole[leaf // m2] += 1
    chosen = np.empty(m3, dtype=np.int64)
    common = np.empty((m3 + 1, w2), dtype=np.int64)
    common[0, :] = (1 << w3) - 1
    for L in range(min(m2, N // m1), 0, -1):
        T = N // (L * m1)
        rest = N - T * L * m1
        Lr = rest // m1
        nr = rest - Lr * m1
        if T + (1 if rest > 0 else 0) > m3:
            break
        able = 0
        for pod in range(m3):
            if whole[pod] >= L:
                able += 1
        if able < T:
            continue
        need = L if T > 1 else Lr
        depth = 0
        pod = 0
        while True:
            deeper = False
            while pod <= m3 - (T - depth):
                good = whole[pod] >= L
                if good:
                    for i in range(w2):
                        mask = common[depth, i] & spine[pod * w2 + i]
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
                                r, Lr, nr, m2, w2, free, is_whole, whole, up, spine, common[T]
                            )
                    if fits:
                        a, b = plan_pods(
                            T,
                            L,
                            Lr,
                            nr,
                            r,
                            leaf,
                            positions,
                            chosen,
                            common[T],
                            m1,
                            m2,
                            w2,
                            is_whole,
                            up,
                            spine,
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


@njit(cache=True)
def search(
    N: int,
    two_level: bool,
    round_up: bool,
    give_up: bool,
    budget: int,
    m1: int,
    m2: int,
    m3: int,
    w2: int,
    w3: int,
    nodes: Ints,
    up: Ints,
    spine: Ints,
    plan: Plan,
) -> tuple[int, int]:
    """First placement: (leaves planned, 0 if there is none, CUT if the bound ended it; L2s)."""
    free = np.empty(m2 * m3, dtype=np.int64)
    pod_free = np.zeros(m3, dtype=np.int64)
    for leaf in range(m2 * m3):
        free[leaf] = popcount(nodes[leaf])
        pod_free[leaf // m2] += free[leaf]
    if two_level:
        found, budget = search_two_level(
            N, m1, m2, m3, w2, free, pod_free, up, give_up, budget, plan
        )
        if found != 0:
            return found, 0
    if round_up:
        N = (N + m1 - 1) // m1 * m1
    found, n_l2, budget = search_three_level(
        N, m1, m2, m3, w2, w3, free, up, spine, give_up, budget, plan
    )
    return found, n_l2
