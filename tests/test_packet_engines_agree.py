"""The fast engine and the SimPy reference agree exactly, on everything they report."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_cases import ENGINES, GBPS, L, R, Send, Step, config, flows, line, traffic
from routing_machines import on_every_routing, routing_cases
from selection import examples, first_only, in_turn

from experiments.validation.cases import random_case
from experiments.validation.reference.packets import simulate_reference
from netsim.packet.build import MAX_SPANS
from netsim.packet.engine import simulate_packets
from netsim.packet.kernels_wheel import SPAN
from netsim.packet.model import (
    NetworkDeadlockError,
    PacketConfig,
    PacketResult,
    ProgramStuckError,
)
from netsim.packet.routing_tables import one_channel_from
from netsim.routing.deadlock import dependencies
from netsim.routing.dragonfly_reference import COMPARES
from netsim.routing.kernels_dragonfly import MINIMAL
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.registry import FAMILIES
from netsim.topologies.torus import torus
from netsim.traffic import Program, combine

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


@examples(250)
@given(
    seed=st.integers(0, 2**32),
    family=st.sampled_from(sorted(FAMILIES)),
    until_us=st.sampled_from([None, None, None, 0.0, 3.0, 20.0]),
    nics=st.booleans(),
)
def test_agree_on_random_cases(seed, family, until_us, nics):
    """All that `netcosim validate` draws, with an end, other keys of groups and streams of NICs."""
    rng = np.random.default_rng(seed)
    case = random_case(rng, family)
    # keys so high that a key and a message's number pass 2^63
    keys = 2**63 - 1 - rng.integers(0, 9, case.traffic.n_groups)
    sent = replace(case.traffic, group_key=keys if rng.random() < 0.5 else None)
    if nics:
        own = replace(sent.program, nic_stream=rng.random(sent.program.n_streams) < 0.5)
        sent, until_us = replace(sent, program=own), until_us or 100.0
    until_s = None if until_us is None else until_us * 1e-6
    fast, plain = (
        ENGINES[name](case.routing, sent, case.config, np.random.default_rng(1), until_s=until_s)
        for name in ("engine", "reference")
    )
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


@pytest.mark.parametrize(("routing", "config"), in_turn(*routing_cases(), HEAVY))
def test_agree_on_every_family_with_every_routing(routing, config):
    nodes = np.random.default_rng(2).permutation(routing.topology.n_nodes)[:12]
    traffic = combine([_burst(len(nodes), 2500, 2)], [nodes])
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
    topology = dragonfly(1, 3, 4, 2, links=links)
    routing = make_routing(topology, name, {"ugal_compares": compares, "ugal_weight": weight})
    traffic = combine([_burst(topology.n_nodes, 3500, 3)], [np.arange(topology.n_nodes)])
    config = PacketConfig(packet_bytes=1000, buffer_bytes=3500)
    plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
    fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
    assert_same(fast, plain)


@pytest.mark.parametrize(
    ("name", "compares"),
    first_only(
        [
            pytest.param("ugal-l", "output-queue"),
            pytest.param("ugal-l", "used-credits"),
            pytest.param("ugal-g", None),
            pytest.param("par", None),
        ]
    ),
)
def test_agree_with_a_bias_in_picoseconds(name, compares):
    """UGAL's bias of four packets changes the run, and one of a thousand changes it again: it is
    in picoseconds for both engines, though the fast one counts in ticks of 500,000."""
    topology = dragonfly(
        1, 4, 5, links=GroupLinks(node_latency_s=0, local_latency_s=0, global_latency_s=0)
    )
    config = PacketConfig(packet_bytes=1000, buffer_bytes=2500, router_latency_s=500e-9)
    program = _burst(topology.n_nodes, 3000, 3)
    traffic = combine([program], [np.arange(topology.n_nodes)])
    ends = set()
    keys = {} if compares is None else {"ugal_compares": compares}
    for bias_ps in (0, 4_000_000, 1_000_000_000):
        routing = make_routing(topology, name, {"ugal_bias_s": bias_ps * 1e-12, **keys})
        plain = simulate_reference(routing, traffic, config, np.random.default_rng(5))
        fast = simulate_packets(routing, traffic, config, np.random.default_rng(5))
        assert_same(fast, plain)
        ends.add(tuple(fast.message_finish_ps.tolist()))
    assert len(ends) == 3


def test_agree_on_the_routes_of_requests_and_of_groups_with_keys():
    """Each message of two jobs has three parts, whose ways are drawn on their own."""
    routing = make_routing(dragonfly(1, 2, 5), "valiant")
    nodes = np.arange(routing.topology.n_nodes)
    one = traffic(*([Step([Send((r + 4) % len(nodes), 1000)], need=1)] for r in nodes)).program
    sent = combine([one] * 2, [nodes] * 2, group_key=[1000, 5])
    packets = replace(config(), eager_limit_bytes=0)
    found = [ENGINES[name](routing, sent, packets, np.random.default_rng(1))
             for name in ("engine", "reference")]  # fmt: skip
    assert_same(*found)


def test_agree_where_a_packet_that_has_chosen_arrives_with_one_that_chooses_later():
    """In one tick, for one link, the latter on the channel whose turn it is (found by search)."""
    kinds = ("node", "local", "global")
    speeds = {f"{kind}_bandwidth_Bps": GBPS for kind in kinds}
    links = GroupLinks(**speeds, **{f"{kind}_latency_s": 40e-9 for kind in kinds})
    pairs = [(13, 5), (14, 2), (5, 8), (15, 6), (11, 1), (10, 19), (2, 5), (17, 22), (0, 16),
             (8, 6), (16, 19)]  # fmt: skip
    case = make_routing(dragonfly(2, 3, 4, links=links), "par"), flows(pairs, 3000, 24), config()
    found = [ENGINES[name](*case, np.random.default_rng(162)) for name in ("engine", "reference")]
    assert_same(*found)


def test_agree_where_space_comes_back_in_the_opposite_order():
    """Space for three packets at the second router, and a fourth one waits for it from 341 ns on.

    The first leaves on a slow cable, the second at 440 ns behind three of other nodes, the third at
    480 ns: the fourth starts when the byte after the third one, and the news of it, have passed.
    """
    routing = line([0, 1, 1, 2, 1, 1, 0], [100, 50_000], node_Bps=10 * GBPS)
    three = [Step([Send(3, 1000), Send(1, 1000), Send(2, 10)])]
    beside = [[Step([Send(1, size)])] for size in (2000, 1000)]
    fourth = [Step([Send(2, 10)], compute_ps=201_000)]
    needs = [[Step(need=n)] for n in (3, 2, 1)]
    sent = traffic(three, *needs, *beside, fourth)
    found = [ENGINES[name](routing, sent, config(buffer=2010), np.random.default_rng(1))
             for name in ("engine", "reference")]  # fmt: skip
    assert_same(*found)
    third = 481_000 + L
    ends_ps = [580_000, third, third + 1_000 + 2 * L + R]
    assert found[0].message_finish_ps[[1, 2, 5]].tolist() == ends_ps


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


def test_agree_where_a_rank_sends_before_a_packet_that_is_far_away():
    """A packet is 50 us on its way, in ticks of 1 ps, when a rank sends another, at 3 us."""
    routing = line([0, 1, 1], [1000], [50_000_001])
    late = [Step([Send(1, 1000)], compute_ps=3_000_000)]
    sent = traffic([Step([Send(1, 1000)])], [Step(need=2)], late)
    found = [ENGINES[name](routing, sent, config(), np.random.default_rng(0))
             for name in ("engine", "reference")]  # fmt: skip
    assert_same(*found)
    first = 1_000_000 + 2 * L + 2 * R + 50_000_001
    assert found[0].message_finish_ps.tolist() == [first, 4_000_000 + 2 * L + R]


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
