"""Compiled: who has which nodes and cables of a fat-tree, for queues that are compiled.

A placement is a list of *parts*: a leaf with masks of its nodes and up-links, or an L2 switch with
a mask of its spines. The searches are those of the policies. ``shares`` is None but for LC and
LC+S, ``links`` is None for TA, ``marks`` for all others; Numba leaves out what would read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

import alloc.fattree.kernels_ta as ta
from alloc.fattree.kernels_bits import (
    MANY,
    MERGED_KERNEL,
    N_HEADER,
    Bounds,
    Ints,
    Known,
    Numbers,
    Word,
    fits_over_pods,
    lowest,
    no_bounds,
    open_cables,
    open_mask,
    plan_of,
    popcount,
    read_bounds,
    tree_in,
    tree_of,
    write_plan,
)
from alloc.fattree.kernels_least import search_least
from alloc.fattree.kernels_search import search
from netsim.kernels_options import HOT_KERNEL, INNER_ALLOCATING_KERNEL, INNER_KERNEL

Rows = NDArray[Any]

PART = np.dtype([(name, np.int64) for name in ("index", "nodes", "cables", "next")], align=True)
"""A leaf, or an L2 switch as -1 - index; ``next`` is the row of the next part, 0 after the last.

Row 0 is no part: its ``next`` is the first unused row.
"""

READ, FREE, WHOLE = 0, 1, 2
"""Rows of a view's pods."""
MAX_NEEDS = 16
"""Needs whose trees are kept."""


class Links(NamedTuple):
    """Trees in words, see `alloc.fattree.kernels_bits`, and what is known of them.

    A *view* is what a job of a need may use, with what is held or without. It has a row of
    ``open``, ``counts`` (free nodes of each leaf), ``pods`` and ``view_need``. Rows of ``pods`` are
    the state in which a pod was read, its free nodes and its whole leaves.

    Attributes
    ----------
    free, held, later, later_counts : (words,) int64, the last (n_leaves,)
        What is free; what the head of the queue holds; what would be free at a later time.
    bounds : of views + 1 trees, in rows
        Of LC; the last is that of the later time.
    touched, changed : (2, m3) int64
        The last state in which a pod changed, in which that may have helped a job; without and with
        what is held.
    tried, spent : (2, kinds) int64
        The last state in which nothing was found for a kind of job, -1 if not known; steps of that
        search, or more.
    """

    free: Ints
    held: Ints
    later: Ints
    later_counts: Ints
    open: Ints
    counts: Ints
    pods: Ints
    view_need: Ints
    bounds: Bounds
    touched: Ints
    changed: Ints
    tried: Ints
    spent: Ints
    plan: Ints
    round_up: bool
    """Whether a job over pods gets whole leaves (LaaS), whose search may find more with less."""
    steps: int
    steps_a_shape: int | None
    """Bounds of a search: steps in all, and of LC for a shape."""


class Shares(NamedTuple):
    """Bytes per second of links; (n_links,) int64 each, or of no links where none are shared.

    ``later``: what would be used at a later time; ``nothing``: zeros.
    """

    capacity: Ints
    used: Ints
    held: Ints
    later: Ints
    nothing: Ints


class Marks(NamedTuple):
    """State of TA: what is free, free and not held, free at a later time; the sizes that may fit.

    ``limits``: of the first two, the largest number of nodes on a leaf, in a pod and over pods.
    """

    free: ta.Tree
    open: ta.Tree
    later: ta.Tree
    limits: Ints
    chosen: Ints
    leaf_size: int
    pod_size: int


class Places(NamedTuple):
    """The state of a policy, for a queue that is compiled."""

    links: Links | None
    shares: Shares | None
    marks: Marks | None
    parts: Rows
    needs: Ints
    """(kinds,) int64. What each kind of job needs of its links, in bytes/s."""


