"""Bytes that jobs put on links between routers, in isolation on their nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from netsim.flow.message_network import MessageNetwork
from queuesim.result import NEVER_RUN, QueueResult


def link_bytes(
    result: QueueResult,
    network: JobNetwork,
    share: NDArray[np.int64],
    fraction: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the bytes of each job of a schedule (n,), counted on each link that they cross.

    A job sends at the rate of its isolated run at flow level, for its run time as logged:
    contention delays bytes and adds none. ``share`` and ``fraction`` are the communication of each
    job and the share of its isolated run time in which it communicates.
    """
    topology, jobs, kept = network.shared.routing.topology, result.workload, result.placements
    assert kept is not None
    alone: MessageNetwork[int] = MessageNetwork(topology.n_links)
    found = np.zeros(len(jobs))
    sends = (jobs.n_nodes > 1) & (fraction > 0) & (result.outcome != NEVER_RUN)
    for job in np.flatnonzero(sends).tolist():
        nodes = kept.nodes[kept.node_ptr[job] :][: int(jobs.n_nodes[job])].astype(np.int32)
        load = network.loads.load(Situation(int(share[job]), nodes.tobytes()))
        if len(load.links):
            alone.change([(0, load)], [])
            sent = float(load.busy_s @ topology.link_bandwidth_Bps[load.links])
            found[job] = fraction[job] * jobs.run_time_s[job] * sent / alone.alone_s(0)
            alone.change([], [0])
    return found
