"""The measure "steady": the same jobs at the reference's instants, in loops until means hold still.

As "paired" (`queuesim.pairing`), but nobody stops: see `queuesim.steady`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from queuesim.measured import SpeedupTable
from queuesim.pairing import compared
from queuesim.pairs import Pair, summary, taken_off
from queuesim.snapshots import Measurement, Measurements, Progress, Study, snapshot_times
from queuesim.statistics import known_ends, t_of_snapshots
from queuesim.steady import Steadying, SteadyRules, SteadySnapshot


@dataclass(frozen=True)
class Steady:
    """The same jobs under every policy, all going on; see `SteadyRules` for the attributes."""

    name = "steady"
    description = "the same jobs at the reference's instants, all in loops until means hold still"
    compares = "each job's time for an iteration there over the same job's under the reference"
    share: str = "alone"
    phases: str = "random"
    noise: float = 0.0
    precision: float = 0.01
    least_iterations: int = 16
    most_iterations: int = 256
    warm_up: float = 0.25

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side, about; the least."""
        ways = 2 + sum(1 if side.isolates else 2 for side in study.others.values())
        return {study.reference: float(ways * self.least_iterations)}

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        progress: Progress | None = None,
    ) -> Measurement:
        """Watch all sides; see `queuesim.measure.Measure`."""
        rules = SteadyRules(
            self.share,
            self.phases,
            self.noise,
            self.precision,
            self.least_iterations,
            self.most_iterations,
            self.warm_up,
            study.confidence,
        )
        watched, snapshots = Steadying(study, rules), []
        for place, (number, indices) in enumerate(study.instants(study.reference), start=1):
            running = watched.running(indices)
            if running:
                snapshots.append(watched.snapshot(number, running))
            if progress is not None:
                total = len(study.numbers)
                progress(f"snapshot {place}/{total}", place / total)
        pairs = [pair for snapshot in snapshots for pair in watched.pairs(snapshot)]
        by_policy, rows, ratios = compared(
            study, pairs, sum(len(s.running) for s in snapshots), rng
        )
        seen = _seen(study, snapshots)
        told = [
            {"policy": name} | _summary(mine, rng(), study.confidence)
            for name, mine in by_policy.items()
        ]
        return Measurement(
            {name: _measurements(study, name, snapshots) for name in study.sides},
            ratios,
            SpeedupTable(study.reference, tuple(rows), whole_runs=True),
            {
                "steady": told,
                "steady_shares": [seen] if snapshots else [],
                "pairs": [pair.row() for pair in pairs],
            },
            tuple(_note(row, study.reference) for row in told) + _settled(seen, snapshots),
        )


def _summary(
    pairs: Sequence[Pair], rng: np.random.Generator, confidence: float
) -> dict[str, object]:
    """As `queuesim.pairs.summary`, with Student's interval over snapshots that may be alike."""
    row = summary(pairs, np.ones(len(pairs)), rng, confidence)
    off = 100 * taken_off([pair.run_ratio for pair in pairs], np.ones(len(pairs)))
    nodes, number = [pair.n_nodes for pair in pairs], [pair.snapshot for pair in pairs]
    found = t_of_snapshots(off, nodes, number, confidence)
    low, high = known_ends(found)
    return row | {"taken_off_percent_low": low, "taken_off_percent_high": high}


def _seen(study: Study, snapshots: Sequence[SteadySnapshot]) -> dict[str, object]:
    """What the three shares came out as under the reference, weighed by nodes, and how long."""
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
    told = "not known" if half is None else f"{half:.2g} %"
    return (
        f"steady: {seen['iterations_least']} to many iterations a job counted "
        f"(median {seen['iterations_median']:.0f}); half-width of their means {told}, by nodes",
    )


def _measurements(study: Study, name: str, snapshots: Sequence[SteadySnapshot]) -> Measurements:
    """Times of an iteration under a side over those alone under the reference."""
    none = np.empty(0)
    job = np.array([j for s in snapshots for j in s.running], dtype=np.int64)
    side = study.sides[name]
    return Measurements(
        policy=side.schedule.policy,
        snapshot=np.array([s.number for s in snapshots for _ in s.running], dtype=np.int64),
        job=job,
        share=np.asarray(study.share, dtype=np.int64)[job],
        n_nodes=side.schedule.workload.n_nodes[job].astype(np.int64),
        time_s=np.concatenate([none, *(s.mean_s[name] for s in snapshots)]),
        yardstick_s=np.concatenate([none, *(s.alone_s[study.reference] for s in snapshots)]),
        packets=tuple(s.packets[name] for s in snapshots if name in s.packets),
        alone_s=np.concatenate([none, *(s.alone_s[name] for s in snapshots)]),
        instant_s=snapshot_times(study.sides[study.reference].schedule, study.n_snapshots),
    )


def _note(row: dict[str, object], reference: str) -> str:
    low, high = row["taken_off_percent_low"], row["taken_off_percent_high"]
    interval = "too few snapshots: no interval" if low is None else f"{low:.1f} to {high:.1f}"
    return (
        f"{row['policy']}: {row['taken_off_percent']:.1f} % ({interval}) less run time than under "
        f"{reference}, by node-hours, {row['jobs']} jobs, all going on"
    )
