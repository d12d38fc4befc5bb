"""The measure "stretch": each policy's own snapshots, times relative to an isolated baseline.

At chosen instants the jobs that run there, on the nodes that they have there, communicate together.
By share they compute between iterations, each for its own part of the time, and a job's time is its
period; otherwise all communicate once, simultaneously. A job's time is divided by an isolated
baseline that no policy can change: the same pattern, as large and with the same computing, isolated
on the first nodes of the reference's machine. How long it computes follows from its isolated time
on the nodes that the reference gives it. The mean of these stretches, policy against reference
policy, by pattern and size class, is the speed-up table of `cosim.measuring.measured`. Policies are
compared by the states that their own queues reach, not job by job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.base import Generators, Measure
from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.snapshots import (
    ALL_SIZES,
    SIZE_CLASSES,
    Measurement,
    Measurements,
    Ratio,
    Study,
    in_several,
)
from cosim.measuring.stretching import IsolatedBaselines, stretches
from cosim.measuring.tasks import Progress, TaskRunner
from cosim.network.communication import BY_SHARE
from netsim.errors import NetcosimError
from queuesim.statistics import around, drawn_means, known_ends

NOT_KNOWN = (1.0, 0.5, 2.0)
"""Ratio, low, high of a pattern that was never seen."""
PERIODS_SENT = 1.3
"""How long loops last, about, in periods of the longest: it and its communication."""


def ratio_of_stretches(
    mine: Measurements,
    reference: Measurements,
    rng: np.random.Generator,
    *,
    of_mine: NDArray[np.bool_] | None = None,
    of_reference: NDArray[np.bool_] | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
) -> Ratio | None:
    """Return the ratio of two mean stretches with an interval by resampling snapshots.

    Jobs of one snapshot are not independent of each other, hence the snapshot as the unit.

    It is None if one side has no rows, and has no interval if one has fewer than five snapshots or
    jobs.

    Parameters
    ----------
    of_mine, of_reference : (k,) bool, optional
        Rows to use; all by default.
    """
    sides, seen = [], []
    for side, rows in ((mine, of_mine), (reference, of_reference)):
        use = np.ones(len(side.job), dtype=bool) if rows is None else rows
        if not use.any():
            return None
        seen.append(int(use.sum()))
        sides.append((side.stretch[use], side.snapshot[use], side.job[use]))
    own, other = (
        drawn_means(x, 1, snapshot, rng, resamples, job=job) for x, snapshot, job in sides
    )
    several = min(own.n_samples, other.n_samples)
    found = around(own.mean / other.mean, own.drawn / other.drawn, several, confidence)
    return Ratio(found.value, *known_ends(found), min(seen))


def speedup_table(
    measured: Mapping[str, Measurements],
    reference_policy: str,
    patterns: Sequence[str],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
    size_classes: Sequence[tuple[int, int]] = SIZE_CLASSES,
    of_run_times: bool = False,
) -> SpeedupTable:
    """Return the speed-up table of a campaign.

    A size class that lacks jobs on either side, or that only one snapshot has, is left out: its
    jobs take the nearest class. A pattern without any remaining class has one row for all
    sizes; one that no snapshot has on both sides gets ratio 1 in [1/2, 2], "not known".

    Parameters
    ----------
    patterns : sequence of str
        Name of each communication, by index; a repeated name is measured as one.
    of_run_times : bool
        Whether times are those of whole runs, computing included.
    """
    if reference_policy not in measured:
        raise NetcosimError(f"reference policy {reference_policy!r} was not measured")
    reference, pattern_of = measured[reference_policy], np.array(patterns)

    def rows_of(side: Measurements, pattern: str, sizes: tuple[int, int]) -> NDArray[np.bool_]:
        fits = (side.n_nodes >= sizes[0]) & (side.n_nodes <= sizes[1])
        return np.asarray(fits & (pattern_of[side.share] == pattern))

    def ratio_of(
        side: Measurements, pattern: str, sizes: tuple[int, int]
    ) -> tuple[Ratio | None, bool]:
        mine, other = (rows_of(one, pattern, sizes) for one in (side, reference))
        ratio = ratio_of_stretches(
            side, reference, rng, of_mine=mine, of_reference=other, confidence=confidence
        )
        return ratio, in_several(side.snapshot[mine], reference.snapshot[other])

    rows: list[SpeedupRow] = []
    for policy, side in measured.items():
        for pattern in dict.fromkeys(patterns) if policy != reference_policy else ():
            by_sizes = {sizes: ratio_of(side, pattern, sizes) for sizes in size_classes}
            known = {
                sizes: ratio
                for sizes, (ratio, several) in by_sizes.items()
                if ratio is not None and several
            }
            if not known:
                ratio, _ = ratio_of(side, pattern, ALL_SIZES)
                known = {ALL_SIZES: ratio or Ratio(*NOT_KNOWN, 0)}
            rows += [
                SpeedupRow(pattern, *sizes, policy, ratio.ratio, ratio.low, ratio.high)
                for sizes, ratio in known.items()
            ]
    return SpeedupTable(reference_policy, tuple(rows), of_run_times)


@dataclass(frozen=True)
class Stretch(Measure):
    """Each policy's own snapshots, times relative to an isolated baseline."""

    name = "stretch"
    description = "jobs of each policy's own schedule, times over those of similar isolated jobs"
    compares = (
        "each job's time with all others on the network over its isolated time on the first "
        "nodes of the reference's machine"
    )
    baseline = "isolated time on the first nodes"

    @classmethod
    def ignores(cls, together: str) -> tuple[str, ...]:
        if together == BY_SHARE:
            return ("communication.mix.*.iterations",)
        return (
            *("communication.mix.*.communication_fraction", "communication.from"),
            "communication.fraction",
        )

    def sent(self, study: Study) -> dict[str, float]:
        return dict.fromkeys(study.sides, PERIODS_SENT if study.by_share else 1.0)

    def loops(self, study: Study) -> bool:
        return study.by_share

    def measure(
        self, study: Study, rng: Generators, runner: TaskRunner, progress: Progress | None = None
    ) -> Measurement:
        network = study.sides[study.reference].network
        baselines = IsolatedBaselines(network, study.communications, study.by_share)
        found = stretches(study, baselines, runner, progress)
        ratios = {}
        for name, mine in found.items():
            ratio = ratio_of_stretches(
                mine.communicating,
                found[study.reference].communicating,
                rng(),
                confidence=study.confidence,
            )
            if ratio is not None:
                own = name == study.reference
                ratios[name] = Ratio(1.0, 1.0, 1.0, ratio.n_jobs) if own else ratio
        table = speedup_table(
            found,
            study.reference,
            [communication.pattern for communication in study.communications],
            rng(),
            confidence=study.confidence,
            of_run_times=study.by_share,
        )
        return Measurement(found, ratios, table)
