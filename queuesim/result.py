"""Result of a queue simulation: times, placements and events of every job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from netsim.errors import NetcosimError
from netsim.short_repr import short_repr
from netsim.topology import Topology
from workloads.job import Workload
from workloads.transform import select

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
Rows = Sequence[Mapping[str, object]]
"""A table: a list of rows, each a mapping of column to value."""

OUTCOMES = ("completed", "cut at their walltime", "stopped by a node that failed", "never run")
COMPLETED, CUT, FAILED, NEVER_RUN = range(len(OUTCOMES))


@short_repr()
@dataclass(frozen=True, eq=False)
class PlacementArrays:
    """Nodes and reserved links of every job: job i has ``nodes[node_ptr[i]:node_ptr[i+1]]``."""

    node_ptr: LongArray
    """(n + 1,) int64."""
    nodes: IntArray
    """int32."""
    link_ptr: LongArray
    """(n + 1,) int64; the same for ``links``."""
    links: IntArray
    """int32."""

    @staticmethod
    def from_placements(placements: Sequence[Placement | None]) -> PlacementArrays:
        """Build arrays from one placement a job, in job order; None for a job that never ran."""

        def pointers(parts: list[IntArray]) -> tuple[LongArray, IntArray]:
            ptr = np.zeros(len(parts) + 1, dtype=np.int64)
            np.cumsum([len(part) for part in parts], out=ptr[1:])
            flat = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
            return ptr, flat.astype(np.int32)

        nothing = np.empty(0, dtype=np.int32)
        node_ptr, nodes = pointers([nothing if p is None else p.nodes for p in placements])
        link_ptr, links = pointers([nothing if p is None else p.links for p in placements])
        return PlacementArrays(node_ptr, nodes, link_ptr, links)

    def placement(self, job: int, job_id: int) -> Placement:
        """Return the placement of a job (by index)."""
        return Placement(
            job_id,
            self.nodes[self.node_ptr[job] : self.node_ptr[job + 1]],
            self.links[self.link_ptr[job] : self.link_ptr[job + 1]],
        )


@short_repr()
@dataclass(frozen=True, eq=False)
class TimeSpent:
    """What the runs of jobs that may be interrupted spent their time on; columns are one a job.

    The first five columns are seconds that a job held its nodes, and sum to its time on them.
    """

    useful_s: FloatArray
    """(n,) float64. Work that counts."""
    lost_s: FloatArray
    """(n,) float64. Work since the last checkpoint before an interruption."""
    checkpoint_s: FloatArray
    """(n,) float64. Writing checkpoints."""
    restart_s: FloatArray
    """(n,) float64. Restarting after interruptions."""
    contention_s: FloatArray
    """(n,) float64. What contention added to all of these."""
    earlier_s: FloatArray
    """(n,) float64. The part of the time that is of runs before the last."""
    preempted: LongArray
    """(n,) int64. How often a job was preempted."""
    failed: LongArray
    """(n,) int64. How often a failure sent it back to the queue."""

    @staticmethod
    def nothing(n_jobs: int) -> TimeSpent:
        """Return the columns before the first start."""
        useful, lost, checkpoint, restart, contention, earlier = np.zeros((6, n_jobs))
        preempted, failed = np.zeros((2, n_jobs), dtype=np.int64)
        return TimeSpent(useful, lost, checkpoint, restart, contention, earlier, preempted, failed)

    @property
    def held_s(self) -> FloatArray:
        """(n,) time that each job held its nodes, in all runs."""
        parts = (self.useful_s, self.lost_s, self.checkpoint_s, self.restart_s, self.contention_s)
        return np.asarray(sum(parts), dtype=np.float64)

    def take(self, jobs: NDArray[np.bool_]) -> TimeSpent:
        """Return the columns of some jobs."""
        return TimeSpent(*(getattr(self, column.name)[jobs] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Running jobs at an instant."""

    time_s: float
    jobs: LongArray
    """(k,) int64. Indices of the running jobs, ascending."""
    placements: tuple[Placement, ...]
    """One a job."""


