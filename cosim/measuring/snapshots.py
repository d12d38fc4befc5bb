"""Common parts of all measures of a schedule: instants, their running jobs, and results.

Snapshots cut a schedule into parts of equal work. Jobs of one node are left out: they send nothing
over the network. How the others' communication is timed, and what it is compared with, is a measure
(`cosim.registry.MEASURES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alloc.policy import Placement, Policy
from cosim.measuring.measured import SpeedupTable
from cosim.network.communication import BY_SHARE, Communication
from cosim.network.ensemble import PlacedJob, SharedNetwork
from cosim.parameters import QUEUE, SMALL_FIRST
from netsim.errors import NetcosimError
from netsim.packet.model import PacketResult
from netsim.short_repr import short_repr
from queuesim.result import QueueResult, Rows

if TYPE_CHECKING:
    from cosim.network.gateways import GatewayIo
    from netsim.routing.base import Routing

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


def size_class(n_nodes: ArrayLike) -> LongArray:
    """Return the index of each size in `SIZE_CLASSES`, (n,)."""
    first = [low for low, _ in SIZE_CLASSES]
    return np.searchsorted(first, np.asarray(n_nodes), side="right") - 1


def format_sizes(low: int, high: int) -> str:
    """Return a range of sizes in words."""
    return f"{low}-{high}" if high < ALL_SIZES[1] else f"{low}+"


def format_snapshots(numbers: Sequence[int]) -> str:
    """Return the numbers of snapshots, one after the other, in words."""
    if len(numbers) == 1:
        return f"snapshot {numbers[0]}"
    return f"snapshots {numbers[0]} to {numbers[-1]}"


def in_several(*snapshots: ArrayLike) -> bool:
    """Return whether each of these lists of jobs comes from two snapshots or more.

    One snapshot gives no information about a class of jobs at other times.
    """
    return all(len(np.unique(np.asarray(snapshot))) > 1 for snapshot in snapshots)


def snapshot_times(result: QueueResult, n_snapshots: int) -> FloatArray:
    """Return instants that divide the schedule into parts of equal work.

    The i-th is where ``(i + 1/2) / n`` of all busy node-seconds have passed, so that busy
    times are sampled as often as they count.
    """
    time_s, nodes = result.busy_nodes()
    if len(time_s) == 0:
        raise NetcosimError("no snapshots of an empty schedule")
    done = np.concatenate([[0.0], np.cumsum(np.diff(time_s) * nodes[:-1])])
    wanted = (np.arange(n_snapshots) + 0.5) / n_snapshots * done[-1]
    # not np.interp: where the machine is idle `done` is constant
    after = np.clip(np.searchsorted(done, wanted, side="right"), 1, len(done) - 1)
    width = done[after] - done[after - 1]
    part = np.where(width > 0, (wanted - done[after - 1]) / np.where(width > 0, width, 1.0), 0.0)
    return np.asarray(time_s[after - 1] + part * (time_s[after] - time_s[after - 1]))


@short_repr()
@dataclass(frozen=True, eq=False)
class Side:
    """A policy's schedule, and the network on which its jobs run."""

    schedule: QueueResult
    """Kept with its placements."""
    network: SharedNetwork
    isolates: bool = False
    """Whether the policy guarantees that no job feels another."""
    empty: Callable[[int], Policy] | None = None
    """The policy with all nodes free, with draws of its own for each snapshot; for studies whose
    jobs are placed anew."""
    silent: NDArray[np.bool_] | None = None
    """(n_jobs,) bool. Jobs that only compute; none by default."""
    routing_at: Callable[[float], Routing] | None = None
    """The routing at a time of the queue, for networks with links that are slow or down for a
    while."""

    def network_at(self, time_s: float) -> SharedNetwork:
        """Return the network of a time."""
        if self.routing_at is None:
            return self.network
        return replace(self.network, routing=self.routing_at(time_s))

    def running(self, time_s: float) -> list[int]:
        """Return the jobs of more than one node (by index) that run and send at an instant."""
        jobs = self.schedule.running_at(time_s)
        if self.silent is not None:
            jobs = jobs[~self.silent[jobs]]
        return [int(job) for job in jobs[self.schedule.workload.n_nodes[jobs] > 1]]

    def placement(self, index: int) -> Placement:
        """Return the placement of a job (by index)."""
        kept = self.schedule.placements
        if kept is None:
            raise NetcosimError("snapshots need placements: simulate with keep_placements=True")
        return kept.placement(index, int(self.schedule.workload.job_id[index]))

    def placed(self, index: int, communication: Communication) -> PlacedJob:
        """Return a job on the nodes, and the links of its own if it has some, that it had here."""
        place = self.placement(index)
        workload = self.schedule.workload
        nodes = place.nodes[: int(workload.n_nodes[index])]
        return PlacedJob(int(workload.job_id[index]), communication, nodes, partition=place)

    def anew(self, jobs: Sequence[int], number: int) -> Side:
        """Return the same with these jobs (by index), those of a snapshot, on an empty machine."""
        from queuesim.placing import placed_anew

        if self.empty is None:
            raise NetcosimError(f"{self.schedule.policy}: no policy to place jobs anew with")
        return replace(self, schedule=placed_anew(self.schedule, self.empty(number), jobs))


