"""The measure "stretch": each policy's own snapshots, every time over a yardstick.

At chosen instants the jobs that run there, on the nodes that they have there, communicate together.
By share they compute between iterations, each for its own part of the time, and a job's time is its
period; otherwise all communicate once, at once. A job's time is divided by a yardstick that no
policy can change: the same pattern, as large and with the same computing, isolated on the first
nodes of the reference's machine. How long it computes follows from its isolated time on the nodes
that the reference gives it. The mean of these stretches, policy against reference policy, by
pattern and size class, is the speed-up table of `queuesim.measured`. Policies are compared by the
states that their own queues reach, not job by job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.packet.model import PacketResult
from queuesim.communication import Communication
from queuesim.draws import stand_in_id
from queuesim.ensemble import Ensemble, PlacedJob, SharedNetwork
from queuesim.isolated_loops import IsolatedLoop, IsolatedLoops, loop_isolated, loop_together
from queuesim.loops import without_messages
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.packet_judge import FEW_JOBS, PacketBudget
from queuesim.parts import Columns, Here, Part, Parts, Tell, cut, packet_columns, packets_from
from queuesim.situation import Situation
from queuesim.snapshots import (
    ALL_SIZES,
    SIZE_CLASSES,
    FloatArray,
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


Key = tuple[int, int, float, bytes]
"""Index of a communication, nodes, communication fraction, and the reference's nodes of a job.

