"""Beside ns-3: the same flows on the same fixed ways end in the same nanosecond.

ns-3 stores and forwards, with unlimited queues here; netcosim's get a router latency of one
packet's time, which is store and forward, buffers that never limit and one channel a link. Times
are random to the nanosecond on slow links, so no two packets come to a queue at once and no order
is chosen by an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.validation.cases import with_links
from experiments.validation.peer import Peer
from experiments.validation.posted import posted_messages
from experiments.validation.row import Measured, Row, Setting, exact
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.routing.shortest_path import table_routing
from netsim.topology import Topology

PEER = Peer(
    "ns-3", "ns", "experiments.validation.ns3_peer", 'pip install "netcosim[ns3]" (Linux, x86-64)'
)
LINK_BPS = 10**6
"""A byte takes 1000 ns."""
LATENCY_S = 40e-6
PAYLOAD_BYTES, HEADER_BYTES = 1000, 30
STOP_S = 100
MACHINES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("fattree", {"m1": 4, "m2": 4, "m3": 4}, "d-mod-k"),
    ("fattree", {"radix": 8, "levels": 2}, "d-mod-k"),
    ("dragonfly", {"p": 2, "a": 4, "h": 2, "g": 9}, "minimal"),
    ("torus", {"dims": [5, 5]}, "dimension-order"),
)


@dataclass(frozen=True, eq=False)
class Flows:
    """Messages on fixed ways: by source, and of one source by time."""

    routing: Routing
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    packets: NDArray[np.int64]
    start_ns: NDArray[np.int64]


def measure(setting: Setting) -> Measured:
    """Measure random flows on each machine; ns-3 starts slowly, so it gets all of them at once."""
    request = [random_flows(number, setting) for number in range(len(MACHINES))]
    answers = PEER.ask([question_of(flows) for flows in request], setting.python)
    pairs = zip(request, answers, strict=True)
    return Measured([compared(flows, answer) for flows, answer in pairs])


def random_flows(number: int, setting: Setting) -> Flows:
    """Draw a few messages of each node to random others at random times."""
    family, params, name = MACHINES[number]
    topology = with_links(family, params, lambda: LINK_BPS, lambda: LATENCY_S)
    routing = on_one_channel(make_routing(topology, name))
    n, per_node = routing.topology.n_nodes, 2 if setting.quick else 6
    rng = np.random.default_rng((setting.seed, number))
    src = np.repeat(np.arange(n), per_node)
    dst = (src + rng.integers(1, n, len(src))) % n
    packets = rng.integers(1, 20, len(src))
    start_ns = np.sort(rng.integers(0, 30_000_000, (n, per_node)), axis=1).ravel()
    return Flows(routing, src, dst, packets, start_ns)


def question_of(flows: Flows) -> dict[str, Any]:
    """Return the flows in the script's format."""
    topology = flows.routing.topology
    cables, cable_of = cables_of(topology)
    sent = []
    for src, dst, packets, start_ns in zip(
        flows.src.tolist(),
        flows.dst.tolist(),
        flows.packets.tolist(),
        flows.start_ns.tolist(),
        strict=True,
    ):
        links = links_of(flows.routing, src, dst)
        way = [src, *topology.link_dst[links].tolist()]
        cables_on_way = cable_of[links].tolist()
        sent.append({"way": way, "cables": cables_on_way, "packets": packets, "start_ns": start_ns})
    return {
        "n_vertices": topology.n_ports + topology.n_routers,
        "cables": cables,
        "rate_bps": 8 * LINK_BPS,
        "delay_ns": round(LATENCY_S * 1e9),
        "payload_bytes": PAYLOAD_BYTES,
        "stop_s": STOP_S,
        "flows": sent,
    }


def compared(flows: Flows, answer: Mapping[str, Any]) -> Row:
    """Compare netcosim with the answer, flow by flow."""
    routing, n_flows = flows.routing, len(flows.src)
    config = PacketConfig(
        packet_bytes=PAYLOAD_BYTES,
        header_bytes=HEADER_BYTES,
        buffer_bytes=1 << 28,
        router_latency_s=(PAYLOAD_BYTES + HEADER_BYTES) / LINK_BPS,
    )
    size = flows.packets * PAYLOAD_BYTES
    n = routing.topology.n_nodes
    traffic = posted_messages(n, flows.src, flows.dst, size, flows.start_ns * 1e-9)
    result = simulate_packets(routing, traffic, config, np.random.default_rng(1))
    off_ns = np.abs(result.message_finish_ps / 1000 - np.array(answer["end_ns"]))
    queued_ns = result.message_finish_ps / 1000 - flows.start_ns
    return exact(
        f"{routing.topology.name}, {routing.name}: furthest end of {n_flows} flows from ns-3's",
        0,
        float(off_ns.max()),
        "ns",
        "ns-3 in a process of its own, drop-tail queues without end",
        f"{int(flows.packets.sum()):,} packets, {answer['lost']} lost there; "
        f"{int((off_ns > 0).sum())} flows differ; flows take up to {queued_ns.max() / 1e6:.0f} ms",
    )


def cables_of(topology: Topology) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return pairs of opposite links as cables, and the cable of each link."""
    cables: list[list[int]] = []
    cable_of = np.full(topology.n_links, -1)
    waiting: dict[tuple[int, int], list[int]] = {}
    for link, ends in enumerate(
        zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
    ):
        back = waiting.get((ends[1], ends[0]))
        if back:
            cable_of[link] = back.pop(0)
        else:
            cable_of[link] = len(cables)
            waiting.setdefault(ends, []).append(len(cables))
            cables.append(list(ends))
    return cables, cable_of


def links_of(routing: Routing, src: int, dst: int) -> list[int]:
    """Return the links from node to node under a routing with one path only."""
    topology = routing.topology
    links, router, state = [src], int(topology.node_router[src]), 0
    while int(topology.link_dst[links[-1]]) != dst:
        (hop,) = routing.choices(router, dst, state)
        links.append(hop.link)
        router, state = int(topology.link_dst[hop.link]) - topology.n_ports, hop.state
    return links


def on_one_channel(routing: Routing) -> Routing:
    """Return the same paths with one queue a link, as networks without virtual channels have.

    Use it with buffers that never limit; where they do, the network can deadlock. Paths must depend
    only on a packet's router and its destination's router.
    """
    if routing.n_vcs == 1:
        return routing
    topology = routing.topology
    n = topology.n_routers
    table = np.full((n, n), -1, dtype=np.int32)
    sources = np.unique(topology.port_router).tolist()
    for port, target in enumerate(topology.port_router.tolist()):
        for source in sources:
            router, state = source, 0
            while router != target:
                hops = routing.choices(router, port, state)
                if len(hops) != 1 or table[router, target] not in (-1, hops[0].link):
                    raise NetcosimError(
                        f"routing {routing.name!r} on {topology.name}: ways are not by router and "
                        "destination's router alone"
                    )
                table[router, target] = hops[0].link
                router = int(topology.link_dst[hops[0].link]) - topology.n_ports
                state = hops[0].state
    return table_routing(topology, f"{routing.name} on one channel", table, 1, channel_step=0)
