"""The flow engine: closed forms, the plain solver, the packet engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.kit.load_networks import NETWORKS
from experiments.kit.open_loop import lone_messages
from experiments.validation.reference.flows import dense, reference_finish
from experiments.validation.row import Measured, Row, Setting, at_most, within
from netsim.flow.maxmin import flow_finish_times, max_min_rates
from netsim.flow.paths import FlowPaths, flow_paths
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.routing.registry import make_routing
from netsim.traffic import combine

ROUNDING = 1e-9
"""Two ways of adding the same numbers may be so far apart, relative."""
MESSAGE_BYTES = 200_000


@dataclass(frozen=True)
class Exchange:
    """Every node sends a message to the node ``shift`` on, at once.

    ``bound`` is how far the last flow may end from the last packet, relative: little where the
    flows of the fullest link come the same way, more where long ways meet short ones, because a
    FIFO serves by arrival and not by flow.
    """

    network: str
    routing: str
    shift: int
    bound: float


EXCHANGES = (
    Exchange("fattree-64", "d-mod-k", 17, 0.01),
    Exchange("torus-8x8", "dimension-order", 3, 0.01),
    Exchange("torus-8x8", "dimension-order", 20, 0.2),
    Exchange("dragonfly-72", "minimal", 8, 0.01),
    Exchange("dragonfly-72", "minimal", 11, 0.01),
)


def measure(setting: Setting) -> Measured:
    """Measure closed forms first, then random cases, then entire exchanges against packets."""
    rows = [*_closed_forms(), _plain(setting, weighted=False), _plain(setting, weighted=True)]
    return Measured([*rows, *(_beside_packets(case, setting) for case in EXCHANGES)])


def _paths(paths: Sequence[Sequence[int]]) -> FlowPaths:
    ptr = np.cumsum([0, *map(len, paths)])
    return FlowPaths(ptr, np.array([link for path in paths for link in path], dtype=np.int32))


def _closed_forms() -> list[Row]:
    n = 9
    long_way = _paths([list(range(n)), *([link] for link in range(n))])
    rates = max_min_rates(long_way.ptr, long_way.links, np.full(n, 10.0))
    shared = flow_finish_times(_paths([[0]] * 3), [1.0, 2.0, 3.0], [3.0])
    levels = _paths([[0, 1], [0], [1, 2], [2]])
    third = max_min_rates(levels.ptr, levels.links, [1.0, 10.0, 30.0])
    one_link = _paths([[0], [0]])
    weighted = max_min_rates(one_link.ptr, one_link.links, [12.0], flow_weight=[1.0, 3.0])
    by_hand = "by hand"
    found = [
        (f"parking lot: a flow over {n} links, one more on each: its rate", 5.0, rates[0]),
        ("1, 2, 3 bytes on a link of 3: when the last ends", 2.0, shared[2]),
        ("1, 2, 3 bytes on a link of 3: when the second ends", 5 / 3, shared[1]),
        ("links of 1, 10, 30, flows on 0+1, 0, 1+2, 2: rate of the last", 20.5, third[3]),
        ("weights 1 and 3 on a link of 12: rate of the second", 9.0, weighted[1]),
    ]
    return [
        within(what, expected, float(simulated), "", by_hand, share=ROUNDING)
        for what, expected, simulated in found
    ]


def _plain(setting: Setting, *, weighted: bool) -> Row:
    """Measure random flows on random links; half of them split over paths of unlike parts."""
    worst, count = 0.0, 10 if setting.quick else 60
    for number in range(count):
        rng = np.random.default_rng((setting.seed, number, int(weighted)))
        n_links, n = 15, 60
        paths = _paths([rng.choice(n_links, rng.integers(1, 5), False).tolist() for _ in range(n)])
        if number % 2:
            paths = paths._replace(weights=rng.choice([0.25, 0.5, 1.0], len(paths.links)))
        capacity, amount = rng.uniform(1, 4, n_links), rng.uniform(1, 5, n)
        start = rng.choice([0.0, 0.5, 2.0], n)
        weight = rng.uniform(0.1, 10, n) if weighted else np.ones(n)
        simulated = flow_finish_times(
            paths, amount, capacity, start, flow_weight=weight if weighted else None
        )
        carried = dense(paths.ptr, paths.links, n_links, paths.weights)
        plain = reference_finish(carried, capacity, amount, start, weight)
        worst = max(worst, float(np.abs(simulated / plain - 1).max()))
    kind = "weights between flows" if weighted else "plain max-min"
    return at_most(
        f"finish times, {kind}: furthest from the plain solver (relative)",
        ROUNDING,
        worst,
        "",
        "the same rule with dense matrices, experiments.validation.reference.flows",
        f"{count} random cases of 60 flows on 15 links",
    )


def _beside_packets(case: Exchange, setting: Setting) -> Row:
    network = NETWORKS[case.network]
    routing = make_routing(network.build(), case.routing)
    topology, n = routing.topology, routing.topology.n_nodes
    src = np.arange(n)
    dst = (src + case.shift) % n
    flow = flow_finish_times(
        flow_paths(routing, src, dst), MESSAGE_BYTES, topology.link_bandwidth_Bps
    )
    config = PacketConfig(packet_bytes=64, buffer_bytes=1 << 24, router_latency_s=1e-9)
    program = lone_messages(n, src, dst, MESSAGE_BYTES, 0.0)
    rng = np.random.default_rng(setting.seed)
    result = simulate_packets(routing, combine([program], [src]), config, rng)
    packets = result.message_finish_ps / PS_PER_S
    return within(
        f"{network.title}, {case.routing}: each node sends to node + {case.shift}, last ends",
        float(packets.max()) * 1e6,
        float(flow.max()) * 1e6,
        "us",
        "the packet engine, messages of 200 kB in packets of 64 bytes",
        share=case.bound,
        note=f"mean over messages: flows {flow.mean() / packets.mean() - 1:+.1%}",
    )
