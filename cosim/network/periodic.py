"""Jobs that repeat an iteration of computing and communication, and share links: a fluid model.

An iteration computes for `lead_s`, then communicates, and computes beside it for `hidden_s`. It
ends when both have ended. At full speed communication takes `comm_s`, and uses a constant part of
the bandwidth of each of its links. Jobs that want more than a link has get speeds that are max-min
fair over jobs; under strict priorities the highest goes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cosim.network import kernels_periodic
from cosim.network.isolated_loops import FEW_JOBS
from cosim.parameters import PHASES
from netsim.errors import NetcosimError
from netsim.kinds import RNG, need_array, need_kinds, need_real
from netsim.limits import MAX_INDEX
from netsim.topologies.checks import need_int

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PERIODS = 30
"""How long a group is simulated, in isolated iterations of the slowest job."""
WARM_UP = 0.2
"""Part of the time, at the begin, that does not count."""
SLACK = 1e-9
"""Jobs that want this much more than a link has still fit."""
_MOST_ENDS = 1 << 16
MAX_ITERATIONS = 10**8
"""Of a job while a group is simulated, some ten seconds."""
MAX_S = 1e12
"""Longest time of a plan."""


@dataclass(frozen=True, eq=False)
class PeriodicJob:
    """A placed job that iterates."""

    lead_s: float
    """Computing before communication, at least 0."""
    comm_s: float
    """Isolated communication time of an iteration, above 0."""
    hidden_s: float
    """Time from the start of communication for which an iteration lasts in any case."""
    links: NDArray[np.integer]
    """(k,) int. Links that it loads, ascending."""
    busy_s: FloatArray
    """(k,) float64. Time for which an iteration keeps each of them busy, at most ``comm_s``."""
    gpus: int = 1
    computing_s: float | None = None
    """Computing of a GPU in an iteration; ``lead_s`` if None."""

    def __post_init__(self) -> None:
        where = "periodic job"
        for what in ("lead_s", "hidden_s", "computing_s"):
            if what != "computing_s" or self.computing_s is not None:
                need_real(where, what, getattr(self, what), 0)
        most_s = need_real(where, "comm_s", self.comm_s, 1e-300) * (1 + SLACK)
        need_int(where, "gpus", self.gpus, 1)
        n = len(need_array(where, "links", self.links))
        busy_s = need_array(where, "busy_s", self.busy_s, n, high=most_s, real=True)
        object.__setattr__(self, "busy_s", busy_s)

    @property
    def iteration_s(self) -> float:
        """Isolated time of an iteration."""
        return self.lead_s + max(self.comm_s, self.hidden_s)

    @property
    def work_s(self) -> float:
        """Computing of all its GPUs in an iteration, in GPU-seconds."""
        return self.gpus * (self.lead_s if self.computing_s is None else self.computing_s)


@dataclass(frozen=True, eq=False)
class JobGroup:
    """Jobs and the links on which they can hinder each other."""

    jobs: Sequence[PeriodicJob]
    ptr: IntArray
    link: IntArray
    use: FloatArray
    """ptr, link, use: Job j uses the part ``use[i]`` of ``link[i]`` while it communicates at full
    speed, for i in ``ptr[j] .. ptr[j+1]-1``. Only links that all jobs together can overload are
    listed, and none on which each job uses at most as much as on another one."""
    n_links: int

    @classmethod
    def of(cls, jobs: Sequence[PeriodicJob]) -> JobGroup:
        """Return the group of some jobs."""
        if not jobs:
            raise NetcosimError("job group: no jobs; at least one is needed")
        named = {f"jobs[{number}]": (job, PeriodicJob) for number, job in enumerate(jobs)}
        need_kinds("job group", named)
        counts = [len(job.links) for job in jobs]
        owner = np.repeat(np.arange(len(jobs)), counts)
        _, column = np.unique(
            np.concatenate([np.empty(0, dtype=np.int64), *(job.links for job in jobs)]),
            return_inverse=True,
        )
        n = int(column.max(initial=-1)) + 1
        wanted = np.zeros((n, len(jobs)))
        wanted[column.ravel(), owner] = np.concatenate(
            [np.empty(0), *(job.busy_s / job.comm_s for job in jobs)]
        )
        users = np.count_nonzero(wanted, axis=1)
        shared = wanted[(wanted.sum(axis=1) > 1 + SLACK) & (users > 1)]
        rows = _decisive(shared).T
        job, link = np.nonzero(rows)
        ptr = np.searchsorted(job, np.arange(len(jobs) + 1))
        return cls(jobs, ptr, link, rows[job, link], rows.shape[1])

    @cached_property
    def times_s(self) -> FloatArray:
        """(n, 3): ``lead_s``, ``comm_s`` and ``hidden_s`` of each job."""
        return np.array([(job.lead_s, job.comm_s, job.hidden_s) for job in self.jobs])

    @cached_property
    def iteration_s(self) -> FloatArray:
        """(n,) isolated time of an iteration."""
        return np.array([job.iteration_s for job in self.jobs])

    @cached_property
    def users(self) -> list[tuple[IntArray, FloatArray]]:
        """By link: the jobs on it, and the part of it that each uses."""
        order = np.argsort(self.link, kind="stable")
        job = np.repeat(np.arange(len(self.jobs)), np.diff(self.ptr))[order]
        ends = np.searchsorted(self.link[order], np.arange(1, self.n_links))
        return list(zip(np.split(job, ends), np.split(self.use[order], ends), strict=True))

    def key(self) -> bytes:
        """Return the content: groups with equal keys behave alike."""
        work = [job.work_s for job in self.jobs]
        parts = self.times_s, np.array(work), self.ptr, self.link, self.use
        return b"".join(part.tobytes() for part in parts)


def _decisive(wanted: FloatArray) -> FloatArray:
    """Return the rows of (links, jobs) that no other row is at least as large as everywhere.

    In the order of their values, so that equal groups are equal whatever their links' numbers.
    """
    rows = np.unique(wanted.round(12), axis=0)
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    kept: NDArray[np.bool_] = kernels_periodic.undominated(rows, order)
    return rows[kept]


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """What a network scheduler decides for the jobs of a group."""

    priority: IntArray
    """(n,) int. The highest is served first."""
    start_s: FloatArray
    """(n,) float64. When a job's iterations begin; nan: at random in its first iteration."""
    pace_s: FloatArray
    """(n,) float64. An iteration begins at least so long after the one before; 0: when that has
    ended."""

    def __post_init__(self) -> None:
        where = "network plan"
        priority = need_array(where, "priority", self.priority, low=-MAX_INDEX).astype(np.int64)
        n = len(priority)
        start_s = need_array(where, "start_s", self.start_s, n, high=MAX_S, real=True, nan=True)
        pace_s = need_array(where, "pace_s", self.pace_s, n, high=MAX_S, real=True)
        object.__setattr__(self, "priority", priority)
        object.__setattr__(self, "start_s", start_s.astype(np.float64))
        object.__setattr__(self, "pace_s", pace_s.astype(np.float64))

    @classmethod
    def without(cls, n_jobs: int) -> NetworkPlan:
        """Return equal priorities, random phases and no gates."""
        need_int("network plan", "n_jobs", n_jobs, 0, MAX_INDEX)
        return cls(np.zeros(n_jobs, dtype=np.int64), np.full(n_jobs, np.nan), np.zeros(n_jobs))


