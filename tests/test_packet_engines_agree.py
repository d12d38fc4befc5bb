"""The fast engine and the SimPy reference agree exactly, on everything they report."""

from __future__ import annotations

from dataclasses import fields

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_cases import ENGINES, Send, Step, config, flows, line, traffic
from routing_machines import on_every_routing, routing_cases
from selection import examples, first_of_each, first_only, in_turn

from experiments.validation.cases import with_router
from experiments.validation.reference.packets import simulate_reference
from netsim.packet.build import MAX_SPANS
from netsim.packet.engine import simulate_packets
from netsim.packet.kernels_wheel import SPAN
from netsim.packet.model import (
    CONGESTION_CONTROLS,
    NetworkDeadlockError,
    PacketConfig,
    PacketResult,
    ProgramStuckError,
)
from netsim.packet.routing_tables import one_channel_from
from netsim.routing.base import Routing
from netsim.routing.deadlock import dependencies
from netsim.routing.dragonfly_reference import COMPARES
from netsim.routing.kernels_dragonfly import MINIMAL
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.dragonfly_plus import dragonfly_plus
from netsim.topologies.family import EqualLinks
from netsim.topologies.fattree import FatTreeLinks, fat_tree, xgft
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from netsim.topology import Topology
from netsim.traffic import Program, Traffic, combine

SPEEDS = (1_000_000_000, 250_000_000, 3_300_000_000)
LATENCIES = (40e-9, 0.0, 13.7e-9)


def _speeds(draw: st.DrawFn) -> tuple[int, int, int, float]:
    speed = st.sampled_from(SPEEDS)
    return draw(speed), draw(speed), draw(speed), draw(st.sampled_from(LATENCIES))


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    family = draw(st.sampled_from(["dragonfly", "dragonfly-plus", "fattree", "torus", "graph"]))
    node, one, two, latency_s = _speeds(draw)
    if family == "dragonfly":
        p, a, g = draw(st.sampled_from([(1, 2, 3), (2, 2, 3), (2, 3, 4), (1, 4, 5), (2, 4, 3)]))
        return dragonfly(
            p,
            a,
            g,
            arrangement=draw(st.sampled_from(["absolute", "relative", "circulant"])),
            links=GroupLinks(
                node_bandwidth_Bps=node,
                local_bandwidth_Bps=one,
                global_bandwidth_Bps=two,
                local_latency_s=latency_s,
            ),
        )
    if family == "dragonfly-plus":
        p, leaves, spines, g, h = draw(
            st.sampled_from([(1, 2, 2, 3, 1), (2, 2, 3, 4, 1), (1, 2, 2, 3, 3), (2, 3, 2, 1, 0)])
        )
        return dragonfly_plus(
            p,
            leaves,
            spines,
            g,
            h,
            links=GroupLinks(
                node_bandwidth_Bps=node,
                local_bandwidth_Bps=one,
                global_bandwidth_Bps=two,
                local_latency_s=latency_s,
            ),
        )
    if family == "fattree":
        sizes = draw(st.sampled_from([(2, 2, 4, 2, 2), (2, 3, 2, 2, 1), (3, 2, 2, 1, 2)]))
        return xgft(
            *sizes,
            links=FatTreeLinks(
                node_bandwidth_Bps=node, level1_bandwidth_Bps=one, level2_bandwidth_Bps=two
            ),
        )
    if family == "torus":
        dims = draw(st.sampled_from([(4,), (5,), (2, 3), (4, 4), (3, 2, 2)]))
        wrap = draw(st.booleans())
        return torus(
            dims, wrap=wrap, links=EqualLinks(node_bandwidth_Bps=node, link_bandwidth_Bps=one)
        )
    seed = draw(st.integers(0, 50))
    network = nx.connected_watts_strogatz_graph(7, 3, 0.5, seed=seed)
    for a_, b_ in network.edges:
        network.edges[a_, b_]["bandwidth_Bps"] = SPEEDS[(a_ * 7 + b_) % 3]
    return graph(network)


