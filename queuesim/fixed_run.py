"""A queue whose run times do not change: its events are two sorted lists, and SimPy is not needed.

The passes, the machine and the policy are those of `queuesim.run`, and are called at the same
times in the same order.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

import numpy as np

from netsim.errors import NetcosimError
from queuesim.result import CUT
from queuesim.run import Run, delay


class FixedRun(Run):
    """See the module's text; built as `queuesim.run.Run`, with `queuesim.runtime.FixedRunTimes`."""

    now_s = 0.0

    def run(self) -> None:
        with self.scheduler:
            self._run()

    def _run(self) -> None:
        n = len(self.workload)
        self._ends: list[tuple[float, int, int]] = []  # time, number of the start, job
        self._n_started = 0
        enters_s = self.scheduler.enters_s(self.workload)
        jobs = np.argsort(enters_s, kind="stable")
        times, k = [*enters_s[jobs].tolist(), inf], 0
        self.now_s = self.env.now
        arrives_s = self._after(times[0])
        ends, scheduler = self._ends, self.scheduler
        while self.n_done < n:
            now_s = min(arrives_s, self._after(scheduler.until_s), ends[0][0] if ends else inf)
            if now_s == inf:
                raise NetcosimError(self._stuck(self.now_s))
            self.now_s = now_s
            while ends and ends[0][0] == now_s:
                self._end(heappop(ends)[2])
            if arrives_s == now_s:
                while times[k] <= now_s:
                    scheduler.push(int(jobs[k]), now_s)
                    k += 1
                arrives_s = self._after(times[k])
            if self.n_done < n:
                scheduler.run_pass(now_s)

    def _after(self, time_s: float) -> float:
        """Return when SimPy's clock would reach a time."""
        return self.now_s + delay(self.now_s, time_s) if self.now_s < time_s < inf else time_s

    def _started(self, job: int) -> None:
        now_s, requested_s = self.now_s, self.machine.requested_s[job]
        self._note_start(job, now_s)
        needed_s = self.run_times.work_s(job)
        if now_s + needed_s > now_s + requested_s:
            self.overran[job] = True
            stop_s = now_s + requested_s + (self.grace_s or 0.0)
            if self.grace_s is not None and now_s + needed_s > stop_s:
                self.outcome[job] = CUT
                needed_s = delay(now_s, stop_s)
        heappush(self._ends, (now_s + needed_s, self._n_started, job))
        self._n_started += 1

    def _end(self, job: int) -> None:
        self._note_end(job, self.now_s)
        self._done(job)