def links_of(
    words: Ints, n_needs: int, n_kinds: int, round_up: bool, steps: int, steps_a_shape: int | None
) -> Links:
    """Return the state of a policy that has these words, for at most so many needs and kinds."""
    _, m2, m3 = words[:3]
    views = 2 * min(n_needs, MAX_NEEDS)
    pods = np.full((views, 3, m3), -1, dtype=np.int64)
    of_one = no_bounds.py_func(*words[[0, 1, 3, 4]])
    return Links(
        free=words.copy(),
        held=np.zeros_like(words),
        later=words.copy(),
        later_counts=np.zeros(m2 * m3, dtype=np.int64),
        open=np.tile(words, (views, 1)),
        counts=np.zeros((views, m2 * m3), dtype=np.int64),
        pods=pods,
        view_need=np.full(views, -1, dtype=np.int64),
        bounds=Bounds(*(np.tile(a, (views + 1,) + a.ndim * (1,)) for a in of_one)),
        touched=np.zeros((2, m3), dtype=np.int64),
        changed=np.zeros((2, m3), dtype=np.int64),
        tried=np.full((2, n_kinds), -1, dtype=np.int64),
        spent=np.zeros((2, n_kinds), dtype=np.int64),
        plan=np.zeros((5, max(m2 * m3, words[3] * m3)), dtype=np.int64),
        round_up=round_up,
        steps=steps,
        steps_a_shape=steps_a_shape,
    )


def no_parts(n_nodes: int) -> Rows:
    """Return unused rows for the parts of running jobs and of one that is held.

    Invariant: a placement has no more leaves than nodes, and no more L2 switches.
    """
    parts = np.zeros(4 * n_nodes + 2, dtype=PART)
    parts["next"] = np.arange(1, len(parts) + 1)
    return parts


@njit(**INNER_KERNEL)
def add_part(parts: Rows, index: int, nodes: Word, cables: Word, rest: int) -> int:
    """Put a part before a list of parts, and return its row."""
    row = parts[0].next
    parts[0].next = parts[row].next
    parts[row].index = index
    parts[row].nodes = nodes
    parts[row].cables = cables
    parts[row].next = rest
    return row


@njit(**INNER_KERNEL)
def drop_parts(parts: Rows, first: int) -> None:
    """Make the rows of a list unused."""
    row = first
    while row != 0:
        behind = parts[row].next
        parts[row].next = parts[0].next
        parts[0].next = row
        row = behind


@njit(**INNER_KERNEL)
def share(capacity: Ints, used: Ints, first: int, mask: Word, need: int, sign: int) -> None:
    """Add what a job gets of the links in a mask, whose first link is ``first``."""
    link = first
    while mask != 0:
        if mask & 1:
            used[link] += sign * min(capacity[link], need)
        mask >>= 1
        link += 1


@njit(**INNER_KERNEL)
def move_links(
    shares: Shares | None,
    words: Ints,
    used: Ints,
    parts: Rows,
    first: int,
    need: int,
    sign: int,
) -> None:
    """Take the parts of a job in a tree (``sign`` 1), or give them back (-1)."""
    n_leaves = words[1] * words[2]
    row = first
    while row != 0:
        part = parts[row]
        at, up, down, cables = N_HEADER + part.index, words[5], words[6], part.cables
        if part.index >= 0:
            words[at] ^= part.nodes
            at += n_leaves
            up += part.index * words[3]
            down += part.index * words[3]
        else:
            at = N_HEADER + 2 * n_leaves - 1 - part.index
            up = words[7] + (-1 - part.index) * words[4]
            down = words[8] + (-1 - part.index) * words[4]
        own = True
        if shares is not None:
            own = len(shares.capacity) == 0
            if not own:
                share(shares.capacity, used, up, cables, need, sign)
                share(shares.capacity, used, down, cables, need, sign)
        if own:
            words[at] ^= cables
        row = part.next


@njit(**INNER_KERNEL)
def copy_words(source: Ints, target: Ints) -> None:
    for k in range(len(source)):
        target[k] = source[k]


@njit(**INNER_KERNEL)
def pod_of(words: Ints, index: int) -> int:
    """Return the pod of a part."""
    return index // words[1] if index >= 0 else (-1 - index) // words[3]


@njit(**INNER_KERNEL)
def touch(links: Links, parts: Rows, first: int, held_only: bool, helps: bool, state: int) -> None:
    """Note that pods with parts of a placement change in a state."""
    row = first
    while row != 0:
        pod = pod_of(links.free, parts[row].index)
        for off_hold in range(held_only, 2):
            links.touched[off_hold, pod] = state
            if helps:
                links.changed[off_hold, pod] = state
        row = parts[row].next


