"""The flow level: a million flows, all sizes different, and jobs that come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.case import Round
from netsim.flow.job_messages import job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.maxmin import flow_finish_times
from netsim.flow.message_load import message_load
from netsim.flow.message_network import MessageNetwork
from netsim.flow.paths import flow_paths
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topology import Topology
from patterns.registry import make_pattern

HOSTS = 1024


NETWORKS: dict[str, Callable[[], Topology]] = {
    "dragonfly-1056": partial(dragonfly, 4, 8, 33),
    "fattree-1024": partial(fat_tree, 16),
}


def all_to_all(nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the source and destination of each flow."""
    n = len(nodes)
    src, dst = np.divmod(np.arange(n * n), n)
    return nodes[src[src != dst]], nodes[dst[src != dst]]


def equal_flows(network: str) -> Round:
    """Return a round that computes an all-to-all of equal messages."""
    topology = NETWORKS[network]()
    routing = make_routing(topology)
    src, dst = all_to_all(np.arange(HOSTS))

    def run() -> Mapping[str, float]:
        paths = flow_paths(routing, src, dst)
        return {"flows": len(flow_finish_times(paths, 1e6, topology.link_bandwidth_Bps))}

    return run


def different_flows(hosts: int) -> Round:
    """Return a round that computes an all-to-all whose flows all differ in size."""
    topology = NETWORKS["fattree-1024"]()
    routing = make_routing(topology)
    src, dst = all_to_all(np.arange(hosts))
    amount = np.random.default_rng(1).uniform(1e5, 1e7, len(src))

    def run() -> Mapping[str, float]:
        paths = flow_paths(routing, src, dst)
        return {"flows": len(flow_finish_times(paths, amount, topology.link_bandwidth_Bps))}

    return run


def changes(shape: Sequence[int], n_jobs: int, job_nodes: int, n_changed: int) -> Round:
    """Return a round of all-to-all jobs on scattered nodes, some of which end and restart."""
    topology = dragonfly(*shape)
    routing, config = make_routing(topology), PacketConfig()
    rng = np.random.default_rng(1)
    program = make_pattern("all-to-all", job_nodes, 1_000_000, 1, rng)
    job = job_messages(program, 1, config)
    nodes = rng.permutation(topology.n_nodes)[: n_jobs * job_nodes].astype(np.int32)
    routes = JobRoutes(routing)
    loads = [message_load(routes, job, own, config) for own in nodes.reshape(n_jobs, job_nodes)]
    network: MessageNetwork[int] = MessageNetwork(topology.n_links)
    network.change(list(enumerate(loads)), [])

    def run() -> Mapping[str, float]:
        for j in range(n_changed):
            network.change([], [j])
            network.change([(j, loads[j])], [])
        return {"changes": 2 * n_changed}

    return run