@st.composite
def routings(draw: st.DrawFn) -> Routing:
    topology = draw(topologies())
    return make_routing(topology, draw(st.sampled_from(sorted(routings_for(topology.family)))))


def random_program(rng: np.random.Generator, n_ranks: int, n_steps: int, compute: bool) -> Program:
    """Every message names a step of its receiver no earlier than the sender's: no rank waits
    for ever, since step k of everybody only needs steps up to k of the others."""
    senders, steps, receivers, their_steps, sizes = [], [], [], [], []
    for s in range(n_steps):
        for r in range(n_ranks):
            for _ in range(int(rng.integers(0, 4))):
                senders.append(r)
                steps.append(s)
                receivers.append(int(rng.integers(0, n_ranks)))
                their_steps.append(int(rng.integers(s, n_steps)))
                sizes.append(int(rng.choice([1, 8, 100, 999, 1000, 1001, 2500, 5000])))
    step_number = np.array(senders, dtype=np.int64) * n_steps + np.array(steps, dtype=np.int64)
    order = np.argsort(step_number, kind="stable")
    target = np.array(receivers, dtype=np.int64) * n_steps + np.array(their_steps, dtype=np.int64)
    total = n_ranks * n_steps
    need = np.bincount(target, minlength=total)
    need = np.where(rng.random(total) < 0.2, np.maximum(need - 1, 0), need)
    counts = np.bincount(step_number, minlength=total)
    compute_s = np.zeros(total)
    if compute:
        compute_s = np.where(rng.random(total) < 0.4, rng.integers(1, 3000, total) * 1e-9, 0.0)
    return Program(
        n_ranks=n_ranks,
        step_ptr=np.arange(n_ranks + 1, dtype=np.int64) * n_steps,
        compute_s=compute_s,
        recv_need=need.astype(np.int32),
        send_ptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        send_dst=np.array(receivers, dtype=np.int32)[order],
        send_bytes=np.array(sizes, dtype=np.int64)[order],
        send_step=target[order],
    )


def random_traffic(
    rng: np.random.Generator, topology: Topology, n_steps: int, compute: bool
) -> Traffic:
    n_groups = int(rng.integers(1, 4))
    programs, nodes = [], []
    for _ in range(n_groups):
        n_ranks = int(rng.integers(1, 7))
        programs.append(random_program(rng, n_ranks, n_steps, compute))
        nodes.append(rng.integers(0, topology.n_nodes, n_ranks))
    starts = rng.choice([0.0, 0.0, 1e-7, 2.5e-6], n_groups)
    # keys so high that a key and a message's number pass 2^63
    keys = [2**63 - 1 - int(k) for k in rng.integers(0, 9, n_groups)]
    return combine(programs, nodes, list(starts), keys if rng.random() < 0.5 else None)


plain_configs = st.builds(
    PacketConfig,
    packet_bytes=st.sampled_from([1000, 256, 2048]),
    header_bytes=st.sampled_from([0, 45]),
    buffer_bytes=st.sampled_from([2100, 4096, 16384]),
    router_latency_s=st.sampled_from([0.0, 100e-9, 33e-9]),
    send_overhead_s=st.sampled_from([0.0, 0.0, 150e-9]),
    recv_overhead_s=st.sampled_from([0.0, 0.0, 100e-9]),
    copy_s_per_byte=st.sampled_from([0.0, 0.0, 344e-12]),
    congestion_control=st.sampled_from(CONGESTION_CONTROLS),
    congestion_threshold_bytes=st.sampled_from([1, 1000, 4096]),
    congestion_delay_s=st.sampled_from([0.0, 1e-6, 7e-9]),
    congestion_interval_s=st.sampled_from([None, 1e-6, 3e-9]),
    congestion_recovery_s=st.sampled_from([None, 5e-6, 3e-9]),
)
configs = st.builds(
    lambda plain, seed: with_router(plain, np.random.default_rng(seed)),
    plain_configs,
    st.integers(0, 2**16),
)
HEAVY = {
    "output-queued": PacketConfig(packet_bytes=1000, buffer_bytes=2500),
    "heads": PacketConfig(packet_bytes=1000, buffer_bytes=2500, delivery="head"),
    "input-queued": PacketConfig(packet_bytes=1000, buffer_bytes=2500, router="input-queued"),
    "unlimited": PacketConfig(
        packet_bytes=1000,
        buffer_bytes=2500,
        router="input-queued",
        crossbar_speedup="unlimited",
        output_buffer_bytes=1000,
        arbitration="round-robin",
    ),
}
"""Configurations in which packets wait."""