@njit(**INNER_KERNEL)
def hold_links(links: Links, parts: Rows, first: int, held: bool) -> None:
    """Mark the parts of a placement as held or not."""
    words, n_leaves = links.held, len(links.counts[0])
    row = first
    while row != 0:
        part = parts[row]
        if part.index >= 0:
            words[N_HEADER + part.index] = part.nodes if held else 0
            words[N_HEADER + n_leaves + part.index] = part.cables if held else 0
        else:
            words[N_HEADER + 2 * n_leaves - 1 - part.index] = part.cables if held else 0
        row = part.next


@njit(**INNER_KERNEL)
def read_view(links: Links, shares: Shares | None, view: int, off_hold: bool, need: int) -> None:
    """Read the pods of a view that have changed since they were read."""
    pods, anew = links.pods[view], links.view_need[view] != need
    links.view_need[view] = need
    for pod in range(links.free[2]):
        if anew or pods[READ, pod] < links.touched[int(off_hold), pod]:
            pods[READ, pod] = links.touched[int(off_hold), pod]
            links.bounds.read[view] = 0
            read_pod(links, shares, view, off_hold, need, pod)


@njit(**INNER_KERNEL)
def bounds_of(links: Links, k: int) -> Bounds:
    """Return the bounds of view k, -1: of the later time."""
    most, pods, equal, able, has, path, read = links.bounds
    return Bounds(most[k], pods[k], equal[k], able[k], has[k], path[k], read[k])


@njit(**INNER_KERNEL)
def read_pod(
    links: Links, shares: Shares | None, view: int, off_hold: bool, need: int, pod: int
) -> None:
    """Read a pod: its words, the free nodes of its leaves, and how many are whole."""
    free, held, words = links.free, links.held, links.open[view]
    m1, m2, w2, w3 = words[0], words[1], words[3], words[4]
    n_leaves = m2 * words[2]
    nodes = n_whole = 0
    for leaf in range(pod * m2, (pod + 1) * m2):
        at, up = N_HEADER + leaf, N_HEADER + n_leaves + leaf
        words[at], words[up] = free[at], free[up]
        if off_hold:
            words[at] &= ~held[at]
            words[up] &= ~held[up]
        if shares is not None and len(shares.capacity) > 0:
            aside = shares.held if off_hold else shares.nothing
            a, b = words[5] + leaf * w2, words[6] + leaf * w2
            words[up] = open_mask(shares.capacity, shares.used, aside, need, a, b, w2)
        n_free = popcount(words[at])
        links.counts[view, leaf] = n_free
        nodes += n_free
        n_whole += n_free == m1 and popcount(words[up]) == w2
    for l2 in range(pod * w2, (pod + 1) * w2):
        at = N_HEADER + 2 * n_leaves + l2
        words[at] = free[at] & ~held[at] if off_hold else free[at]
        if shares is not None and len(shares.capacity) > 0:
            aside = shares.held if off_hold else shares.nothing
            a, b = words[7] + l2 * w3, words[8] + l2 * w3
            words[at] = open_mask(shares.capacity, shares.used, aside, need, a, b, w3)
    links.pods[view, FREE, pod] = nodes
    links.pods[view, WHOLE, pod] = n_whole


@njit(**INNER_KERNEL)
def what_changed(links: Links, view: int, off_hold: int, since: int) -> tuple[int, int, int]:
    """Return the most free nodes in a pod that has changed, and their whole leaves and free nodes.

    The first is -1 if no pod has changed.
    """
    most, n_whole, n_free = -1, 0, 0
    for pod in range(links.free[2]):
        if links.changed[off_hold, pod] > since:
            most = max(most, links.pods[view, FREE, pod])
        n_whole += links.pods[view, WHOLE, pod]
        n_free += links.pods[view, FREE, pod]
    return most, n_whole, n_free


