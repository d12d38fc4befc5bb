"""Intervals of waits of a long run from batches of its own jobs, in place of other logs.

Generated jobs arrive at one mean rate, so the parts of a long log show how much its means scatter.
The rule follows Law and Carson (1979): 400 parts show whether a log is long beside the correlation
of its jobs, and ten of them make a batch. Other logs are simulated where it is not. One other log
decides: of logs near the limit, those without a long burst pass, and the same lack of one makes
their own means and intervals too small.
"""

from __future__ import annotations

import numpy as np

from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.queue_intervals import (
    BUDGET_JOBS,
    LEAST_RESAMPLES,
    PER_JOB,
    FloatArray,
    Redrawn,
    measured_in_run,
    other_log,
    other_source,
    why_not_redrawn,
)
from queuesim.queue import run_queue
from queuesim.result import NEVER_RUN, QueueResult

BATCHES, PARTS = 40, 400
MOST_CORRELATION = 0.4
"""Of neighbours among parts, and among batches. Parts then last one and a half times as long as
their jobs are correlated, batches 15 times."""


def part_means(values: FloatArray, n_parts: int) -> FloatArray:
    """Return the means of consecutive parts of (n,) values, whose lengths differ by one at most."""
    begin = np.arange(n_parts) * len(values) // n_parts
    return np.asarray(np.add.reduceat(values, begin) / np.diff(begin, append=len(values)))


def lag_one(values: FloatArray) -> float:
    """Return the correlation of neighbours; 0 if all values are equal."""
    off = values - values.mean()
    scatter = float(off @ off)
    return float(off[1:] @ off[:-1]) / scatter if scatter > 0 else 0.0


def is_long(values: FloatArray) -> bool:
    """Return whether a series of jobs is long beside the correlation of its values."""
    return len(values) >= PARTS and all(
        lag_one(part_means(values, n)) < MOST_CORRELATION for n in (PARTS, BATCHES)
    )


def as_logs(means: FloatArray) -> FloatArray:
    """Return values whose logarithms scatter as those of the means of independent logs.

    Such a log is as long as all batches together.
    """
    mean = means.mean()
    return means if mean == 0 else mean * np.exp((means / mean - 1) / len(means) ** 0.5)


def makespan_parts(schedule: QueueResult) -> FloatArray:
    """Return each batch's part of the makespan, relative to the mean part.

    A generator derives the mean time between arrivals from the work of the log's jobs
    (`workloads.synthetic.poisson_arrivals`), so another log differs by its work as well.
    """
    jobs = schedule.workload
    begin = np.arange(BATCHES) * len(jobs) // BATCHES
    last_end_s = np.maximum.accumulate(np.maximum.reduceat(schedule.end_s, begin))
    part_s = np.diff(last_end_s, prepend=jobs.submit_s[0])
    work = part_means(jobs.n_nodes * jobs.run_time_s, BATCHES)
    return np.asarray(part_s / part_s.mean() + work / work.mean() - 1)


def batch_metrics(schedule: QueueResult) -> dict[str, FloatArray]:
    """Return values of each metric, one a batch, that scatter as those of independent logs."""
    means = {metric: part_means(f(schedule), BATCHES) for metric, f in PER_JOB.items()}
    means["makespan"] = makespan_parts(schedule)
    return {metric: as_logs(values) for metric, values in means.items()}


def another_is_long(result: CosimResult) -> bool:
    """Return whether every metric of another generated log `is_long`, under every policy."""
    which = "log that decides on batches"
    other = other_log(result.queues, other_source(result), which)
    if other is None:
        return False
    setups = (other.redrawn(name, result.run_time_model, 1, which) for name in result.schedules)
    return all(
        is_long(of_jobs(run))
        for run in (run_queue(setup).of_those_that_ran for setup in setups)
        for of_jobs in PER_JOB.values()
    )


def batched(result: CosimResult) -> Redrawn | None:
    """Return the metrics of batches of a run's jobs; None where other logs are to be simulated.

    These are within the budget, or the jobs come from a log or all at once, or the run has measured
    speed-ups, or a metric of another log under a policy is correlated over too many jobs.
    """
    jobs, runs = result.workload, result.schedules
    generated = result.config.workload.source().log is None and jobs.submit_s[-1] > jobs.submit_s[0]
    if (
        len(jobs) * len(runs) * LEAST_RESAMPLES <= BUDGET_JOBS
        or not generated
        or why_not_redrawn(result)
        or measured_in_run(result) is not None
        or any((run.outcome == NEVER_RUN).any() for run in runs.values())
        or not another_is_long(result)
    ):
        return None
    metrics = {name: batch_metrics(run) for name, run in runs.items()}
    return Redrawn(metrics, np.inf, n_batches=BATCHES)