def assert_same(fast: PacketResult, plain: PacketResult) -> None:
    for f in fields(PacketResult):
        np.testing.assert_array_equal(getattr(fast, f.name), getattr(plain, f.name), f.name)


random_cases = given(
    routing=routings(),
    config=configs,
    seed=st.integers(0, 2**32),
    n_steps=st.integers(1, 4),
    compute=st.booleans(),
    until_us=st.sampled_from([None, None, None, 0.0, 3.0, 20.0]),
)


@random_cases
@examples(100)
def test_agree_on_random_cases(**case):
    assert_engines_agree(**case)


@pytest.mark.full
@random_cases
@examples(400)
def test_agree_on_more_random_cases(**case):
    assert_engines_agree(**case)


def assert_engines_agree(routing, config, seed, n_steps, compute, until_us):
    traffic = random_traffic(np.random.default_rng(seed), routing.topology, n_steps, compute)
    until_s = None if until_us is None else until_us * 1e-6
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(1), until_s=until_s)
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(1), until_s=until_s)
    assert_same(fast, plain)


@pytest.mark.parametrize("until_us", [2.0, 5.3, 9.0])
def test_a_cut_leaves_out_packets_whose_start_was_set_ahead(until_us):
    """Fifteen nodes send to one: its link has packets that would start after the end."""
    routing = make_routing(fat_tree(4))
    sent = flows([(r, 0) for r in range(1, 16)], 3000, 16)
    ends = {"until_s": until_us * 1e-6}
    found = [ENGINES[name](routing, sent, PacketConfig(), np.random.default_rng(1), **ends)
             for name in ("engine", "reference")]  # fmt: skip
    assert_same(*found)
    assert 0 < found[0].link_packets[16] < 45


@on_every_routing
def test_links_that_set_starts_ahead_have_one_channel_in_use(routing):
    first = one_channel_from(routing)
    assert (first < routing.topology.n_links) == (
        not routing.adaptive and (routing.n_vcs == 1 or routing.tables.code == MINIMAL)
    )
    channels = {c for pair in dependencies(routing) for c in pair if c[0] >= first}
    assert len({link for link, _ in channels}) == len(channels)


def _burst(n_ranks: int, size: int, seed: int) -> Program:
    """Every rank sends to every other at once: queues, stalls, adaptive choices."""
    rng = np.random.default_rng(seed)
    others = np.array(
        [rng.permutation([r for r in range(n_ranks) if r != k]) for k in range(n_ranks)]
    )
    return Program(
        n_ranks=n_ranks,
        step_ptr=np.arange(n_ranks + 1, dtype=np.int64),
        compute_s=np.zeros(n_ranks),
        recv_need=np.full(n_ranks, n_ranks - 1, dtype=np.int32),
        send_ptr=np.arange(n_ranks + 1, dtype=np.int64) * (n_ranks - 1),
        send_dst=others.ravel().astype(np.int32),
        send_bytes=np.full(n_ranks * (n_ranks - 1), size, dtype=np.int64),
        send_step=others.ravel().astype(np.int64),
    )


