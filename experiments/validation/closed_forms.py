"""Closed forms: lone messages to the picosecond, and what networks accept of an offered load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.kit.load_latency import Window
from experiments.kit.load_networks import (
    CYCLE_S,
    LINK_BPS,
    NETWORKS,
    limit_of,
    packet_config,
)
from experiments.kit.offered import (
    links_on_path,
    lone_load,
    lone_time_ps,
    offered_load,
)
from experiments.kit.open_loop import lone_messages
from experiments.kit.small_machines import n_small
from experiments.validation.cases import small_machine
from experiments.validation.row import Measured, Row, Setting, exact
from netsim.packet.engine import simulate_packets
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import FAMILIES
from netsim.traffic import combine

NOISE = 0.03
"""A count of random arrivals in a window may be so far above a ceiling."""
LONE = "links x wire + (links - 1) x router + one serialisation"


@dataclass(frozen=True)
class Saturation:
    """A network of `NETWORKS` under more load than it takes, and warm-up and window in cycles."""

    network: str
    routing: str
    traffic: str
    load: float
    cycles: int


SATURATIONS = (
    Saturation("dragonfly-72", "minimal", "adversarial", 0.3, 4000),
    Saturation("dragonfly-72", "valiant", "adversarial", 0.6, 8000),
    Saturation("dragonfly-72", "minimal", "uniform-random", 1.0, 10_000),
    Saturation("dragonfly-72", "valiant", "uniform-random", 0.7, 8000),
    Saturation("torus-8x8", "dimension-order", "tornado", 0.33, 10_000),
    Saturation("torus-8x8", "dimension-order", "uniform-random", 1.0, 10_000),
    Saturation("fattree-64", "d-mod-k", "uniform-random", 1.0, 10_000),
    Saturation("fattree-64", "adaptive", "uniform-random", 1.0, 10_000),
)


def measure(setting: Setting) -> Measured:
    """Measure lone messages on every family, a conflict-free permutation, and saturation."""
    lone = (_lone(family, setting) for family in FAMILIES)
    rows = [row for row in lone if row is not None]
    rows += [_long_message(setting), _permutation(setting)]
    rows += [_saturation(case, setting) for case in SATURATIONS]
    return Measured(rows)


def _alike(family: str, number: int) -> Routing:
    topology = small_machine(family, number, lambda: LINK_BPS, lambda: CYCLE_S)
    return make_routing(topology)


def _lone(family: str, setting: Setting) -> Row | None:
    """Measure small machines of a family, default routing; None if none has equal links."""
    rng = np.random.default_rng(setting.seed)
    machines, messages, worst, routing = 0, 0, 0, None
    for number in range(max(1, n_small(family))):
        routing = _alike(family, number)
        if len(set(routing.topology.link_bandwidth_Bps.tolist())) > 1:
            continue  # doubled links: the closed form is of links that are all alike
        count = min(500, routing.topology.n_nodes)
        worst = max(worst, lone_load(routing, packet_config(1), rng).worst_ps)
        machines, messages = machines + 1, messages + count
    if routing is None or not machines:
        return None
    return exact(
        f"lone message, {family}, {routing.name}: furthest off",
        0,
        worst,
        "ps",
        LONE,
        f"{messages} messages on {machines} small machine{'s' if machines > 1 else ''}",
    )


def _long_message(setting: Setting) -> Row:
    """Measure a message of many packets: the last waits for the others only at its own node."""
    routing, config = make_routing(NETWORKS["dragonfly-72"].build()), packet_config(32)
    packets, n = 50, routing.topology.n_nodes
    program = lone_messages(n, np.array([0]), np.array([n - 1]), packets * config.packet_bytes, 1.0)
    rng = np.random.default_rng(setting.seed)
    result = simulate_packets(routing, combine([program], [np.arange(n)]), config, rng)
    links = links_on_path(routing, 0, n - 1)
    assert links is not None
    sent_ps = config.packet_bytes * 10**12 // LINK_BPS
    expected_ps = lone_time_ps(routing, config, links) + (packets - 1) * sent_ps
    return exact(
        f"message of {packets} packets over {links} links, dragonfly, minimal",
        expected_ps / 1000,
        int(result.message_finish_ps[0]) / 1000,
        "ns",
        f"lone packet + {packets - 1} serialisations",
    )


def _permutation(setting: Setting) -> Row:
    """Measure sends to the node at a fixed distance; D-mod-k gives each a separate path."""
    network = NETWORKS["fattree-64"]
    routing, config = make_routing(network.build(), "d-mod-k"), packet_config(32)
    n, packets = routing.topology.n_nodes, 20
    src = np.arange(n)
    sent_ps = (packets - 1) * config.packet_bytes * 10**12 // LINK_BPS
    worst = 0
    shifts = (1, 5, 17, 32) if setting.quick else range(1, n)
    for shift in shifts:
        dst = (src + shift) % n
        program = lone_messages(n, src, dst, packets * config.packet_bytes, 0.0)
        rng = np.random.default_rng(setting.seed)
        result = simulate_packets(routing, combine([program], [src]), config, rng)
        for message, to in enumerate(dst.tolist()):
            links = links_on_path(routing, message, to)
            assert links is not None
            alone = lone_time_ps(routing, config, links) + sent_ps
            worst = max(worst, abs(int(result.message_finish_ps[message]) - alone))
    return exact(
        "shift permutations, fat-tree of 64 nodes, d-mod-k: furthest from alone",
        0,
        worst,
        "ps",
        "D-mod-k gives every message of a shift links of its own (Zahavi 2010)",
        f"{len(shifts)} of {n - 1} shifts, {packets} packets a message",
    )


def _saturation(case: Saturation, setting: Setting) -> Row:
    network, limit = NETWORKS[case.network], limit_of(case.network, case.routing, case.traffic)
    routing = make_routing(network.build(), case.routing)
    cycles = case.cycles // 2 if setting.quick else case.cycles
    window = Window(*(part * CYCLE_S for part in (cycles, cycles, 0)))
    found = offered_load(
        routing,
        case.traffic,
        case.load,
        window,
        packet_config(network.buffer_packets),
        np.random.default_rng(setting.seed),
        cycle_s=CYCLE_S,
    )
    return Row(
        f"{network.title}, {case.routing}, {case.traffic} at {case.load:g}: accepted",
        limit.quoted,
        found.accepted,
        "",
        limit.rule,
        limit.floor,
        limit.ceiling * (1 + NOISE),
    )
