"""Any network under an offered load, and with lone messages: sources, run and count in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.kit.load_latency import LoadPoint, Window, measure_load
from experiments.kit.open_loop import lone_messages, open_loop, traffic_params
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig, serialisation_ps, to_ps
from netsim.routing.base import Routing
from netsim.traffic import Program, Traffic, combine


def offered_load(
    routing: Routing,
    traffic: str,
    load: float,
    window: Window,
    config: PacketConfig,
    rng: np.random.Generator,
    *,
    cycle_s: float | None = None,
) -> LoadPoint:
    """Measure Poisson sources of single packets on all nodes, at one load of their links.

    Traffic is a name of `experiments.kit.open_loop.DESTINATIONS`. "adversarial" goes to the next
    group of the topology, "tornado" around its dimensions (one ring of all nodes where it has
    none). Messages are posted at any time, or at whole cycles.
    """
    topology = routing.topology
    rate_Bps = load * int(topology.link_bandwidth_Bps[0])
    size, params = config.packet_bytes, traffic_params(topology, traffic)
    program = open_loop(topology.n_nodes, traffic, size, rate_Bps, window.end_s, rng, params=params)
    if cycle_s is not None:
        program = on_clock(program, cycle_s)
    placed = combine([program], [np.arange(topology.n_nodes)])
    return measure_load(routing, placed, window, config, rng)


def on_clock(program: Program, cycle_s: float) -> Program:
    """Return the same streams with every post at a whole cycle (nearest to the original time).

    A clock of whole cycles needs far fewer ticks than one of picoseconds; that is how a
    synchronous router would see the sources. Only for programs that never wait.
    """
    total = np.cumsum(program.compute_s)
    first = program.step_ptr[:-1]
    before = np.concatenate([[0.0], total])[first]
    cycles = np.rint((total - np.repeat(before, np.diff(program.step_ptr))) / cycle_s)
    gaps = np.diff(cycles, prepend=0.0)
    gaps[first] = cycles[first]
    return replace(program, compute_s=np.maximum(gaps, 0.0) * cycle_s)


LONE = 500


@dataclass(frozen=True)
class LoneMessages:
    """Messages without contention."""

    links: float
    """Mean number of links taken, injection and ejection among them."""
    latency_mean_s: float
    """Measured."""
    expected_mean_s: float
    """Links x wire + (links - 1) x router + serialisation."""
    worst_ps: int
    """Largest difference of one message, where the routing has one path (static); else the
    difference of the sums."""


def links_on_path(routing: Routing, src: int, dst: int) -> int | None:
    """Return the links from port to port if the routing has one path, else None."""
    topology = routing.topology
    router, state, links = int(topology.port_router[src]), 0, 1
    while True:
        hops = routing.choices(router, dst, state)
        if len(hops) != 1:
            return None
        links += 1
        vertex = int(topology.link_dst[hops[0].link])
        if vertex == dst:
            return links
        router, state = vertex - topology.n_ports, hops[0].state


def lone_time_ps(routing: Routing, config: PacketConfig, links: int) -> int:
    """Return the time of a lone full packet over ``links`` links, injection and ejection included.

    links x wire + (links - 1) x router + serialisation; all links are like the first one. A
    crossbar slower than the links adds the rest of its time at each router; by its head a
    message arrives without serialisation.
    """
    topology = routing.topology
    router_ps = to_ps(config.router_latency_s) + to_ps(config.crossing_overhead_s or 0.0)
    size = config.packet_bytes + config.header_bytes
    link_Bps = int(topology.link_bandwidth_Bps[0])
    sent_ps = serialisation_ps(size, link_Bps)
    if config.head_counts:
        sent_ps = 0
    elif config.input_queued:
        router_ps += max(0, config.crossing_ps(size, link_Bps, link_Bps) - sent_ps)
    hop_ps = to_ps(float(topology.link_latency_s[0])) + router_ps
    return links * hop_ps + sent_ps - router_ps


def measure_lone(
    routing: Routing, traffic: Traffic, config: PacketConfig, rng: np.random.Generator
) -> LoneMessages:
    """Time full packets of which each has arrived before the next one leaves.

    All links of the topology must be alike; `experiments.kit.open_loop.lone_messages` makes the
    traffic.
    """
    program, node = traffic.program, traffic.rank_node
    result = simulate_packets(routing, traffic, config, rng)
    latency = result.message_finish_ps - result.message_post_ps
    n, links = len(latency), result.packet_hops
    one, two = (lone_time_ps(routing, config, k) for k in (1, 2))
    expected = n * one + (links - n) * (two - one)
    worst = abs(int(latency.sum()) - expected)
    src_nodes, dst_nodes = node[program.send_src()], node[program.send_dst]
    # on each rail the same number of links
    ports = routing.topology.ports_between(src_nodes, dst_nodes, np.zeros(n, dtype=np.int64))
    for src, dst, took in zip(*ports, latency, strict=True):
        path = links_on_path(routing, int(src), int(dst))
        if path is not None:
            worst = max(worst, abs(int(took) - lone_time_ps(routing, config, path)))
    return LoneMessages(
        links=links / n,
        latency_mean_s=float(latency.mean()) / PS_PER_S,
        expected_mean_s=expected / n / PS_PER_S,
        worst_ps=worst,
    )


def lone_load(routing: Routing, config: PacketConfig, rng: np.random.Generator) -> LoneMessages:
    """Measure `LONE` packets, each sent from another node long after the previous one arrived."""
    n = routing.topology.n_nodes
    src = rng.permutation(n)[:LONE].astype(np.int64)
    dst = (src + rng.integers(1, n, len(src))) % n
    gap_s = 100 * lone_time_ps(routing, config, 2) / PS_PER_S
    program = lone_messages(n, src, dst, config.packet_bytes, gap_s)
    return measure_lone(routing, combine([program], [np.arange(n)]), config, rng)
