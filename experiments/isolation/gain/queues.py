"""Queues of a case: with gains, and on resampled logs; they yield the gain that is needed.

Everything is a task (`cosim.measuring.tasks`) with a unique name, so that it is stored, computed by
any process and the same in all of them. Only how many logs are drawn again depends on the
time that there is; which ones, in which order, does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.measuring.tasks import Columns, ReportProgress, Tasks
from experiments.isolation.gain.verdict import METRICS, PAPERS_PERCENT, Line
from experiments.kit.study import Trial
from experiments.kit.study_config import TimeBudget
from netcosim.runs.run_context import RunContext, run_context
from netsim.errors import NetcosimError
from queuesim.metrics import bounded_slowdown, makespan_s, run_s, turnaround_s
from queuesim.result import QueueResult
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
from queuesim.statistics import LEAST_SAMPLES, t_quantile
from workloads.drawn import drawn_log
from workloads.job import Workload

GAINS = (0.0, *PAPERS_PERCENT)
MOST_DRAWN = 12
LEAST_DRAWN = LEAST_SAMPLES
DRAWN_SHARE, PACKETS_SHARE = 0.3, 0.85
"""Parts of the time after which no other log is drawn, and no other snapshot looked at."""


@dataclass(frozen=True)
class Shorter(RunTimeModel):
    """Jobs that communicate run so many percent shorter, all alike."""

    name = "shorter"
    description = "jobs that communicate, so many percent shorter"
    percent: float
    communicates: NDArray[np.bool_]
    """(n,) bool."""

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return FixedRunTimes(
            workload.run_time_s * np.where(self.communicates, 1 - self.percent / 100, 1)
        )


@dataclass
class QueueTrial(Trial):
    """The queues of a config whose first policy is the reference and whose others isolate."""

    budget: TimeBudget = field(kw_only=True)
    queue_names: str = field(default="", kw_only=True)
    """Begins the names of all tasks that are queues."""

    @cached_property
    def context(self) -> RunContext:
        """The config's machine and jobs."""
        context = run_context(self.config)
        _, fraction = context.drawn
        if not ((context.queues.jobs.n_nodes > 1) & (fraction > 0)).any():
            raise NetcosimError(
                f"{context.queues.jobs.name}: no job of several nodes communicates; isolation has "
                "nothing to gain"
            )
        return context

    @property
    def reference(self) -> str:
        """What the others are compared with."""
        return self.config.queue.policies[0]

    @property
    def isolating(self) -> tuple[str, ...]:
        """What is compared with it."""
        return self.config.queue.policies[1:]

    def each(self, compute: Callable[..., Columns], tasks: Tasks, what: str) -> list[Columns]:
        """Get tasks computed, with a word on it."""
        self.show(what, self.budget.used)
        return [columns for *_, columns in self.runner.each(compute, tasks)]

    def show(self, what: str, share: float) -> None:
        """Show what is being done, and the share of all that is done."""
        if self.reporter.progress is not None:
            self.reporter.progress(what, share)

    # Queues

    @cached_property
    def schedules(self) -> dict[str, QueueResult]:
        """With the run times of the log, by policy."""
        names = self.config.queue.policies
        found, self.queues_s = self.run_queues(
            f"{self.queue_names}queue", dict.fromkeys(names, self.context.queues)
        )
        return found

    @cached_property
    def communicates(self) -> NDArray[np.bool_]:
        """(n,) which jobs may gain."""
        _, fraction = self.context.drawn
        return np.asarray((self.context.queues.jobs.n_nodes > 1) & (fraction > 0))

    @cached_property
    def logged(self) -> dict[str, Mapping[str, float]]:
        """Metrics with the run times of the log, by policy."""
        return {name: metrics(schedule) for name, schedule in self.schedules.items()}

    def ratios(self, name: str, found: Mapping[str, float]) -> dict[str, float]:
        """Return metrics over the reference's, which has the run times of the log."""
        of = self.logged[self.reference]
        return {metric: float(value) / of[metric] for metric, value in found.items()}

    @cached_property
    def curve(self) -> dict[str, dict[float, dict[str, float]]]:
        """Ratios by policy and gain."""
        wanted = [(name, gain) for name in self.isolating for gain in GAINS[1:]]
        queues, communicates = self.context.queues, self.communicates

        def compute(name: str, gain: float, report_share: ReportProgress) -> Columns:
            return arrays(metrics(queues.under(name, Shorter(gain, communicates))))

        _ = self.schedules
        tasks = {f"{self.queue_names}queue, {n}, {g:g} % shorter": (n, g) for n, g in wanted}
        found = self.each(compute, tasks, "queues with gains")
        curve = {name: {0.0: self.ratios(name, self.logged[name])} for name in self.isolating}
        for (name, gain), one in zip(wanted, found, strict=True):
            curve[name][gain] = self.ratios(name, numbers(one))
        return curve

    @cached_property
    def drawn(self) -> dict[str, list[dict[str, float]]]:
        """Ratios on logs drawn again from the log's own blocks, by policy."""
        queues, reference, isolating = self.context.queues, self.reference, self.isolating
        found = {name: list[dict[str, float]]() for name in isolating}

        def compute(number: int, report_share: ReportProgress) -> Columns:
            jobs = drawn_log(queues.jobs, queues.draws.rng("bootstrap", f"log {number}"))
            redrawn = replace(queues, jobs=jobs)
            of = metrics(redrawn.under(reference))
            columns: dict[str, NDArray[Any]] = {}
            for name in isolating:
                for metric, value in metrics(redrawn.under(name)).items():
                    columns[f"{name}.{metric}"] = np.array(value / of[metric])
            return columns

        _ = self.curve
        done = 0
        while done < MOST_DRAWN:
            need_s = self.queues_s * 1.2
            if done >= LEAST_DRAWN and self.budget.left_s(DRAWN_SHARE) < need_s:
                break
            if done < LEAST_DRAWN and self.budget.left_s(PACKETS_SHARE) < 2 * need_s:
                break
            batch = range(done, min(done + self.budget.jobs, MOST_DRAWN))
            tasks = {f"{self.queue_names}drawn log {k}": (k,) for k in batch}
            for one in self.each(compute, tasks, f"logs drawn again, {done} of {MOST_DRAWN}"):
                for name in isolating:
                    ratios = {m: float(one[f"{name}.{m}"]) for m in METRICS}
                    found[name].append(ratios)
            done = batch[-1] + 1
        return found

    def noise(self, name: str, metric: str) -> float:
        """Return the half-width of a ratio's scheduling noise; nan for too few resampled logs."""
        values = np.array([one[metric] for one in self.drawn[name]])
        if len(values) < LEAST_DRAWN:
            return math.nan
        return t_quantile(self.config.run.confidence, len(values) - 1) * float(values.std(ddof=1))

    @cached_property
    def lines(self) -> dict[str, dict[str, Line]]:
        """By policy and metric."""
        return {
            name: {
                metric: Line.through(
                    list(by_gain),
                    [ratios[metric] for ratios in by_gain.values()],
                    self.noise(name, metric),
                )
                for metric in METRICS
            }
            for name, by_gain in self.curve.items()
        }


def metrics(schedule: QueueResult) -> dict[str, float]:
    """Return makespan, mean turnaround and bounded slowdown, and node-hours of a schedule."""
    ran = schedule.of_those_that_ran
    return {
        "makespan": makespan_s(ran),
        "mean_turnaround": float(turnaround_s(ran).mean()),
        "mean_slowdown": float(bounded_slowdown(ran).mean()),
        "node_hours": float((run_s(ran) * ran.allocated_nodes).sum() / 3600),
    }


def arrays(found: Mapping[str, float]) -> Columns:
    """Convert numbers to a task's columns."""
    return {name: np.array(value) for name, value in found.items()}


def numbers(columns: Columns) -> dict[str, float]:
    """Return the numbers of `arrays`."""
    return {name: float(value) for name, value in columns.items()}