def iteration_times_s(
    group: JobGroup,
    plan: NetworkPlan,
    rng: np.random.Generator,
    *,
    periods: int = PERIODS,
    phases: int = PHASES,
) -> FloatArray:
    """Return the mean time of an iteration of each job; the generator draws phases that are open.

    The slowest job has so many ``periods``. One that completes fewer than two that count, behind
    higher priorities, never ends: inf. For two or three jobs it is the mean of so many random
    phases.
    """
    need_kinds("iteration_times_s", {"group": (group, JobGroup), "plan": (plan, NetworkPlan)})
    need_kinds("iteration_times_s", {"rng": (rng, RNG)})
    n = len(group.jobs)
    need_array("network plan", "priority", plan.priority, n, low=-MAX_INDEX)
    need_int("iteration_times_s", "periods", periods, 1)
    need_int("iteration_times_s", "phases", phases, 1)
    level = np.unique(-plan.priority, return_inverse=True)[1].ravel()
    until_s = periods * float(np.maximum(group.iteration_s, plan.pace_s).max())
    # Invariant: the kernel ends; each iteration takes its isolated time at least.
    if until_s > MAX_ITERATIONS * group.iteration_s.min():
        raise NetcosimError(
            f"network plan: {until_s:.3g} s with iterations of {group.iteration_s.min():.3g} s; at "
            f"most {MAX_ITERATIONS:,} iterations of a job are simulated"
        )
    most = int(min(_MOST_ENDS, np.ceil(until_s / group.iteration_s.min()) + 1))
    drawn = np.isnan(plan.start_s)
    left, load = np.empty(group.n_links), np.empty(group.n_links)
    links = kernels_periodic.Links(group.ptr, group.link, group.use, left, load)
    speed = []
    for _ in range(phases if drawn.any() and 1 < n <= FEW_JOBS else 1):
        start_s = np.where(drawn, rng.random(n) * group.iteration_s, plan.start_s)
        ends_s = np.full((n, most), np.inf)
        done = kernels_periodic.iterate(
            group.times_s, plan.pace_s, start_s, level, links, until_s, ends_s
        )
        speed.append(_speeds(ends_s, np.minimum(done, most), WARM_UP * until_s))
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.mean(speed, axis=0), dtype=np.float64)


def _speeds(ends_s: FloatArray, done: IntArray, warm_up_s: float) -> FloatArray:
    """Return iterations per second of each job, between the first end that counts and the last."""
    found = np.zeros(len(done))
    for j, last in enumerate(done.tolist()):
        first = int(np.searchsorted(ends_s[j, :last], warm_up_s))
        if last - first > 1:
            found[j] = (last - 1 - first) / (ends_s[j, last - 1] - ends_s[j, first])
    return found
