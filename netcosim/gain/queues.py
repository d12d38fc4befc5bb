"""Queues of a case: with gains, and on logs drawn again; they say what is needed.

Everything is a part (`cosim.measuring.parts`) with a name of its own, so that it is kept, shared
between processes and the same in any of them. Only how many logs are drawn again depends on the
time that there is; which ones, in which order, does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.measuring.parts import Columns, Part, TaskRunner, Tell, schedule_columns, schedule_from
from experiments.config import Config
from experiments.run_context import RunContext, run_context
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT, Line
from netsim.errors import NetcosimError
from queuesim.metrics import makespan_s, turnaround_s
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
    """Jobs that communicate run so many percent shorter, all alike.

    Parameters
    ----------
    percent : float
    talks : (n,) bool
    """

    name = "shorter"
    description = "jobs that communicate, so many percent shorter"
    percent: float
    talks: NDArray[np.bool_]

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return FixedRunTimes(workload.run_time_s * np.where(self.talks, 1 - self.percent / 100, 1))


@dataclass(frozen=True)
class Clock:
    """The time that there is: of the system, so that all processes have the same.

    Attributes
    ----------
    began_s, minutes : float
    jobs : int
        Processes.
    """

    began_s: float
    minutes: float
    jobs: int

    def left_s(self, share: float) -> float:
        """Until this part of the time has passed."""
        return self.began_s + 60 * self.minutes * share - time.time()


@dataclass
class Queueing:
    """A case's queues.

    Attributes
    ----------
    config : Config
        The reference is its first policy, all others isolate.
    parts : TaskRunner
    clock : Clock
    tell : callable (what, share of the time)
    """

    config: Config
    parts: TaskRunner
    clock: Clock
    tell: Callable[[str, float], None] = lambda what, share: None

    @cached_property
    def bench(self) -> RunContext:
        """The config's machine and jobs.

        Raises
        ------
        NetcosimError
            No job that would send anything.
        """
        bench = run_context(self.config)
        _, fraction = bench.drawn
        if not ((bench.queues.jobs.n_nodes > 1) & (fraction > 0)).any():
            raise NetcosimError(
                f"{bench.queues.jobs.name}: no job of several nodes communicates; isolation has "
                "nothing to gain"
            )
        return bench

    @property
    def reference(self) -> str:
        """What the others are compared with."""
        return self.config.queue.policies[0]

    @property
    def isolating(self) -> tuple[str, ...]:
        """What is compared with it."""
        return self.config.queue.policies[1:]

    def each(self, parts: Sequence[Part], what: str) -> list[Columns]:
        """Get parts computed, with a word on it."""
        gone = 1 - self.clock.left_s(1.0) / (60 * self.clock.minutes)
        self.tell(what, min(max(gone, 0.0), 1.0))
        return self.parts.each(parts)

    # Queues

    @cached_property
    def schedules(self) -> dict[str, QueueResult]:
        """With the run times of the log, by policy."""
        queues = self.bench.queues

        def compute(name: str, tell: Tell) -> Columns:
            began = time.perf_counter()
            columns = schedule_columns(queues.under(name))
            return {**columns, "seconds": np.array(time.perf_counter() - began)}

        names = self.config.queue.policies
        found = self.each([Part(f"queue, {n}", partial(compute, n)) for n in names], "queues")
        self.queues_s = float(sum(float(one["seconds"]) for one in found))
        return {
            n: schedule_from(one, queues.jobs, queues.topology)
            for n, one in zip(names, found, strict=True)
        }

    @cached_property
    def talks(self) -> NDArray[np.bool_]:
        """(n,) which jobs may gain."""
        _, fraction = self.bench.drawn
        return np.asarray((self.bench.queues.jobs.n_nodes > 1) & (fraction > 0))

    @cached_property
    def logged(self) -> dict[str, Mapping[str, float]]:
        """Metrics with the run times of the log, by policy."""
        return {name: metrics(schedule) for name, schedule in self.schedules.items()}

    def ratios(self, name: str, found: Mapping[str, float]) -> dict[str, float]:
        """Metrics over the reference's, which has the run times of the log."""
        of = self.logged[self.reference]
        return {metric: float(value) / of[metric] for metric, value in found.items()}

    @cached_property
    def curve(self) -> dict[str, dict[float, dict[str, float]]]:
        """Ratios by policy and gain."""
        wanted = [(name, gain) for name in self.isolating for gain in GAINS[1:]]

        def compute(name: str, gain: float, tell: Tell) -> Columns:
            return arrays(metrics(self.bench.queues.under(name, Shorter(gain, self.talks))))

        _ = self.schedules
        parts = [Part(f"queue, {n}, {g:g} % shorter", partial(compute, n, g)) for n, g in wanted]
        found = self.each(parts, "queues with gains")
        curve = {name: {0.0: self.ratios(name, self.logged[name])} for name in self.isolating}
        for (name, gain), one in zip(wanted, found, strict=True):
            curve[name][gain] = self.ratios(name, numbers(one))
        return curve

    @cached_property
    def drawn(self) -> dict[str, list[dict[str, float]]]:
        """Ratios on logs drawn again from the log's own blocks, by policy."""
        queues, found = (
            self.bench.queues,
            {name: list[dict[str, float]]() for name in self.isolating},
        )

        def compute(number: int, tell: Tell) -> Columns:
            jobs = drawn_log(queues.jobs, queues.draws.rng("bootstrap", f"log {number}"))
            here = replace(queues, jobs=jobs)
            of = metrics(here.under(self.reference))
            columns: dict[str, NDArray[Any]] = {}
            for name in self.isolating:
                for metric, value in metrics(here.under(name)).items():
                    columns[f"{name}.{metric}"] = np.array(value / of[metric])
            return columns

        _ = self.curve
        done, step = 0, self.clock.jobs
        while done < MOST_DRAWN:
            need_s = self.queues_s * 1.2
            if done >= LEAST_DRAWN and self.clock.left_s(DRAWN_SHARE) < need_s:
                break
            if done < LEAST_DRAWN and self.clock.left_s(PACKETS_SHARE) < 2 * need_s:
                break
            batch = range(done, min(done + step, MOST_DRAWN))
            parts = [Part(f"drawn log {k}", partial(compute, k)) for k in batch]
            for one in self.each(parts, f"logs drawn again, {done} of {MOST_DRAWN}"):
                for name in self.isolating:
                    mine = {m: float(one[f"{name}.{m}"]) for m in METRICS}
                    found[name].append(mine)
            done = batch[-1] + 1
        return found

    def chance(self, name: str, metric: str) -> float:
        """Half-width of what the queue's chance does to a ratio; nan for too few drawn logs."""
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
                    self.chance(name, metric),
                )
                for metric in METRICS
            }
            for name, by_gain in self.curve.items()
        }


def metrics(schedule: QueueResult) -> dict[str, float]:
    """Makespan, mean turnaround and node-seconds of a schedule."""
    ran = schedule.of_those_that_ran
    return {
        "makespan": makespan_s(ran),
        "mean_turnaround": float(turnaround_s(ran).mean()),
        "node_hours": float(((ran.end_s - ran.start_s) * ran.allocated_nodes).sum() / 3600),
    }


def arrays(found: Mapping[str, float]) -> Columns:
    """Numbers as a part gives them."""
    return {name: np.array(value) for name, value in found.items()}


def numbers(columns: Columns) -> dict[str, float]:
    """The numbers of `arrays`."""
    return {name: float(value) for name, value in columns.items()}
