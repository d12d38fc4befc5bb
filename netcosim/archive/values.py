"""What a run keeps beside its tables, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.short_repr import short_repr

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]
IntArray = NDArray[np.int32]


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedMachine:
    """The machine: enough of it to be drawn, without the config's files."""

    name: str
    family: str
    rails: int
    """Network ports a node; ports are numbered as in `netsim.topology.Topology`."""
    port_router: IntArray
    """(n_ports,) int32."""
    link_src: IntArray
    link_dst: IntArray
    """link_src, link_dst: (n_links,) int32. Vertices: the ports first, then the routers."""
    link_kind: NDArray[np.int8]
    """(n_links,) int8. Index into ``kinds``."""
    link_bandwidth_Bps: LongArray
    """(n_links,) int64."""
    kinds: tuple[str, ...]
    node_names: tuple[str, ...]
    """Empty where nodes are their numbers."""
    router_x: NDArray[np.float32]
    router_y: NDArray[np.float32]
    """router_x, router_y: (n_routers,) float32. Where a drawing has its routers
    (`netsim.layout`)."""
    router_group: IntArray
    """(n_routers,) int32. Index into ``group_names``."""
    group_names: tuple[str, ...]
    """Groups of a dragonfly, pods of a fat-tree, planes of a torus, ..."""

    @property
    def n_nodes(self) -> int:
        """Nodes, whatever ports they have."""
        return len(self.port_router) // self.rails

    @property
    def first_router_link(self) -> int:
        """Number of the first link between routers."""
        return 2 * len(self.port_router)


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedJobs:
    """The jobs that all policies were given, in the order of their submission."""

    log: str
    """Name of the log or generator."""
    start_unix_s: float | None
    """Time 0 in Unix time."""
    job_id: LongArray
    """(n,) int64."""
    submit_s: FloatArray
    run_time_s: FloatArray
    requested_s: FloatArray
    """submit_s, run_time_s, requested_s: (n,) float64. As in the log: submission, run time,
    walltime."""
    n_nodes: IntArray
    user: IntArray
    """n_nodes, user: (n,) int32."""
    pattern: NDArray[np.int16]
    """(n,) int16. Index into ``patterns``."""
    fraction: FloatArray
    """(n,) float64. Share of its run time in which a job communicates."""
    patterns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.job_id)


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedLinks:
    """Counters of every link at every snapshot of a policy."""

    time_s: FloatArray
    """(s,) float64. Instants of the schedule whose jobs were sent."""
    number: IntArray
    """(s,) int32. Which of the run's snapshots they are, from 0."""
    span_s: FloatArray
    """(s,) float64. Simulated time that the packets took: a link's busy share is ``busy_s /
    span_s``."""
    packets: LongArray
    bytes: LongArray
    busy_ps: LongArray
    stall_ps: LongArray
    """packets, bytes, busy_ps, stall_ps: (s, n_links) int64. As in
    `netsim.packet.model.PacketResult`."""


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedMeasured:
    """Communication times of jobs at snapshots, where they sat then, and who held them up.

    With run times that are measured, the schedule that snapshots were taken of is the one with
    logged run times, and not the archived one, so the nodes are stored here.
    """

    snapshot: IntArray
    """(k,) int32. From 0; `ArchivedLinks.number` has those of its rows."""
    job: LongArray
    """(k,) int64. Index into the jobs."""
    time_s: FloatArray
    baseline_s: FloatArray
    """time_s, baseline_s: (k,) float64. With all others, and what the measure compares it with
    (alone on the same nodes, ...)."""
    alone_s: FloatArray
    """(k,) float64. Alone on the same nodes; nan where that was not measured. ``time_s / alone_s -
    1`` is what the others cost the job."""
    range_ptr: LongArray
    """(k + 1,) int64."""
    range_first: IntArray
    range_length: IntArray
    """range_first, range_length: int32. Nodes at the snapshot, as in `ArchivedSchedule`."""
    neighbour_ptr: LongArray
    """(k + 1,) int64. Row i's neighbours are ``neighbour[neighbour_ptr[i]:neighbour_ptr[i +
    1]]``."""
    neighbour: LongArray
    """(m,) int64. Index into the jobs."""
    part: FloatArray
    """(m,) float64. A neighbour's part, in 0 to 1, of what all neighbours send over the links that
    the job uses, each link counted by what the job itself sends there
    (`cosim.measuring.neighbours`)."""


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedSchedule:
    """What became of every job under one policy."""

    start_s: FloatArray
    end_s: FloatArray
    eligible_s: FloatArray
    """start_s, end_s, eligible_s: (n,) float64. Nan for a job that never ran; of the last run of
    one that a failure sent back."""
    outcome: NDArray[np.int8]
    """(n,) int8. Positions in `queuesim.result.OUTCOMES`."""
    allocated_nodes: IntArray
    """(n,) int32. More than requested where the policy rounds up."""
    range_ptr: LongArray
    """(n + 1,) int64. Job i sat on ranges ``range_ptr[i]:range_ptr[i + 1]``, in the order of its
    ranks."""
    range_first: IntArray
    range_length: IntArray
    """range_first, range_length: int32. First node of each range, and its nodes one after the
    other."""
    links: ArchivedLinks | None = None
    """None where no packets were sent."""
    measured: ArchivedMeasured | None = None

    def nodes_of(self, job: int) -> LongArray:
        """Return the nodes of a job (by index), in the order of its ranks."""
        own = slice(self.range_ptr[job], self.range_ptr[job + 1])
        pairs = zip(self.range_first[own].tolist(), self.range_length[own].tolist(), strict=True)
        nodes = [np.arange(first, first + length) for first, length in pairs]
        return np.concatenate([np.empty(0, dtype=np.int64), *nodes])


@short_repr()
@dataclass(frozen=True, eq=False)
class ArchivedRun:
    """A run, for drawing and later analysis."""

    machine: ArchivedMachine
    jobs: ArchivedJobs
    schedules: Mapping[str, ArchivedSchedule]
    """By policy, in the config's order."""


def over_time_columns(run: ArchivedRun, schedule: ArchivedSchedule) -> dict[str, np.ndarray]:
    """Return busy nodes, waiting jobs and their nodes, from each time to the next."""
    jobs, n = run.jobs, run.machine.n_nodes
    ran = np.isfinite(schedule.start_s)
    start, end = schedule.start_s[ran], schedule.end_s[ran]
    time_s = np.unique(np.concatenate([jobs.submit_s[ran], start, end]))
    busy = _steps(time_s, start, end, schedule.allocated_nodes[ran])
    return {
        "time_s": time_s,
        "busy_nodes": busy,
        "utilisation": busy / n,
        "running_jobs": _steps(time_s, start, end, np.ones(len(start))),
        "waiting_jobs": _steps(time_s, jobs.submit_s[ran], start, np.ones(len(start))),
        "waiting_nodes": _steps(time_s, jobs.submit_s[ran], start, jobs.n_nodes[ran]),
    }


def _steps(time_s: np.ndarray, begin: np.ndarray, end: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return the running sum of ``by`` over time, added at begins and subtracted at ends."""
    change = np.zeros(len(time_s), dtype=np.int64)
    np.add.at(change, np.searchsorted(time_s, begin), by.astype(np.int64))
    np.add.at(change, np.searchsorted(time_s, end), -by.astype(np.int64))
    return np.cumsum(change)
