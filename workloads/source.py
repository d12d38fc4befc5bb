"""Jobs as configured: a log or a generator, and the changes to its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.parameters import Example, OneOf, ReadIf
from netsim.units import format_quantity
from workloads import transform
from workloads.formats import LogFormat, Reading, format_of
from workloads.job import NODE, Workload, limit_notes
from workloads.synthetic import laas_workload
from workloads.transform import select

DAY_S = 86_400.0

_OF_PROCESSORS = ("known_log", "processors_per_node", "node_field", "statuses")
"""Parameters that mean something where jobs have processors and statuses."""


def _arrive(made: Any) -> bool:
    """Return whether jobs of a log, or with these keys of ``synthetic``, arrive over time."""
    return made is None or made.load is not None


_IF_THEY_ARRIVE = ReadIf(
    ("synthetic",), _arrive, "jobs arrive over time: workload.log or workload.synthetic.load"
)

_IF_IT_LEAVES_OUT = ReadIf(
    # above 0 it leaves out jobs that arrive at 0
    ("synthetic", "start_s"),
    lambda made, start_s: start_s > 0 or _arrive(made),
    _IF_THEY_ARRIVE.words,
)


@dataclass(frozen=True)
class JobSource(Reading):
    """A log or a generator, and what is done to the jobs, in the order of the parameters."""

    start_s: Annotated[
        float | None,
        "jobs submitted from here on, on the log's clock",
        Ge(0),
        _IF_IT_LEAVES_OUT,
        Example("1 h"),
    ] = None
    end_s: Annotated[float | None, "and before here", Ge(0), _IF_THEY_ARRIVE, Example("30 d")] = (
        None
    )
    month: Annotated[
        str | None,
        'a calendar month (UTC, "2018-10") of a log with a start date',
        Example("2018-10", {"log": "log.swf"}),
    ] = None
    days: Annotated[
        float | None, "the first days of what is left", Gt(0), _IF_THEY_ARRIVE, Example(7.0)
    ] = None
    first_jobs: Annotated[int | None, "the first jobs of what is left", Ge(1), Example(1000)] = None
    arrival_factor: Annotated[
        float,
        "multiplies submit times",
        Gt(0),
        ReadIf(("all_at_zero",), lambda at_zero: not at_zero, "workload.all_at_zero = false"),
        _IF_THEY_ARRIVE,
    ] = 1.0
    size_factor: Annotated[float, "multiplies sizes, rounded up", Gt(0), Example(0.25)] = 1.0
    sizes: Annotated[
        Sequence[int],
        "sizes that the machine gives: a job's is rounded up to the next",
        Ge(1),
        Example([4, 8, 16]),
    ] = ()
    all_at_zero: Annotated[bool, "all jobs are submitted at time 0"] = False
    run_times: Annotated[
        str,
        "as logged, or cut at the walltime",
        OneOf(("logged", "to-walltime")),
        ReadIf(("log",), lambda log: log is not None, "workload.log is given"),
    ] = "logged"
    walltimes: Annotated[
        str,
        "walltime used by the scheduler: the request, or the run time",
        OneOf(("logged", "exact")),
        ReadIf(
            ("synthetic",),
            lambda made: made is None or made.requested_factor is not None,
            "workload.log or workload.synthetic.requested_factor is given",
        ),
    ] = "logged"
    default_limit_s: Annotated[
        float | None,
        "walltime of jobs of the log that request none, as sites set one",
        Gt(0),
        ReadIf(("log",), lambda log: log is not None, "workload.log is given"),
        Example("1 day", {"log": "log.swf"}),
    ] = None
    missing_limits: Annotated[
        str,
        "walltime of jobs that request none, without default_limit: none, so that backfilling "
        "never counts on their end, or their run time",
        OneOf(("none", "run-time")),
        ReadIf(
            ("log", "default_limit_s"),
            lambda log, limit: log is not None and limit is None,
            "workload.log is given, and no workload.default_limit",
        ),
    ] = "none"
    larger_jobs: Annotated[
        str, "jobs that the machine can never hold", OneOf(("error", "drop"))
    ] = "error"
    synthetic: Mapping[str, Any] | None = None
    """Parameters of `workloads.synthetic.laas_workload`, or with a "cluster" those of
    `workloads.gpu_clusters.gpu_cluster_workload`, for jobs that no log gives."""

    def __post_init__(self) -> None:
        if (self.log is None) == (self.synthetic is None):
            raise NetcosimError("give either log or synthetic, the one or the other")
        if self.known_log is not None and self.log is None:
            raise NetcosimError("known_log defines how to read a log; give log too")
        if self.start_s is not None and self.end_s is not None and self.end_s <= self.start_s:
            raise NetcosimError(f"end {self.end_s:g} s; must be after start {self.start_s:g} s")
        if self.month is not None and (self.start_s is not None or self.end_s is not None):
            raise NetcosimError("give either month or start and end, the one or the other")
        if self.month is not None and self.log is None:
            raise NetcosimError("month is for logs; generated jobs have no calendar")

    def jobs(self, machine_nodes: int, rng: np.random.Generator) -> Workload:
        """Return the jobs: read or made, then cut, scaled and filtered.

        Larger jobs than the machine are an error or dropped and counted, depending on
        ``larger_jobs``.
        """
        jobs = self._all(machine_nodes, rng)
        window = self._window_s(jobs)
        if window is not None:
            jobs = _inside(jobs, *window)
        if self.days is not None:
            jobs = _inside(jobs, jobs.submit_s[0], jobs.submit_s[0] + self.days * DAY_S)
        if self.first_jobs is not None:
            jobs = transform.head(jobs, self.first_jobs)
        jobs = self._reshaped(jobs)
        if self.larger_jobs == "drop":
            return transform.refuse_empty(transform.drop_larger(jobs, machine_nodes), jobs)
        return transform.refuse_larger(jobs, machine_nodes)

    def history(self) -> Workload | None:
        """Return the jobs of the log that were over when the window begins; None without one.

        Jobs that are left out for their size or their run time have run all the same, and a
        scheduler has learnt from them.
        """
        windowed = self.month is not None or self.start_s is not None or self.end_s is not None
        if self.log is None or not windowed:
            return None
        every = replace(self, max_nodes=None, min_run_time_s=None)
        jobs = every._all(0, np.random.default_rng(0))
        window = self._window_s(jobs)
        assert window is not None
        return self._reshaped(ended_before(jobs, window[0]))

    def _format(self) -> LogFormat | None:
        """Return the log's format, None for synthetic jobs; the given keys must apply to it."""
        log_format = None if self.log is None else format_of(self.log)
        if log_format is None or not log_format.counts_processors:
            for name in _OF_PROCESSORS:
                if getattr(self, name) != getattr(JobSource, name):
                    raise NetcosimError(
                        f"key workload.{name}: only for logs in SWF; other jobs have nodes"
                    )
        if self.bad_lines is not None and not (log_format and log_format.drops_lines):
            raise NetcosimError(
                f'key workload.bad_lines = "{self.bad_lines}": only for SWF and logs of schedulers'
            )
        generated = self.synthetic is not None and "cluster" in self.synthetic
        if self.size_unit is not None and not (log_format.counts_gpus if log_format else generated):
            raise NetcosimError(
                f'key workload.size_unit = "{self.size_unit}": the jobs have no GPUs, as those of '
                "AcmeTrace, Helios or Philly have, or of workload.synthetic.cluster"
            )
        return log_format

    def _all(self, machine_nodes: int, rng: np.random.Generator) -> Workload:
        """Return the jobs of the log, or generated ones, without those that are left out."""
        log = self._format()
        if log is None:
            assert self.synthetic is not None
            # without a load there is no machine size
            nodes = None if self.synthetic["load"] is None else machine_nodes
            given = {"rng": rng, "machine_nodes": nodes, **self.synthetic}
            if "cluster" in given:
                from workloads.gpu_clusters import gpu_cluster_workload

                jobs = gpu_cluster_workload(**given, size_unit=self.size_unit or NODE)
            else:
                jobs = laas_workload(**given)
        else:
            reading = Reading(*(getattr(self, field.name) for field in fields(Reading)))
            # a file known only by its path may have changed since it was stored
            jobs = log.read(reading) if self.log_sha256 is None else _read(log, reading)
            jobs = self._limited(jobs)
        left = jobs
        if self.max_nodes is not None:
            left = transform.drop_larger(left, self.max_nodes)
        if self.min_run_time_s is not None:
            left = transform.drop_shorter(left, self.min_run_time_s)
        return transform.refuse_empty(left, jobs)

    def _limited(self, jobs: Workload) -> Workload:
        """Return the jobs with the walltimes of those that request none."""
        without = np.isinf(jobs.requested_s)
        if self.walltimes == "exact" or not (without.any() or self.default_limit_s):
            return jobs
        if not without.any():
            note = "workload.default_limit sets no walltime: every job requests one"
            return replace(jobs, notes=(*jobs.notes, note))
        if self.default_limit_s is not None:
            instead = np.full(len(jobs), self.default_limit_s)
            how = f"it is {format_quantity(self.default_limit_s, 'time')} (workload.default_limit)"
        elif self.missing_limits == "run-time":
            instead, how = jobs.run_time_s, "it is the run time (workload.missing_limits)"
        else:
            instead = jobs.requested_s
            how = (
                "backfilling never counts on their end (workload.default_limit, or max_walltime of "
                "their partition, sets one)"
            )
        missing = limit_notes(jobs.requested_s)
        notes = [f"{note}: {how}" if note in missing else note for note in jobs.notes]
        walltime_s = np.where(without, instead, jobs.requested_s)
        return replace(jobs, requested_s=walltime_s, notes=tuple(notes))

    def _window_s(self, jobs: Workload) -> tuple[float, float] | None:
        """Return begin and end of the submit times that count, by the log's clock; None for all."""
        if self.month is not None:
            if jobs.start_unix_s is None:
                problem = f"{self.month}; {self.log} has no UnixStartTime in its header"
                raise NetcosimError(f"key workload.month: {problem}")
            return month_window(self.month, jobs.start_unix_s)
        if self.start_s is None and self.end_s is None:
            return None
        return self.start_s or 0.0, np.inf if self.end_s is None else self.end_s

    def _reshaped(self, jobs: Workload) -> Workload:
        """Apply the configured changes to arrivals, sizes and times."""
        if self.arrival_factor != 1:
            jobs = transform.scale_arrivals(jobs, self.arrival_factor)
        if self.size_factor != 1:
            jobs = transform.scale_sizes(jobs, self.size_factor)
        if self.sizes:
            jobs = transform.round_sizes(jobs, self.sizes)
        if self.all_at_zero:
            jobs = transform.all_at_zero(jobs)
        if self.run_times == "to-walltime":
            jobs = replace(jobs, run_time_s=np.minimum(jobs.run_time_s, jobs.requested_s))
        if self.walltimes == "exact":
            jobs = replace(jobs, requested_s=jobs.run_time_s)
        return jobs


