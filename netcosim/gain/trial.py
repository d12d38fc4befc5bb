"""What is computed: queues with gains, logs drawn again, packets at one instant after another.

Everything is a part (`queuesim.parts`) with a name of its own, so that it is kept, shared between
processes and the same in any of them. Only how many logs are drawn again and how many instants are
looked at depends on the time that there is; which ones, in which order, does not.
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
from experiments.bench import Bench, bench_of
from experiments.config import Config
from experiments.config_load import config_from
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT, UNKNOWN, Line, word
from netsim.errors import NetcosimError
from queuesim.gain_features import LoadCache, job_features
from queuesim.measured import SpeedupTable
from queuesim.measured_times import Measured
from queuesim.metrics import makespan_s, turnaround_s
from queuesim.pairs import Pair, off_percent, speedup_rows
from queuesim.parts import Columns, Part, Parts, Tell, schedule_columns, schedule_from
from queuesim.result import QueueResult
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
from queuesim.snapshots import Study
from queuesim.statistics import Interval, t_of_snapshots, t_quantile
from queuesim.steady import Steadying
from workloads.drawn import drawn_log
from workloads.job import Workload

FloatArray = NDArray[np.float64]

LOOKS = (4, 8, 16, 32, 64)
"""Numbers of snapshots after which it is asked whether they decide. Looking several times would
find something sooner or later, so each look has its part of the risk (Bonferroni)."""
GAINS = (0.0, *PAPERS_PERCENT)
MOST_DRAWN = 12
LEAST_DRAWN = 4
DRAWN_SHARE, PACKETS_SHARE = 0.3, 0.85
"""Parts of the time after which no other log is drawn, and no other snapshot looked at."""
FACTORS = (0.5, 1.0, 2.0)
"""Of the communication share, for what the answer would be."""
MOST_SHARE = 0.95
FEATURED = 8
"""Snapshots from which the predictor tells what a share changes."""


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


def in_order(n: int) -> list[int]:
    """Numbers below a power of 2 so that the first few of them always lie evenly."""
    bits = n.bit_length() - 1
    return [int(f"{k:0{bits}b}"[::-1], 2) for k in range(n)]


@dataclass(frozen=True)
class Gain:
    """What was measured of a policy's jobs.

    Attributes
    ----------
    gain : Interval
        Percent off the run time, mean over node-hours, at the level of a look.
    by_job : Interval
        The same, mean over job-hours: small jobs count as much as large ones.
    snapshots, jobs : int
    """

    gain: Interval
    by_job: Interval
    snapshots: int
    jobs: int

    def of(self, metric: str) -> Interval:
        """What a metric depends on: turnaround is a mean over jobs, the makespan is of work."""
        return self.by_job if metric == "mean_turnaround" else self.gain


@dataclass
class Trial:
    """A case at work.

    Attributes
    ----------
    config : Config
        The reference is its first policy, all others isolate.
    parts : Parts
    clock : Clock
    tell : callable (what, share of the time)
    """

    config: Config
    parts: Parts
    clock: Clock
    tell: Callable[[str, float], None] = lambda what, share: None

    @cached_property
    def bench(self) -> Bench:
        """The config's machine and jobs.

        Raises
        ------
        NetcosimError
            No job that would send anything.
        """
        bench = bench_of(self.config)
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

    @property
    def level(self) -> float:
        """Of the interval of one look."""
        return 1 - (1 - self.config.run.confidence) / len(LOOKS)

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
        self._queue_s = float(sum(float(one["seconds"]) for one in found))
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
            need_s = self._queue_s * 1.2
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

    # Packets

    @cached_property
    def study(self) -> Study:
        """The schedules, the reference's instants."""
        return self.bench.study(self.bench.sides(self.schedules), self.reference)

    @cached_property
    def order(self) -> list[int]:
        """Snapshots in the order in which they are looked at."""
        return in_order(LOOKS[-1])

    @cached_property
    def measured(self) -> tuple[dict[str, Gain], list[Pair], str]:
        """What was measured by policy, all pairs, and why no more of them were.

        Raises
        ------
        NetcosimError
            Nobody communicates at any of the snapshots.
        """
        rules = self.bench.measure
        watching = Steadying(self.study, replace(rules, level=self.config.run.confidence))  # type: ignore[arg-type, type-var]

        def compute(number: int, tell: Tell) -> Columns:
            began = time.perf_counter()
            found = watching.watched(number)
            if found is None:
                return {"seconds": np.array(time.perf_counter() - began)}
            pairs, there = watching.pairs(found), found.mean_s[self.reference]
            return {
                **{
                    field: np.array([getattr(pair, field) for pair in pairs], dtype=kind)
                    for field, kind in _PAIR.items()
                },
                "drive": found.link_s / found.alone_s[self.reference],
                "contended": 1 - found.compute_s / there,
                "nodes": self.bench.queues.jobs.n_nodes[list(found.running)],
                "seconds": np.array(time.perf_counter() - began),
            }

        _ = self.lines
        pairs: list[Pair] = []
        self._seen: list[Columns] = []
        found: dict[str, Gain] = {}
        seconds: list[float] = []
        done, why = 0, "all snapshots are used"
        for look in LOOKS:
            while done < look:
                mean_s = float(np.mean(seconds)) if seconds else 0.0
                if seconds and self.clock.left_s(PACKETS_SHARE) < mean_s:
                    why = "the time is used"
                    break
                batch = self.order[done : min(done + self.clock.jobs, look)]
                parts = [Part(f"snapshot {k}", partial(compute, k)) for k in batch]
                for one in self.each(parts, f"packets, {done} snapshots"):
                    if "nodes" in one:
                        pairs += pairs_of(one)
                        self._seen.append(one)
                    seconds.append(float(one["seconds"]))
                done += len(batch)
            found = self._gains(pairs)
            if why != "all snapshots are used":
                break
            if found and self._enough(found):
                why = "they decide, or no number of them would"
                break
        if not found:
            raise NetcosimError(
                f"{self.bench.queues.jobs.name}: no job of several nodes communicates at any of "
                f"{done} snapshots"
            )
        return found, pairs, why

    def _gains(self, pairs: Sequence[Pair]) -> dict[str, Gain]:
        found = {}
        for name in self.isolating:
            mine = [pair for pair in pairs if pair.policy == name]
            if mine:
                off, nodes, snapshot = off_percent(mine, np.ones(len(mine)))
                gain, by_job = (
                    t_of_snapshots(off, weights, snapshot, self.level)
                    # a snapshot sees a job as often as it is long
                    for weights in (nodes, np.ones(len(mine)))
                )
                found[name] = Gain(gain, by_job, len(set(snapshot)), len(mine))
        return found

    def _enough(self, found: Mapping[str, Gain]) -> bool:
        """Whether every metric of every policy is decided, or cannot be by more snapshots."""
        for name, lines in self.lines.items():
            for metric, line in lines.items():
                gain = found[name].of(metric)
                if math.isnan(gain.low):
                    return False
                if word(line.at(gain)) == UNKNOWN and not line.hopeless(gain):
                    return False
        return True

    def shares(self) -> dict[str, float]:
        """What f came out as: of the time among the others, and of the link; weighed by nodes."""
        nodes = np.concatenate([one["nodes"] for one in self._seen])
        return {
            f"share_{name}": float(
                np.average(np.concatenate([one[name] for one in self._seen]), weights=nodes)
            )
            for name in ("contended", "drive")
        }

    def fed(
        self, pairs: Sequence[Pair], found: Mapping[str, Gain]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Ratios of the queue with what was measured: by policy; "mean", and ``METRIC end``."""
        bench = self.bench
        patterns = list(dict.fromkeys(said.pattern for said in bench.communications))
        tables: dict[tuple[str, str], SpeedupTable] = {}
        for name, one in found.items():
            mine = [pair for pair in pairs if pair.policy == name]
            rows = speedup_rows(
                name,
                [pair.pattern for pair in mine],
                [pair.n_nodes for pair in mine],
                [pair.snapshot for pair in mine],
                [pair.run_ratio for pair in mine],
                patterns,
                bench.queues.draws.rng("bootstrap"),
            )
            ends = {"mean": 0.0}
            for metric in METRICS:
                half = (one.of(metric).high - one.of(metric).low) / 2
                ends |= {f"{metric} low": half, f"{metric} high": -half}
            for end, points in ends.items():
                if not math.isnan(points):
                    by = points / 100
                    moved = [
                        replace(r, ratio=max(r.ratio + by, 0.01), ratio_low=None, ratio_high=None)
                        for r in rows
                    ]
                    tables[name, end] = SpeedupTable(self.reference, tuple(moved), whole_runs=True)

        def compute(name: str, table: SpeedupTable, tell: Tell) -> Columns:
            return arrays(metrics(bench.queues.under(name, Measured(table, bench.mix))))

        number = len({pair.snapshot for pair in pairs})
        parts = [
            Part(f"queue, {name}, measured at {number} snapshots, {end}", partial(compute, name, t))
            for (name, end), t in tables.items()
        ]
        computed = self.each(parts, "queues with what was measured")
        fed: dict[str, dict[str, dict[str, float]]] = {name: {} for name in found}
        for (name, end), columns in zip(tables, computed, strict=True):
            fed[name][end] = self.ratios(name, numbers(columns))
        return fed

    # Without packets

    def features(self, factor: float, count: int = FEATURED) -> list[dict[str, Any]]:
        """What is known without packets of jobs at the first snapshots, with another share."""
        fraction = np.minimum(self.study.fraction * factor, MOST_SHARE)
        study = replace(self.study, fraction=fraction)
        if not hasattr(self, "_loads"):
            self._loads = LoadCache(self.study)
        self.tell("flow level", 0.9)
        cache = replace(self._loads, study=study)
        return [row for k in self.order[:count] for row in job_features(study, k, cache)]


_PAIR: dict[str, type] = {
    "snapshot": int, "policy": str, "job_id": int, "n_nodes": int, "run_s": float, "pattern": str,
    "iterations": int, "duty": float, "reference_s": float, "reference_alone_s": float,
    "policy_s": float, "policy_alone_s": float,
}  # fmt: skip


def pairs_of(columns: Columns) -> list[Pair]:
    """The pairs of a snapshot's columns."""
    rows = zip(*(columns[name].tolist() for name in _PAIR), strict=True)
    return [Pair(**dict(zip(_PAIR, row, strict=True))) for row in rows]


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


def help_with(
    content: Mapping[str, object], clock: Clock, parts: Parts, *, packets: bool = True
) -> None:
    """Compute parts of a trial in another process, until it has nothing left to do.

    Parameters
    ----------
    content : mapping
        A resolved config.
    clock : Clock
    parts : Parts
    packets : bool
        Whether any are sent; else there are only queues to run.
    """
    config = config_from(dict(content))
    with config.plugged():
        trial = Trial(config, parts, clock)
        if not packets:
            _ = trial.lines
            return
        found, pairs, _ = trial.measured
        trial.fed(pairs, found)
