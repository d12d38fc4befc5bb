"""The measuring campaign: snapshots of a schedule, sent through the packet engine.

For each policy the queue runs once with logged run times. At chosen instants the jobs that
run there, on the nodes that they have there, all communicate at once; each job's
communication time is divided by a yardstick that no policy can change: the same pattern, as
large, alone on the machine's first nodes. The mean of these stretches, policy against
reference policy, by pattern and size class, is the speed-up table of `queuesim.measured`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.packet.model import PacketResult
from queuesim.communication import Communication
from queuesim.ensemble import Ensemble, PlacedJob, SharedNetwork, stand_in_id
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.result import QueueResult

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]

SIZE_CLASSES: tuple[tuple[int, int], ...] = (
    (2, 8),
    (9, 32),
    (33, 128),
    (129, 512),
    (513, 2048),
    (2049, 1 << 30),
)
"""Nodes of a job, both ends included."""

ALL_SIZES = (2, 1 << 30)
NOT_KNOWN = (1.0, 0.5, 2.0)
"""Ratio, low, high of a pattern that was never seen."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Communication times of the jobs of all snapshots of one policy, one row a job.

    Attributes
    ----------
    policy : str
    snapshot, job, share, n_nodes : (k,) int64
        Which snapshot, index of the job in the workload, index of its communication, its
        requested nodes.
    time_s, yardstick_s : (k,) float64
        With all others, and alone on the machine's first nodes.
    packets : tuple of PacketResult
        One a snapshot, for link statistics.
    """

    policy: str
    snapshot: LongArray
    job: LongArray
    share: LongArray
    n_nodes: LongArray
    time_s: FloatArray
    yardstick_s: FloatArray
    packets: tuple[PacketResult, ...] = ()

    @property
    def stretch(self) -> FloatArray:
        """(k,) float64: time over yardstick; 1 where nothing is sent and both are 0."""
        moved = self.yardstick_s > 0
        return np.divide(self.time_s, self.yardstick_s, out=np.ones_like(self.time_s), where=moved)

    @property
    def packet_hops(self) -> int:
        """Links traversed by all packets of all snapshots."""
        return sum(result.packet_hops for result in self.packets)


def snapshot_times(result: QueueResult, n_snapshots: int) -> FloatArray:
    """Instants that cut the schedule into parts of equal work.

    The i-th is where ``(i + 1/2) / n`` of all busy node-seconds have passed, so that busy
    times are sampled as often as they count.

    Parameters
    ----------
    result : QueueResult
    n_snapshots : int

    Returns
    -------
    (n_snapshots,) float64, ascending
    """
    time_s, nodes = result.busy_nodes()
    if len(time_s) == 0:
        raise NetcosimError("no snapshots of an empty schedule")
    done = np.concatenate([[0.0], np.cumsum(np.diff(time_s) * nodes[:-1])])
    wanted = (np.arange(n_snapshots) + 0.5) / n_snapshots * done[-1]
    # not np.interp: where the machine is idle `done` stands still
    after = np.clip(np.searchsorted(done, wanted, side="right"), 1, len(done) - 1)
    width = done[after] - done[after - 1]
    part = np.where(width > 0, (wanted - done[after - 1]) / np.where(width > 0, width, 1.0), 0.0)
    return np.asarray(time_s[after - 1] + part * (time_s[after] - time_s[after - 1]))


@dataclass
class Yardsticks:
    """Communication times of jobs alone on the machine's first nodes, measured once each.

    A yardstick stands for all jobs of its communication and size, so it draws by these
    (`queuesim.ensemble.stand_in_id`) and is the same number whoever asks first.
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


