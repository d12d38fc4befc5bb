"""Compiles every kernel by running it once on a tiny case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from alloc.policy import Request
from alloc.registry import POLICIES, make_policy, policies_for
from netcosim.kernel_parts import (
    CROSSBAR_THREADS,
    CROSSBARS,
    FLOWS,
    JOB_FLOWS,
    PACKET_THREADS,
    PACKETS,
    PARTS,
    PLACED,
    QUEUES,
    WALKS,
    mark_compiled,
)
from netsim.flow.job_load import job_link_load
from netsim.flow.job_messages import job_messages
from netsim.flow.job_routes import JobRoutes
from netsim.flow.maxmin import max_min_rates, run_flows
from netsim.flow.message_load import message_load
from netsim.flow.message_network import MessageNetwork
from netsim.flow.paths import flow_paths
from netsim.packet.model import INPUT_QUEUED, PacketConfig
from netsim.packet.routing_tables import tables_class
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from netsim.traffic import combine
from patterns.registry import make_pattern
from queuesim.compiled.by_count import run_by_count
from queuesim.queue_setup import QueueSetup
from workloads.synthetic import laas_workload


def _machines() -> list[Topology]:
    return [
        make_topology("dragonfly", {"p": 2, "a": 2, "g": 3}),
        make_topology("fattree", {"radix": 4}),
        make_topology("torus", {"dims": [3, 3]}),
    ]


def warm_up(parts: Iterable[str] = tuple(PARTS)) -> Iterator[tuple[str, float]]:
    """Run the kernels of these parts; gives what was run and its seconds, as they are done."""
    machines, crossbars = _machines(), PacketConfig(router=INPUT_QUEUED)
    steps: dict[str, Callable[[Topology], None]] = {
        **{part: partial(_packets, PacketConfig(), 1, kind) for kind, part in PACKETS.items()},
        CROSSBARS: partial(_packets, crossbars, 1, None),
        PACKET_THREADS: partial(_packets, PacketConfig(), 2, None),
        CROSSBAR_THREADS: partial(_packets, crossbars, 2, None),
        FLOWS: _flows,
        JOB_FLOWS: partial(_job_flows, True),
        WALKS: partial(_job_flows, False),
        **{part: partial(_queues, *kind, "") for kind, part in QUEUES.items()},
        **{part: partial(_queues, False, False, kernels) for kernels, part in PLACED.items()},
    }
    wanted = set(parts)
    for part in PARTS:
        if part not in wanted:
            continue
        started = time.perf_counter()
        for topology in machines:
            steps.get(part, partial(_policies, kernels=part))(topology)
        mark_compiled(part)
        yield part, time.perf_counter() - started


def _packets(config: PacketConfig, threads: int, kind: str | None, topology: Topology) -> None:
    from netsim.packet.engine import simulate_packets

    rng = np.random.default_rng(1)
    program = make_pattern("all-to-all", 4, 1000, 1, rng)
    traffic = combine([program], [np.arange(4)])
    for name in routings_for(topology.family):
        routing = make_routing(topology, name)
        if kind not in (None, tables_class(routing, config).__name__):
            continue
        simulate_packets(routing, traffic, config, rng, threads=threads)


def _flows(topology: Topology) -> None:
    src, dst = np.arange(4), np.array([1, 2, 3, 0])
    capacity = topology.link_bandwidth_Bps
    for name in routings_for(topology.family):
        routing = make_routing(topology, name)
        paths = flow_paths(routing, src, dst, 1000.0)
        max_min_rates(paths.ptr, paths.links, capacity, paths.weights)
        run_flows(paths, [1000.0, 2000.0, 1000.0, 3000.0], capacity)
        job_link_load(routing, src, dst, 1000.0, np.arange(4))


def _job_flows(static: bool, topology: Topology) -> None:
    config = PacketConfig()
    program = make_pattern("all-to-all", 4, 1000, 1, np.random.default_rng(1))
    job = job_messages(program, 1, config)
    for name in routings_for(topology.family):
        routing = make_routing(topology, name)
        if routing.is_single_path != static:
            continue
        network: MessageNetwork[int] = MessageNetwork(topology.n_links)
        for first in (0, 1):
            nodes = np.arange(first, first + 4, dtype=np.int32)
            network.change([(first, message_load(JobRoutes(routing), job, nodes, config))], [])
        network.change([], [0])


def _queues(by_score: bool, conservative: bool, kernels: str, topology: Topology) -> None:
    for name in policies_for(topology.family) if kernels else ["baseline"]:
        kind = POLICIES[name]
        if kernels and not (kind.has_kernel_state and kind.kernels == kernels):
            continue
        setup = QueueSetup(
            laas_workload(2, 2.0, np.random.default_rng(1)),
            make_policy(topology, name, np.random.default_rng(1)),
            order="wfp" if by_score else "fcfs",
            backfill="conservative" if conservative else "easy",
            rng=np.random.default_rng(1),
        )
        run_by_count(setup)


def _policies(topology: Topology, kernels: str) -> None:
    for name in policies_for(topology.family):
        if POLICIES[name].kernels != kernels:
            continue
        policy = make_policy(topology, name, np.random.default_rng(1))
        for job, size in enumerate((1, 2, topology.n_nodes // 3)):
            policy.allocate(Request(job, size, end_s=1.0))
