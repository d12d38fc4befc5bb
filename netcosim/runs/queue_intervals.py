"""Intervals of waits and makespans: a run's queues once more, on other logs of the same kind.

One schedule of one sequence of jobs does not show how much its mean wait differs from that of
another week. A log is drawn again from its own blocks (`workloads.drawn`), synthetic jobs are
generated with other seeds. Every policy gets the same jobs, so ratios are paired. Snapshots that
the run has measured speed-ups at are drawn again with each log (`cosim.measuring.redrawn`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.tasks import Columns, ReportProgress, SerialExecutor, TaskRunner, cut
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.schedules import Queues
from netcosim.runs.store import Rows
from netsim.errors import NetcosimError
from queuesim.metrics import bounded_slowdown, makespan_s, turnaround_s, wait_s
from queuesim.queue import run_queue
from queuesim.result import QueueResult
from queuesim.statistics import (
    LEAST_SAMPLES,
    Interval,
    interval_columns,
    interval_of_redrawn,
)
from workloads.source import JobSource

LEAST_RESAMPLES, RESAMPLES = 20, 200
"""Logs that a run's queues are simulated on for intervals, where that is cheap."""
BUDGET_JOBS = 10_000_000
"""Jobs of all these logs and policies, above the least number of logs: some six CPU-seconds."""

if TYPE_CHECKING:
    from cosim.measuring.redrawn import ResampledSpeedups
    from cosim.run_times.measured_times import Measured

FloatArray = NDArray[np.float64]
Tables = dict[str, Rows]


PER_JOB = {"wait": wait_s, "turnaround": turnaround_s, "slowdown": bounded_slowdown}
METRICS = (*PER_JOB, "makespan")


def queue_metrics(schedule: QueueResult) -> dict[str, float]:
    """Return the metrics that have intervals, over the jobs that ran."""
    ran = schedule.of_those_that_ran
    means = (float(f(ran).mean()) for f in PER_JOB.values())
    return dict(zip(METRICS, (*means, makespan_s(ran)), strict=True))


@dataclass(frozen=True)
class Redrawn:
    """Metrics of a run's queues on other logs."""

    metrics: Mapping[str, Mapping[str, FloatArray]]
    """Policy to metric to its value on each log."""
    n_blocks: float
    """That each log is drawn from; inf for jobs that are generated."""
    n_snapshots: float = np.inf
    """That speed-ups were measured at; inf where they were not."""
    n_batches: int = 0
    """Of the run's own jobs, which take the place of logs (`netcosim.runs.queue_batches`)."""

    @property
    def sample(self) -> tuple[str, int]:
        """The unit of which there are fewest, and how many."""
        if self.n_batches:
            return "batch of jobs", self.n_batches
        of_jobs = ("set of generated jobs", self.resamples)
        if not np.isinf(self.n_blocks):
            of_jobs = ("block of the log", int(self.n_blocks))
        if self.n_snapshots < of_jobs[1]:
            return "snapshot", int(self.n_snapshots)
        return of_jobs

    @property
    def resamples(self) -> int:
        """Number of other logs."""
        if self.n_batches:
            return 0
        found = [len(values) for metrics in self.metrics.values() for values in metrics.values()]
        return max(found, default=0)

    def interval(
        self, value: float, name: str, metric: str, level: float, relative_to: str = ""
    ) -> Interval:
        """Return a policy's metric, or its ratio to that of another policy, with its interval."""
        found = self.metrics[name][metric]
        if relative_to:
            under = self.metrics[relative_to][metric]
            found = found[under > 0] / under[under > 0]
        if self.n_snapshots < LEAST_SAMPLES:
            return Interval(value, np.nan, np.nan)
        return interval_of_redrawn(value, found, self.n_blocks, level)


def why_not_redrawn(result: CosimResult) -> str:
    """Return why a run's queues are not redrawn by default; empty if they are."""
    reasons = (result.queues.why_by_events(name, RESAMPLES) for name in result.schedules)
    return next(filter(None, reasons), "")


