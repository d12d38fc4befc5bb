"""Background I/O: jobs write through gateways, across the machine, even if they are isolated.

A partition's own links carry what its job sends inside. What a job writes to a file system leaves
the partition: to a login, I/O or LNET node that belongs to no job, by the machine's routing, over
links of other jobs. No policy that isolates jobs keeps that away from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy, Request
from cosim.network.communication import Communication, rounded_s
from cosim.network.ensemble import PlacedJob, SharedNetwork
from cosim.network.loops import least_iteration_s
from netsim.errors import NetcosimError
from netsim.topology import Topology
from queuesim.draws import substitute_id
from queuesim.site.node_sets import NO_JOB
from queuesim.site.partitions import node_mask
from workloads.job import Workload
from workloads.transform import drop

KEY = "communication.io.gateways"
_IO = 7
"""Separates a job's I/O from the job in random draws."""


@dataclass(frozen=True, eq=False)
class GatewayIo:
    """Continuous I/O of every job of more than one node."""

    nodes: NDArray[np.int32]
    """(g,) int32. The gateways, which belong to no job."""
    drive: float
    """Share of the time for which a job's node keeps its link busy with it, where the gateways can
    take as much."""
    message_bytes: int
    """That a node writes at once."""

    def of_job(self, network: SharedNetwork, job_id: int, nodes: NDArray[np.integer]) -> PlacedJob:
        """Return a job's I/O: as a job of its own that never ends, on the job's nodes and the
        gateways.

        The nodes write to the gateways in turn, from a gateway on that the job's id names, and
        begin at a random moment, the same on any nodes.
        """
        turned = np.roll(self.nodes, -(job_id % len(self.nodes)))[: len(nodes)]
        ranks = network.ranks_per_node
        io = Communication(
            "gateways",
            max(1, self.message_bytes // ranks),
            parameters={"gateways": len(turned) * ranks},
        )
        job = PlacedJob(
            substitute_id([_IO, job_id]),
            io,
            np.concatenate([nodes, turned]),
            task_mapping="in-order",
        )
        topology = network.routing.topology
        injection = topology.link_bandwidth_Bps[: topology.n_nodes * topology.rails]
        node_Bps = float(injection.reshape(topology.n_nodes, -1)[nodes].sum(axis=1).min())
        period_s = self.message_bytes / node_Bps / self.drive
        busy_s = least_iteration_s(topology, network.program(job, 1), network.rank_node(job))
        start_s = float(network.streams(job).start.random()) * period_s
        compute_s, start_s = rounded_s(np.array([max(0.0, period_s - busy_s), start_s])).tolist()
        return replace(job, compute_s=compute_s, start_s=start_s)


def gateway_nodes(text: str, topology: Topology) -> NDArray[np.int32]:
    """Return the nodes that a config names as gateways, ascending."""
    mask = node_mask(text, topology, f"key {KEY}")
    if mask.all():
        raise NetcosimError(f"key {KEY}: {text!r}; some nodes must be left to jobs")
    return np.flatnonzero(mask).astype(np.int32)


def with_room(jobs: Workload, policy: Policy, gateways: NDArray[np.integer]) -> Workload:
    """Return the jobs without those that a policy with all nodes free cannot place beside the
    gateways."""
    keep_off(policy, gateways)
    sizes, which = np.unique(jobs.n_nodes, return_inverse=True)
    fits = np.ones(len(sizes), dtype=bool)
    for k, size in enumerate(sizes.tolist()):
        placement = policy.allocate(Request(NO_JOB, size))
        fits[k] = placement is not None
        if placement is not None:
            policy.release(placement)
    if fits.all():
        return jobs
    return drop(jobs, ~fits[which], f"never fits under {policy.name} beside the gateways")


def keep_off(policy: Policy, gateways: Sequence[int] | NDArray[np.integer]) -> None:
    """Remove the gateways permanently from a policy with all nodes free.

    Jobs of one node are placed until all of them are taken; those elsewhere are released.
    """
    wanted = {int(v) for v in gateways}
    placed: list[Placement] = []
    while not wanted <= {int(v) for p in placed for v in p.nodes}:
        placement = policy.allocate(Request(NO_JOB, 1))
        if placement is None or len(placement.nodes) != 1:
            raise NetcosimError(
                f"key {KEY}: policy {policy.name!r} gives whole blocks of nodes; it cannot keep "
                "jobs off single ones"
            )
        placed.append(placement)
    for placement in placed:
        if int(placement.nodes[0]) not in wanted:
            policy.release(placement)