Where nobody computes, the last two are 1 and empty for all.
"""
_BUDGET = PacketBudget()


@dataclass
class Yardsticks:
    """Isolated times of jobs on the machine's first nodes, measured once each.

    A job communicates for its fraction of its isolated time on the nodes that the reference gives
    it; that says how long it computes, on every side. A yardstick draws by its communication and
    size (`queuesim.draws.stand_in_id`), so it is the same number whoever asks first.

    Attributes
    ----------
    network : SharedNetwork
    communications : sequence of Communication
    by_share : bool
        Whether jobs compute between iterations, for the share of the time that they do not
        communicate; the time is then the period of a loop.
    known : dict
        Computing between iterations, and time, in seconds.
    """

    network: SharedNetwork
    communications: Sequence[Communication]
    by_share: bool = True
    known: dict[Key, tuple[float, float]] = field(default_factory=dict)

    def times_s(self, key: Key) -> tuple[float, float]:
        """Computing between iterations, and time; both 0 for a job that sends nothing."""
        if key not in self.known:
            if self.by_share:
                self.known[key] = self._loop_s(key)
            else:
                once = Ensemble(self.network, [self._job(*key[:2])]).packets()
                self.known[key] = 0.0, float(once.time_s[0])
        return self.known[key]

    def _job(self, share: int, n_nodes: int) -> PlacedJob:
        stand_in = stand_in_id((share, n_nodes))
        return PlacedJob(stand_in, self.communications[share], np.arange(n_nodes))

    def _loop_s(self, key: Key) -> tuple[float, float]:
        share, n_nodes, fraction, nodes = key
        isolated = IsolatedLoops(self.network, self.communications)
        loop = isolated.of(Situation(share, nodes, fraction), 1.0)
        if loop is None:
            return 0.0, 0.0
        job = replace(self._job(share, n_nodes), compute_s=loop.job.compute_s)
        period_s, _ = loop_isolated(self.network, job, loop.period_s, job.job_id)
        return loop.job.compute_s, period_s

    def learn(self, asked: Iterable[Key], parts: Parts) -> None:
        """Time those of these jobs that are not known yet."""
        missing = sorted(set(asked) - set(self.known))
        pieces = cut(missing)

        def compute(piece: Sequence[Key], tell: Tell) -> Columns:
            return {"times_s": np.array([self.times_s(key) for key in piece])}

        found = parts.each(
            [Part(f"yardsticks {i}", partial(compute, piece)) for i, piece in enumerate(pieces)]
        )
        for piece, columns in zip(pieces, found, strict=True):
            times = map(tuple, columns["times_s"].tolist())
            self.known |= zip(piece, times, strict=True)


@dataclass
class Stretching:
    """A study's jobs on the network, and the yardsticks that their times are divided by.

    Attributes
    ----------
    study : Study
    yardsticks : Yardsticks
        On the reference's network: times under two routings can be compared if both are divided
        by the same.
    """

    study: Study
    yardsticks: Yardsticks

    def key(self, name: str, index: int) -> Key:
        """A job's yardstick."""
        study, share = self.study, int(self.study.share[index])
        n_nodes = int(study.sides[name].schedule.workload.n_nodes[index])
        if not study.by_share:
            return share, n_nodes, 1.0, b""
        placed = study.sides[study.reference].placed(index, study.communication(index))
        nodes = np.asarray(placed.nodes, dtype=np.int32).tobytes()
        return share, n_nodes, float(study.fraction[index]), nodes

    def running(self, name: str, number: int) -> list[int]:
        """As `Study.running`, without jobs that never communicate."""
        running = self.study.running(name, number)
        return [index for index in running if self.key(name, index)[2] > 0]

    def together(self, name: str, number: int) -> tuple[list[int], FloatArray, PacketResult] | None:
        """Jobs of a snapshot that send anything, their times, and packets; None without any.

        The routing's stream is the snapshot's number, on every side.
        """
        running, network = self.running(name, number), self.study.sides[name].network
        if not running:
            return None
        jobs = [self.job(name, index) for index in running]
        if not self.study.by_share:
            run = Ensemble(network, jobs).packets(stream=number)
            return running, run.time_s, run.packets
        sends = Ensemble(network, jobs).least_s > 0
        pairs = list(zip(running, jobs, sends.tolist(), strict=True))
        loops = {
            index: IsolatedLoop(job, period_s)
            for index, job, sent in pairs
            if sent and (period_s := self.isolated_s(name, index)[1]) > 0
        }
        if not loops:
            return None
        draws = _BUDGET.phases if 1 < len(loops) <= FEW_JOBS else 1
        runs = [
            loop_together(network, list(loops.values()), _BUDGET.periods, draw=draw, stream=number)
            for draw in range(draws)
        ]
        period_s = np.mean([period_s for period_s, _ in runs], axis=0)
        return list(loops), period_s, without_messages(runs[0][1])

    def isolated_s(self, name: str, index: int) -> tuple[float, float]:
        """Computing of a job between iterations, and what its time is divided by."""
        return self.yardsticks.times_s(self.key(name, index))

    def job(self, name: str, index: int) -> PlacedJob:
        """A job where a side put it, with computing as long as its yardstick's."""
        job = self.study.sides[name].placed(index, self.study.communication(index))
        return replace(job, compute_s=self.isolated_s(name, index)[0])

    def timed(self, name: str, numbers: Sequence[int], tell: Tell) -> Columns:
        """Send some snapshots of a side's schedule through the packet engine.

        Returns
        -------
        mapping of str to ndarray
            "snapshot", "job" and "time_s", a row a job, and the packets of each snapshot that has
            jobs (`queuesim.parts.packet_columns`).
        """
        snapshot, job, time_s = [], [], []
        packets: dict[str, NDArray[Any]] = {}
        for done, number in enumerate(numbers, start=1):
            if (found := self.together(name, number)) is not None:
                running, times_s, sent = found
                snapshot += [number] * len(running)
                job += running
                time_s += times_s.tolist()
                packets |= packet_columns(sent, f"{number}.")
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
        See `Stretching`.
    parts : Parts
        Computes a few snapshots of one side at a time.
    progress : callable, optional
    """
    stretching = Stretching(study, yardsticks)
    seen = (
        (name, index)
        for name in study.sides
        for number in study.numbers
        for index in stretching.running(name, number)
    )
    yardsticks.learn([stretching.key(*one) for one in seen], parts)
    pieces = [(name, piece) for name in study.sides for piece in cut(study.numbers)]
    found = parts.each(
        [
            Part(
                f"{name}, {snapshots_told(piece)}",
                partial(stretching.timed, name, piece),
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
    isolated_s = {
        name: np.array([stretching.isolated_s(name, index) for index in job.tolist()])
        for name, (_, job, _) in rows.items()
    }
    return {
        name: Measurements(
            policy=study.sides[name].schedule.policy,
            snapshot=snapshot,
            job=job,
            share=share[job],
            n_nodes=sizes[name][job],
            time_s=time_s,
            yardstick_s=isolated_s[name].reshape(-1, 2)[:, 1],
            compute_s=isolated_s[name].reshape(-1, 2)[:, 0] if study.by_share else None,
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
    whole_runs: bool = False,
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
    confidence : float
    size_classes : sequence of (int, int)
    whole_runs : bool
        Whether times are those of whole runs, computing included.
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
    return SpeedupTable(reference_policy, tuple(rows), whole_runs)


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
    ignores = ()

    def sent(self, study: Study) -> dict[str, float]:
        """How often what runs at a side's instants is sent, by side; the least."""
        return dict.fromkeys(study.sides, float(_BUDGET.periods) if study.by_share else 1.0)

    def measure(
        self,
        study: Study,
        rng: Callable[[], np.random.Generator],
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> Measurement:
        """Time all sides; see `queuesim.measure.Measure`."""
        network = study.sides[study.reference].network
        yardsticks = Yardsticks(network, study.communications, study.by_share)
        found = stretches(study, yardsticks, Here() if parts is None else parts, progress)
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
            whole_runs=study.by_share,
        )
        return Measurement(found, ratios, table)
