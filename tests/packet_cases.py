"""Small networks and programs for the packet engines' tests, and the engines by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.packet.engine import simulate_packets
from netsim.packet.model import (
    ARBITRATIONS,
    DELIVERIES,
    INPUT_QUEUED,
    UNLIMITED,
    PacketConfig,
    PacketResult,
)
from netsim.packet.reference import simulate_reference
from netsim.routing.base import Hop, Routing, View
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.registry import make_routing
from netsim.topologies.torus import torus
from netsim.topology import build_topology
from netsim.traffic import Program, Traffic, combine

ENGINES: dict[str, Callable[..., PacketResult]] = {
    "reference": simulate_reference,
    "engine": simulate_packets,
}

GBPS = 10**9
"""One GB/s: a byte takes 1000 ps."""
L, R = 40_000, 100_000
"""Latency of a wire and of a router in the tests, ps."""
BIG = 1 << 24
"""A buffer that never limits."""


@dataclass(frozen=True)
class Send:
    """A message: receiver, bytes, and the receiver's step (counted from its own first)."""

    dst: int
    size: int
    step: int = 0


@dataclass(frozen=True)
class Step:
    """One step of a rank."""

    sends: Sequence[Send] = ()
    need: int = 0
    compute_ps: int = 0


def program(*ranks: Sequence[Step]) -> Program:
    """A program from each rank's list of steps; messages are numbered as they are read."""
    steps = [step for rank in ranks for step in rank]
    first = np.cumsum([0] + [len(rank) for rank in ranks])
    sends = [send for step in steps for send in step.sends]
    return Program(
        n_ranks=len(ranks),
        step_ptr=first.astype(np.int64),
        compute_s=np.array([step.compute_ps * 1e-12 for step in steps], dtype=np.float64),
        recv_need=np.array([step.need for step in steps], dtype=np.int32),
        send_ptr=np.cumsum([0] + [len(step.sends) for step in steps]).astype(np.int64),
        send_dst=np.array([send.dst for send in sends], dtype=np.int32),
        send_bytes=np.array([send.size for send in sends], dtype=np.int64),
        send_step=np.array([first[send.dst] + send.step for send in sends], dtype=np.int64),
    )


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
        port_router=np.array(node_router),
        n_routers=m + 1,
        router_src=np.concatenate([ahead, ahead + 1]),
        router_dst=np.concatenate([ahead + 1, ahead]),
        router_kind=np.zeros(2 * m, dtype=int),
        router_kinds=("cable",),
        router_bandwidth_Bps=np.array([10**12 // b for b in byte_ps] * 2),
        router_latency_s=np.array([x * 1e-12 for x in latencies] * 2),
        node_bandwidth_Bps=node_Bps,
        node_latency_s=node_latency_ps * 1e-12,
    )
    return make_routing(topology, "shortest-path")


def one_way_ring(n: int) -> Routing:
    """A ring of ``n`` routers, one channel, all packets clockwise: it can deadlock.

    The kernel tables are those of a mesh of one dimension in which both ways are clockwise.
    """
    topology = torus(
        [n],
        node_bandwidth_Bps=GBPS,
        link_bandwidth_Bps=GBPS,
        node_latency_s=L * 1e-12,
        link_latency_s=L * 1e-12,
    )
    base = make_routing(topology, "dimension-order")
    clockwise = 2 * n + np.arange(n)

    def choices(router: int, dst_node: int, state: int) -> list[Hop]:
        if router == dst_node:
            return [ejection(topology, dst_node, state)]
        return [Hop(int(clockwise[router]), 0, 1)]

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        return choices(router, dst_node, state)[0]

    tables = make_tables(
        topology,
        base.tables.code,
        1,
        (0, 1, 1, n, 0),
        np.repeat(clockwise, 2),
        np.arange(n),
        np.zeros(n),
    )
    return replace(base, name="one-way", n_vcs=1, tables=tables, choices=choices, choose=choose)


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


def random_program(rng: np.random.Generator, n_ranks: int) -> Program:
    """A program that always ends: a send of step s counts toward a step >= s.

    Times are whole multiples of 500 ps, so that many things fall into one tick. Some steps
    need fewer messages than they get.
    """
    n_steps = rng.integers(0, 4, n_ranks)
    need = [[0] * n for n in n_steps]
    sends: list[list[list[Send]]] = [[[] for _ in range(n)] for n in n_steps]
    for rank, step in [(r, s) for r in range(n_ranks) for s in range(n_steps[r])]:
        for _ in range(rng.integers(0, 4)):
            dst = int(rng.integers(n_ranks))
            if n_steps[dst] > step:
                to = int(rng.integers(step, n_steps[dst]))
                sends[rank][step].append(Send(dst, int(rng.choice([1, 8, 500, 1000, 3700])), to))
                need[dst][to] += int(rng.random() < 0.9)
    return program(
        *(
            [
                Step(sends[r][s], need[r][s], compute_ps=500 * int(rng.choice([0, 0, 1, 2, 4000])))
                for s in range(n_steps[r])
            ]
            for r in range(n_ranks)
        )
    )


def random_traffic(rng: np.random.Generator, n_nodes: int) -> Traffic:
    """One to three random programs on random nodes, often several ranks a node."""
    programs = [random_program(rng, int(rng.integers(1, 9))) for _ in range(rng.integers(1, 4))]
    return combine(
        programs,
        [rng.integers(0, n_nodes, p.n_ranks) for p in programs],
        [1e-9 * int(rng.choice([0, 0, 1, 2000])) for _ in programs],
    )


def random_config(rng: np.random.Generator) -> PacketConfig:
    """Small packets, tight and wide buffers, end-point costs now and then."""
    packet, header = int(rng.choice([500, 1000])), int(rng.choice([0, 24]))
    plain = config(
        packet=packet,
        header=header,
        buffer=int((packet + header) * rng.choice([1, 1.5, 2, 10])),
        router_ps=int(rng.choice([0, 1000, 100_000])),
        send_ps=int(rng.choice([0, 0, 500, 70_000])),
        recv_ps=int(rng.choice([0, 0, 500, 70_000])),
        copy_ps=float(rng.choice([0, 0, 0.4, 3])),
    )
    return with_router(plain, rng)


SPEEDUPS = (None, 0.5, 1, 1.5, 2, 4, UNLIMITED)


def with_router(plain: PacketConfig, rng: np.random.Generator) -> PacketConfig:
    """The configuration with a router and a delivery of any kind."""
    mixed = replace(plain, delivery=str(rng.choice(DELIVERIES)))
    # input-queued routers know no congestion control
    if rng.random() < 0.4 or plain.congestion_control != "none":
        return mixed
    wire = plain.packet_bytes + plain.header_bytes
    space = rng.choice([0, wire, int(1.5 * wire), 2 * wire, 10 * wire])
    return replace(
        mixed,
        router=INPUT_QUEUED,
        crossbar_speedup=SPEEDUPS[rng.integers(len(SPEEDUPS))],
        output_buffer_bytes=int(space) or None,
        arbitration=[None, *ARBITRATIONS][rng.integers(1 + len(ARBITRATIONS))],
    )
