"""One simulation of a queue with dependencies between jobs, and nodes that fail.

Jobs that wait for others join the queue when they are eligible. When nodes fail, the jobs on
them are over, or go back to the queue and begin anew; a job that ends in that very instant has
ended. A job that can never become eligible never runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from queuesim.result import COMPLETED, CUT, FAILED, NEVER_RUN
from queuesim.run import Run, SimProcess, delay
from queuesim.site.access import Access
from queuesim.site.dependencies import Dependencies
from queuesim.site.node_sets import NodeSetMachine


class RuledRun(Run):
    """See the module's text; built as `queuesim.run.Run`, then `under`."""

    dependencies: Dependencies | None = None
    access: Access | None = None
    requeues = False
    n_requeued = 0

    def under(
        self, dependencies: Dependencies | None, access: Access | None, requeues: bool
    ) -> None:
        """Return what jobs wait for, which nodes are out when, and what happens to their jobs."""
        self.dependencies = dependencies
        self.access = access
        self.requeues = requeues
        self._submitted: set[int] = set()
        self._eligible: list[int] = []

    def _begin(self) -> None:
        if self.access is not None and self.access.windows:
            self.env.process(self._outages(self.access))
        super()._begin()

    def _arrived(self, job: int) -> None:
        self._submitted.add(job)
        if self.dependencies is None or not self.dependencies.waits(job):
            super()._arrived(job)

    def _started(self, job: int) -> None:
        super()._started(job)
        if self.dependencies is not None:
            self._eligible += self.dependencies.started(job)

    def _settle(self) -> None:
        super()._settle()
        if self._eligible:
            # they waited for a start; they join when the pass is over, and there is another
            self._join(self._eligible)
            self._eligible = []
            self.due = True

    def _join(self, jobs: list[int]) -> None:
        """Jobs are eligible now."""
        for job in jobs:
            self.eligible_s[job] = max(self.env.now, self.workload.submit_s[job])
            if job in self._submitted:
                self.scheduler.push(job, self.env.now)

    def _done(self, job: int) -> None:
        over = [job]
        while over:
            job = over.pop()
            if self.dependencies is not None:
                well = self.outcome[job] == COMPLETED
                eligible, dead = self.dependencies.over(job, bool(well))
                self._join(eligible)
                self.outcome[dead] = NEVER_RUN
                self.eligible_s[dead] = np.nan
                over += dead
            super()._done(job)

    def _outages(self, access: Access) -> SimProcess:
        """Windows begin and end; an end comes before a beginning of the same instant."""
        env = self.env
        begin = [(w.start_s, True, k) for k, w in enumerate(access.windows)]
        end = [(w.end_s, False, k) for k, w in enumerate(access.windows)]
        for time_s, begins, number in sorted(begin + end):
            if time_s > env.now:
                yield env.timeout(delay(env.now, time_s))
            if begins:
                access.begins(number)
                if access.windows[number].failure:
                    self._fail(access.windows[number].nodes)
            else:
                access.ends(number)
            self.machine.released = True
            self.due = True

    def _fail(self, nodes: np.ndarray) -> None:
        """End the jobs on nodes that fail, or send them back."""
        now = self.env.now
        assert isinstance(self.machine, NodeSetMachine)
        self.machine.failed(nodes)
        hit = [job for job in self.running if nodes[self.machine.placements[job].nodes].any()]
        for job in hit:
            if self.running[job].ends_s <= now:
                continue
            self._leave(job)
            if self.requeues:
                self.n_requeued += 1
                self.start_s[job] = self.end_s[job] = np.nan
                self.scheduler.push(job, now)
            else:
                self.outcome[job] = FAILED
                self._done(job)
        if self.requeues and hit:
            # a job that begins anew in this very instant must have left before
            self._change(self.run_times.settle(now))

    def reports(self) -> Mapping[str, Mapping[str, float]]:
        """Return the rules' counts: a row of the table ``queue_rules``."""
        ran = self.outcome != NEVER_RUN
        wait_s = np.maximum(self.start_s - self.workload.submit_s, 0.0)[ran]
        from_eligible_s = np.maximum(self.start_s - self.eligible_s, 0.0)[ran]
        waits = self.dependencies
        row = {
            "never_run_jobs": int((~ran).sum()),
            "cut_jobs": int((self.outcome == CUT).sum()),
            "failed_jobs": int((self.outcome == FAILED).sum()),
            "requeued": self.n_requeued,
            "dependent_jobs": 0 if waits is None else waits.n_jobs,
            "dependencies_outside": 0 if waits is None else waits.n_outside,
            "mean_wait_s": float(wait_s.mean()) if ran.any() else np.nan,
            "mean_wait_from_eligible_s": float(from_eligible_s.mean()) if ran.any() else np.nan,
        }
        return {"queue_rules": row}