def default_resamples(result: CosimResult) -> int:
    """Return the number of other logs for a run that requests none: the same on any machine."""
    if why_not_redrawn(result):
        return 0
    of_each = max(1, len(result.workload) * len(result.schedules))
    return min(max(BUDGET_JOBS // of_each, LEAST_RESAMPLES), RESAMPLES)


def redrawn(result: CosimResult, resamples: int, runner: TaskRunner | None = None) -> Redrawn:
    """Simulate a run's queues on a number of other logs, generated or resampled.

    The result is that of a model whose run times are fixed (`queuesim.runtime.RunTimeModel.fixed`).
    """
    queues, model, names = result.queues, result.run_time_model, tuple(result.schedules)
    speedups = measured_in_run(result)
    source = other_source(result)

    def compute(numbers: Sequence[int], report: ReportProgress) -> Columns:
        values: dict[str, list[list[float]]] = {name: [] for name in names}
        for done, number in enumerate(numbers, start=1):
            which = f"log {number}"
            if (other := other_log(queues, source, which)) is None:
                continue
            again = model
            if speedups is not None:
                table = speedups.draw(queues.draws.rng("bootstrap", f"snapshots, {which}"))
                again = replace(cast("Measured", model), table=table)
            for name in names:
                schedule = run_queue(other.redrawn(name, again, resamples, which))
                values[name].append(list(queue_metrics(schedule).values()))
            report(done / len(numbers))
        return {name: np.reshape(rows, (-1, len(METRICS))) for name, rows in values.items()}

    pieces = {f"{resamples} logs, from {piece[0]}": (piece,) for piece in cut(range(resamples))}
    columns = [columns for _, columns in (runner or SerialExecutor()).each(compute, pieces)]
    metrics = {
        name: dict(zip(METRICS, np.concatenate([one[name] for one in columns]).T, strict=True))
        for name in names
    }
    from workloads.drawn import n_blocks

    blocks = np.inf if source.log is None else n_blocks(queues.jobs)
    return Redrawn(metrics, blocks, np.inf if speedups is None else speedups.n_snapshots)


def measured_in_run(result: CosimResult) -> ResampledSpeedups | None:
    """Return what the run's speed-ups are resampled from; None where it has not measured them."""
    table, measurement = getattr(result.run_time_model, "table", None), result.measurement
    # a table of a file, or relative to isolated runs, is not that of the snapshots
    if measurement is None or table is not measurement.table or result.study is None:
        return None
    from cosim.measuring.redrawn import ResampledSpeedups

    patterns = [communication.pattern for communication in result.study.communications]
    found = ResampledSpeedups.of(measurement, patterns)
    return found if found.n_snapshots else None


def other_source(result: CosimResult) -> JobSource:
    """Return the source of other logs: other seeds may give jobs that no policy can place."""
    return replace(result.config.workload.source(), larger_jobs="drop")


def other_log(queues: Queues, source: JobSource, which: str) -> Queues | None:
    """Return the queues with generated or resampled jobs; None if a policy can place none."""
    draws = queues.draws
    if source.log is None:
        try:
            jobs = source.jobs(queues.topology.n_nodes, draws.rng("workload", which))
            return replace(queues, jobs=jobs).prepared(drop_larger=True)
        except NetcosimError:
            return None
    from workloads.drawn import drawn_log, rotated

    rng = draws.rng("bootstrap", which)
    return replace(queues, jobs=drawn_log(rotated(queues.jobs, rng), rng))


def with_intervals(tables: Mapping[str, Rows], result: CosimResult, found: Redrawn) -> Tables:
    """Return a run's tables with the intervals of its queues.

    The table "policies" gets the ends of the ratios; "queue_intervals" has a row for each policy
    and metric, with the interval of the metric itself as well.
    """
    level, reference = result.config.run.confidence, result.reference
    measured = {name: queue_metrics(schedule) for name, schedule in result.schedules.items()}
    beside = reference.policy if reference.elsewhere is None else ""
    rows, ends = [], {name: dict[str, object]() for name in measured}
    for name, metrics in measured.items():
        for metric, value in metrics.items():
            own = found.interval(value, name, metric, level)
            row = {"policy": name, "metric": metric, "resamples": found.resamples}
            row |= {"sample": found.sample[0], "samples": found.sample[1]}
            row |= interval_columns("value", own)
            base = measured[beside][metric] if beside in measured else 0.0
            if base > 0:
                ratio = found.interval(value / base, name, metric, level, beside)
                row |= interval_columns("ratio", ratio)
                ends[name] |= interval_columns(f"{metric}_ratio", ratio)
                del ends[name][f"{metric}_ratio"]
            rows.append(row)
    policies = [{**row, **ends[str(row["policy"])]} for row in tables["policies"]]
    return {**tables, "policies": policies, "queue_intervals": rows}
