"""The two packet engines on random cases: every number of every result the same."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np

from experiments.validation.cases import LATENCIES_S, SPEEDS_BPS, Case, random_case, small_machine
from experiments.validation.reference.packets import simulate_reference
from experiments.validation.row import Measured, Row, Setting, exact
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.registry import FAMILIES
from netsim.traffic import combine
from patterns.registry import make_pattern

QUICK_CASES = 5


def measure(setting: Setting) -> Measured:
    """Measure a row a family: random machines, routings, programs and configurations."""
    return Measured([_family(name, number, setting) for number, name in enumerate(FAMILIES)])


def _family(family: str, number: int, setting: Setting) -> Row:
    count = min(setting.cases, QUICK_CASES) if setting.quick else setting.cases
    draws = [np.random.default_rng((setting.seed, number, k)) for k in range(count)]
    crowds = crowded_cases(family)
    unlike, hops = 0, 0
    for case in itertools.chain((random_case(rng, family) for rng in draws), crowds):
        fast, plain = both(case)
        hops += plain.packet_hops
        unlike += not same(fast, plain)
    return exact(
        f"compiled and plain engine, {family}: cases that differ",
        0,
        unlike,
        "cases",
        "one specification, docs/packet-model.md",
        f"of {count} random cases and an all-to-all in tight buffers under each routing "
        f"({len(crowds)}); {hops:,} packet hops; times, counts and stalls",
    )


def crowded_cases(family: str) -> list[Case]:
    """Return all-to-alls at once in buffers of two packets, under every routing."""
    topology = small_machine(family, 0, lambda: SPEEDS_BPS[0], lambda: LATENCIES_S[0])
    nodes = np.arange(topology.n_nodes)
    program = make_pattern("all-to-all", len(nodes), 2500, 1, np.random.default_rng(2))
    traffic, config = (
        combine([program], [nodes]),
        PacketConfig(packet_bytes=1000, buffer_bytes=2500),
    )
    return [
        Case(make_routing(topology, name), traffic, config)
        for name in routings_for(topology.family)
    ]


def both(case: Case) -> tuple[PacketResult, PacketResult]:
    """Return the results of the compiled engine and of the reference implementation for a case."""
    fast = simulate_packets(case.routing, case.traffic, case.config, np.random.default_rng(5))
    plain = simulate_reference(case.routing, case.traffic, case.config, np.random.default_rng(5))
    return fast, plain


def same(one: PacketResult, other: PacketResult) -> bool:
    """Return whether two results agree in every number."""
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(PacketResult)
    )