BUSY = [
    (dragonfly(2, 4, 5), "minimal"),
    (dragonfly(2, 4, 5), "valiant"),
    (dragonfly(2, 4, 5), "ugal-l"),
    (dragonfly(2, 4, 5, links=GroupLinks(global_bandwidth_Bps=250_000_000)), "ugal-g"),
    (dragonfly(2, 4, 3), "ugal-l"),
    (dragonfly(2, 4, 5), "par"),
    (dragonfly(2, 4, 5, h=2), "valiant-local"),
    (dragonfly(2, 4, 5, h=2), "adaptive-local"),
    (fat_tree(4), "d-mod-k"),
    (fat_tree(4), "adaptive"),
    (fat_tree(4), "two-choice"),
    (fat_tree(4), "random-up"),
    (torus((4, 4)), "dimension-order"),
    (torus((4, 4)), "minimal-adaptive"),
    (torus((3, 3, 2)), "minimal-adaptive"),
    (torus((4, 3), wrap=False), "minimal-adaptive"),
    (graph(nx.petersen_graph()), "shortest-path"),
]


@pytest.mark.parametrize(
    ("topology", "name", "config"),
    in_turn(
        first_of_each(BUSY, lambda case: case[1]), [f"{t.name}-{name}" for t, name in BUSY], HEAVY
    ),
)
def test_agree_under_heavy_load(topology, name, config):
    routing = make_routing(topology, name)
    program = _burst(topology.n_nodes, 3500, 3)
    traffic = combine([program], [np.arange(topology.n_nodes)])
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert plain.link_stalls.sum() > 0
    assert_same(fast, plain)


@pytest.mark.parametrize(("routing", "config"), in_turn(*routing_cases(), HEAVY))
def test_agree_on_every_family_with_every_routing(routing, config):
    nodes = routing.topology.n_nodes
    traffic = combine([_burst(nodes, 2500, 2)], [np.arange(nodes)])
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert_same(fast, plain)


@pytest.mark.parametrize("name", ["ugal-l", "par"])
@pytest.mark.parametrize("compares", COMPARES)
@pytest.mark.parametrize("weight", [None, 2])
def test_agree_on_whatever_ugal_compares(name, compares, weight):
    """Links of three speeds, and credits that take long to come back."""
    links = GroupLinks(
        local_bandwidth_Bps=3_300_000_000, global_bandwidth_Bps=250_000_000, global_latency_s=2e-6
    )
    topology = dragonfly(2, 3, 4, 2, links=links)
    routing = make_routing(topology, name, {"ugal_compares": compares, "ugal_weight": weight})
    traffic = combine([_burst(topology.n_nodes, 3500, 3)], [np.arange(topology.n_nodes)])
    config = PacketConfig(packet_bytes=1000, buffer_bytes=3500)
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert_same(fast, plain)


@pytest.mark.parametrize("name", first_only(["ugal-l", "ugal-g", "par"]))
def test_agree_with_a_bias_in_picoseconds(name):
    """UGAL's bias of four packets changes the run, and one of a thousand changes it again: it is
    in picoseconds for both engines, though the fast one counts in ticks of 500,000."""
    topology = dragonfly(
        2, 4, 5, links=GroupLinks(node_latency_s=0, local_latency_s=0, global_latency_s=0)
    )
    config = PacketConfig(packet_bytes=1000, buffer_bytes=2500, router_latency_s=500e-9)
    program = _burst(topology.n_nodes, 3000, 3)
    traffic = combine([program], [np.arange(topology.n_nodes)])
    ends = set()
    for bias_ps in (0, 4_000_000, 1_000_000_000):
        routing = make_routing(topology, name, {"ugal_bias_s": bias_ps * 1e-12})
        plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
        fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
        assert_same(fast, plain)
        ends.add(tuple(fast.message_finish_ps.tolist()))
    assert len(ends) == 3


