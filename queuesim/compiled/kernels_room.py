"""Compiled: jobs that need certain nodes and cables, as `queuesim.machine.Machine` places them.

A search that failed is not repeated for a job of the same kind before something is released; off
the head's hold also not before another hold (``failed``, ``failed_held``: the state of both).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

import alloc.fattree.kernels_ta as ta
from alloc.fattree.kernels_bits import MERGED_KERNEL
from alloc.fattree.kernels_places import (
    Links,
    Marks,
    Shares,
    copy_words,
    drop_parts,
    find_links,
    hold_links,
    limit_nodes,
    move_links,
    move_nodes,
    note_nodes,
    note_plan,
    open_nodes,
    read_view,
    search_later,
    touch,
    write_links,
)
from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from queuesim.compiled.kernels_waiting import Rows, State, heap_push

KIND = np.dtype(
    [("shortest_s", np.float64)]
    + [
        (name, np.int64)
        for name in ("nodes", "need", "slot", "failed", "failed_held", "begin", "end")
    ],
    align=True,
)
"""Jobs of equal requests, by nodes and need; the states in which a search failed.

Kinds of one ``slot`` mostly have one need. Entries ``begin`` to ``end`` of ``waiting`` may wait,
``shortest_s`` is a lower bound on their requested times.
"""

ENTRY = np.dtype([("requested_s", np.float64), ("rank", np.int64)], align=True)
"""A job, by kind and rank; nan if it does not wait."""

PLACED = np.dtype(
    [(name, np.int64) for name in ("kind", "entry", "nodes", "links", "parts")], align=True
)
"""A job, by rank: its kind and entry, the numbers of its nodes and links, its first part.

