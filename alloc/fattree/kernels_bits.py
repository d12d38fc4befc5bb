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

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, INNER_KERNEL, KERNEL

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Word = Any
"""A mask: int64 when compiled."""

MERGED_KERNEL = INNER_KERNEL | {"inline": "always"}
"""For large kernels with one caller: a kernel is optimised once more in each one that calls it."""

CUT = -1
"""Returned for the number of leaves when the step bound ended a search."""


N_SIZES, N_HEADER = 5, 9
"""Words of a tree before its first links, and before its masks."""
MANY = 1 << 62
N_MASKED = 64
"""Pods of which a word is a mask."""
MAX_COMMON_STEPS = 1000
"""Spines that the search for common ones may add."""


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


class Bounds(NamedTuple):
    """Bounds on equal leaves in a tree.

    Leaves of A nodes that are used together have A positions in common, and pods that are have L
    spines in common at each of them.

    Attributes
    ----------
    most : (m1 + 1,) int64
        The largest L for which a pod has, at each of some A positions, L leaves with A free nodes
        and the up-link.
    pods, equal : (m1 + 1, m2 + 2) int64
        For A and L no more pods can be equal; so many may be. `may_be_equal` narrows it down.
    able, has : (m1 + 1, w2, m2 + 2), (w2, w3) int64
        Masks of pods: by A, position and L, those that have L such leaves and L spines; by position
        and spine.
    path : (2, m2 + 2) int64
        Of a search.
    read : (1,) int64
        1 if they are those of the tree.
    """

    most: Ints
    pods: Ints
    equal: Ints
    able: Ints
    has: Ints
    path: Ints
    read: Ints


class Known(NamedTuple):
    """What a search need not find out again.

    Attributes
    ----------
    changed : (m3,) int64
        The state in which each pod changed last; a job was tried within those that have not
        since ``since``.
    most : int
        No pod that has changed has more free nodes.
    whole_leaves : int
        There are no more whole leaves.
    """

    changed: Ints
    since: int | np.int64
    most: int | np.int64
    whole_leaves: int | np.int64
    bounds: Bounds


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
    n_leaves = words[1] * words[2]
    free = np.empty(n_leaves if counted else 0, dtype=np.int64)
    for leaf in range(len(free)):
        free[leaf] = popcount(words[N_HEADER + leaf])
    return tree_in(words, free)


@njit(**INNER_ALLOCATING_KERNEL)
def tree_in(words: Ints, free: Ints) -> Tree:
    """Return the tree in an array of words, with its free nodes."""
    m1, m2, m3, w2, w3 = words[0], words[1], words[2], words[3], words[4]
    n_leaves = m2 * m3
    nodes = words[N_HEADER : N_HEADER + n_leaves]
    up = words[N_HEADER + n_leaves : N_HEADER + 2 * n_leaves]
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