def test_agree_beyond_the_wheel():
    """Odd speeds make a tick of 1 ps, and a slow link waits beyond the wheel's reach."""
    topology = dragonfly(
        2, 2, 3, links=GroupLinks(node_bandwidth_Bps=999_999_937, global_bandwidth_Bps=7_000_003)
    )
    routing = make_routing(topology, "ugal-l")
    traffic = combine([_burst(topology.n_nodes, 3001, 4)], [np.arange(topology.n_nodes)])
    config = PacketConfig(packet_bytes=2048, buffer_bytes=4096)
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert_same(fast, plain)


@pytest.mark.parametrize("beside", [-1, 0, 1])
@pytest.mark.parametrize("spans", [1, 2, 3, MAX_SPANS, MAX_SPANS + 1, MAX_SPANS + 2])
def test_agree_where_something_happens_just_as_far_ahead_as_the_wheel_reaches(spans, beside):
    """A packet comes to its router 200,240,001 ps after the start, in ticks of 1 ps; when a rank's
    computing ends, that lies as many ticks ahead as the wheel's spans have, one less, or one more;
    and the beginning of a span and the packet's arrival are as near to each other."""
    latency, reached = 200_000_001, 40_000 + 100_000 + 200_000_001 + 100_000
    routing = line([0, 1, 1], [1000], [latency])
    begin = reached - (reached % SPAN)
    for end in (reached - spans * SPAN + beside, begin - (spans - 1) * SPAN + beside):
        sent = traffic(
            [Step([Send(1, 1000)])],
            [Step(need=1)],
            [Step(compute_ps=end)],
        )
        plain = simulate_reference(routing, sent, config(), np.random.default_rng(0))
        fast = simulate_packets(routing, sent, config(), np.random.default_rng(0))
        assert fast.message_finish_ps.tolist() == [reached + 40_000 + 1_000_000]
        assert_same(fast, plain)


@pytest.mark.parametrize("beside", [-1, 0, 1])
@pytest.mark.parametrize("spans", [-1, 0, 1])
def test_agree_where_a_packet_arrives_just_as_far_ahead_as_the_wheel_reaches(spans, beside):
    """A packet starts on its long link 140,000 ps after the start, in ticks of 1 ps; it arrives in
    the last span that the wheel has then, in the one before it or in the one after it."""
    starts = 40_000 + 100_000
    first = starts // SPAN + 2  # the fine wheel holds the spans before
    reached = (first + MAX_SPANS + spans) * SPAN + 1 + beside
    routing = line([0, 1, 1], [1000], [reached - starts - 100_000])
    sent = traffic([Step([Send(1, 1000)])], [Step(need=1)], [Step()])
    plain = simulate_reference(routing, sent, config(), np.random.default_rng(0))
    fast = simulate_packets(routing, sent, config(), np.random.default_rng(0))
    assert fast.message_finish_ps.tolist() == [reached + 40_000 + 1_000_000]
    assert_same(fast, plain)


def test_both_name_the_same_error():
    topology = torus((6,), wrap=True)
    routing = make_routing(topology, "dimension-order")
    stuck = Program(
        n_ranks=2,
        step_ptr=np.array([0, 1, 2]),
        compute_s=np.zeros(2),
        recv_need=np.array([0, 1], dtype=np.int32),
        send_ptr=np.array([0, 0, 0]),
        send_dst=np.empty(0, dtype=np.int32),
        send_bytes=np.empty(0, dtype=np.int64),
        send_step=np.empty(0, dtype=np.int64),
    )
    traffic = combine([stuck], [np.array([0, 3])])
    messages = []
    for simulate in (simulate_reference, simulate_packets):
        with pytest.raises(ProgramStuckError) as caught:
            simulate(routing, traffic, PacketConfig(), np.random.default_rng(0))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert NetworkDeadlockError is not ProgramStuckError
