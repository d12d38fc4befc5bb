"""EASY backfilling with a reservation of nodes and links.

Skovira et al. 1996; a look-ahead window may bound it (Jigsaw, HPDC'21, section 5.4.3: 50).
The head job, when it cannot be placed, gets one reservation: its *shadow time*, the
earliest time at which it could be placed if all running jobs ended as promised, and the
placement found for it there, which is held. A job behind the head may start now if it
ends by the shadow time (then it may use anything free), or if it can be placed off the
held nodes and links. So no backfilled job can delay the head past its shadow time.

Where a policy depends only on the number of free nodes (``counts_only``), any nodes fit the head;
nothing is held, and a job that runs past the shadow time may take the *extra* nodes
that the head leaves free then. This is the textbook rule.

A job without a limit has no promised end. A head that needs its nodes has a shadow time of inf:
it cannot be delayed, so any job that fits may start.
"""

from __future__ import annotations

from dataclasses import dataclass

from queuesim.backfilling.backfill import Backfill


@dataclass
class Reservation:
    """Reservation of the head job."""

    job: int
    shadow_s: float
    extra: int
    """Nodes that jobs which run past the shadow time may take: what the head leaves free then
    (``counts_only`` policies), or all (the others; what is held limits them)."""


class EasyBackfill(Backfill):
    """EASY; see the module's text.

    A reservation is found when a pass first meets a job behind the head that is no larger than the
    free nodes. It is kept until the head changes, a job starts as head, a job ends before its
    promised end, or, once the shadow time has passed with the head still waiting, one ends or runs
    past its promised end. A pass looks at the first ``window`` jobs behind the head.
    """

    name = "easy"
    description = "EASY: later jobs may start if they cannot delay the head of the queue"
    _reservation: Reservation | None = None

    def run_pass(self, now_s: float) -> None:
        machine, queue = self.machine, self.queue
        before = machine.n_running
        head = self.start_heads(now_s)
        if machine.n_running > before:
            # Jobs that moved ahead of the reserved one may have started on its nodes.
            self._reservation = None
        if head is None:
            return
        kept = self._kept(head, now_s)
        if kept is not None and not machine.released and not queue.changed:
            return  # the same jobs failed on the same state
        machine.released = False
        queue.changed = False
        self._reservation = kept
        few = queue.few_behind(now_s)
        if few is not None:
            self._try_all(few, head, now_s)
            return
        if self._reservation is None:
            if next(queue.candidates(now_s, machine.small_enough()), None) is None:
                return
            self._reservation = self._reserve(head, now_s)
        reservation = self._reservation
        latest_end_s = machine.latest_end_s(reservation.shadow_s, reservation.extra)
        for job in queue.candidates(now_s, latest_end_s):
            state = machine.state
            if self._may_start(job, now_s, reservation):
                queue.remove(job)
                self.start(job)
            if machine.state != state:
                latest_end_s[:] = machine.latest_end_s(reservation.shadow_s, reservation.extra)
            else:
                machine.note_failure(latest_end_s, job, reservation.shadow_s)

    def _try_all(self, jobs: list[int], head: int, now_s: float) -> None:
        """Try jobs one by one; a few take less time so than by arrays."""
        machine, reservation = self.machine, self._reservation
        for job in jobs:
            if machine.n_nodes[job] > machine.n_free:
                continue
            if reservation is None:
                reservation = self._reservation = self._reserve(head, now_s)
            if self._may_start(job, now_s, reservation):
                self.queue.remove(job)
                self.start(job)

    def _kept(self, head: int, now_s: float) -> Reservation | None:
        """Return the present reservation if nothing relevant has changed."""
        reservation = self._reservation
        if (
            reservation is None
            or reservation.job != head
            or self.machine.forecast_broken
            or self.machine.overrun_since(reservation.shadow_s, now_s)
        ):
            return None
        return reservation

    def _reserve(self, head: int, now_s: float) -> Reservation:
        machine = self.machine
        machine.forecast_broken = False
        if machine.policy.counts_only:
            shadow, free, _ = machine.shadow_count(machine.n_nodes[head], now_s)
            extra = free - machine.n_nodes[head]
        else:
            machine.hold(None)
            shadow, placement = machine.shadow_placement(head, now_s)
            machine.hold(placement)
            extra = machine.policy.topology.n_nodes
        machine.shadow_s = shadow
        self.promise(head, shadow)
        return Reservation(head, shadow, extra)

    def _may_start(self, job: int, now_s: float, reservation: Reservation) -> bool:
        """Try to place a job behind the head without harm to the head."""
        machine = self.machine
        if now_s + machine.requested_s[job] <= reservation.shadow_s:
            return machine.allocate(job, now_s) is not None
        if not machine.policy.counts_only:
            return machine.allocate(job, now_s, respect_hold=True) is not None
        n_nodes = machine.n_nodes[job]
        if n_nodes > reservation.extra or machine.allocate(job, now_s) is None:
            return False
        reservation.extra -= n_nodes
        return True