@njit(**INNER_ALLOCATING_KERNEL)
def no_bounds(m1: int, m2: int, w2: int, w3: int) -> Bounds:
    """Return room for the bounds of a tree."""
    return Bounds(
        np.zeros(m1 + 1, dtype=np.int64),
        np.zeros((m1 + 1, m2 + 2), dtype=np.int64),
        np.zeros((m1 + 1, m2 + 2), dtype=np.int64),
        np.zeros((m1 + 1, w2, m2 + 2), dtype=np.int64),
        np.zeros((w2, w3), dtype=np.int64),
        np.zeros((2, m2 + 2), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@njit(**INNER_ALLOCATING_KERNEL)
def nothing_known(tree: Tree, bounds: Bounds) -> Known:
    """Return what is known of a tree before the first search."""
    many = np.int64(MANY)
    return Known(np.zeros(tree.m3, dtype=np.int64), np.int64(-1), many, many, bounds)


@njit(**INNER_ALLOCATING_KERNEL)
def read_bounds(tree: Tree, bounds: Bounds) -> None:
    """Find the bounds of a tree."""
    m2, w2, able, has = tree.m2, tree.w2, bounds.able, bounds.has
    for known in (bounds.pods, bounds.equal, has):
        known[:] = 0
    bounds.most[:] = 0
    able[:] = 0
    leaves = np.zeros((tree.m1 + 2, w2), dtype=np.int64)
    largest = np.empty(w2, dtype=np.int64)
    for pod in range(tree.m3):
        bit = np.int64(1) << pod if pod < N_MASKED else np.int64(0)
        on_leaf = 0
        for leaf in range(pod * m2, (pod + 1) * m2):
            on_leaf = max(on_leaf, tree.free[leaf])
            for i in range(w2):
                leaves[tree.free[leaf], i] += (tree.up[leaf] >> i) & 1
        for i in range(w2):
            for spine in range(tree.w3):
                has[i, spine] |= bit * ((tree.spine[pod * w2 + i] >> spine) & 1)
        for A in range(on_leaf, 0, -1):
            for i in range(w2):
                leaves[A, i] += leaves[A + 1, i]
                leaves[A + 1, i] = 0
                able[A, i, min(leaves[A, i], popcount(tree.spine[pod * w2 + i]))] |= bit
                insert(largest, i, leaves[A, i])
            bounds.most[A] = max(bounds.most[A], largest[A - 1])
        leaves[:2] = 0
    for A in range(1, tree.m1 + 1):
        for L in range(m2 if bounds.most[A] > 0 else 0, 0, -1):
            for i in range(w2):
                able[A, i, L] |= able[A, i, L + 1]
                insert(largest, i, popcount(able[A, i, L]))
            bounds.pods[A, L] = largest[A - 1] + max(0, tree.m3 - N_MASKED)
    bounds.read[0] = 1


@njit(**INNER_KERNEL)
def may_be_equal(T: int, A: int, L: int, bounds: Bounds, m3: int) -> bool:
    """Return False if no T pods have L leaves of A nodes and L spines in common at A positions."""
    if bounds.pods[A, L] < T or bounds.equal[A, L] >= T:
        return bounds.equal[A, L] >= T
    n_masked = T - max(0, m3 - N_MASKED)  # pods without a bit may be equal to any other
    missing, w2 = A, len(bounds.has)
    for i in range(w2):
        if w2 - i < missing:
            break
        missing -= have_in_common(n_masked, bounds.able[A, i, L], bounds.has[i], L, bounds.path)
        if missing == 0:
            bounds.equal[A, L] = T
            return True
    bounds.pods[A, L] = T - 1
    return False


@njit(**INNER_KERNEL)
def have_in_common(n: int, able: Word, has: Ints, L: int, path: Ints) -> bool:
    """Return whether n pods of a mask have L spines in common; True, too, if that takes long."""
    depth = spine = 0
    path[0, 0] = able
    for _ in range(MAX_COMMON_STEPS if popcount(able) >= n else 0):
        if spine > len(has) - (L - depth):
            if depth == 0:
                return False
            depth -= 1
            spine = path[1, depth] + 1
            continue
        mask = path[0, depth] & has[spine]
        if popcount(mask) >= n:
            if depth == L - 1:
                return True
            path[1, depth] = spine
            depth += 1
            path[0, depth] = mask
        spine += 1
    return popcount(able) >= n


@njit(**INNER_KERNEL)
def insert(largest: Ints, n: int, value: int) -> None:
    """Insert a value into n others in descending order."""
    while n > 0 and largest[n - 1] < value:
        largest[n] = largest[n - 1]
        n -= 1
    largest[n] = value


@njit(**INNER_KERNEL)
def split(N: int, n_L: int, L: int) -> Shape:
    """Return the shape of N nodes with L leaves of n_L nodes a pod."""
    T = N // (L * n_L)
    rest = N - T * L * n_L
    Lr = rest // n_L
    return Shape(n_L, L, T, Lr, rest - Lr * n_L)


@njit(**INNER_KERNEL)
def has_room(shape: Shape, bounds: Bounds, m3: int) -> bool:
    """Return False if no placement has this shape, by counts of leaves and spines.

    A pod must have its L leaves. Invariant: at some nr positions all T + 1 pods have Lr + 1 leaves
    and spines for the remainder.
    """
    n_L, L, T, Lr, nr = shape
    if T + (Lr > 0 or nr > 0) > m3 or (T > 1 and bounds.pods[n_L, L] < T):
        return False
    return (Lr == 0 or bounds.pods[n_L, Lr] > T) and (nr == 0 or bounds.pods[nr, Lr + 1] > T)


@njit(**INNER_KERNEL)
def has_common_spines(shape: Shape, bounds: Bounds, m3: int) -> bool:
    """Return False if no placement has this shape, by the spines that pods have in common."""
    n_L, L, T, Lr, nr = shape
    if T > 1 and not may_be_equal(T, n_L, L, bounds, m3):
        return False
    if Lr > 0 and not may_be_equal(T + 1, n_L, Lr, bounds, m3):
        return False
    return nr == 0 or may_be_equal(T + 1, nr, Lr + 1, bounds, m3)


@njit(**INNER_KERNEL)
def fits_in_pod(N: int, on_leaf: int, m2: int, most: Ints) -> bool:
    """Return False if no pod has R leaves of A nodes and one of B < A."""
    for A in range(min(N, on_leaf), 0, -1):
        R, B = N // A, N % A
        if R + (B > 0) > m2:
            break
        if (R == 1 or most[A] >= R) and (B == 0 or most[B] > R):
            return True
    return False


@njit(**INNER_KERNEL)
def fits_over_pods(N: int, least: int, most: int, bounds: Bounds, m3: int, in_common: bool) -> bool:
    """Return False if over pods there is room for no shape of ``least`` to ``most`` nodes a leaf.

    ``in_common``: nor by the spines that pods have in common.
    """
    for n_L in range(most, least - 1, -1):
        for L in range(min(N // n_L, bounds.most[n_L]), 0, -1):
            shape = split(N, n_L, L)
            if shape.T + (shape.Lr + shape.nr > 0) > m3:
                break
            if L * n_L == N or not has_room(shape, bounds, m3):
                continue
            if not in_common or has_common_spines(shape, bounds, m3):
                return True
    return False


@njit(**KERNEL)
def mark_possible(
    sizes: Ints, words: Ints, whole_leaves: bool, round_up: bool, out: NDArray[np.bool_]
) -> None:
    """Write for each number of nodes whether a placement may exist; False is certain.

    A job over pods has leaves of A nodes and one of fewer; ``whole_leaves``: A = m1, and
    ``round_up``: no other leaf. One in a pod has R leaves of A nodes and one of B < A.
    """
    tree = tree_of(words, True)
    bounds = no_bounds(tree.m1, tree.m2, tree.w2, tree.w3)
    read_bounds(tree, bounds)
    in_pod = on_leaf = n_free = before = 0
    for leaf in range(len(tree.free)):
        if leaf % tree.m2 == 0:
            before = n_free
        n_free += tree.free[leaf]
        on_leaf = max(on_leaf, tree.free[leaf])
        in_pod = max(in_pod, n_free - before)
    for k in range(len(sizes)):
        N = sizes[k]
        out[k] = on_leaf >= N or (in_pod >= N and fits_in_pod(N, on_leaf, tree.m2, bounds.most))
        if round_up:
            N = (N + tree.m1 - 1) // tree.m1 * tree.m1
        if n_free >= N and not out[k]:
            least = tree.m1 if whole_leaves else 1
            no = np.bool_(False)
            out[k] = fits_over_pods(N, least, tree.m1, bounds, tree.m3, no)


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
    count_gaps: bool,
    plan: Plan,
) -> tuple[int, int]:
    """Plan T pods with L leaves of n_L nodes and the remainder: (leaves, L2 switches).

    ``chosen`` lists the equal leaves, those of the remainder pod last; ``common[i]`` the spines
    that the T pods have in common at position i; S and ``rest_up`` the positions in use.
    ``count_gaps`` as in `keep`.
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
        need = L if T > 1 else popcount(rest)
        every = keep(common[i], rest, need, tree.w3, count_gaps)
        for j in range(T):
            plan.l2[b] = chosen[j * L] // m2 * w2 + i
            plan.spines[b] = every
            b += 1
        if rest != 0:
            plan.l2[b] = rest_pod * w2 + i
            plan.spines[b] = rest
            b += 1
    return total + (1 if nr > 0 else 0), b


@njit(**KERNEL)
def open_cables(capacity: Ints, used: Ints, set_aside: Ints, need: int, words: Ints) -> None:
    """Write which cables of a tree have ``need`` left both ways; a slower one, all of it."""
    tree = tree_of(words, False)
    for masks, width, above, below in (
        (tree.up, tree.w2, tree.first[0], tree.first[1]),
        (tree.spine, tree.w3, tree.first[2], tree.first[3]),
    ):
        for k in range(len(masks)):
            a, b = above + k * width, below + k * width
            masks[k] = open_mask(capacity, used, set_aside, need, a, b, width)


@njit(**INNER_KERNEL)
def open_mask(
    capacity: Ints, used: Ints, set_aside: Ints, need: int, above: int, below: int, width: int
) -> Word:
    """Return which cables, of links from ``above`` and ``below`` on, have ``need`` left."""
    mask = 0
    for i in range(width):
        a, b = above + i, below + i
        up = capacity[a] - used[a] - set_aside[a] >= min(capacity[a], need)
        down = capacity[b] - used[b] - set_aside[b] >= min(capacity[b], need)
        mask |= (up and down) << i
    return mask