@short_repr(
    *("workload", "topology", "policy", "order", "backfill", "run_time_model", "overrun"),
    *("start_s", "end_s", "outcome", "allocated_nodes"),
)
@dataclass(frozen=True, eq=False)
class QueueResult:
    """A finished queue simulation; columns are one a job, as in the workload."""

    workload: Workload
    policy: str
    order: str
    backfill: str
    run_time_model: str
    """policy, order, backfill, run_time_model: Names."""
    window: int | None
    overrun: str
    """A key of `queuesim.queue_setup.OVERRUNS`."""
    topology: Topology
    wall_s: float
    """Wall-clock time that the simulation took."""
    start_s: FloatArray
    """(n,) float64. Of the last run of a job that was interrupted; nan for one that never ran."""
    end_s: FloatArray
    """(n,) float64. As `start_s`."""
    eligible_s: FloatArray
    """(n,) float64. From when on a job might start: its submission, or the end of its last
    dependency."""
    overran: NDArray[np.bool_]
    """(n,) bool. Jobs that had work left at their walltime: cut there, or not, depending on
    ``overrun``."""
    outcome: NDArray[np.int8]
    """(n,) int8. Positions in `OUTCOMES`."""
    allocated_nodes: IntArray
    """(n,) int32. >= requested where the policy rounds up."""
    promised_s: FloatArray
    """(n,) float64. The first reserved start; nan for a job that never had a reservation."""
    scheduling_s: FloatArray
    """(n,) float64. Wall-clock time spent in the policy for the job."""
    event_s: FloatArray
    """(m,) float64. Times of the starts and ends, ascending; two a run."""
    event_job: LongArray
    """(m,) int64. Jobs in the order in which they started and ended."""
    event_is_start: NDArray[np.bool_]
    """(m,) bool."""
    first_blocked_s: float
    """First instant after 0 at which the head of the queue could not be placed; nan if there is
    none."""
    placements: PlacementArrays | None = None
    """If they were requested."""
    reports: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Reports of the run-time model (`queuesim.runtime.RunTimes.report`)."""
    needs_Bps: FloatArray | None = None
    """(n,) float64 or None. Bandwidth that each job was known to need."""
    spent: TimeSpent | None = None
    """Where rules of the queue interrupt jobs, or they write checkpoints."""

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def machine_nodes(self) -> int:
        """Nodes of the machine."""
        return self.topology.n_nodes

    def frozen(self) -> QueueResult:
        """Make starts, ends, overruns and sizes read-only, in place; return the same object."""
        for column in (self.start_s, self.end_s, self.overran, self.allocated_nodes):
            column.flags.writeable = False
        return self

    @property
    def of_those_that_ran(self) -> QueueResult:
        """The same without the jobs that never ran; itself if there are none."""
        ran = self.outcome != NEVER_RUN
        if ran.all():
            return self
        kept = None
        if self.placements is not None:
            job_id = self.workload.job_id
            kept = PlacementArrays.from_placements(
                [self.placements.placement(int(j), int(job_id[j])) for j in np.flatnonzero(ran)]
            )
        columns = ("start_s", "end_s", "eligible_s", "overran", "outcome", "allocated_nodes")
        return replace(
            self,
            workload=select(self.workload, ran),
            **{name: getattr(self, name)[ran] for name in (*columns, "promised_s", "scheduling_s")},
            event_job=(np.cumsum(ran) - 1)[self.event_job],
            placements=kept,
            needs_Bps=None if self.needs_Bps is None else self.needs_Bps[ran],
            spent=None if self.spent is None else self.spent.take(ran),
        )

    def busy_nodes(self, *, requested: bool = False) -> tuple[FloatArray, LongArray]:
        """Return the times and the nodes in use after each start and end, one by one.

        Allocated nodes count, or ``requested`` ones. Simultaneous events have equal times.
        """
        size = self.workload.n_nodes if requested else self.allocated_nodes
        change = np.where(self.event_is_start, 1, -1) * size[self.event_job].astype(np.int64)
        return self.event_s, np.cumsum(change)

    def running_at(self, time_s: float) -> LongArray:
        """Return the indices of the jobs with start <= time < end."""
        return np.flatnonzero((self.start_s <= time_s) & (time_s < self.end_s))

    def snapshots(self, times_s: Iterable[float]) -> list[Snapshot]:
        """Return the running jobs and their placements at chosen instants."""
        if self.placements is None:
            raise NetcosimError("snapshots need placements: simulate with keep_placements=True")
        kept, job_id = self.placements, self.workload.job_id
        found = []
        for time_s in times_s:
            jobs = self.running_at(time_s)
            places = tuple(kept.placement(int(job), int(job_id[job])) for job in jobs)
            found.append(Snapshot(float(time_s), jobs, places))
        return found