Links are counted only if they are written.
"""


class Room(NamedTuple):
    """What a queue has beside its own arrays where nodes and links matter.

    Attributes
    ----------
    links, shares, marks, parts
        State of the policy, see `alloc.fattree.kernels_places`.
    jobs, kinds, waiting : (n,) PLACED, (kinds,) KIND, (n,) ENTRY
    order : (kinds,) PAIR
        Heap of the kinds' first jobs that may start in a pass, by rank.
    nodes, links_out : int32
        Nodes and links of the jobs in the order of their starts; of no length: not written.
    """

    links: Links | None
    shares: Shares | None
    marks: Marks | None
    parts: Rows
    jobs: Rows
    kinds: Rows
    waiting: Rows
    order: Rows
    nodes: NDArray[np.int32]
    links_out: NDArray[np.int32]


@njit(**INNER_KERNEL)
def add_to_kind(room: Room, rank: int, requested_s: float) -> None:
    """Note that a job waits."""
    job = room.jobs[rank]
    kind = room.kinds[job.kind]
    room.waiting[job.entry].requested_s = requested_s
    kind.begin = min(kind.begin, job.entry)
    kind.shortest_s = min(kind.shortest_s, requested_s)


@njit(**INNER_KERNEL)
def remove_from_kind(room: Room, rank: int) -> None:
    """Note that a job does not wait any more."""
    room.waiting[room.jobs[rank].entry].requested_s = np.nan


@njit(**INNER_KERNEL)
def any_by_count(s: State, room: Room, rank: int, last: int) -> bool:
    """Return whether a job behind a rank, at most ``last``, finds enough free nodes."""
    for kind in room.kinds:
        if kind.nodes > s.n_free:
            break
        k = next_of_kind(s, room, kind, rank, np.inf)
        if k < kind.end and room.waiting[k].rank <= last:
            return True
    return False


@njit(**INNER_KERNEL)
def add_kind(s: State, room: Room, k: int, rank: int, last: int, size: int) -> int:
    """Add the first job of a kind behind a rank that can perhaps start to a heap; its size."""
    kind = room.kinds[k]
    if kind.nodes > s.n_free or kind.failed == s.n_releases:
        return size
    latest_s = s.shadow_s if kind.failed_held == s.n_holds else np.inf
    i = next_of_kind(s, room, kind, rank, latest_s)
    if i == kind.end or room.waiting[i].rank > last:
        return size
    heap_push(room.order, size, float(room.waiting[i].rank), k)
    return size + 1


@njit(**INNER_KERNEL)
def next_of_kind(s: State, room: Room, kind: State, rank: int, latest_s: float) -> int:
    """Return the first waiting job of a kind behind a rank that would end by ``latest_s``."""
    waiting = room.waiting
    if s.now_s + kind.shortest_s > latest_s:
        return kind.end
    while kind.begin < kind.end and np.isnan(waiting[kind.begin].requested_s):
        kind.begin += 1
    shortest_s = np.inf
    for i in range(kind.begin, kind.end):
        requested_s = waiting[i].requested_s
        if waiting[i].rank > rank and s.now_s + requested_s <= latest_s:
            return i
        if requested_s < shortest_s:
            shortest_s = requested_s
    kind.shortest_s = shortest_s
    return kind.end


@njit(**INNER_KERNEL)
def try_place(s: State, room: Room | None, rank: int, off_hold: bool) -> bool:
    """Place a job for which enough nodes are free; ``off_hold``: on nothing that the head holds.

    Without a room any nodes will do.
    """
    if room is None:
        return True
    job = room.jobs[rank]
    kind = room.kinds[job.kind]
    if kind.failed == s.n_releases or (off_hold and kind.failed_held == s.n_holds):
        return False
    a, b = search_room(s, room.links, room.shares, room.marks, room.parts, job.kind, kind, off_hold)
    if a <= 0:
        # What has no place has none with a higher need, unless a bound ended the search.
        last = job.kind + 1
        while a == 0 and last < len(room.kinds) and room.kinds[last].nodes == kind.nodes:
            last += 1
        for other in room.kinds[job.kind : last]:
            if off_hold:
                other.failed_held = s.n_holds
            else:
                other.failed = s.n_releases
        return False
    view = view_of(kind, off_hold)
    if len(room.nodes) > 0:
        job.links = write_room(s, room.links, room.marks, view, a, b, room.nodes, room.links_out)
    job.parts, job.nodes = note_room(room.links, room.marks, room.parts, view, a, b)
    s.n_states += 1
    move_room(s, room.links, room.shares, room.marks, room.parts, job, kind.need, 1)
    return True


@njit(**INNER_KERNEL)
def view_of(kind: State, off_hold: bool) -> int:
    """Return the view in which jobs of a kind are placed (`alloc.fattree.kernels_places.Links`)."""
    return 2 * kind.slot + off_hold


@njit(**INNER_KERNEL)
def leave_room(s: State, room: Room, rank: int) -> None:
    """Give back what a job has."""
    job = room.jobs[rank]
    need = room.kinds[job.kind].need
    s.n_states += 1
    move_room(s, room.links, room.shares, room.marks, room.parts, job, need, -1)
    drop_parts(room.parts, job.parts)
    s.n_releases += 1
    s.n_holds += 1


@njit(**MERGED_KERNEL)
def hold_room(s: State, running: Rows, room: Room, head: int, k: int, shadow_s: float) -> float:
    """Return when the head can be placed, and hold its place; nan: never.

    The first k running jobs end by ``shadow_s``, and more one after the other.
    """
    links, shares, marks, parts = room.links, room.shares, room.marks, room.parts
    kind = room.kinds[room.jobs[head].kind]
    begin_later(links, shares, marks, parts)
    done = a = b = 0
    while True:
        while done < k:
            job = room.jobs[running[done].rank]
            move_later(links, shares, marks, parts, job, room.kinds[job.kind].need)
            done += 1
        s.n_searches += 1
        a, b = search_later_room(links, shares, marks, kind)
        if a > 0 or k == s.n_running:
            break
        shadow_s = running[k].end_s
        while k < s.n_running and running[k].end_s <= shadow_s:
            k += 1
    if a <= 0:
        return np.nan
    s.n_states += 1
    set_hold(s, links, shares, parts, kind.need, False)
    drop_parts(parts, s.held)
    s.held, s.n_held = note_room(links, marks, parts, -1, a, b)
    set_hold(s, links, shares, parts, kind.need, True)
    s.n_holds += 1
    return shadow_s


@njit(**HOT_KERNEL)
def search_room(
    s: State,
    links: Links | None,
    shares: Shares | None,
    marks: Marks | None,
    parts: Rows,
    k: int,
    kind: State,
    off_hold: bool,
) -> tuple[int, int]:
    """Search now for a job of kind k: how much there is of a place, above 0 if there is one."""
    a = b = 0
    if marks is not None:
        if s.opened != s.n_states:
            s.opened = s.n_states
            open_nodes(marks, marks.open, parts, s.held, s.n_held)
            limit_nodes(marks, marks.free, marks.limits[0])
            limit_nodes(marks, marks.open, marks.limits[1])
        size = int(kind.nodes > marks.leaf_size) + int(kind.nodes > marks.pod_size)
        if kind.nodes <= marks.limits[int(off_hold), size]:
            s.n_searches += 1
            tree = marks.open if off_hold else marks.free
            a = ta.select(kind.nodes, marks.leaf_size, marks.pod_size, tree, marks.chosen)
    if links is not None:
        view = view_of(kind, off_hold)
        read_view(links, shares, view, off_hold, kind.need)
        s.n_searches += 1
        a, b = find_links(links, shares, view, int(off_hold), k, kind.nodes, s.n_states)
    return a, b


@njit(**INNER_KERNEL)
def note_room(
    links: Links | None, marks: Marks | None, parts: Rows, view: int, a: int, b: int
) -> tuple[int, int]:
    """Return the parts of the place that was found, and its number of nodes; view -1: later."""
    first = 0
    if marks is not None:
        first = note_nodes(marks, parts, a)
    if links is not None:
        words = links.later if view < 0 else links.open[view]
        first, a = note_plan(links.plan, words, parts, a, b)
    return first, a


@njit(**INNER_KERNEL)
def write_room(
    s: State,
    links: Links | None,
    marks: Marks | None,
    view: int,
    a: int,
    b: int,
    nodes: NDArray[np.int32],
    links_out: NDArray[np.int32],
) -> int:
    """Write the nodes and links of the place that was found; how many links."""
    n_links = 0
    if marks is not None:
        for j in range(a):
            nodes[s.n_nodes_out + j] = marks.chosen[j]
    if links is not None:
        out = nodes[s.n_nodes_out :], links_out[s.n_links_out :]
        a, n_links = write_links(links.plan, links.open[view], a, b, out[0], out[1])
    s.n_nodes_out += a
    s.n_links_out += n_links
    return n_links


@njit(**INNER_KERNEL)
def move_room(
    s: State,
    links: Links | None,
    shares: Shares | None,
    marks: Marks | None,
    parts: Rows,
    job: State,
    need: int,
    sign: int,
) -> None:
    """Take the parts of a job (``sign`` 1), or give them back (-1)."""
    if marks is not None:
        move_nodes(marks, marks.free, parts, job.parts, job.nodes, sign)
    if links is not None:
        used = links.free if shares is None else shares.used
        move_links(shares, links.free, used, parts, job.parts, need, sign)
        helps = sign == -1 or links.round_up
        touch(links, parts, job.parts, 0, helps, s.n_states)


@njit(**INNER_KERNEL)
def begin_later(
    links: Links | None, shares: Shares | None, marks: Marks | None, parts: Rows
) -> None:
    """Begin to find what is free at a later time with what is free now."""
    if marks is not None:
        open_nodes(marks, marks.later, parts, 0, 0)
    if links is not None:
        copy_words(links.free, links.later)
    if shares is not None:
        copy_words(shares.used, shares.later)


@njit(**INNER_KERNEL)
def move_later(
    links: Links | None,
    shares: Shares | None,
    marks: Marks | None,
    parts: Rows,
    job: State,
    need: int,
) -> None:
    """Give back what a job has, at a later time."""
    if marks is not None:
        move_nodes(marks, marks.later, parts, job.parts, job.nodes, -1)
    if links is not None:
        used = links.later if shares is None else shares.later
        move_links(shares, links.later, used, parts, job.parts, need, -1)


@njit(**INNER_KERNEL)
def search_later_room(
    links: Links | None, shares: Shares | None, marks: Marks | None, kind: State
) -> tuple[int, int]:
    """Search in what is free at the later time, as `search_room` does."""
    a = b = 0
    if marks is not None:
        a = ta.select(kind.nodes, marks.leaf_size, marks.pod_size, marks.later, marks.chosen)
    if links is not None:
        a, b = search_later(links, shares, kind.nodes, kind.need)
    return a, b


@njit(**INNER_KERNEL)
def set_hold(
    s: State, links: Links | None, shares: Shares | None, parts: Rows, need: int, held: bool
) -> None:
    """Set aside, or not, what the head holds."""
    if links is not None:
        hold_links(links, parts, s.held, held)
        touch(links, parts, s.held, 1, True, s.n_states)
    if links is not None and shares is not None and len(shares.capacity) > 0:
        if held:
            move_links(shares, links.later, shares.held, parts, s.held, need, 1)
        else:
            shares.held[:] = 0
