"""The measure "stretch": each policy's own snapshots, every time over a yardstick.

At chosen instants the jobs that run there, on the nodes that they have there, all communicate at
once; each job's communication time is divided by a yardstick that no policy can change: the same
pattern, as large, alone on the first nodes of the reference's machine. The mean of these stretches,
policy against reference policy, by pattern and size class, is the speed-up table of
`queuesim.measured`. Policies are compared by the states that their own queues reach, not job by
job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from queuesim.communication import Communication
from queuesim.draws import stand_in_id
from queuesim.ensemble import Ensemble, PlacedJob, SharedNetwork
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.parts import Columns, Here, Part, Parts, Tell, cut, packet_columns, packets_from
from queuesim.snapshots import (
    ALL_SIZES,
    SIZE_CLASSES,
    Measurement,
    Measurements,
    Progress,
    Ratio,
    Study,
    in_several,
    snapshots_told,
)
from queuesim.statistics import around, drawn_means, known_ends

NOT_KNOWN = (1.0, 0.5, 2.0)
"""Ratio, low, high of a pattern that was never seen."""


@dataclass
class Yardsticks:
    """Communication times of jobs alone on the machine's first nodes, measured once each.

    A yardstick stands for all jobs of its communication and size, so it draws by these
    (`queuesim.draws.stand_in_id`) and is the same number whoever asks first.
    """

    network: SharedNetwork
    communications: Sequence[Communication]
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    def time_s(self, share: int, n_nodes: int) -> float:
        """Time of communication number ``share`` alone on ``n_nodes`` nodes."""
        key = (share, n_nodes)
        if key not in self.known:
            job = PlacedJob(stand_in_id(key), self.communications[share], np.arange(n_nodes))
            self.known[key] = float(Ensemble(self.network, [job]).packets().time_s[0])
        return self.known[key]

    def learn(self, asked: Sequence[tuple[int, int]], parts: Parts) -> None:
        """Time those of these communications and sizes that are not known yet."""
        missing = sorted(set(asked) - set(self.known))
        pieces = cut(missing)

        def compute(piece: Sequence[tuple[int, int]], tell: Tell) -> Columns:
            return {"time_s": np.array([self.time_s(*key) for key in piece])}

        found = parts.each(
            [Part(f"yardsticks {i}", partial(compute, piece)) for i, piece in enumerate(pieces)]
        )
        for piece, columns in zip(pieces, found, strict=True):
            self.known |= zip(piece, columns["time_s"].tolist(), strict=True)


def timed(study: Study, name: str, numbers: Sequence[int], tell: Tell) -> Columns:
    """Some snapshots of a side's schedule, sent through the packet engine.

    The routing's stream is the snapshot's number, on every side.

    Returns
    -------
    mapping of str to ndarray
        "snapshot", "job" and "time_s", a row a job, and the packets of each snapshot that has
        jobs (`queuesim.parts.packet_columns`).
    """
    side = study.sides[name]
    snapshot, job, time_s = [], [], []
    packets: dict[str, NDArray[Any]] = {}
    for done, number in enumerate(numbers, start=1):
        running = study.running(name, number)
        if running:
            jobs = [side.placed(index, study.communication(index)) for index in running]
            run = Ensemble(side.network, jobs).packets(stream=number)
            snapshot += [number] * len(running)
            job += running
            time_s += run.time_s.tolist()
            packets |= packet_columns(run.packets, f"{number}.")
        tell(done / len(numbers))
    return {
        "snapshot": np.array(snapshot, dtype=np.int64),
        "job": np.array(job, dtype=np.int64),
        "time_s": np.array(time_s, dtype=np.float64),
        **packets,
    }


def stretches(
    study: Study,
    yardsticks: Yardsticks,
    parts: Parts,
    progress: Progress | None = None,
) -> dict[str, Measurements]:
    """Send the snapshots of all sides' schedules through the packet engine.

    Parameters
    ----------
    study : Study
    yardsticks : Yardsticks
        On the reference's network: times under two routings can be compared if both are divided
        by the same.
    parts : Parts
        Computes a few snapshots of one side at a time.
    progress : callable, optional
    """
    pieces = [(name, piece) for name in study.sides for piece in cut(study.numbers)]
    found = parts.each(
        [
            Part(
                f"{name}, {snapshots_told(piece)}",
                partial(timed, study, name, piece),
            )
            for name, piece in pieces
        ],
        progress,
    )
    by_side: dict[str, list[Columns]] = {name: [] for name in study.sides}
    for (name, _), columns in zip(pieces, found, strict=True):
        by_side[name].append(columns)
    sizes = {
        name: side.schedule.workload.n_nodes.astype(np.int64) for name, side in study.sides.items()
    }
    share = np.asarray(study.share, dtype=np.int64)
    rows = {
        name: [
            np.concatenate([columns[column] for columns in mine])
            for column in ("snapshot", "job", "time_s")
        ]
        for name, mine in by_side.items()
    }
    asked = {
        name: list(zip(share[job].tolist(), sizes[name][job].tolist(), strict=True))
        for name, (_, job, _) in rows.items()
    }
    yardsticks.learn([key for keys in asked.values() for key in keys], parts)
    return {
        name: Measurements(
            policy=study.sides[name].schedule.policy,
            snapshot=snapshot,
            job=job,
            share=share[job],
            n_nodes=sizes[name][job],
            time_s=time_s,
            yardstick_s=np.array([yardsticks.time_s(*key) for key in asked[name]]),
            packets=tuple(
                packets_from(columns, f"{number}.")
                for columns in by_side[name]
                for number in np.unique(columns["snapshot"]).tolist()
            ),
            instant_s=study.instants_s(name),
        )
        for name, (snapshot, job, time_s) in rows.items()
    }


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
    """Ratio of two mean stretches; whole snapshots are drawn again for the interval.

    Jobs of one snapshot are not independent of each other, hence the snapshot as the unit.

    Parameters
    ----------
    mine, reference : Measurements
    rng : numpy.random.Generator
        For the bootstrap.
    of_mine, of_reference : (k,) bool, optional
        Rows to use; all by default.
    confidence : float
    resamples : int

    Returns
    -------
    Ratio or None
        None if one side has no rows; without an interval if one side has fewer than five snapshots
        or jobs.
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
) -> SpeedupTable:
    """The speed-up table of a campaign.

    A size class that lacks jobs on either side, or that one snapshot alone has, is left out: its
    jobs take the nearest class. A pattern without any class that is left has one row for all
    sizes; one that no snapshot has on both sides gets ratio 1 in [1/2, 2], "not known".

    Parameters
    ----------
    measured : mapping policy -> Measurements
    reference_policy : str
    patterns : sequence of str
        Name of each communication, by index; a name that stands twice is measured as one.
    rng : numpy.random.Generator
        For the bootstrap.
    """
    if reference_policy not in measured:
        raise NetcosimError(f"reference policy {reference_policy!r} was not measured")
    reference = measured[reference_policy]
    names = np.array(patterns)
    rows: list[SpeedupRow] = []
    for policy, mine in measured.items():
        if policy == reference_policy:
            continue
        for pattern in dict.fromkeys(patterns):

            def ratio_of(
                low: int, high: int, pattern: str = pattern, mine: Measurements = mine
            ) -> tuple[Ratio | None, bool]:
                """Return the ratio, and whether both sides have it from several snapshots."""
                masks = [
                    (names[side.share] == pattern) & (side.n_nodes >= low) & (side.n_nodes <= high)
                    for side in (mine, reference)
                ]
                ratio = ratio_of_stretches(
                    mine,
                    reference,
                    rng,
                    of_mine=masks[0],
                    of_reference=masks[1],
                    confidence=confidence,
                )
                return ratio, in_several(mine.snapshot[masks[0]], reference.snapshot[masks[1]])

            found = {sizes: ratio_of(*sizes) for sizes in size_classes}
            kept = {s: one for s, (one, several) in found.items() if one is not None and several}
            if not kept:
                kept = {ALL_SIZES: ratio_of(*ALL_SIZES)[0] or Ratio(*NOT_KNOWN, 0)}
            rows += [
                SpeedupRow(pattern, *sizes, policy, one.ratio, one.low, one.high)
                for sizes, one in kept.items()
            ]
    return SpeedupTable(reference_policy, tuple(rows))


@dataclass(frozen=True)
class Stretch:
    """Each policy's own snapshots, every time over a yardstick."""

    name = "stretch"
    description = "jobs of each policy's own schedule, times over those of like jobs alone"
    compares = (
        "each job's time with all others on the network over its time alone on the first nodes of "
        "the reference's machine"
    )
    baseline = "isolated time on the first nodes"
    ignores = (
        *("communication.mix.*.communication_fraction", "communication.from"),
        "communication.fraction",
    )

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side."""
        return dict.fromkeys(study.sides, 1.0)

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> Measurement:
        """Time all sides; see `queuesim.measure.Measure`."""
        yardsticks = Yardsticks(study.sides[study.reference].network, study.communications)
        found = stretches(study, yardsticks, Here() if parts is None else parts, progress)
        ratios = {}
        for name, mine in found.items():
            ratio = ratio_of_stretches(
                mine, found[study.reference], rng(), confidence=study.confidence
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
        )
        return Measurement(found, ratios, table)
