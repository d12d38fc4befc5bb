"""A case: its queues, then packets at one instant after another.

Only how many instants are looked at depends on the time that there is; which ones, in which order,
does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_type_hints

import numpy as np

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.pairs import Pair, job_ids, off_percent, speedup_rows
from cosim.measuring.snapshots import Study
from cosim.measuring.steady import Steadying
from cosim.measuring.tasks import Columns, ReportProgress
from cosim.run_times.measured_times import Measured
from experiments.isolation.gain.features import LoadCache, job_features
from experiments.isolation.gain.queues import (
    LEAST_DRAWN,
    PACKETS_SHARE,
    QueueTrial,
    arrays,
    metrics,
    numbers,
)
from experiments.isolation.gain.verdict import METRICS, Gain
from experiments.isolation.phases import UNKNOWN, word
from netcosim.report.recommendation import samples_to_decide
from netsim.errors import NetcosimError
from queuesim.statistics import Interval, t_of_snapshots

CHECKPOINTS = (5, 8, 16, 32, 64)
"""Numbers of snapshots after which the verdict is tried. Looking several times would
find something sooner or later, so each look has its part of the risk (Bonferroni)."""
TIME_USED, ALL_USED, ENOUGH = "time used", "all snapshots used", "more would change no verdict"
"""Why no more snapshots were looked at."""
PREDICT = "predict"
"""Of a request: whether the gain is predicted without packets."""
MOST_SHARE = 0.95


def in_order(n: int) -> list[int]:
    """Return the numbers below a power of 2 so that any first few of them are evenly spread."""
    bits = n.bit_length() - 1
    return [int(f"{k:0{bits}b}"[::-1], 2) for k in range(n)]


@dataclass
class GainTrial(QueueTrial):
    """The queues and packets of such a config."""

    packet_names: str = field(default="", kw_only=True)
    """Begins the names of all tasks that send packets."""

    @property
    def level(self) -> float:
        """Of the interval of one look."""
        return 1 - (1 - self.config.run.confidence) / len(CHECKPOINTS)

    @cached_property
    def study(self) -> Study:
        """The schedules, the reference's instants."""
        return self.context.study(self.context.sides(self.schedules), self.reference)

    @cached_property
    def order(self) -> list[int]:
        """Snapshots in the order in which they are looked at."""
        return in_order(CHECKPOINTS[-1])

    @cached_property
    def measured(self) -> tuple[dict[str, Gain], list[Pair], str]:
        """What was measured by policy, all pairs, and why no more of them were."""
        rules = self.context.measure
        watching = Steadying(self.study, replace(rules, level=self.config.run.confidence))  # type: ignore[arg-type, type-var]
        reference, n_nodes = self.reference, self.context.queues.jobs.n_nodes

        def compute(number: int, report_share: ReportProgress) -> Columns:
            began = time.perf_counter()
            found = watching.watched(number)
            if found is None:
                return {"seconds": np.array(time.perf_counter() - began)}
            pairs, reference_s = watching.pairs(found), found.mean_s[reference]
            return {
                **{
                    field: np.array([getattr(pair, field) for pair in pairs], dtype=kind)
                    for field, kind in _PAIR.items()
                },
                "drive": found.link_s / found.alone_s[reference],
                "contended": 1 - found.compute_s / reference_s,
                "nodes": n_nodes[list(found.running)],
                "seconds": np.array(time.perf_counter() - began),
            }

        _ = self.lines
        pairs: list[Pair] = []
        self._seen: list[Columns] = []
        found: dict[str, Gain] = {}
        seconds = self._snapshot_s = list[float]()
        done, why = 0, ALL_USED
        for checkpoint in CHECKPOINTS:
            while done < checkpoint:
                mean_s = float(np.mean(seconds)) if seconds else 0.0
                if seconds and self.budget.left_s(PACKETS_SHARE) < mean_s:
                    why = TIME_USED
                    break
                batch = self.order[done : min(done + self.budget.jobs, checkpoint)]
                tasks = {f"{self.packet_names}snapshot {k}": (k,) for k in batch}
                for one in self.each(compute, tasks, f"packets, {done} snapshots"):
                    if "nodes" in one:
                        pairs += pairs_of(one)
                        self._seen.append(one)
                    seconds.append(float(one["seconds"]))
                done += len(batch)
            found = self._gains(pairs)
            if why == TIME_USED:
                break
            if found and self._enough(found):
                why = ENOUGH
                break
        if not found:
            raise NetcosimError(
                f"{self.context.queues.jobs.name}: no job of several nodes communicates at any of "
                f"{done} snapshots"
            )
        return found, pairs, why

    def _gains(self, pairs: Sequence[Pair]) -> dict[str, Gain]:
        found = {}
        for name in self.isolating:
            of_policy = [pair for pair in pairs if pair.policy == name]
            if of_policy:
                off, nodes, snapshot = off_percent(of_policy, np.ones(len(of_policy)))
                gain, by_job = (
                    t_of_snapshots(
                        off, weights, snapshot, self.level, job=job_ids(of_policy), most=100.0
                    )
                    # a snapshot sees a job as often as it is long
                    for weights in (nodes, np.ones(len(of_policy)))
                )
                found[name] = Gain(gain, by_job, len(set(snapshot)), len(of_policy))
        return found

    def _enough(self, found: Mapping[str, Gain]) -> bool:
        """Return whether all metrics of all policies are decided, or more snapshots cannot."""
        for name, lines in self.lines.items():
            for metric, line in lines.items():
                gain = found[name].of(metric)
                if math.isnan(gain.low):
                    return False
                if word(line.at(gain)) == UNKNOWN and not line.cannot_decide(gain):
                    return False
        return True

    def more(self, name: str, ratios: Mapping[str, Interval]) -> tuple[float, float]:
        """Return about how many more snapshots would decide on a policy, and the seconds they take.

        One metric that is decided is enough for a verdict; none of ``ratios`` is significant.
        Snapshots are added up to the next of `CHECKPOINTS`; they are infinite where no number would
        decide.
        """
        gain, done = self.measured[0][name], len(self._snapshot_s)
        logs = max(0, LEAST_DRAWN - len(self.drawn[name]))
        wanted = [
            samples_to_decide(ratio, gain.snapshots, self.noise(name, metric))
            for metric, ratio in ratios.items()
        ]
        # without an interval nothing is known but the fewest snapshots that have one
        least = CHECKPOINTS[0] if logs or done < CHECKPOINTS[0] else math.inf
        need = min(least if math.isnan(one) else one for one in wanted)
        if need > CHECKPOINTS[-1]:
            return need - done, math.nan
        more = max(next(checkpoint for checkpoint in CHECKPOINTS if checkpoint >= need) - done, 0)
        work_s = logs * self.queues_s + more * float(np.mean(self._snapshot_s))
        return more, work_s / self.budget.jobs

    def shares(self) -> dict[str, float]:
        """Return the resulting f: of the time among the others and of the link, by nodes."""
        nodes = np.concatenate([one["nodes"] for one in self._seen])
        return {
            f"share_{name}": float(
                np.average(np.concatenate([one[name] for one in self._seen]), weights=nodes)
            )
            for name in ("contended", "drive")
        }

    def reruns(
        self, pairs: Sequence[Pair], found: Mapping[str, Gain]
    ) -> dict[str, dict[str, dict[str, float]]]:
        """Return the queue's ratios with the gain: by policy; "mean", and ``METRIC end``."""
        context, queues, mix = self.context, self.context.queues, self.context.mix
        patterns = list(dict.fromkeys(traffic.pattern for traffic in context.communications))
        tables: dict[tuple[str, str], SpeedupTable] = {}
        for name, one in found.items():
            of_policy = [pair.row() for pair in pairs if pair.policy == name]
            rng = context.queues.draws.rng("bootstrap")
            rows = speedup_rows(name, of_policy, patterns, rng)
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
                    tables[name, end] = SpeedupTable(
                        self.reference, tuple(moved), of_run_times=True
                    )

        def compute(name: str, table: SpeedupTable, report_share: ReportProgress) -> Columns:
            return arrays(metrics(queues.under(name, Measured(table, mix))))

        number = len({pair.snapshot for pair in pairs})
        tasks = {
            f"queue, {name}, measured at {number} snapshots, {end}": (name, table)
            for (name, end), table in tables.items()
        }
        computed = self.each(compute, tasks, "queues with what was measured")
        fed: dict[str, dict[str, dict[str, float]]] = {name: {} for name in found}
        for (name, end), columns in zip(tables, computed, strict=True):
            fed[name][end] = self.ratios(name, numbers(columns))
        return fed

    # Without packets

    @cached_property
    def _loads(self) -> LoadCache:
        return LoadCache(self.study)

    def features(self, factor: float, count: int) -> list[dict[str, Any]]:
        """Return what is known without packets of jobs at the first snapshots, by share."""
        fraction = np.minimum(self.study.fraction * factor, MOST_SHARE)
        study = replace(self.study, fraction=fraction)
        self.show("flow level", 0.9)
        cache = replace(self._loads, study=study)
        return [row for k in self.order[:count] for row in job_features(study, k, cache)]


_PAIR = get_type_hints(Pair)


def pairs_of(columns: Columns) -> list[Pair]:
    """Return the pairs of a snapshot's columns."""
    rows = zip(*(columns[name].tolist() for name in _PAIR), strict=True)
    return [Pair(**dict(zip(_PAIR, row, strict=True))) for row in rows]