@lru_cache(maxsize=2)
def _read(log: LogFormat, reading: Reading) -> Workload:
    """Read a log; cached for a process's next points, by the file's digest."""
    return log.read(reading)


def _inside(jobs: Workload, begin_s: float, end_s: float) -> Workload:
    """Return the jobs submitted in a window; there have to be some."""
    inside = transform.time_window(jobs, begin_s, end_s)
    return transform.from_zero(transform.refuse_empty(inside, jobs))


HISTORY_S = 61 * 86400.0
"""Two months before the simulated jobs are what a scheduler may have learnt from."""


def month_window(month: str, start_unix_s: float) -> tuple[float, float]:
    """Return the ends of a calendar month ("2018-10", UTC), from the log's start."""
    year, number = (int(part) for part in month.split("-"))
    begin = datetime(year, number, 1, tzinfo=UTC)
    end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return begin.timestamp() - start_unix_s, end.timestamp() - start_unix_s


def ended_before(jobs: Workload, begin_s: float) -> Workload:
    """Return the jobs submitted in `HISTORY_S` before an instant that had ended by then."""
    end_s = np.nan_to_num(jobs.wait_s) + jobs.submit_s + jobs.run_time_s
    return select(jobs, (end_s <= begin_s) & (jobs.submit_s >= begin_s - HISTORY_S))
