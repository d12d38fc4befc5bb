"""Starts and finishes of flows, compiled: only what an event touches is solved again.

After an event the rates are max-min fair again as soon as every flow has a bottleneck: a
full link on which no flow is faster (Bertsekas and Gallager, Data Networks, section 6.5.2).
So the flows that have lost theirs rise again against the others, which stand still; who
then lacks a bottleneck, or takes more than a flow that was stopped, rises too; and so on
until nobody is left. The set that rises is usually small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.flow.kernels_filling import fill, fill_state, transpose
from netsim.kernels_options import PLAIN_KERNEL

TOLERANCE = 1e-10  # "full" and "faster", relative; rounding and kernels.TIE stay below
SAME_TIME = 1e-12  # finishes this close, relative, are one event
SAME_RATE = 1e-13

WAITING, ACTIVE, DONE = 0, 1, 2


class Region(NamedTuple):
    """The flows and links that an event touches, and what is known of every link."""

    status: NDArray[np.int8]
    flow_in: NDArray[np.bool_]
    flow_list: NDArray[np.int32]
    old_rate: NDArray[np.float64]
    link_in: NDArray[np.bool_]
    link_list: NDArray[np.int32]
    link_full: NDArray[np.bool_]
    link_fastest: NDArray[np.float64]


@njit(cache=True)
def new_region(n_flows, n_links):  # type: ignore[no-untyped-def]
    """An empty region."""
    return Region(
        np.zeros(n_flows, np.int8),
        np.zeros(n_flows, np.bool_),
        np.empty(n_flows, np.int32),
        np.zeros(n_flows, np.float64),
        np.zeros(n_links, np.bool_),
        np.empty(n_links, np.int32),
        np.zeros(n_links, np.bool_),
        np.zeros(n_links, np.float64),
    )


@njit(**PLAIN_KERNEL)
def touch_links(inc, region, flow, n_list):  # type: ignore[no-untyped-def]
    """Put a flow's links into the region; returns how many links it has now."""
    for i in range(inc.ptr[flow], inc.ptr[flow + 1]):
        link = inc.links[i]
        if not region.link_in[link]:
            region.link_in[link] = True
            region.link_list[n_list] = link
            n_list += 1
    return n_list


@njit(**PLAIN_KERNEL)
def drop_done(inc, region, link):  # type: ignore[no-untyped-def]
    """Take finished flows out of a link's list, keeping its order."""
    weighted = len(inc.weight) > 0
    to = inc.link_ptr[link]
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        if region.status[inc.link_flow[i]] != DONE:
            inc.link_flow[to] = inc.link_flow[i]
            if weighted:
                inc.link_weight[to] = inc.link_weight[i]
            to += 1
    inc.link_end[link] = to


@njit(**PLAIN_KERNEL)
def prepare(inc, st, region, link):  # type: ignore[no-untyped-def]
    """What a link has left for the flows of the region."""
    weighted = len(inc.weight) > 0
    used = rising = 0.0
    count = 0
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        flow = inc.link_flow[i]
        w = inc.link_weight[i] if weighted else 1.0
        if region.flow_in[flow]:
            rising += w
            count += 1
        else:
            used += w * st.rate[flow]
    st.left[link] = inc.capacity[link] - used
    st.rising_weight[link] = rising
    st.rising_count[link] = count


@njit(**PLAIN_KERNEL)
def inspect(inc, st, region, link):  # type: ignore[no-untyped-def]
    """Note whether a link is full and how fast its fastest flow is."""
    weighted = len(inc.weight) > 0
    used = fastest = 0.0
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        rate = st.rate[inc.link_flow[i]]
        used += inc.link_weight[i] * rate if weighted else rate
        fastest = max(fastest, rate)
    region.link_full[link] = used >= inc.capacity[link] * (1.0 - TOLERANCE)
    region.link_fastest[link] = fastest


@njit(**PLAIN_KERNEL)
def stopped_by(st, region, flow, link):  # type: ignore[no-untyped-def]
    """Whether the link is a bottleneck of the flow."""
    return region.link_full[link] and st.rate[flow] >= region.link_fastest[link] * (1.0 - TOLERANCE)


@njit(**PLAIN_KERNEL)
def join(st, region, flow, n_flows):  # type: ignore[no-untyped-def]
    """Put a flow into the region."""
    region.flow_in[flow] = True
    region.flow_list[n_flows] = flow
    region.old_rate[flow] = st.rate[flow]
    return n_flows + 1


@njit(**PLAIN_KERNEL)
def grow(inc, st, region, n_flows, n_list):  # type: ignore[no-untyped-def]
    """Add the flows that the certificate of max-min fairness finds wanting."""
    for k in range(n_list):
        link = region.link_list[k]
        fast = region.link_fastest[link]
        full = region.link_full[link]
        slowest = np.inf
        for i in range(inc.link_ptr[link], inc.link_end[link]):
            flow = inc.link_flow[i]
            if st.bottleneck[flow] != link or region.status[flow] != ACTIVE:
                continue
            rate = st.rate[flow]
            if full and rate >= fast * (1.0 - TOLERANCE):
                continue
            if region.flow_in[flow]:
                slowest = min(slowest, rate)
                continue
            found = False
            for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
                if stopped_by(st, region, flow, inc.links[j]):
                    st.bottleneck[flow] = inc.links[j]
                    found = True
                    break
            if not found:
                n_flows = join(st, region, flow, n_flows)
        if slowest < np.inf:
            bound = slowest * (1.0 + TOLERANCE)
            for i in range(inc.link_ptr[link], inc.link_end[link]):
                flow = inc.link_flow[i]
                if not region.flow_in[flow] and st.rate[flow] > bound:
                    n_flows = join(st, region, flow, n_flows)
    return n_flows


