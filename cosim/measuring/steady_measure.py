"""The measure "steady": the same jobs at the reference's instants, in loops until means hold still.

As "paired" (`cosim.measuring.pairing`), but no job stops: see `cosim.measuring.steady`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.base import Generators, Measure, timings
from cosim.measuring.measured import SpeedupTable
from cosim.measuring.paired import compared, policy_note
from cosim.measuring.pairs import Pair, job_ids, off_percent, summary_with
from cosim.measuring.snapshots import Measurement, Study
from cosim.measuring.steady import Steadying, SteadySnapshot
from cosim.measuring.tasks import Columns, Progress, TaskRunner, packet_columns, packets_from
from cosim.measuring.timed import measurements
from cosim.parameters import PLACED, QUEUE, SteadyRules
from queuesim.statistics import t_of_snapshots


@dataclass(frozen=True)
class Steady(SteadyRules, Measure):
    """The same jobs under every policy, all going on; see `SteadyRules` for the attributes."""

    name = "steady"
    description = "the same jobs at the reference's instants, all in loops until means hold still"
    compares = "each job's time for an iteration there over the same job's under the reference"
    baseline = "isolated time under the reference"

    @classmethod
    def ignores(cls, together: str) -> tuple[str, ...]:
        return ("communication.mix.*.iterations", "communication.together")

    def sent(self, study: Study) -> dict[str, float]:
        return {study.reference: float(timings(study) * self.least_iterations)}

    def measure(
        self, study: Study, rng: Generators, runner: TaskRunner, progress: Progress | None = None
    ) -> Measurement:
        watching = Steadying(study, replace(self, level=study.confidence))

        def seen_at(number: int) -> Columns:
            found = watching.at(number).watched(number)
            return {} if found is None else _columns(found)

        columns = self._each_snapshot(study, seen_at, runner, progress)
        snapshots = [_snapshot(study, found) for found in columns]
        pairs = [pair for snapshot in snapshots for pair in watching.pairs(snapshot)]
        n_seen = sum(len(s.running) for s in snapshots)
        by_policy, rows, ratios = compared(study, pairs, n_seen, rng)
        seen = _seen(study, snapshots)
        summaries = [
            {"policy": name} | _summary(mine, study.confidence) for name, mine in by_policy.items()
        ]
        return Measurement(
            {name: measurements(study, name, snapshots) for name in study.sides},
            ratios,
            SpeedupTable(study.reference, tuple(rows), of_run_times=True),
            {
                "steady": summaries,
                "steady_shares": [seen] if snapshots else [],
                "pairs": [pair.row() for pair in pairs],
            },
            tuple(_note(row, study.reference) for row in summaries)
            + _settled(seen, snapshots)
            + _placed(study),
        )


_ARRAYS = ("compute_s", "half_width", "iterations", "once_s", "link_s")


def _columns(found: SteadySnapshot) -> Columns:
    """Return a snapshot as columns."""
    columns: dict[str, NDArray[Any]] = {name: getattr(found, name) for name in _ARRAYS}
    columns |= {"number": np.array(found.number), "running": np.array(found.running)}
    for name in found.mean_s:
        columns |= {f"mean_s.{name}": found.mean_s[name], f"alone_s.{name}": found.alone_s[name]}
        if name in found.packets:
            columns |= packet_columns(found.packets[name], f"packets.{name}.")
    return columns


def _snapshot(study: Study, columns: Columns) -> SteadySnapshot:
    """Return the snapshot of `_columns`."""
    together = [name for name in study.sides if f"packets.{name}.end_ps" in columns]
    return SteadySnapshot(
        number=int(columns["number"]),
        running=columns["running"].tolist(),
        mean_s={name: columns[f"mean_s.{name}"] for name in study.sides},
        alone_s={name: columns[f"alone_s.{name}"] for name in study.sides},
        packets={name: packets_from(columns, f"packets.{name}.") for name in together},
        **{name: columns[name] for name in _ARRAYS},
    )


def _summary(pairs: Sequence[Pair], confidence: float) -> dict[str, object]:
    """Return `cosim.measuring.pairs.summary` with Student's interval for correlated snapshots."""
    off = off_percent(pairs, np.ones(len(pairs)))
    found = t_of_snapshots(*off, confidence, job=job_ids(pairs), most=100.0)
    return summary_with(pairs, found)


def _seen(study: Study, snapshots: Sequence[SteadySnapshot]) -> dict[str, object]:
    """Return the three measured shares under the reference, weighted by nodes, and the lengths of
    runs."""
    if not snapshots:
        return {}
    reference = study.reference
    sizes = study.sides[reference].schedule.workload.n_nodes
    weight = np.concatenate([sizes[list(s.running)] for s in snapshots])
    compute = np.concatenate([s.compute_s for s in snapshots])
    alone = np.concatenate([s.alone_s[reference] for s in snapshots])
    there = np.concatenate([s.mean_s[reference] for s in snapshots])
    link = np.concatenate([s.link_s for s in snapshots])
    half = np.concatenate([s.half_width for s in snapshots])
    count = np.concatenate([s.iterations for s in snapshots])
    known = ~np.isnan(half)
    return {
        "jobs": len(weight),
        "share_alone": float(np.average(1 - compute / alone, weights=weight)),
        "share_contended": float(np.average(1 - compute / there, weights=weight)),
        "drive_alone": float(np.average(link / alone, weights=weight)),
        "drive_contended": float(np.average(link / there, weights=weight)),
        "iterations_least": int(count.min()),
        "iterations_median": float(np.median(count)),
        "half_width_percent": (
            100 * float(np.average(half[known], weights=weight[known])) if known.any() else None
        ),
        "half_width_not_known": int((~known).sum()),
    }


def _settled(seen: dict[str, object], snapshots: Sequence[SteadySnapshot]) -> tuple[str, ...]:
    if not snapshots:
        return ()
    half = seen["half_width_percent"]
    half_width = "not known" if half is None else f"{half:.2g} %"
    return (
        f"steady: {seen['iterations_least']} iterations of a job counted or more (median "
        f"{seen['iterations_median']:.0f}); half-width of their means {half_width}, weighed by "
        "nodes; "
        f"f = {seen['share_alone']:.2f} of the isolated time, {seen['share_contended']:.2f} among "
        f"the others, {seen['drive_alone']:.2f} of the link",
    )


def _placed(study: Study) -> tuple[str, ...]:
    return () if study.placed == QUEUE else (f"jobs are {PLACED[study.placed]}",)


def _note(row: Mapping[str, object], reference: str) -> str:
    return f"{policy_note(row, reference)}, all going on"
