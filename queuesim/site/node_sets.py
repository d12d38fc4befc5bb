"""The machine under partitions, reservations and failures: jobs are kept to sets of nodes.

A policy is called while all nodes that the job may not use are held
(`alloc.policy.Policy.hold`): so any policy that can hold any nodes keeps to them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from queuesim.estimates import Estimates
from queuesim.machine import Machine, NodeReservation
from queuesim.site.access import Access
from queuesim.site.partitions import Mask
from workloads.job import Workload

NO_JOB = -1


class NodeSetMachine(Machine):
    """State of a policy whose jobs are kept to sets of nodes."""

    def __init__(
        self,
        workload: Workload,
        policy: Policy,
        bandwidth_Bps: NDArray[np.float64] | None,
        estimates: Estimates | None,
        access: Access,
    ) -> None:
        check_holds_any(policy)
        super().__init__(workload, policy, bandwidth_Bps, estimates, access.alike)
        self.access = access
        self.ended: list[tuple[float, NDArray[np.int32]]] = []
        """(promised end, nodes) of the jobs that ended since this was last cleared."""
        self._idle: Mask = np.ones(policy.topology.n_nodes, dtype=bool)

    def place(self, job: int, now_s: float, held: Sequence[NodeReservation]) -> Placement | None:
        """Place a job now on nodes that it may use, off what is held for others; None: no room."""
        n_nodes = self.n_nodes[job]
        if n_nodes > self.n_free:
            return None
        began = perf_counter()
        end_s = now_s + self.requested_s[job]
        usable, links = self._usable(job, now_s, end_s, held)
        placement = None
        if np.count_nonzero(self._idle & usable) >= n_nodes:
            placement = allocate_within(self.policy, self.request(job, now_s), usable, links)
        self.scheduling_s[job] += perf_counter() - began
        if placement is not None:
            self.take(job, placement, now_s)
        return placement

    def take(self, job: int, placement: Placement, now_s: float) -> None:
        super().take(job, placement, now_s)
        self._idle[placement.nodes] = False

    def release(self, job: int, now_s: float) -> None:
        nodes = self.placements[job].nodes
        self.ended.append((self.promised_end[job], nodes))
        self._idle[nodes] = True
        super().release(job, now_s)

    def n_idle(self, partition: int) -> int:
        """Return the nodes of a partition that no job has."""
        return int(np.count_nonzero(self._idle & self.access.nodes[partition]))

    def failed(self, nodes: Mask) -> None:
        """Take nodes out of service that failed unexpectedly."""
        self.ended.append((inf, nodes.nonzero()[0].astype(np.int32)))

    def surprised(self, partition: int, shadow_s: float, now_s: float) -> bool:
        """Return whether a forecast for a partition has failed, which voids its reservations.

        A job on its nodes ended before its promised end, or after the shadow time; or it runs
        and its promised end lies between the shadow time and now.
        """
        mine = self.access.nodes[partition]
        if any((end > now_s or now_s > shadow_s) and mine[n].any() for end, n in self.ended):
            return True
        first = bisect_right(self.by_end, (shadow_s, len(self.n_nodes)))
        last = bisect_right(self.by_end, (now_s, len(self.n_nodes)))
        return any(mine[self.placements[job].nodes].any() for _, job in self.by_end[first:last])

    def first_place(
        self, job: int, now_s: float, held: Sequence[NodeReservation]
    ) -> NodeReservation:
        """Return when and where a job could start, if running jobs keep their promised ends.

        It must not use ``held``, the reservations of other jobs, while they last.
        """
        began = perf_counter()
        walltime, n_nodes = self.requested_s[job], self.n_nodes[job]
        idle, trial = self._idle.copy(), self.policy.clone()
        others = [h.end_s for h in held] + self.access.changes_after(now_s)
        if self.relents_s(job) < inf:
            others.append(self.relents_s(job))
        ends = [max(end, now_s) for end, _ in self.by_end]
        placement, k, gone = None, 0, 0
        for time_s in sorted({now_s, *ends, *(t for t in others if t > now_s)}):
            while k < len(ends) and ends[k] <= time_s:
                idle[self.placements[self.by_end[k][1]].nodes] = True
                k += 1
            usable, links = self._usable(job, time_s, time_s + walltime, held)
            if np.count_nonzero(idle & usable) < n_nodes:
                continue
            for _, other in self.by_end[gone:k]:
                trial.release(self.placements[other])
            gone = k
            request = self.request(job, now_s, time_s)
            placement = allocate_within(trial, request, usable, links)
            if placement is not None:
                break
        self.scheduling_s[job] += perf_counter() - began
        if placement is None:
            raise NetcosimError(
                f"job {self._job_id[job]}: policy {self.policy.name!r} cannot place {n_nodes} "
                f"nodes on {self.policy.topology.name}, within the job's partition, even with "
                "every running job released"
            )
        return NodeReservation(job, time_s, time_s + walltime, placement.nodes, placement.links)

    def _has_room(
        self, job: int, now_s: float, gone: Sequence[int], held: Sequence[NodeReservation]
    ) -> bool:
        usable, links = self._usable(job, now_s, now_s + self.requested_s[job], held)
        idle = self._idle.copy()
        for other in gone:
            idle[self.placements[other].nodes] = True
        if np.count_nonzero(idle & usable) < self.n_nodes[job]:
            return False
        trial = self.policy.clone()
        for other in gone:
            trial.release(self.placements[other])
        return allocate_within(trial, self.request(job, now_s), usable, links) is not None

    def _usable(
        self, job: int, start_s: float, end_s: float, held: Sequence[NodeReservation]
    ) -> tuple[Mask, NDArray[np.int32]]:
        """Return the nodes that a job may use from start to end, and the links that it may not."""
        usable = self.access.usable(job, start_s, end_s)
        met = [h for h in held if h.shadow_s < end_s and h.end_s > start_s]
        if not met:
            return usable, np.empty(0, dtype=np.int32)
        usable = usable.copy()
        for other in met:
            usable[other.nodes] = False
        return usable, np.concatenate([other.links for other in met])


def check_holds_any(policy: Policy | type[Policy]) -> None:
    """Raise `NetcosimError` for a policy that cannot be restricted to a set of nodes."""
    if not policy.holds_any:
        raise NetcosimError(
            f"policy {policy.name!r} cannot be kept to some nodes of the machine, as "
            "queue.partitions and queue.outages need: it reserves more than nodes and links"
        )


def allocate_within(
    policy: Policy, request: Request, usable: Mask, links: NDArray[np.int32]
) -> Placement | None:
    """Return a place on usable nodes and off these links, as `Policy.allocate`."""
    barred = np.flatnonzero(~usable).astype(np.int32)
    if not len(barred) and not len(links):
        return policy.allocate(request)
    policy.hold(Placement(NO_JOB, barred, links))
    placement = policy.allocate(request)
    policy.unhold()
    return placement
