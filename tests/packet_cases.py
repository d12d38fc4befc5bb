"""Small networks and programs for the packet engines' tests, and the engines by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from experiments.validation.cases import Send, Step, program
from experiments.validation.reference.packets import simulate_reference
from netsim.packet.engine import simulate_packets
from netsim.packet.model import (
    PacketConfig,
    PacketResult,
)
from netsim.routing.base import Hop, Routing
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.registry import make_routing
from netsim.topologies.family import EqualLinks
from netsim.topologies.torus import torus
from netsim.topology import Ports, RouterLinks, build_topology
from netsim.traffic import Traffic, combine

ENGINES: dict[str, Callable[..., PacketResult]] = {
    "reference": simulate_reference,
    "engine": simulate_packets,
}

Simulate = Callable[..., PacketResult]


def seeded(name: str) -> Simulate:
    """An engine with its generator: ``simulate(routing, traffic, config, until_s=...)``."""
    return partial(_with_rng, ENGINES[name])


def _with_rng(engine: Simulate, *args: object, until_s: float | None = None) -> PacketResult:
    return engine(*args, np.random.default_rng(7), until_s=until_s)


GBPS = 10**9
"""One GB/s: a byte takes 1000 ps."""
L, R = 40_000, 100_000
"""Latency of a wire and of a router in the tests, ps."""
BIG = 1 << 24
"""A buffer that never limits."""


def traffic(*ranks: Sequence[Step], nodes: Sequence[int] | None = None) -> Traffic:
    """One group; by default rank i on node i."""
    where = range(len(ranks)) if nodes is None else nodes
    return combine([program(*ranks)], [np.array(where)])


def flows(pairs: Sequence[tuple[int, int]], size: int, n: int) -> Traffic:
    """Each (src, dst) one message of ``size`` bytes, all at time 0, among ``n`` ranks."""
    return traffic(
        *(
            [
                Step(
                    sends=[Send(b, size) for a, b in pairs if a == r],
                    need=sum(b == r for _, b in pairs),
                )
            ]
            for r in range(n)
        )
    )


def all_to_all(n: int, size: int) -> Traffic:
    """Every rank sends to every other, in ring order."""
    return flows([(r, (r + i) % n) for r in range(n) for i in range(1, n)], size, n)


def line(
    node_router: Sequence[int],
    byte_ps: Sequence[int] = (),
    latency_ps: Sequence[int] | None = None,
    *,
    node_latency_ps: int = L,
    node_Bps: int = GBPS,
) -> Routing:
    """Routers in a row; cable ``i`` joins routers ``i`` and ``i+1`` at ``byte_ps[i]`` a byte.

    Shortest paths; the channel is the number of router links taken so far.
    """
    m = len(byte_ps)
    latencies = [L] * m if latency_ps is None else list(latency_ps)
    ahead = np.arange(m)
    topology = build_topology(
        family="graph",
        name="line",
        shape=None,
        n_routers=m + 1,
        ports=Ports(
            router=np.array(node_router), bandwidth_Bps=node_Bps, latency_s=node_latency_ps * 1e-12
        ),
        links=RouterLinks(
            src=np.concatenate([ahead, ahead + 1]),
            dst=np.concatenate([ahead + 1, ahead]),
            kind=np.zeros(2 * m, dtype=int),
            kinds=("cable",),
            bandwidth_Bps=np.array([10**12 // b for b in byte_ps] * 2),
            latency_s=np.array([x * 1e-12 for x in latencies] * 2),
        ),
    )
    return make_routing(topology, "shortest-path")


def one_way_ring(n: int) -> Routing:
    """A ring of ``n`` routers, one channel, all packets clockwise: it can deadlock.

    The kernel tables are those of a mesh of one dimension in which both ways are clockwise.
    """
    topology = torus(
        [n],
        links=EqualLinks(
            node_bandwidth_Bps=GBPS,
            link_bandwidth_Bps=GBPS,
            node_latency_s=L * 1e-12,
            link_latency_s=L * 1e-12,
        ),
    )
    base = make_routing(topology, "dimension-order")
    clockwise = 2 * n + np.arange(n)

    def choices(router: int, dst_node: int, state: int) -> list[Hop]:
        if router == dst_node:
            return [ejection(topology, dst_node, state)]
        return [Hop(int(clockwise[router]), 0, 1)]

    tables = make_tables(
        topology,
        base.tables.code,
        1,
        (0, 1, 1, n, 0, 0),
        np.repeat(clockwise, 2),
        np.arange(n),
        np.zeros(n),
    )
    return replace(base, name="one-way", n_vcs=1, tables=tables, choices=choices)


def config(
    *,
    packet: int = 1000,
    header: int = 0,
    buffer: int = BIG,
    router_ps: int = R,
    send_ps: int = 0,
    recv_ps: int = 0,
    copy_ps: float = 0,
) -> PacketConfig:
    """A packet configuration in picoseconds (``copy_ps`` a byte)."""
    return PacketConfig(
        packet_bytes=packet,
        header_bytes=header,
        buffer_bytes=buffer,
        router_latency_s=router_ps * 1e-12,
        send_overhead_s=send_ps * 1e-12,
        recv_overhead_s=recv_ps * 1e-12,
        copy_s_per_byte=copy_ps * 1e-12,
    )
