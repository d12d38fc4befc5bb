"""Estimated walltimes for the allocator, used only for placement.

Walltime-aware placement (Tang et al.) puts jobs that end together side by side. What it
is passed may be the user's request, a corrected request (AdjEst) or the truth (ActRun).
Reservations and orders always use the request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.parameters import check_values
from workloads.job import Workload


class Estimates(ABC):
    """Estimated run times of the jobs of a workload, by index."""

    @abstractmethod
    def walltime_s(self, job: int) -> float:
        """Return the estimated run time, > 0; called when the job is about to be placed."""

    def completed(self, job: int, run_s: float) -> None:
        """Learn from a job that has ended after run_s."""
        return


class EstimateModel(ABC):
    """A choice of estimates; subclasses are frozen dataclasses of their parameters."""

    registered_in: ClassVar[str] = "queuesim.registry:ESTIMATES"

    name: str
    description: str

    @classmethod
    def after(cls, history: Callable[[], Workload | None]) -> EstimateModel:
        """Return the model after some jobs; only a model that learns calls ``history``."""
        return cls()

    @abstractmethod
    def prepare(self, workload: Workload) -> Estimates:
        """Bind to a workload."""


class _Fixed(Estimates):
    def __init__(self, walltime_s: NDArray[np.float64]) -> None:
        self._all_s = walltime_s

    @cached_property
    def _listed_s(self) -> list[float]:
        """For queues that place jobs: a list is read faster, but most compiled ones need none."""
        listed_s: list[float] = self._all_s.tolist()
        return listed_s

    def walltime_s(self, job: int) -> float:
        return self._listed_s[job]


@dataclass(frozen=True)
class Requested(EstimateModel):
    """The user's request."""

    name = "requested"
    description = "the requested walltime"

    def prepare(self, workload: Workload) -> Estimates:
        return _Fixed(workload.requested_s)


@dataclass(frozen=True)
class Actual(EstimateModel):
    """The logged run time: the ideal case (ActRun of Tang et al.)."""

    name = "actual"
    description = "the logged run time, as if known beforehand (ActRun)"

    def prepare(self, workload: Workload) -> Estimates:
        return _Fixed(workload.run_time_s)


Group = tuple[int, ...]


class _Adjusted(Estimates):
    """Keeps the latest accuracies of four kinds of groups and of all jobs."""

    def __init__(self, workload: Workload, recent: int) -> None:
        self._requested = workload.requested_s.tolist()
        # A size class is a power of two, as Blue Gene partitions are: 2^(k-1) < nodes <= 2^k.
        size_class = np.ceil(np.log2(workload.n_nodes)).astype(int).tolist()
        user, project = workload.user.tolist(), workload.project.tolist()
        self._who = list(zip(user, project, size_class, strict=True))
        self._recent = recent
        self._accuracy: dict[Group, deque[float]] = {}

    def _groups(self, job: int) -> list[Group]:
        """Return a job's groups, narrowest first; unknown users and projects form no group."""
        user, project, size = self._who[job]
        groups: list[Group] = []
        if user >= 0 and project >= 0:
            groups += [(0, user, project, size), (1, user, project)]
        if user >= 0:
            groups.append((2, user))
        if project >= 0:
            groups.append((3, project))
        return [*groups, (4,)]

    def completed(self, job: int, run_s: float) -> None:
        accuracy = min(run_s / self._requested[job], 1.0)
        if not accuracy:
            return  # of a job without a limit
        for group in self._groups(job):
            known = self._accuracy.get(group)
            if known is None:
                known = self._accuracy[group] = deque(maxlen=self._recent)
            known.append(accuracy)

    def walltime_s(self, job: int) -> float:
        requested: float = self._requested[job]
        for group in self._groups(job):
            known = self._accuracy.get(group)
            if known:
                return requested * sum(known) / len(known)
        return requested


@dataclass(frozen=True)
class Adjusted(EstimateModel):
    """The request times the mean accuracy of like jobs that have ended (AdjEst).

    Accuracy is run time over request, at most 1. Like jobs are the ``recent`` latest of the same
    user, project and size class, falling back to user and project, user, project, and all. The
    paper's own code is not public; this is the rule of the work it cites.
    """

    name = "adjusted"
    description = "the request corrected by the accuracy of like jobs before (AdjEst)"
    recent: Annotated[int, "how many jobs of a group count", Ge(1)] = 20
    """How many jobs of a group count."""
    history: Workload | None = None
    """Jobs before the simulated ones (the paper: two months) to learn from."""

    def __post_init__(self) -> None:
        check_values(f"estimates {self.name}", self)

    @classmethod
    def after(cls, history: Callable[[], Workload | None]) -> Adjusted:
        """Return the model that has learnt from the jobs before."""
        return cls(history=history())

    def prepare(self, workload: Workload) -> Estimates:
        estimates = _Adjusted(workload, self.recent)
        if self.history is not None:
            past = _Adjusted(self.history, self.recent)
            for job in np.argsort(self.history.submit_s + self.history.run_time_s, kind="stable"):
                past.completed(int(job), float(self.history.run_time_s[job]))
            estimates._accuracy = past._accuracy
        return estimates
