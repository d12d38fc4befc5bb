"""Starts and finishes of flows, compiled.

Where few flows begin at once, or end, levels are brought up to date (`kernels_levels`); where
many begin, they are filled anew.
"""

from __future__ import annotations

from numba import njit

from netsim.flow.kernels_covered import uncovered
from netsim.flow.kernels_filling import fill_state, transpose
from netsim.flow.kernels_levels import add_flow, end_first, fill_anew, settle_all
from netsim.flow.kernels_targets import ACTIVE, new_levels
from netsim.kernels_options import KERNEL

SAME_TIME = 1e-12  # finishes this close, relative, are one event
MANY = 8  # more than a part of so many of the flows that are there: levels are filled anew
PATIENCE = 20  # looks at links, as a multiple of all, after which levels are filled anew


@njit(**KERNEL)
def simulate(ptr, links, weight, capacity, amount, start, by_start):  # type: ignore[no-untyped-def]
    """Finish time of every flow, and how many events and rates it took.

    ``by_start`` lists the flows that have links and bytes, by start time.
    """
    n, n_links = len(ptr) - 1, len(capacity)
    inc = transpose(ptr, links, weight, capacity)
    ptr, links, weight = uncovered(inc)
    inc = transpose(ptr, links, weight, capacity)
    st = fill_state(n, n_links)
    s = new_levels(inc)
    finish = start.copy()
    there = started = 0
    events = solved = 0
    while there > 0 or started < len(by_start):
        now = s.clock[s.order[0]]
        if started < len(by_start):
            now = min(now, start[by_start[started]])
        limit = now + SAME_TIME * abs(now)
        while there > 0 and s.clock[s.order[0]] <= limit:
            finish[end_first(inc, s, s.order[0])] = now
            there -= 1
        begin = started
        while started < len(by_start) and start[by_start[started]] <= now:
            started += 1
        settled = (started - begin) * MANY <= there
        there += started - begin
        for k in range(begin, started):
            flow = by_start[k]
            if settled:
                add_flow(inc, s, flow, amount[flow], now)
            else:
                s.status[flow] = ACTIVE
                s.target[flow] = amount[flow]
        if settled:
            moved, settled = settle_all(inc, s, now, PATIENCE * n_links)
            solved += moved
        if not settled:
            solved += fill_anew(inc, s, st, now)
        events += 1
    return finish, events, solved
