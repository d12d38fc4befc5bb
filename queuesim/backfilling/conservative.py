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
reservations back. A job that others overtake out of the window loses its reservation.
"""

from __future__ import annotations

from math import inf, nextafter

from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill
from queuesim.backfilling.profile import Profile


class ConservativeBackfill(Backfill):
    """Conservative backfilling; see the module's text."""

    name = "conservative"
    description = "every job in the window has a reservation, by node count; none delays another's"

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
            if start == inf:
                raise NetcosimError(
                    f"policy {machine.policy.name!r} cannot place {n_nodes} nodes "
                    f"on {machine.policy.topology.name} even with every running job released"
                )
            self._note_blocked(now_s)
            profile.take(n_nodes, start, requested)
            self._reserved[job] = start
            self.promised_s.setdefault(job, start)

    def _standing(self, waiting: list[int], now_s: float) -> Profile:
        """The profile of running jobs and earlier reservations, delayed only where necessary."""
        machine = self.machine
        # A job past its walltime is expected to end in no time, but it has not ended now.
        soon = nextafter(now_s, inf)
        profile = Profile(
            now_s,
            machine.n_free,
            ((max(end, soon), len(machine.placements[job].nodes)) for end, job in machine.by_end),
        )
        kept = {job: self._reserved[job] for job in waiting if job in self._reserved}
        self._reserved = {}
        for job in sorted(kept, key=lambda job: (kept[job], job)):
            n_nodes, requested = machine.n_nodes[job], machine.requested_s[job]
            start = profile.earliest(n_nodes, requested, max(kept[job], now_s))
            profile.take(n_nodes, start, requested)
            self._reserved[job] = start
        return profile
