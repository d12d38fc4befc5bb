"""Starts as the log has them: with the placements it records, the schedule that really was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from queuesim.backfilling.backfill import Backfill
from workloads.job import Workload


class LoggedStarts(Backfill):
    """Starts jobs at their logged times, or as soon afterwards as their nodes are free.

    A job enters the queue at its logged start (submission plus logged wait; at its submission
    where the log has no wait). In a pass all that are in the queue are tried in order, and no job
    holds another up.
    """

    name = "as-logged"
    description = "jobs start at their logged times, or as soon afterwards as nodes are free"

    def enters_s(self, workload: Workload) -> NDArray[np.float64]:
        if len(workload) and np.isnan(workload.wait_s).all():
            raise NetcosimError(
                f"backfill 'as-logged' needs the log's waits, and {workload.name} has none"
            )
        return np.asarray(workload.submit_s + np.nan_to_num(workload.wait_s), dtype=np.float64)

    def run_pass(self, now_s: float) -> None:
        machine, queue = self.machine, self.queue
        if not (machine.released or queue.changed):
            return
        machine.released = False
        queue.changed = False
        for job in queue.front(now_s):
            if machine.n_free == 0:
                break
            if machine.allocate(job, now_s) is not None:
                queue.remove(job)
                self.start(job)
        if len(queue):
            self._note_blocked(now_s)
