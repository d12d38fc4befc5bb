"""Bottlenecks, compiled: the flows of each link in the order of their ends.

Each flow is stopped by one link, and all flows that a link stops have one rate, its *level*. What
they have got is a clock of the link: ``work``, what a flow of its level has got since the link
began to stop any. A flow ends when the clock has come to its ``target``. So those that a link
stops end in the order of their targets, and no change of a level touches a flow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import HOT_KERNEL, INNER_ALLOCATING_KERNEL, INNER_KERNEL

_WIDE = 2  # flows are kept in rows of equal length while they take this many times the room

WAITING, ACTIVE, DONE = 0, 1, 2


class Levels(NamedTuple):
    """State of flows and links.

    Of flows: ``stop``, the link that stops it, -1 for none; ``target`` and its ``place`` in the
    link's heap of targets; ``status``; ``paths``, its links in a row of their own, filled up with a
    link that is none, or no rows at all. Of links: the heap of targets (``stopped``, from the
    link's ``link_ptr``, ``size`` long); ``level``, inf where it stops no flow; ``weight``, of the
    flows that it stops, together; ``used``, by its other flows; ``fastest``, no less than the rate
    of any of those; ``work`` at the time ``since``; ``looks``, how often it was looked at since its
    sums were worked out; ``clock``, when the next of its flows ends; ``order``, a heap of links by
    it, and ``where`` each is in it. Links to be processed: ``queue`` with ``queue_key`` and
    ``n_queued[0]`` for those that stop flows, ``later`` and ``n_queued[1]`` for the others, and
    ``queued`` for both. ``touched``, ``found`` and ``found_key``: links and flows in hand.
    """

    stop: NDArray[np.int32]
    target: NDArray[np.float64]
    place: NDArray[np.int32]
    status: NDArray[np.int8]
    paths: NDArray[np.int32]
    stopped: NDArray[np.int32]
    size: NDArray[np.int32]
    level: NDArray[np.float64]
    weight: NDArray[np.float64]
    used: NDArray[np.float64]
    fastest: NDArray[np.float64]
    work: NDArray[np.float64]
    since: NDArray[np.float64]
    looks: NDArray[np.int32]
    clock: NDArray[np.float64]
    order: NDArray[np.int32]
    where: NDArray[np.int32]
    queue: NDArray[np.int32]
    queue_key: NDArray[np.float64]
    later: NDArray[np.int32]
    queued: NDArray[np.bool_]
    n_queued: NDArray[np.int64]
    touched: NDArray[np.int32]
    found: NDArray[np.int32]
    found_key: NDArray[np.float64]


@njit(**INNER_ALLOCATING_KERNEL)
def rows_of(inc):  # type: ignore[no-untyped-def]
    """Return the links of each flow in a row, filled up with the number of links; none if that is
    wasteful."""
    n_flows, n_links = len(inc.ptr) - 1, len(inc.capacity)
    width = np.int64(0)
    for flow in range(n_flows):
        width = max(width, inc.ptr[flow + 1] - inc.ptr[flow])
    if len(inc.weight) > 0 or n_flows * width > _WIDE * len(inc.links):
        return np.empty((0, 0), np.int32)
    rows = np.full((n_flows, width), n_links, np.int32)
    for flow in range(n_flows):
        begin = inc.ptr[flow]
        for j in range(begin, inc.ptr[flow + 1]):
            rows[flow, j - begin] = inc.links[j]
    return rows


@njit(**INNER_ALLOCATING_KERNEL)
def new_levels(inc):  # type: ignore[no-untyped-def]
    """Return the initial state, without flows."""
    n_flows, n_links = len(inc.ptr) - 1, len(inc.capacity)
    longest = 0
    for link in range(n_links):
        longest = max(longest, inc.link_end[link] - inc.link_ptr[link])
    # the link that is none has a place among the sums, and is never queued
    queued = np.zeros(n_links + 1, np.bool_)
    queued[n_links] = True
    return Levels(
        stop=np.full(n_flows, -1, np.int32),
        target=np.zeros(n_flows, np.float64),
        place=np.zeros(n_flows, np.int32),
        status=np.zeros(n_flows, np.int8),
        paths=rows_of(inc),
        stopped=np.empty(len(inc.links), np.int32),
        size=np.zeros(n_links, np.int32),
        level=np.full(n_links, np.inf),
        weight=np.zeros(n_links, np.float64),
        used=np.zeros(n_links + 1, np.float64),
        fastest=np.zeros(n_links + 1, np.float64),
        work=np.zeros(n_links, np.float64),
        since=np.zeros(n_links, np.float64),
        looks=np.zeros(n_links, np.int32),
        clock=np.full(n_links, np.inf),
        order=np.arange(n_links).astype(np.int32),
        where=np.arange(n_links).astype(np.int32),
        queue=np.empty(n_links, np.int32),
        queue_key=np.empty(n_links, np.float64),
        later=np.empty(n_links, np.int32),
        queued=queued,
        n_queued=np.zeros(2, np.int64),
        touched=np.empty(n_links + 1, np.int32),
        found=np.empty(longest, np.int32),
        found_key=np.empty(longest, np.float64),
    )


@njit(**INNER_KERNEL)
def target_up(s, base, at):  # type: ignore[no-untyped-def]
    """Move an entry of a link's heap toward the top; ties go to the lower flow."""
    flow = s.stopped[base + at]
    target = s.target[flow]
    while at > 0:
        up = (at - 1) >> 1
        other = s.stopped[base + up]
        if s.target[other] < target or (s.target[other] == target and other < flow):
            break
        s.stopped[base + at] = other
        s.place[other] = at
        at = up
    s.stopped[base + at] = flow
    s.place[flow] = at


@njit(**INNER_KERNEL)
def target_down(s, base, size, at):  # type: ignore[no-untyped-def]
    """Move an entry of a link's heap away from the top."""
    flow = s.stopped[base + at]
    target = s.target[flow]
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        other = s.stopped[base + down]
        if down + 1 < size:
            right = s.stopped[base + down + 1]
            if s.target[right] < s.target[other] or (
                s.target[right] == s.target[other] and right < other
            ):
                down, other = down + 1, right
        if target < s.target[other] or (target == s.target[other] and flow < other):
            break
        s.stopped[base + at] = other
        s.place[other] = at
        at = down
    s.stopped[base + at] = flow
    s.place[flow] = at


@njit(**INNER_KERNEL)
def set_clock(inc, s, link):  # type: ignore[no-untyped-def]
    """Set the time at which the first of a link's bottlenecked flows ends."""
    time = np.inf
    if s.size[link] > 0:
        first = s.target[s.stopped[inc.link_ptr[link]]]
        time = s.since[link] + max(0.0, first - s.work[link]) / s.level[link]
    s.clock[link] = time
    at, n = s.where[link], len(s.order)
    while at > 0:
        up = (at - 1) >> 1
        other = s.order[up]
        if s.clock[other] < time or (s.clock[other] == time and other < link):
            break
        s.order[at] = other
        s.where[other] = at
        at = up
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        other = s.order[down]
        if down + 1 < n:
            right = s.order[down + 1]
            if s.clock[right] < s.clock[other] or (
                s.clock[right] == s.clock[other] and right < other
            ):
                down, other = down + 1, right
        if time < s.clock[other] or (time == s.clock[other] and link < other):
            break
        s.order[at] = other
        s.where[other] = at
        at = down
    s.order[at] = link
    s.where[link] = at


@njit(**HOT_KERNEL)
def work_at(s, link, now):  # type: ignore[no-untyped-def]
    """Return a link's clock of what its flows have got."""
    if s.size[link] == 0:
        return 0.0
    return s.work[link] + s.level[link] * (now - s.since[link])


@njit(**INNER_KERNEL)
def stop_at(inc, s, flow, link, weight, left, now):  # type: ignore[no-untyped-def]
    """Enter a flow among those that a link stops; its clock is right afterwards."""
    if s.size[link] == 0:
        s.work[link] = s.weight[link] = 0.0
    else:
        s.work[link] = work_at(s, link, now)
    s.since[link] = now
    base, at = inc.link_ptr[link], s.size[link]
    s.stop[flow] = link
    s.target[flow] = left + s.work[link]
    s.stopped[base + at] = flow
    s.size[link] = at + 1
    s.weight[link] += weight
    target_up(s, base, at)


@njit(**INNER_KERNEL)
def take_out(inc, s, flow, weight):  # type: ignore[no-untyped-def]
    """Remove a flow from those that its link stops."""
    link = s.stop[flow]
    base, at, last = inc.link_ptr[link], s.place[flow], s.size[link] - 1
    s.size[link] = last
    if at < last:
        s.stopped[base + at] = s.stopped[base + last]
        s.place[s.stopped[base + at]] = at
        target_up(s, base, at)
        target_down(s, base, last, s.place[s.stopped[base + at]])
    s.weight[link] -= weight
    if last == 0:
        s.level[link] = np.inf
        s.weight[link] = 0.0
