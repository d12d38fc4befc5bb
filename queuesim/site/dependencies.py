"""Jobs that wait for other jobs: Slurm's after, afterok, afterany and afternotok.

A job is *eligible* when all that it waits for has happened: "after" a job, once that has started
(or never will); "afterany", once it is over; "afterok", once it has ended well; "afternotok", once
it has ended badly. A job that waits for what can never happen never runs, and is over itself.
A think time (SWF, field 18) passes between that instant and the job's submission.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from workloads.dependencies import refuse_cycles
from workloads.details import DEPENDENCY_KINDS
from workloads.job import Workload

AFTER, AFTER_OK, AFTER_ANY, AFTER_NOT_OK = range(len(DEPENDENCY_KINDS))
WELL = "completed"
"""The status of a job that ended successfully; jobs without a status count as successful."""


class DependencyRule:
    """Unfinished dependencies of the jobs of a workload, by index.

    ``n_jobs`` wait for others. ``n_outside`` dependencies on jobs that are not in the workload
    count as satisfied. ``think_s`` (n,) is the time from the instant at which all that a job waits
    for has happened to its submission.
    """

    def __init__(self, workload: Workload) -> None:
        n = len(workload)
        self._unmet = [0] * n
        self._waiters: dict[int, list[tuple[int, int]]] = {}
        self._begun: set[int] = set()
        self._dead: set[int] = set()
        self._ends_well = _ends_well(workload)
        self.n_outside = 0
        self.think_s = np.zeros(n)
        if workload.details.think_s is not None:
            self.think_s = np.nan_to_num(workload.details.think_s)
        given = workload.details.dependency
        waits = np.zeros(n, dtype=bool) if given is None else given.known
        self.n_jobs = int(waits.sum())
        if given is None or not self.n_jobs:
            return
        index = {number: job for job, number in enumerate(workload.job_id.tolist())}
        for job in np.flatnonzero(waits).tolist():
            for k in range(int(given.ptr[job]), int(given.ptr[job + 1])):
                other = index.get(int(given.job[k]))
                if other is None:
                    self.n_outside += 1
                    continue
                self._waiters.setdefault(other, []).append((job, int(given.kind[k])))
                self._unmet[job] += 1
        refuse_cycles(workload, workload.name)

    def waits(self, job: int) -> bool:
        """Return whether a job still waits, or will for ever."""
        return self._unmet[job] > 0 or job in self._dead

    def started(self, job: int) -> list[int]:
        """Record a start; return the newly eligible jobs."""
        if job in self._begun or job not in self._waiters:
            return []
        self._begun.add(job)
        return self._met(k for k, kind in self._waiters[job] if kind == AFTER)

    def over(self, job: int, well: bool) -> tuple[list[int], list[int]]:
        """Process a job that has ended, or never will run; return newly eligible jobs and those
        that never run because of it.

        ``well``: it ran to its end here. The logged status is checked in addition.
        """
        if job not in self._waiters:
            return [], []
        well = well and bool(self._ends_well[job])
        met = {AFTER_ANY, AFTER_OK if well else AFTER_NOT_OK}
        eligible = [] if job in self._begun else self.started(job)
        dead = []
        for waiter, kind in self._waiters[job]:
            if waiter in self._dead or kind == AFTER:
                continue
            if kind in met:
                eligible += self._met([waiter])
            else:
                self._dead.add(waiter)
                dead.append(waiter)
        return [waiter for waiter in eligible if waiter not in self._dead], dead

    def _met(self, waiters: Iterable[int]) -> list[int]:
        eligible = []
        for job in waiters:
            self._unmet[job] -= 1
            if not self._unmet[job] and job not in self._dead:
                eligible.append(job)
        return eligible


def _ends_well(workload: Workload) -> NDArray[np.bool_]:
    """Return whether each job ended well according to the log, (n,)."""
    status = workload.details.status
    if status is None:
        return np.ones(len(workload), dtype=bool)
    well = np.array([name == WELL for name in status.names] + [True])  # -1: not logged
    return np.asarray(well[status.code])
