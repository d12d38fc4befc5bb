"""Conservative backfilling on node counts.

Every job among the first ``window`` + 1 of the queue has a reservation: a start time
at which enough nodes are free by count for its whole requested walltime, given the
promised ends of the running jobs and the reservations of the others. In each pass,
at an arrival as at an end, reservations move forward one by one in queue order (the
others in place). Mu'alem and Feitelson (2001, section 2) do so when a job ends early;
more often is as legal, since by count no reservation is ever delayed by another job.

Where a policy cares for topology or rounds up, counts are a guess and a reservation can
be broken: a job whose time has come but that cannot be placed is moved to the next
change of the count. No nodes or links are held. Jobs that outlive their walltimes push
reservations back. A job that others overtake out of the window loses its reservation. One that
needs nodes of a job without a limit has none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf, nextafter

from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill, Start
from queuesim.machine import Machine
from queuesim.waiting import WaitingQueue


class Profile:
    """Number of free nodes over time.

    ``releases`` are (time after now, nodes given back), sorted by time.
    """

    def __init__(self, now_s: float, n_free: int, releases: Iterable[tuple[float, int]]) -> None:
        self.times = [now_s]
        self.free = [n_free]
        for end, n_nodes in releases:
            if end > self.times[-1]:
                self.times.append(end)
                self.free.append(self.free[-1] + n_nodes)
            else:
                self.free[-1] += n_nodes

    def earliest(self, n_nodes: int, duration_s: float, from_s: float) -> float:
        """Return the first time >= from_s with n_nodes free for duration_s; inf if never."""
        times, free = self.times, self.free
        k = max(0, bisect_right(times, from_s) - 1)
        start = max(from_s, times[k])
        while k < len(times):
            if free[k] < n_nodes:
                k += 1
                if k < len(times):
                    start = times[k]
                continue
            end = start + duration_s
            short = k + 1
            while short < len(times) and times[short] < end and free[short] >= n_nodes:
                short += 1
            if short == len(times) or times[short] >= end:
                return start
            k = short
        return float("inf")

    def take(self, n_nodes: int, start_s: float, duration_s: float) -> None:
        """Take n_nodes for ``[start_s, start_s + duration_s)``; negative gives them back."""
        first = self._split(start_s)
        last = self._split(start_s + duration_s)
        for k in range(first, last):
            self.free[k] -= n_nodes

    def next_change(self, after_s: float) -> float:
        """Return the next time at which the number of free nodes changes; inf if there is none."""
        times, free = self.times, self.free
        k = bisect_right(times, after_s)
        while k < len(times) and free[k] == free[k - 1]:
            k += 1
        return times[k] if k < len(times) else float("inf")

    def _split(self, time_s: float) -> int:
        """Return the index of the step that begins at time_s, made if it is not there."""
        k = bisect_left(self.times, time_s)
        if k == len(self.times) or self.times[k] != time_s:
            self.times.insert(k, time_s)
            self.free.insert(k, self.free[k - 1])
        return k


class ConservativeBackfill(Backfill):
    """Conservative backfilling; see the module's text.

    Of the first jobs that cannot start, so many have ``reservations`` (None: all). The others start
    where they delay none of these. 1 is EASY by node count, 0 is first fit.
    """

    name = "conservative"
    description = "every job in the window has a reservation, by node count; none delays another's"

    def __init__(
        self,
        machine: Machine,
        queue: WaitingQueue,
        window: int | None,
        start: Start,
        reservations: int | None = None,
    ) -> None:
        super().__init__(machine, queue, window, start)
        self._most = inf if reservations is None else reservations

    def _set_up(self) -> None:
        self._reserved: dict[int, float] = {}

    def run_pass(self, now_s: float) -> None:
        machine, queue = self.machine, self.queue
        due = min(self._reserved.values(), default=inf) <= now_s
        if not (machine.released or queue.changed or due):
            return
        machine.released = False
        queue.changed = False
        waiting = queue.front(now_s)
        profile = self._standing(waiting, now_s)
        n_blocked = 0
        for job in waiting:
            n_nodes, requested = machine.n_nodes[job], machine.requested_s[job]
            if job in self._reserved:
                profile.take(-n_nodes, self._reserved.pop(job), requested)
            start = profile.earliest(n_nodes, requested, now_s)
            if start <= now_s:
                placement = machine.allocate(job, now_s)
                if placement is not None:
                    profile.take(len(placement.nodes), now_s, requested)
                    queue.remove(job)
                    self.start(job)
                    continue
                start = profile.earliest(n_nodes, requested, profile.next_change(now_s))
            self._note_blocked(now_s)
            n_blocked += 1
            if n_blocked > self._most:
                continue
            self._keep(profile, job, start)
            self.promise(job, start)
        if waiting and not machine.by_end:
            n_nodes = machine.n_nodes[queue.head(now_s)]
            raise NetcosimError(
                f"policy {machine.policy.name!r} cannot place {n_nodes} nodes "
                f"on {machine.policy.topology.name} even with every running job released"
            )

    def _standing(self, waiting: list[int], now_s: float) -> Profile:
        """Return the profile of running jobs and earlier reservations, delayed only if needed."""
        machine = self.machine
        # A job past its walltime is expected to end in no time, but it has not ended now.
        soon = nextafter(now_s, inf)
        profile = Profile(
            now_s,
            machine.n_free,
            ((max(end, soon), len(machine.placements[job].nodes)) for end, job in machine.by_end),
        )
        first = waiting[: int(min(self._most, len(waiting)))]
        kept = {job: self._reserved[job] for job in first if job in self._reserved}
        self._reserved = {}
        for job in sorted(kept, key=lambda job: (kept[job], job)):
            n_nodes, requested = machine.n_nodes[job], machine.requested_s[job]
            start = profile.earliest(n_nodes, requested, max(kept[job], now_s))
            self._keep(profile, job, start)
        return profile

    def _keep(self, profile: Profile, job: int, start_s: float) -> None:
        """Reserve nodes from a start on; inf: no reservation."""
        if start_s < inf:
            profile.take(self.machine.n_nodes[job], start_s, self.machine.requested_s[job])
            self._reserved[job] = start_s
