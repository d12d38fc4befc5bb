"""Conservative backfilling from its definition: every profile is a list of intervals, made anew.

Nothing is shared with `queuesim.backfilling.conservative`: no steps, no SimPy. What is free
at a time is counted from the intervals of running jobs and reservations, and a job's start is
tried at every time at which an interval ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from queue_helpers import Mask

from alloc.policy import Placement, Request
from workloads.job import Workload


@dataclass(frozen=True)
class Taken:
    """Nodes taken from begin to end (not included)."""

    begin: float
    end: float
    n_nodes: int


def free_at(taken: list[Taken], total: int, time: float) -> int:
    return total - sum(t.n_nodes for t in taken if t.begin <= time < t.end)


def fits(taken: list[Taken], total: int, n_nodes: int, begin: float, end: float) -> bool:
    """Whether n_nodes are free at every moment of [begin, end)."""
    moments = [begin, *(t.begin for t in taken if begin < t.begin < end)]
    return all(free_at(taken, total, moment) >= n_nodes for moment in moments)


def earliest(taken: list[Taken], total: int, n_nodes: int, asked: float, begin: float) -> float:
    """The first moment from ``begin`` on at which n_nodes are free for as long as asked; inf
    where a job without a limit is in the way."""
    for moment in sorted({begin, *(t.end for t in taken if t.end > begin)}):
        if fits(taken, total, n_nodes, moment, moment + asked):
            return moment
    raise AssertionError("it fits when all is over")


def next_change(taken: list[Taken], total: int, now: float) -> float:
    """The first later moment at which another number of nodes is free."""
    before = free_at(taken, total, now)
    moments = sorted({t for each in taken for t in (each.begin, each.end) if t > now})
    return next(m for m in moments if free_at(taken, total, m) != before)


class PlainConservative:
    """The queue with conservative backfilling; as `queue_helpers.PlainEasy` is for EASY."""

    def __init__(
        self,
        workload: Workload,
        policy: Mask,
        order: str,
        window: int | None,
        reservations: int | None = None,
    ) -> None:
        self.most = len(workload) if reservations is None else reservations
        self.w, self.policy, self.order = workload, policy, order
        n = len(workload)
        self.depth = n if window is None else window + 1
        self.total = len(policy.free)
        self.start = np.full(n, np.nan)
        self.promised = np.full(n, np.nan)
        self.waiting: list[int] = []
        self.running: dict[int, Placement] = {}
        self.reserved: dict[int, float] = {}
        self.seen: set[int] = set()
        self.first_blocked = np.nan

    def run(self) -> np.ndarray:
        w, n = self.w, len(self.w)
        arrivals = w.submit_s.tolist()
        k, now = 0, -1.0
        while k < n or self.running:
            ends = [self.start[j] + w.run_time_s[j] for j in self.running]
            now = min([*ends, *arrivals[k : k + 1]])
            ended = [j for j in self.running if self.start[j] + w.run_time_s[j] == now]
            for j in ended:
                self.policy.release(self.running.pop(j))
            while k < n and arrivals[k] == now:
                self.waiting.append(k)
                k += 1
            front = self.front(now)
            due = any(time <= now for time in self.reserved.values())
            if ended or due or set(front) - self.seen:
                self.one_pass(front, now)
                self.seen = set(front)
        return self.start

    def front(self, now: float) -> list[int]:
        w = self.w
        keys = {
            "fcfs": lambda j: (j,),
            "shortest": lambda j: (w.requested_s[j], j),
            "smallest": lambda j: (w.n_nodes[j], j),
            "largest": lambda j: (-int(w.n_nodes[j]), j),
            "wfp": lambda j: (
                -(((now - w.submit_s[j]) / w.requested_s[j]) ** 3) * w.n_nodes[j],
                j,
            ),
        }
        return sorted(self.waiting, key=keys[self.order])[: self.depth]

    def one_pass(self, front: list[int], now: float) -> None:
        w, total = self.w, self.total
        # Reservations stand as they were, the earlier first; one moves back only if what
        # stands before it leaves no room (a running job has outlived its walltime).
        old, self.reserved = self.reserved, {}
        for j in sorted((j for j in old if j in front[: self.most]), key=lambda j: (old[j], j)):
            self.reserved[j] = earliest(
                self.taken(now), total, int(w.n_nodes[j]), w.requested_s[j], max(old[j], now)
            )
        # Then each job, in the order of the queue, gets the earliest start that the others leave.
        blocked = 0
        for j in front:
            self.reserved.pop(j, None)
            n_nodes, asked = int(w.n_nodes[j]), float(w.requested_s[j])
            taken = self.taken(now)
            begin = earliest(taken, total, n_nodes, asked, now)
            if begin == now:
                placement = self.policy.allocate(Request(j, n_nodes))
                if placement is not None:
                    self.running[j] = placement
                    self.start[j] = now
                    self.waiting.remove(j)
                    continue
                begin = earliest(taken, total, n_nodes, asked, next_change(taken, total, now))
            if now > 0 and np.isnan(self.first_blocked):
                self.first_blocked = now
            blocked += 1
            if blocked > self.most:
                continue
            self.reserved[j] = begin
            if np.isnan(self.promised[j]) and begin < np.inf:
                self.promised[j] = begin

    def taken(self, now: float) -> list[Taken]:
        """Running jobs to their promised ends (late ones end in no time), and reservations."""
        w = self.w
        soon = np.nextafter(now, np.inf)
        return [
            *(
                Taken(now, max(self.start[j] + w.requested_s[j], soon), len(placement.nodes))
                for j, placement in self.running.items()
            ),
            *(
                Taken(begin, begin + w.requested_s[j], int(w.n_nodes[j]))
                for j, begin in self.reserved.items()
            ),
        ]
