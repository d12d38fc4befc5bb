"""The account of interrupted jobs: what each has saved, and what its runs cost."""

from __future__ import annotations

import numpy as np

from queuesim.result import TimeSpent
from queuesim.site.checkpoints import Checkpoints


class Interruptions:
    """What jobs have saved, and what the time of their runs was spent on."""

    def __init__(self, n_jobs: int, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._work_s = np.zeros(n_jobs)
        self._saved_s = np.zeros(n_jobs)
        self.spent = TimeSpent.nothing(n_jobs)

    def planned_s(self, job: int, work_s: float) -> float:
        """Return what a run that begins now needs, of a job with so much work in all.

        Where a job's work depends on its placement, what it has saved is the same share of it.
        """
        saved_s = self._saved_s[job]
        if saved_s and work_s != self._work_s[job]:
            saved_s *= work_s / self._work_s[job]
            self._saved_s[job] = saved_s
        self._work_s[job] = work_s
        return float(sum(self._checkpoints.planned(work_s - saved_s, restarts=self._restarts(job))))

    def left(self, job: int, remaining_s: float, held_s: float, *, completed: bool) -> None:
        """Record the end of a run, completed or with so much of its plan remaining."""
        left_s, restarts = self._work_s[job] - self._saved_s[job], self._restarts(job)
        run = self._checkpoints.planned(left_s, restarts=restarts)
        if not completed:
            run = self._checkpoints.spent(sum(run) - remaining_s, left_s, restarts=restarts)
        for name, time_s in (*run._asdict().items(), ("contention_s", held_s - sum(run))):
            getattr(self.spent, name)[job] += time_s
        self._saved_s[job] += run.useful_s

    def sent_back(self, job: int, held_s: float, *, preempted: bool) -> None:
        """Record that a job whose run has ended goes back to the queue."""
        self.spent.earlier_s[job] += held_s
        (self.spent.preempted if preempted else self.spent.failed)[job] += 1

    def walltime_s(self, job: int, requested_s: float) -> float:
        """Return the walltime of the next run of a job that goes back to the queue."""
        return self._checkpoints.walltime_s(requested_s, float(self._saved_s[job]))

    def _restarts(self, job: int) -> bool:
        return bool(self.spent.preempted[job] or self.spent.failed[job])