@njit(cache=True)
def resolve(inc, st, region, n_flows, n_list):  # type: ignore[no-untyped-def]
    """Make all active flows max-min fair again; returns the flows and links in the region.

    ``n_flows`` flows (those that start) and ``n_list`` links (those of flows that start or
    have finished) are in the region already.
    """
    for k in range(n_list):
        drop_done(inc, region, region.link_list[k])
        inspect(inc, st, region, region.link_list[k])
    cleaned = n_list
    n_flows = grow(inc, st, region, n_flows, n_list)
    solved = 0
    while n_flows > solved:
        for k in range(solved, n_flows):
            n_list = touch_links(inc, region, region.flow_list[k], n_list)
        for k in range(cleaned, n_list):
            drop_done(inc, region, region.link_list[k])
        cleaned = n_list
        solved = n_flows
        for k in range(n_list):
            prepare(inc, st, region, region.link_list[k])
        for k in range(n_flows):
            st.rising[region.flow_list[k]] = True
        fill(inc, st, region.link_list, n_list)
        for k in range(n_list):
            inspect(inc, st, region, region.link_list[k])
        n_flows = grow(inc, st, region, n_flows, n_list)
    return n_flows, n_list


@njit(**PLAIN_KERNEL)
def clock_less(clock, a, b):  # type: ignore[no-untyped-def]
    """Order of two flows in the finish heap."""
    return clock[a] < clock[b] or (clock[a] == clock[b] and a < b)


@njit(**PLAIN_KERNEL)
def clock_up(clock, heap, place, at):  # type: ignore[no-untyped-def]
    """Move an entry of the finish heap toward the top."""
    flow = heap[at]
    while at > 0:
        up = (at - 1) >> 1
        if not clock_less(clock, flow, heap[up]):
            break
        heap[at] = heap[up]
        place[heap[at]] = at
        at = up
    heap[at] = flow
    place[flow] = at


@njit(**PLAIN_KERNEL)
def clock_down(clock, heap, place, size, at):  # type: ignore[no-untyped-def]
    """Move an entry of the finish heap away from the top."""
    flow = heap[at]
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and clock_less(clock, heap[down + 1], heap[down]):
            down += 1
        if not clock_less(clock, heap[down], flow):
            break
        heap[at] = heap[down]
        place[heap[at]] = at
        at = down
    heap[at] = flow
    place[flow] = at


@njit(cache=True)
def simulate(ptr, links, weight, capacity, amount, start, by_start):  # type: ignore[no-untyped-def]
    """Finish time of every flow, and how many events and re-solved flows it took.

    ``by_start`` lists the flows that have links and bytes, by start time.
    """
    n, n_links = len(ptr) - 1, len(capacity)
    inc = transpose(ptr, links, weight, capacity)
    st = fill_state(n, n_links)
    region = new_region(n, n_links)
    finish = start.copy()
    left = amount.copy()
    since = start.copy()
    clock = np.full(n, np.inf)
    heap = np.empty(n, np.int32)
    place = np.full(n, -1, np.int32)
    size = started = 0
    events = solved = 0
    while size > 0 or started < len(by_start):
        now = clock[heap[0]] if size > 0 else np.inf
        if started < len(by_start):
            now = min(now, start[by_start[started]])
        limit = now + SAME_TIME * abs(now)
        n_flows = n_list = 0
        while size > 0 and clock[heap[0]] <= limit:
            flow = heap[0]
            finish[flow] = now
            region.status[flow] = DONE
            st.rate[flow] = 0.0
            n_list = touch_links(inc, region, flow, n_list)
            size -= 1
            if size > 0:
                heap[0] = heap[size]
                clock_down(clock, heap, place, size, 0)
        while started < len(by_start) and start[by_start[started]] <= now:
            flow = by_start[started]
            region.status[flow] = ACTIVE
            n_flows = join(st, region, flow, n_flows)
            n_list = touch_links(inc, region, flow, n_list)
            started += 1
        n_flows, n_list = resolve(inc, st, region, n_flows, n_list)
        for k in range(n_list):
            region.link_in[region.link_list[k]] = False
        for k in range(n_flows):
            flow = region.flow_list[k]
            region.flow_in[flow] = False
            old = region.old_rate[flow]
            if abs(st.rate[flow] - old) <= SAME_RATE * old:
                st.rate[flow] = old
                continue
            left[flow] = max(0.0, left[flow] - old * (now - since[flow]))
            since[flow] = now
            clock[flow] = now + left[flow] / st.rate[flow]
            if old == 0.0:
                heap[size] = flow
                size += 1
                clock_up(clock, heap, place, size - 1)
            else:
                clock_up(clock, heap, place, place[flow])
                clock_down(clock, heap, place, size, place[flow])
        events += 1
        solved += n_flows
    return finish, events, solved