@njit(**MERGED_KERNEL)
def find_links(
    links: Links,
    shares: Shares | None,
    view: int,
    off_hold: int,
    kind: int,
    n_nodes: int,
    state: int,
) -> tuple[int, int]:
    """Search in a view as the policy does: (leaves planned, 0 or less without a placement; L2s).

    Pods in which a search failed are searched again only if they have changed. Invariant: a search
    within the bound on its steps fails in a pod, whatever the others are like.
    """
    since = links.tried[off_hold, kind]
    most, n_whole, n_free = what_changed(links, view, off_hold, since)
    if most < 0 or n_free < n_nodes:
        return 0, 0
    changed, bounds = links.changed[off_hold], bounds_of(links, view)
    words, counts, plan = links.open[view], links.counts[view], links.plan
    a_shape, up = links.steps_a_shape, links.round_up
    left = steps = links.steps - (links.spent[off_hold, kind] if since >= 0 else 0)
    a = b = 0
    known = Known(changed, since, most, n_whole, bounds)
    if most >= n_nodes or may_span_pods(shares, n_nodes, words, counts, known):
        a, b, left = search_in(n_nodes, steps, a_shape, up, words, counts, known, plan)
    if left <= 0:
        known = Known(changed, np.int64(-1), n_free, n_whole, bounds)
        a, b, left = search_in(n_nodes, links.steps, a_shape, up, words, counts, known, plan)
    if a == 0:
        links.tried[off_hold, kind] = state
        links.spent[off_hold, kind] = links.steps - left
    return a, b


