"""The machine as the queue sees it: free nodes, running jobs, what is known to fail.

A thin layer over an allocation policy. It keeps running jobs sorted by the end they
promised (start plus requested walltime), remembers the sizes that cannot be placed
until something is released, and measures the time spent in the policy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from queuesim.estimates import Estimates, Requested
from workloads.job import Workload

if TYPE_CHECKING:
    from queuesim.logged import LoggedNodes

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NodeReservation:
    """Reservation of nodes and links for a job, from its planned start to its end."""

    job: int
    shadow_s: float
    end_s: float
    nodes: NDArray[np.int32]
    links: NDArray[np.int32]


class Machine:
    """State of a policy under a queue; see the module's text.

    The policy is empty at first. ``estimates`` are the run times passed to it (None: those
    requested). Without ``alike`` all jobs with equal requests are alike to the policy.
    """

    def __init__(
        self,
        workload: Workload,
        policy: Policy,
        bandwidth_Bps: NDArray[np.float64] | None = None,
        estimates: Estimates | None = None,
        alike: NDArray[np.int64] | None = None,
    ) -> None:
        self.policy = policy
        self._estimates = Requested().prepare(workload) if estimates is None else estimates
        self._started_s: dict[int, float] = {}
        self.n_nodes: Sequence[int] = tuple(workload.n_nodes.tolist())
        self.requested_s: Sequence[float] = tuple(workload.requested_s.tolist())
        self._job_id: list[int] = workload.job_id.tolist()
        self.needs_Bps = bandwidth_Bps
        self._bandwidth = None if bandwidth_Bps is None else bandwidth_Bps.tolist()
        self._submit_s: list[float] = workload.submit_s.tolist()
        self._relents_after_s = policy.relents_after_s
        self._logged: LoggedNodes | None = None
        if policy.replays:
            from queuesim.logged import logged_nodes

            self._logged = logged_nodes(workload, policy.topology)
        self.kind, self._kind_nodes, first = kinds_of(
            workload, policy, bandwidth_Bps, alike, self._logged
        )
        """(n,) int64: jobs of one kind are alike to the policy."""
        self._kind_needs = None if bandwidth_Bps is None else bandwidth_Bps[first]
        self._kind_of: list[int] = self.kind.tolist()
        self.n_free = policy.n_free
        """Nodes that no job has, held or not."""
        self.by_end: list[tuple[float, int]] = []
        """(promised end, job) of the running jobs, sorted."""
        self.placements: dict[int, Placement] = {}
        self.promised_end: dict[int, float] = {}
        self.scheduling_s = [0.0] * len(workload)
        # Kinds, by whether the policy has relented.
        states = 1 if self._relents_after_s is None else 2
        self._failed = np.zeros((states, len(self._kind_nodes)), dtype=np.bool_)
        self._failed_held = np.zeros_like(self._failed)
        self.state = 0
        """Number of placements and releases so far."""
        # The state on which a kind was last withdrawn.
        self._delays_at = np.full(len(self._kind_nodes), -1)
        self._bounded = type(policy).may_place is not Policy.may_place
        self._ruled_out: dict[bool, NDArray[np.bool_]] = {}
        """By whether the hold is applied, on the present state."""
        self._hold: Placement | None = None
        self._held_now = False
        self.shadow_s = inf
        """The shadow time of the present reservation; set by the backfilling method."""
        self.forecast_broken = False
        """Whether a job ended before its promised end, or after the shadow time, since
        this was last set to False."""
        self.released = False
        """Whether any job ended, or the policy relented, since this was last set to False."""

    @property
    def n_running(self) -> int:
        """Jobs that run now."""
        return len(self.by_end)

    def relents_s(self, job: int) -> float:
        """Return when a job that did not fit may be placed though nothing was released."""
        patience = self._relents_after_s
        return inf if patience is None else self._submit_s[job] + patience

    def request(self, job: int, now_s: float, at_s: float | None = None) -> Request:
        """Return a job's request as if started now, with its patience at ``at_s``."""
        at_s = now_s if at_s is None else at_s
        waited = max(at_s - self._submit_s[job], 0.0)
        if self._relents_after_s is not None and at_s >= self.relents_s(job):
            waited = max(waited, self._relents_after_s)
        return Request(
            self._job_id[job],
            self.n_nodes[job],
            now_s + self._estimates.walltime_s(job),
            None if self._bandwidth is None else self._bandwidth[job],
            waited,
            None if self._logged is None else self._logged[job],
        )

    def allocate(self, job: int, now_s: float, *, respect_hold: bool = False) -> Placement | None:
        """Place a job now, or remember that its size fails.

        ``respect_hold`` keeps it off the held nodes and links; without it they may be used.
        """
        if self.n_nodes[job] > self.n_free:
            return None
        held = respect_hold and self._hold is not None
        state = int(self._relents_after_s is not None and now_s >= self.relents_s(job))
        kind = self._kind_of[job]
        if self._failed[state, kind] or (held and self._failed_held[state, kind]):
            return None
        began, placement = perf_counter(), None
        self._set_hold(held)
        if not (self._bounded and self._hopeless(held)[kind]):
            placement = self.policy.allocate(self.request(job, now_s))
        self.scheduling_s[job] += perf_counter() - began
        if placement is None:
            (self._failed_held if held else self._failed)[state, kind] = True
            return None
        self.take(job, placement, now_s)
        return placement

    def take(self, job: int, placement: Placement, now_s: float) -> None:
        """Record a job's placement, made here or by a caller that used the policy directly."""
        self._ruled_out.clear()
        self.state += 1
        self.n_free -= len(placement.nodes)
        self.placements[job] = placement
        self._started_s[job] = now_s
        end = now_s + self.requested_s[job]
        self.promised_end[job] = end
        insort(self.by_end, (end, job))

    def fill_partner(self, lead: int, waiting: Sequence[int], now_s: float) -> int | None:
        """Place a waiting job beside one just placed, if the policy pairs jobs; which one."""
        if not self.policy.pairs or not waiting:
            return None
        began = perf_counter()
        found = self.policy.fill_partner(
            self.request(lead, now_s), (self.request(job, now_s) for job in waiting)
        )
        if found is None:
            self.scheduling_s[lead] += perf_counter() - began
            return None
        job = waiting[found[0]]
        self.scheduling_s[job] += perf_counter() - began
        self.take(job, found[1], now_s)
        return job

    def release(self, job: int, now_s: float) -> None:
        """Free what a running job had."""
        self._ruled_out.clear()
        placement = self.placements.pop(job)
        began = perf_counter()
        self._set_hold(False)
        self.policy.release(placement)
        self.scheduling_s[job] += perf_counter() - began
        self._estimates.completed(job, now_s - self._started_s.pop(job))
        end = self.promised_end.pop(job)
        del self.by_end[bisect_left(self.by_end, (end, job))]
        self.n_free += len(placement.nodes)
        self.state += 1
        self._failed[:] = self._failed_held[:] = False
        self.released = True
        if end > now_s or now_s > self.shadow_s:
            self.forecast_broken = True

    def victims_for(
        self, job: int, now_s: float, victims: Sequence[int], held: Sequence[NodeReservation]
    ) -> list[int]:
        """Return the first of these running jobs that must leave to place a job; empty: no room.

        None of them could stay, and the job does not use held nodes or links.
        """
        began = perf_counter()
        self._set_hold(False)
        leave: list[int] = []
        for victim in victims:
            leave.append(victim)
            if self._has_room(job, now_s, leave, held):
                break
        else:
            leave = []
        for other in leave[-2::-1]:
            rest = [victim for victim in leave if victim != other]
            if self._has_room(job, now_s, rest, held):
                leave = rest
        self.scheduling_s[job] += perf_counter() - began
        return leave

    def _has_room(
        self, job: int, now_s: float, gone: Sequence[int], held: Sequence[NodeReservation]
    ) -> bool:
        """Return whether a job could be placed now, if some running jobs were gone."""
        freed = sum(len(self.placements[other].nodes) for other in gone)
        if self.n_free + freed < self.n_nodes[job] or self.policy.counts_only:
            return self.n_free + freed >= self.n_nodes[job]
        trial = self.policy.clone()
        for other in gone:
            trial.release(self.placements[other])
        return trial.allocate(self.request(job, now_s)) is not None

    def withdraw(self, job: int) -> None:
        """Undo the `allocate` of this instant: the job would delay the head of the queue."""
        self._ruled_out.clear()
        placement = self.placements.pop(job)
        self._set_hold(False)
        self.policy.release(placement)
        self._started_s.pop(job)
        end = self.promised_end.pop(job)
        del self.by_end[bisect_left(self.by_end, (end, job))]
        self.n_free += len(placement.nodes)
        self.state -= 1
        if not self.policy.walltime_aware and self._relents_after_s is None:
            # Its like would get the same nodes, until a job starts or ends.
            self._delays_at[self._kind_of[job]] = self.state

    def delays_head(self, job: int) -> bool:
        """Return whether a job of this kind was withdrawn with no start or end since."""
        return bool(self._delays_at[self._kind_of[job]] == self.state)

    def small_enough(self) -> FloatArray:
        """Return `latest_end_s` considering only the number of free nodes."""
        return np.where(self._kind_nodes <= self.n_free, inf, -inf)

    def latest_end_s(self, shadow_s: float, extra: int) -> FloatArray:
        """Return by when a job of each kind must end, by its request, to start now.

        Jobs that end by ``shadow_s`` may use any free nodes, held or not; later ones at most
        ``extra`` nodes (``counts_only`` policies). -inf for a kind that cannot start at all.
        """
        if self.policy.counts_only:
            late = np.where(self._kind_nodes > extra, shadow_s, inf)
            return np.where(self._kind_nodes > self.n_free, -inf, late)
        late = self._failed_held.all(axis=0) | (self._delays_at == self.state)
        never = self._failed.all(axis=0) | (self._kind_nodes > self.n_free)
        if self._bounded:
            never |= self._hopeless(False)
            if self._hold is not None:
                late |= self._hopeless(True)
        late |= self._kind_nodes > extra
        latest = np.where(late, shadow_s, inf)
        latest[never] = -inf
        return latest

    def _hopeless(self, held: bool) -> NDArray[np.bool_]:
        """Return the kinds that the policy rules out now, with the hold or without, (kinds,)."""
        if held not in self._ruled_out:
            self._set_hold(held)
            self._ruled_out[held] = ~self.policy.may_place(self._kind_nodes, self._kind_needs)
        return self._ruled_out[held]

    def note_failure(self, latest_end_s: FloatArray, job: int, shadow_s: float) -> None:
        """Update `latest_end_s` after a job failed, which can change that of its kind only."""
        kind = self._kind_of[job]
        if self._failed[:, kind].all():
            latest_end_s[kind] = -inf
        elif self.delays_head(job) or self._failed_held[:, kind].all():
            latest_end_s[kind] = shadow_s

    def fits_at(self, job: int, time_s: float, now_s: float) -> bool:
        """Return whether a job could be placed at a time if running jobs end as promised."""
        began = perf_counter()
        self._set_hold(False)
        trial = self.policy.clone()
        for end, other in self.by_end:
            if end > time_s:
                break
            trial.release(self.placements[other])
        placement = trial.allocate(self.request(job, now_s, time_s))
        self.scheduling_s[job] += perf_counter() - began
        return placement is not None

    def overrun_since(self, since_s: float, now_s: float) -> bool:
        """Return whether a running job's promised end lies in ``(since_s, now_s]``."""
        k = bisect_right(self.by_end, (since_s, len(self.n_nodes)))
        return k < len(self.by_end) and self.by_end[k][0] <= now_s

    def hold(self, placement: Placement | None) -> None:
        """Keep these nodes and links for the head job; None lifts the hold."""
        self._delays_at[:] = -1
        if placement is None and self._hold is None:
            return
        self._set_hold(False)
        self._hold = placement
        self._ruled_out.pop(True, None)
        self._failed_held[:] = False

    def _set_hold(self, wanted: bool) -> None:
        """Apply or lift the hold in the policy, only when it has to change."""
        if wanted and not self._held_now:
            assert self._hold is not None
            self.policy.hold(self._hold)
        elif not wanted and self._held_now:
            self.policy.unhold()
        self._held_now = wanted

    def shadow_count(self, n_needed: int, now_s: float) -> tuple[float, int, int]:
        """Return when enough nodes are free by count, if running jobs keep their promised ends.

        That is not before now: a job past its walltime counts as ending now. Also the nodes that
        are free then, with all jobs that end at that time released, and how many entries of
        `by_end` that takes.
        """
        by_end, placements = self.by_end, self.placements
        free, shadow, k = self.n_free, now_s, 0
        while k < len(by_end):
            end, job = by_end[k]
            if end > shadow:
                if free >= n_needed:
                    break
                shadow = end
            free += len(placements[job].nodes)
            k += 1
        return shadow, free, k

    def shadow_placement(self, job: int, now_s: float) -> tuple[float, Placement]:
        """Return when and where a job could be placed, if running jobs keep their promised ends.

        Running jobs are released on a copy of the policy, all that end at one time
        together, in order of their promised ends, until the job's `allocate` succeeds
        there; it is also recomputed when the policy relents. The number of free nodes determines
        how many releases that takes at least; they are done at once.
        """
        began = perf_counter()
        shadow, _, k = self.shadow_count(self.n_nodes[job], now_s)
        self._set_hold(False)
        trial = self.policy.clone()
        by_end, relents_s = self.by_end, self.relents_s(job)
        for _, other in by_end[:k]:
            trial.release(self.placements[other])
        placement = trial.allocate(self.request(job, now_s, shadow))
        while placement is None and (k < len(by_end) or shadow < relents_s < inf):
            ends_s = by_end[k][0] if k < len(by_end) else inf
            shadow = min(ends_s, relents_s) if shadow < relents_s else ends_s
            while k < len(by_end) and by_end[k][0] <= shadow:
                trial.release(self.placements[by_end[k][1]])
                k += 1
            placement = trial.allocate(self.request(job, now_s, shadow))
        self.scheduling_s[job] += perf_counter() - began
        if placement is None:
            raise NetcosimError(
                f"job {self._job_id[job]}: policy {self.policy.name!r} cannot place "
                f"{self.n_nodes[job]} nodes on {self.policy.topology.name} "
                "even with every running job released"
            )
        return shadow, placement


def kinds_of(
    workload: Workload,
    policy: Policy,
    bandwidth_Bps: FloatArray | None,
    alike: NDArray[np.int64] | None = None,
    logged: LoggedNodes | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
    """Return the index of every job's kind (size, bandwidth, what else counts), and the size and
    the first job of each kind."""
    columns = [np.asarray(workload.n_nodes, dtype=np.float64)]
    if bandwidth_Bps is not None and policy.without_need:
        columns.append(np.asarray(bandwidth_Bps, dtype=np.float64))
    if alike is not None:
        columns.append(alike.astype(np.float64))
    if logged is not None:
        columns.append(np.where(logged.known, np.arange(len(workload)), -1.0))
    _, first, kind = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return kind.reshape(-1), workload.n_nodes[first].astype(np.int64), first
