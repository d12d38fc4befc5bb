"""The textbook's EASY by count, with a scheduling pass at each single event; nothing remembered.

For comparing with studies whose simulator does so: among the ends of one instant the first
leads to a pass in which the others still run, if they end before their walltimes.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from workloads.job import Workload

END, ARRIVAL = 0, 1


def easy_by_events(workload: Workload, processors: int) -> np.ndarray:
    """(n,) start times; ends come before arrivals of the same instant, in order of the starts."""
    n_nodes = workload.n_nodes.tolist()
    run, asked = workload.run_time_s.tolist(), workload.requested_s.tolist()
    events = [(t, ARRIVAL, k, k) for k, t in enumerate(workload.submit_s.tolist())]
    start = np.full(len(workload), np.nan)
    running: dict[int, float] = {}  # promised ends
    waiting: list[int] = []
    n_events = len(events)

    def begin(job: int, now: float) -> None:
        nonlocal n_events
        start[job] = now
        running[job] = now + asked[job]
        n_events += 1
        heappush(events, (now + run[job], END, n_events, job))

    def free_by(time: float) -> int:
        # who has promised to end by now is taken to have ended
        return processors - sum(n_nodes[j] for j, end in running.items() if end > time)

    while events:
        now, kind, _, job = heappop(events)
        if kind == END:
            del running[job]
        else:
            waiting.append(job)
            if free_by(now) < n_nodes[job]:
                continue
        while waiting and n_nodes[waiting[0]] <= free_by(now):
            begin(waiting.pop(0), now)
        if len(waiting) < 2:
            continue
        head = waiting[0]
        shadow = next(
            end for end in sorted(running.values()) if end > now and free_by(end) >= n_nodes[head]
        )
        extra, free = free_by(shadow) - n_nodes[head], free_by(now)
        for other in waiting[1:]:
            ends = now + asked[other] <= shadow
            if n_nodes[other] <= free and (ends or n_nodes[other] <= extra):
                waiting.remove(other)
                begin(other, now)
                free -= n_nodes[other]
                extra -= 0 if ends else n_nodes[other]
    return start