@njit(**HOT_KERNEL)
def may_span_pods(
    shares: Shares | None, n_nodes: int, words: Ints, counts: Ints, known: Known
) -> bool:
    """Return False if no placement over pods is possible, by counts and by common spines."""
    m1, m3 = words[0], words[2]
    possible = known.whole_leaves >= max(1, n_nodes // m1)
    if shares is not None and not possible:
        if known.bounds.read[0] == 0:
            read_bounds_in(words, counts, known.bounds)
        yes = np.bool_(True)
        possible = fits_over_pods(n_nodes, np.int64(1), m1 - 1, known.bounds, m3, yes)
    return possible


@njit(**INNER_ALLOCATING_KERNEL)
def read_bounds_in(words: Ints, free: Ints, bounds: Bounds) -> None:
    """Find the bounds of a tree in words."""
    read_bounds(tree_in(words, free), bounds)


@njit(**MERGED_KERNEL)
def search_later(links: Links, shares: Shares | None, n_nodes: int, need: int) -> tuple[int, int]:
    """Search in what is free at the later time."""
    if shares is not None and len(shares.capacity) > 0:
        open_cables(shares.capacity, shares.later, shares.nothing, need, links.later)
    for leaf in range(len(links.later_counts)):
        links.later_counts[leaf] = popcount(links.later[N_HEADER + leaf])
    links.bounds.read[-1] = 0
    words, counts, many = links.later, links.later_counts, np.int64(MANY)
    known = Known(links.changed[0], np.int64(-2), many, many, bounds_of(links, -1))
    a_shape, up = links.steps_a_shape, links.round_up
    a, b, _ = search_in(n_nodes, links.steps, a_shape, up, words, counts, known, links.plan)
    return a, b


@njit(**INNER_ALLOCATING_KERNEL)
def search_in(
    n_nodes: int,
    steps: int,
    steps_a_shape: int | None,
    round_up: bool,
    words: Ints,
    free: Ints,
    known: Known,
    rows: Ints,
) -> tuple[int, int, int]:
    """Search as the policy does; also the steps left, 0 if a bound ended it."""
    tree, plan = tree_in(words, free), plan_of(rows)
    a = b = left = 0
    if steps_a_shape is not None:
        a, b, left = search_least(n_nodes, steps, steps_a_shape, tree, known, plan)
    else:
        a_pod, no = tree.m1 * tree.m2, np.bool_(False)
        two_level = n_nodes < a_pod if round_up else n_nodes <= a_pod
        a, b, left = search(n_nodes, two_level, round_up, no, steps, tree, known, plan)
    return a, b, left


@njit(**INNER_ALLOCATING_KERNEL)
def note_plan(rows: Ints, words: Ints, parts: Rows, a: int, b: int) -> tuple[int, int]:
    """Return a plan as a list of parts, and its number of nodes."""
    plan, tree = plan_of(rows), tree_of(words, False)
    first = n_nodes = 0
    for j in range(b):
        first = add_part(parts, -1 - plan.l2[j], 0, plan.spines[j], first)
    for j in range(a):
        leaf, taken = plan.leaf[j], plan.taken[j]
        first = add_part(parts, leaf, lowest(tree.nodes[leaf], taken), plan.up[j], first)
        n_nodes += taken
    return first, n_nodes


@njit(**INNER_ALLOCATING_KERNEL)
def write_links(
    rows: Ints, words: Ints, a: int, b: int, out_nodes: Numbers, out_links: Numbers
) -> tuple[int, int]:
    """Write the nodes and links of a plan; their numbers."""
    return write_plan(plan_of(rows), a, b, tree_of(words, False), out_nodes, out_links)


@njit(**INNER_KERNEL)
def move_nodes(
    marks: Marks, tree: ta.Tree, parts: Rows, first: int, n_nodes: int, sign: int
) -> None:
    """Take the nodes of a job of TA (``sign`` 1) with their marks, or give them back (-1)."""
    row = first
    while row != 0:
        leaf = parts[row].index
        flip_nodes(marks, tree, leaf, parts[row].nodes, sign)
        if n_nodes > marks.leaf_size:
            tree.leaf_marks[ta.WIRED, leaf] = sign == 1
        if n_nodes > marks.pod_size:
            tree.pod_marks[ta.WIRED, leaf * marks.leaf_size // marks.pod_size] = sign == 1
        row = parts[row].next


@njit(**INNER_KERNEL)
def flip_nodes(marks: Marks, tree: ta.Tree, leaf: int, mask: Word, sign: int) -> None:
    """Take nodes of a leaf (``sign`` 1), or give them back (-1)."""
    node, pod = leaf * marks.leaf_size, leaf * marks.leaf_size // marks.pod_size
    while mask != 0:
        if mask & 1:
            tree.free[node] = sign == -1
            tree.leaf_free[leaf] -= sign
            tree.pod_free[pod] -= sign
        mask >>= 1
        node += 1


@njit(**INNER_KERNEL)
def open_nodes(marks: Marks, tree: ta.Tree, parts: Rows, held: int, n_held: int) -> None:
    """Write what is free without the nodes and marks that are held, for a search of TA."""
    free = marks.free
    for node in range(len(free.free)):
        tree.free[node] = free.free[node]
    for leaf in range(len(free.leaf_free)):
        tree.leaf_free[leaf] = free.leaf_free[leaf]
        tree.leaf_marks[ta.WIRED, leaf] = free.leaf_marks[ta.WIRED, leaf]
        tree.leaf_marks[ta.HELD, leaf] = False
    for pod in range(len(free.pod_free)):
        tree.pod_free[pod] = free.pod_free[pod]
        tree.pod_marks[ta.WIRED, pod] = free.pod_marks[ta.WIRED, pod]
        tree.pod_marks[ta.HELD, pod] = False
    row = held
    while row != 0:
        leaf, mask = parts[row].index, parts[row].nodes
        for i in range(marks.leaf_size):
            if (mask >> i) & 1 and not tree.free[leaf * marks.leaf_size + i]:
                mask ^= 1 << i
        flip_nodes(marks, tree, leaf, mask, 1)
        if n_held > marks.leaf_size:
            tree.leaf_marks[ta.HELD, leaf] = True
        if n_held > marks.pod_size:
            tree.pod_marks[ta.HELD, leaf * marks.leaf_size // marks.pod_size] = True
        row = parts[row].next


@njit(**INNER_KERNEL)
def limit_nodes(marks: Marks, tree: ta.Tree, limits: Ints) -> None:
    """Write how many nodes a job of each type of TA can have at most."""
    limits[0], limits[1], limits[2] = ta.largest(marks.leaf_size, marks.pod_size, tree)


@njit(**INNER_KERNEL)
def note_nodes(marks: Marks, parts: Rows, n_nodes: int) -> int:
    """Return the nodes that TA chose as a list of parts; nodes of a leaf follow one another."""
    size, first = marks.leaf_size, 0
    for j in range(n_nodes):
        leaf, bit = marks.chosen[j] // size, 1 << (marks.chosen[j] % size)
        if first == 0 or parts[first].index != leaf:
            first = add_part(parts, leaf, 0, 0, first)
        parts[first].nodes |= bit
    return first