def measure(
    result: QueueResult,
    share: LongArray,
    yardsticks: Yardsticks,
    *,
    n_snapshots: int,
    alone: Yardsticks | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Measurements:
    """Send the snapshots of a schedule through the packet engine.

    Jobs of one node are left out: they send nothing over the network. On a fat-tree, jobs that have
    links of their own (LaaS, Jigsaw, LC, LC+S) are routed on them.

    Parameters
    ----------
    result : QueueResult
        Kept with its placements.
    share : (n_jobs,) int64
        Index into ``yardsticks.communications`` of every job of the workload.
    yardsticks : Yardsticks
        Also says on what network, and how ranks sit.
    n_snapshots : int
        The routing's stream is the snapshot's number, under every policy.
    alone : Yardsticks, optional
        Where jobs alone are timed, if it is not that network: times under two routings can be
        compared if both are divided by the same yardstick.
    progress : callable (snapshots done, snapshots), optional
    """
    alone = yardsticks if alone is None else alone
    columns: dict[str, list[np.ndarray]] = {k: [] for k in ("snapshot", "job", "time", "yard")}
    packets = []
    requested, job_ids = result.workload.n_nodes.astype(np.int64), result.workload.job_id
    for number, snapshot in enumerate(result.snapshots(snapshot_times(result, n_snapshots))):
        multi = [
            (int(job), place)
            for job, place in zip(snapshot.jobs, snapshot.placements, strict=True)
            if requested[job] > 1
        ]
        if multi:
            ensemble = Ensemble(
                yardsticks.network,
                [
                    PlacedJob(
                        int(job_ids[job]),
                        yardsticks.communications[share[job]],
                        place.nodes[: requested[job]],
                        partition=place,
                    )
                    for job, place in multi
                ],
            )
            run = ensemble.packets(stream=number)
            jobs = np.array([job for job, _ in multi])
            columns["snapshot"].append(np.full(len(multi), number))
            columns["job"].append(jobs)
            columns["time"].append(run.time_s)
            columns["yard"].append(
                np.array([alone.time_s(int(share[j]), int(requested[j])) for j in jobs])
            )
            packets.append(run.packets)
        if progress is not None:
            progress(number + 1, n_snapshots)
    job = np.concatenate([np.empty(0, np.int64), *columns["job"]]).astype(np.int64)
    return Measurements(
        policy=result.policy,
        snapshot=np.concatenate([np.empty(0, np.int64), *columns["snapshot"]]).astype(np.int64),
        job=job,
        share=np.asarray(share, dtype=np.int64)[job],
        n_nodes=requested[job],
        time_s=np.concatenate([np.empty(0), *columns["time"]]),
        yardstick_s=np.concatenate([np.empty(0), *columns["yard"]]),
        packets=tuple(packets),
    )


@dataclass(frozen=True)
class Ratio:
    """Mean stretch of one policy over that of the reference, with a bootstrap interval.

    ``low`` and ``high`` are None where the interval is not known (`in_several`).
    """

    ratio: float
    low: float | None
    high: float | None
    n_jobs: int


def in_several(*snapshots: ArrayLike) -> bool:
    """Whether each of these lists of jobs comes from two snapshots or more.

    An interval comes from drawing whole snapshots again; of one snapshot there is nothing to
    draw, and every draw would be the same.
    """
    return all(len(np.unique(np.asarray(snapshot))) > 1 for snapshot in snapshots)


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
        None if one side has no rows; without an interval if one side has one snapshot alone.
    """
    sides, seen_in = [], []
    for side, rows in ((mine, of_mine), (reference, of_reference)):
        use = np.ones(len(side.job), dtype=bool) if rows is None else rows
        if not use.any():
            return None
        seen_in.append(side.snapshot[use])
        _, unit = np.unique(side.snapshot[use], return_inverse=True)
        sides.append((np.bincount(unit, weights=side.stretch[use]), np.bincount(unit)))
    means = []
    for total, count in sides:
        draw = rng.integers(0, len(total), (resamples, len(total)))
        means.append(total[draw].sum(axis=1) / count[draw].sum(axis=1))
    tail = (1 - confidence) / 2
    ratio = float(sides[0][0].sum() / sides[0][1].sum() / (sides[1][0].sum() / sides[1][1].sum()))
    low, high = np.quantile(means[0] / means[1], [tail, 1 - tail])
    n_jobs = min(int(sides[0][1].sum()), int(sides[1][1].sum()))
    if not in_several(*seen_in):
        return Ratio(ratio, None, None, n_jobs)
    return Ratio(ratio, min(float(low), ratio), max(float(high), ratio), n_jobs)


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
    sizes, without an interval if it comes from one snapshot; one that no snapshot has on both
    sides gets ratio 1 in [1/2, 2], "not known".

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
            ) -> Ratio | None:
                masks = [
                    (names[side.share] == pattern) & (side.n_nodes >= low) & (side.n_nodes <= high)
                    for side in (mine, reference)
                ]
                return ratio_of_stretches(
                    mine,
                    reference,
                    rng,
                    of_mine=masks[0],
                    of_reference=masks[1],
                    confidence=confidence,
                )

            found = {sizes: ratio_of(*sizes) for sizes in size_classes}
            kept = {s: one for s, one in found.items() if one is not None and one.low is not None}
            if not kept:
                kept = {ALL_SIZES: ratio_of(*ALL_SIZES) or Ratio(*NOT_KNOWN, 0)}
            rows += [
                SpeedupRow(pattern, *sizes, policy, one.ratio, one.low, one.high)
                for sizes, one in kept.items()
            ]
    return SpeedupTable(reference_policy, tuple(rows))
