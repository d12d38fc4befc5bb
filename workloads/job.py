"""A job, and a log of jobs, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netsim.short_repr import short_repr
from workloads.details import JobDetails

NODE_FIELDS = {"allocated": 5, "requested": 8}
"""Which field gives a job's size, by name; the other one does where it is missing."""
MAX_TIME_S = 1e12
"""Largest time that is read, 30,000 years; a float still resolves 0.1 ms there."""
UNITS = NODE, GPU = ("node", "gpu")


@short_repr()
@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs as columns, sorted by submit time (ties: as in the log)."""

    name: str
    job_id: NDArray[np.int64]
    """(n,) int64. As in the log."""
    submit_s: NDArray[np.float64]
    """(n,) float64. From the log's start."""
    run_time_s: NDArray[np.float64]
    """(n,) float64. > 0."""
    n_nodes: NDArray[np.int32]
    """(n,) int32. >= 1."""
    requested_s: NDArray[np.float64]
    """(n,) float64. > 0. Requested walltime; inf where the log has none (`limits_of`)."""
    user: NDArray[np.int32]
    project: NDArray[np.int32]
    """user, project: (n,) int32. -1 where the log has none."""
    wait_s: NDArray[np.float64]
    """(n,) float64. As logged; nan where the log has none."""
    dropped: dict[str, int] = field(default_factory=dict)
    """How many of the log's jobs were left out, by reason."""
    notes: tuple[str, ...] = ()
    """Notes of the reader for the user ("no walltime is requested for 5 of 9 jobs ...")."""
    start_unix_s: float | None = None
    """Time 0 in Unix time; None where the log does not have it."""
    details: JobDetails = field(default_factory=JobDetails)
    """Further data of the jobs: partitions, nodes, dependencies, patterns."""

    def __len__(self) -> int:
        return len(self.job_id)

    @cached_property
    def sizes(self) -> list[int]:
        """The numbers of nodes that occur, in order."""
        found: list[int] = np.unique(self.n_nodes).tolist()
        return found


def bare_jobs(
    name: str,
    *,
    submit_s: NDArray[np.float64],
    run_time_s: NDArray[np.float64],
    n_nodes: NDArray[np.integer],
    requested_s: NDArray[np.float64],
    job_id: NDArray[np.integer] | None = None,
    dropped: dict[str, int] | None = None,
) -> Workload:
    """Return the jobs of which nothing else is known: no users, no projects, no waits."""
    n = len(submit_s)
    return Workload(
        name=name,
        job_id=np.asarray(np.arange(1, n + 1) if job_id is None else job_id, dtype=np.int64),
        submit_s=submit_s,
        run_time_s=run_time_s,
        n_nodes=n_nodes.astype(np.int32),
        requested_s=requested_s,
        user=np.full(n, -1, dtype=np.int32),
        project=np.full(n, -1, dtype=np.int32),
        wait_s=np.full(n, np.nan),
        dropped=dropped or {},
    )


def limits_of(requested_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return walltimes: as requested, inf where none above 0 is (unlimited, inherited, missing)."""
    return np.where(requested_s > 0, requested_s, np.inf)


def limit_notes(walltime_s: NDArray[np.float64]) -> tuple[str, ...]:
    """Return a note on how many jobs have no walltime; empty if all have one."""
    n, count = len(walltime_s), int(np.count_nonzero(np.isinf(walltime_s)))
    if not count:
        return ()
    return (f"no walltime is requested for {share_text(count, n)}",)


def share_text(count: int, n: int) -> str:
    """Format so many of n jobs.

    Examples
    --------
    >>> share_text(82437, 121039)
    '82,437 of 121,039 jobs (68 %)'
    """
    return f"{count:,} of {n:,} jobs ({float(f'{100 * count / n:.2g}'):g} %)"
