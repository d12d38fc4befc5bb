"""EASY without a hold: the head's placement at its shadow time is found again for each job.

The weaker of two readings of EASY where jobs need certain nodes and links: a job behind the head
may start if it ends by the shadow time, or if the head could still be placed *somewhere* at the
shadow time with that job running. `queuesim.backfilling.easy` holds the nodes and links once found.
"""

from __future__ import annotations

from queuesim.backfilling.easy import EasyBackfill, Reservation


class EasyRetest(EasyBackfill):
    """See the module's text; the same as "easy" where any free nodes will do."""

    name = "easy-retest"
    description = "EASY that tests the head again for each later job, and holds nothing"

    def _reserve(self, head: int, now_s: float) -> Reservation:
        reservation = super()._reserve(head, now_s)
        self.machine.hold(None)
        return reservation

    def _may_start(self, job: int, now_s: float, reservation: Reservation) -> bool:
        machine = self.machine
        if machine.policy.counts_only:
            return super()._may_start(job, now_s, reservation)
        ends = now_s + machine.requested_s[job] <= reservation.shadow_s
        if not ends and machine.delays_head(job):
            return False
        if machine.allocate(job, now_s) is None:
            return False
        if ends or machine.fits_at(reservation.job, reservation.shadow_s, now_s):
            # Those that would have delayed the head may not do so beside this one: check them
            # again.
            self.queue.changed = True
            return True
        machine.withdraw(job)
        return False