@short_repr()
@dataclass(frozen=True, eq=False)
class Study:
    """Schedules and settings of a measurement."""

    sides: Mapping[str, Side]
    """By the name that tables have, the reference among them; the same jobs in all."""
    reference: str
    """The side that the others are compared with."""
    communications: Sequence[Communication]
    share: LongArray
    """(n_jobs,) int64. Index into ``communications`` of every job of the workload."""
    fraction: FloatArray
    """(n_jobs,) float64. Share of its run time in which a job communicates."""
    n_snapshots: int
    only: int | None = None
    """The one snapshot, counted from 0, that is measured; all by default."""
    confidence: float = 0.95
    """Of intervals."""
    placed: str = QUEUE
    """A key of `cosim.parameters.PLACED`: where the jobs of a snapshot sit (see `at`)."""
    io: GatewayIo | None = None
    """What jobs write through gateways beside what is measured."""
    together: str = BY_SHARE
    """A key of `cosim.network.communication.TOGETHER`."""

    @property
    def by_share(self) -> bool:
        """Whether jobs compute between iterations; if not, they communicate all the time."""
        return self.together == BY_SHARE

    def at(self, number: int) -> Study:
        """Return the study of one snapshot, with its jobs placed by ``placed``; the study itself
        for a queue's.

        All jobs of the reference's instant are placed, those of one node too. A job that runs at
        several instants is placed anew at each.
        """
        if self.placed == QUEUE:
            return self
        schedule = self.sides[self.reference].schedule
        running = schedule.running_at(float(self.instants_s(self.reference)[number]))
        jobs = _in_order(running, schedule.workload.n_nodes, self.placed).tolist()
        sides = {name: side.anew(jobs, number) for name, side in self.sides.items()}
        return replace(self, sides=sides, only=number, placed=QUEUE)

    @property
    def others(self) -> dict[str, Side]:
        """All sides but the reference."""
        return {name: side for name, side in self.sides.items() if name != self.reference}

    @property
    def numbers(self) -> Sequence[int]:
        """The snapshots that are measured."""
        return range(self.n_snapshots) if self.only is None else (self.only,)

    def running(self, name: str, number: int) -> list[int]:
        """Return the jobs of more than one node (by index) that run at a snapshot of a side."""
        return self.sides[name].running(float(self.instants_s(name)[number]))

    def instants_s(self, name: str) -> FloatArray:
        """Return `snapshot_times` of a side, (n_snapshots,), cached because all jobs are read."""
        if name not in self._instants_s:
            schedule = self.sides[name].schedule
            self._instants_s[name] = snapshot_times(schedule, self.n_snapshots)
        return self._instants_s[name]

    @cached_property
    def _instants_s(self) -> dict[str, FloatArray]:
        return {}

    def communication(self, index: int) -> Communication:
        """Return the communication of a job (by index)."""
        return self.communications[int(self.share[index])]


@short_repr()
@dataclass(frozen=True, eq=False)
class Measurements:
    """Communication times of the jobs of all snapshots under one policy, one row a job."""

    policy: str
    snapshot: LongArray
    job: LongArray
    share: LongArray
    n_nodes: LongArray
    """snapshot, job, share, n_nodes: (k,) int64. Which snapshot, index of the job in the workload,
    index of its communication, its requested nodes."""
    time_s: FloatArray
    baseline_s: FloatArray
    """time_s, baseline_s: (k,) float64. With all others, and what the measure compares it with."""
    packets: tuple[PacketResult, ...] = ()
    """One a snapshot in which jobs were together, for link statistics."""
    alone_s: FloatArray | None = None
    """(k,) float64, optional. Isolated time on the same nodes, where the measure has it."""
    instant_s: FloatArray | None = None
    """(n_snapshots,) float64, optional. When the snapshots were, by their number, in the schedule
    that they were taken of."""
    compute_s: FloatArray | None = None
    """(k,) float64, optional. Computing between iterations, where times are periods without an
    isolated one."""
    exposed_s: Mapping[str, FloatArray] = field(default_factory=dict)
    """Mapping of str to (k,) float64. Of ``time_s``, by kind of communication, for how long ranks
    have waited, in the mean over ranks (`cosim.network.job_times.PacketTimes`); of the first random
    starts."""

    @property
    def stretch(self) -> FloatArray:
        """(k,) float64: time over the isolated baseline; 1 where nothing is sent and both are 0."""
        moved = self.baseline_s > 0
        return np.divide(self.time_s, self.baseline_s, out=np.ones_like(self.time_s), where=moved)

    @property
    def communicating(self) -> Measurements:
        """The same without the computing between iterations."""
        if self.compute_s is None:
            return self
        times = (self.time_s - self.compute_s, self.baseline_s - self.compute_s)
        return replace(self, time_s=times[0], baseline_s=times[1])

    @property
    def packet_hops(self) -> int:
        """Links traversed by all packets of all snapshots."""
        return sum(result.packet_hops for result in self.packets)


@dataclass(frozen=True)
class Ratio:
    """Communication time under a policy over that under the reference, with an interval.

    ``low`` and ``high`` are None where the interval is not known.
    """

    ratio: float
    low: float | None
    high: float | None
    n_jobs: int


@short_repr()
@dataclass(frozen=True, eq=False)
class Measurement:
    """Result of a measure."""

    jobs: Mapping[str, Measurements]
    """By the study's sides."""
    ratios: Mapping[str, Ratio]
    """Of all jobs together, by side; without sides on which no job was seen."""
    table: SpeedupTable
    """By pattern and size class, for the run-time model "measured"."""
    tables: Mapping[str, Rows] = field(default_factory=dict)
    """Further results of the measure."""
    notes: tuple[str, ...] = ()
    """Its result in words, a line each."""


def _in_order(
    jobs: NDArray[np.int64], n_nodes: NDArray[np.integer], placed: str
) -> NDArray[np.int64]:
    """Return the jobs (ascending indices) in the order in which they are placed."""
    if placed != SMALL_FIRST:
        return jobs
    return jobs[np.argsort(n_nodes[jobs], kind="stable")]
