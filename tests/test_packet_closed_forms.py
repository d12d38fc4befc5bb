"""Packet engines against closed forms, to the picosecond.

Every test is a sentence, its equation, and the answer. A byte takes 1000 ps on a link of
1 GB/s, so a full packet of 1000 bytes takes S = 1,000,000 ps. L is the latency of a wire, R
that of a router, D = L + R the way of a packet's head from one router to the next.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from packet_cases import (
    ENGINES,
    GBPS,
    L,
    R,
    Send,
    Simulate,
    Step,
    all_to_all,
    config,
    flows,
    line,
    one_way_ring,
    program,
    seeded,
    traffic,
)

from netsim.errors import NetcosimError
from netsim.packet.model import NetworkDeadlockError, ProgramStuckError
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.family import EqualLinks
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus
from netsim.topology import Topology
from netsim.traffic import combine

S = 1_000_000
D = L + R


@pytest.fixture(params=list(ENGINES))
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """An engine with its generator: simulate(routing, traffic, config, until_s=...)."""
    return seeded(request.param)


# One message


@pytest.mark.parametrize("cables", [0, 1, 2, 5])
@pytest.mark.parametrize("size", [1, 8, 999, 1000])
def test_one_packet_pays_every_latency_and_one_serialisation(simulate, cables, size):
    """h links: h L + (h - 1) R + size / B."""
    h = cables + 2
    got = simulate(line([0, cables], [1000] * cables), flows([(0, 1)], size, 2), config())
    expected = h * L + (h - 1) * R + size * 1000
    assert got.message_post_ps.tolist() == [0]
    assert got.message_finish_ps.tolist() == [expected]
    assert got.rank_finish_ps.tolist() == [0, expected]
    assert got.group_finish_ps.tolist() == [expected]
    assert got.end_ps == expected
    assert got.packet_hops == h


@pytest.mark.parametrize(
    ("byte_ps", "extra"),
    [
        ([4000], 4000),  # 1 4 1: waits 3 before the last link, then 1
        ([250], 1750),  # 1 1/4 1: waits 3/4 for its tail, then starts anew on a slow link
        ([4000, 2000], 4000),  # 1 4 2 1: waits 2, waits 1, then 1
        ([2000, 4000], 4000),  # 1 2 4 1: waits 3, then 1
        ([4000, 1000, 4000], 7000),  # 1 4 1 4 1: waits 3, nothing, waits 3, then 1
    ],
)
def test_a_faster_link_waits_for_the_tail(simulate, byte_ps, extra):
    """h L + (h - 1) R + sum of max(0, S_i - S_{i+1}) + S_last."""
    m = len(byte_ps)
    got = simulate(line([0, m], byte_ps), flows([(0, 1)], 1000, 2), config())
    ser = [1000, *byte_ps, 1000]
    falls = sum(max(0, a - b) for a, b in pairwise(ser))
    assert falls + 1000 == extra
    assert got.message_finish_ps[0] == (m + 2) * L + (m + 1) * R + 1000 * extra


@pytest.mark.parametrize("cables", [0, 1, 3])
@pytest.mark.parametrize(("size", "wire"), [(5000, 5 * 1050), (4300, 5 * 50 + 4300), (1001, 1101)])
def test_packets_follow_each_other_without_a_gap(simulate, cables, size, wire):
    """Packets pipeline: h L + (h - 1) R + (all wire bytes, headers too) / B."""
    got = simulate(line([0, cables], [1000] * cables), flows([(0, 1)], size, 2), config(header=50))
    h = cables + 2
    assert got.message_finish_ps[0] == h * L + (h - 1) * R + wire * 1000
    used = got.link_packets > 0
    assert used.sum() == h
    assert set(got.link_bytes[used]) == {wire}
    assert set(got.link_busy_ps[used]) == {wire * 1000}
    assert got.link_stalls.sum() == 0


@pytest.mark.parametrize(("size", "slow_ps"), [(6000, 3000), (5400, 3000), (3001, 7777)])
def test_the_slowest_link_sets_the_pace_of_a_message(simulate, size, slow_ps):
    """Slow link in the middle: 3 L + 2 R + size / B_slow."""
    got = simulate(line([0, 1], [slow_ps]), flows([(0, 1)], size, 2), config())
    # The link's bandwidth is in whole bytes a second, so its packets are rounded one by one.
    bandwidth = 10**12 // slow_ps
    sizes = [min(1000, size - i) for i in range(0, size, 1000)]
    paces = [(w * 10**12 + bandwidth // 2) // bandwidth for w in sizes]
    assert got.message_finish_ps[0] == 3 * L + 2 * R + sum(paces)


def test_the_run_ends_with_the_last_arrival_and_not_with_the_last_credit(simulate):
    """A cable of 2 us: its credit comes back 2 us after the tail has left, and changes nothing."""
    got = simulate(line([0, 1], [1000], [2_000_000]), flows([(0, 1)], 1000, 2), config())
    assert got.end_ps == got.message_finish_ps[0] == 2 * L + 2_000_000 + 2 * R + S


def test_without_latencies_a_packet_takes_its_serialisation_alone(simulate: Simulate) -> None:
    """L = R = 0: S for one packet; a packet that has fewer links to go is served first."""
    routing = line([0, 1, 1], [1000], [0], node_latency_ps=0)
    got = simulate(routing, flows([(0, 2), (1, 2)], 1000, 3), config(router_ps=0))
    assert got.message_finish_ps.tolist() == [2 * S, S]


def test_a_packet_takes_at_least_a_picosecond(simulate: Simulate) -> None:
    """A byte at 4 TB/s would take 1/4 ps: 2 L + R + 1."""
    routing = line([0, 0], node_Bps=4 * 10**12)
    assert simulate(routing, flows([(0, 1)], 1, 2), config()).message_finish_ps[0] == 2 * L + R + 1


# Several messages


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 4), (5, 3)])
def test_flows_into_one_node_share_its_ejection_link(simulate: Simulate, n: int, k: int) -> None:
    """Flow i of n, k packets each: 2 L + R + ((k - 1) n + i + 1) S; ties by link number."""
    routing = line([0] * (n + 1))
    got = simulate(routing, flows([(i, n) for i in range(n)], 1000 * k, n + 1), config())
    expected = [2 * L + R + ((k - 1) * n + i + 1) * S for i in range(n)]
    assert got.message_finish_ps.tolist() == expected
    assert got.link_busy_ps[2 * n + 1] == n * k * S


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 4), (5, 3)])
def test_flows_share_one_cable(simulate: Simulate, n: int, k: int) -> None:
    """Flow i of n over one cable: 3 L + 2 R + ((k - 1) n + i + 1) S."""
    routing = line([0] * n + [1] * n, [1000])
    got = simulate(routing, flows([(i, n + i) for i in range(n)], 1000 * k, 2 * n), config())
    expected = [3 * L + 2 * R + ((k - 1) * n + i + 1) * S for i in range(n)]
    assert got.message_finish_ps.tolist() == expected


def test_messages_of_a_node_leave_in_the_order_of_their_posts(simulate: Simulate) -> None:
    """Two messages of 3 and 2 packets to two nodes: T + 3 S and T + 5 S, T = 2 L + R."""
    ranks = ([Step([Send(1, 3000), Send(2, 2000)])], [Step(need=1)], [Step(need=1)])
    got = simulate(line([0, 0, 0]), traffic(*ranks), config())
    assert got.message_finish_ps.tolist() == [2 * L + R + 3 * S, 2 * L + R + 5 * S]


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_ping_pong_takes_two_ways_a_round(simulate: Simulate, rounds: int) -> None:
    """m rounds: 2 m (3 L + 2 R + S)."""
    ping = [Step([Send(1, 1000, i)], need=1) for i in range(rounds)]
    pong = [Step(need=1)]
    pong += [Step([Send(0, 1000, i)], need=int(i + 1 < rounds)) for i in range(rounds)]
    got = simulate(line([0, 1], [1000]), traffic(ping, pong), config())
    way = 3 * L + 2 * R + S
    assert got.rank_finish_ps.tolist() == [2 * rounds * way, (2 * rounds - 1) * way]


def test_channels_of_a_link_take_turns(simulate: Simulate) -> None:
    """Two near senders (channel 0) and one far (channel 1): the far one gets every second turn.

    With D = 3 S the far packets come while the near ones queue: its packet i starts on the
    shared link at 2 D + 2 i S, and k packets end at 3 D + (2 k - 1) S + L. The link never
    rests, so all 2 K + k packets end at 2 D + (2 K + k) S + L.
    """
    k, many = 5, 9
    routing = line([0, 1, 1, 2, 2, 2], [1000, 1000])
    ranks = [
        [Step([Send(3, 1000 * k)])],
        [Step([Send(4, 1000 * many)])],
        [Step([Send(5, 1000 * many)])],
        *([Step(need=1)] for _ in range(3)),
    ]
    d = 3 * S
    got = simulate(routing, traffic(*ranks), config(router_ps=d - L))
    assert got.message_finish_ps[0] == 3 * d + (2 * k - 1) * S + L
    assert got.message_finish_ps.max() == 2 * d + (2 * many + k) * S + L


# Buffers and stalls


@pytest.mark.parametrize("b", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 4, 7])
def test_a_buffer_smaller_than_the_credit_round_trip_limits(simulate, b, k):
    """b packets go in each round trip P = 2 L + R + S, if b S < P.

    Packet i starts at (i div b) P + (i mod b) S and arrives P later; between bursts the
    injection link stalls once, for P - b S. Larger buffers never stall.
    """
    latency = 900_000
    period = 2 * latency + R + S  # 2.9 S
    routing = line([0, 0], node_latency_ps=latency)
    got = simulate(routing, flows([(0, 1)], 1000 * k, 2), config(buffer=1000 * b + 999))
    last = k - 1
    if b * S < period:
        start = (last // b) * period + (last % b) * S
        stalls, stalled = last // b, (last // b) * (period - b * S)
    else:
        start, stalls, stalled = last * S, 0, 0
    assert got.message_finish_ps[0] == start + period
    assert got.link_stalls.tolist() == [stalls, 0, 0, 0]
    assert got.link_stall_ps.tolist() == [stalled, 0, 0, 0]


@pytest.mark.parametrize("k", [2, 5])
def test_space_comes_back_over_the_link_that_feeds_the_buffer(simulate: Simulate, k: int) -> None:
    """One packet's buffer behind a long cable of latency M > L: one packet each Q = 2 M + R + S.

    The last arrives at D + (k - 1) Q + M + R + S + L. Each later packet waits 2 (M - L) at the
    cable; the injection link waits 2 L + R once and then Q - S each time.
    """
    m = 5 * L
    q = 2 * m + R + S
    routing = line([0, 1], [1000], [m])
    got = simulate(routing, flows([(0, 1)], 1000 * k, 2), config(buffer=1000))
    assert got.message_finish_ps[0] == D + (k - 1) * q + m + R + S + L
    cable = 4
    assert got.link_stalls.tolist() == [k - 1, 0, 0, 0, k - 1, 0]
    assert got.link_stall_ps[cable] == (k - 1) * 2 * (m - L)
    assert got.link_stall_ps[0] == 2 * L + R + (k - 2) * (q - S)


# What routings see


def test_a_stall_that_begins_and_ends_in_one_tick_is_none(simulate: Simulate) -> None:
    """Routers 0 to 3 without any latency, room for one packet; the last cable is 10 times slower.

    Rank 1 sends 2 packets from router 1 to router 3: the first waits 10 S for the slow cable to
    take it, and its space behind the middle cable (channel 0) is free at 10 S. At S the second
    comes to the middle cable, which is free, and cannot start; but in the same tick the packet
    of rank 0 comes, on channel 1, and can. So the one stall is that from 2 S to 10 S.
    """
    routing = line([0, 1, 2, 3], [1000, 1000, 10_000], [0, 0, 0], node_latency_ps=0)
    sent = traffic(
        [Step([Send(2, 1000)], compute_ps=S)],
        [Step([Send(3, 2000)])],
        [Step(need=1)],
        [Step(need=1)],
    )
    got = simulate(routing, sent, config(buffer=1000, router_ps=0))
    middle = 2 * 4 + 1
    assert got.link_packets[middle] == 3
    assert got.link_stalls.tolist() == [int(link == middle) for link in range(14)]
    assert got.link_stall_ps.sum() == got.link_stall_ps[middle] == 8 * S
    assert got.message_finish_ps.tolist() == [2 * S, 20 * S]


@pytest.mark.parametrize("name", ["adaptive", "d-mod-k"])
def test_a_busy_up_link_is_seen_by_the_adaptive_routing(simulate: Simulate, name: str) -> None:
    """Two messages of 3 packets leave one leaf, the second S / 2 later, for the same up link.

    An empty queue is not a free link: the adaptive one takes the other link and ends at
    S / 2 + 4 L + 3 R + 3 S. With D-mod-k they share one link, packet by packet in order of
    arrival: 4 L + 3 R + 5 S and + 6 S.
    """
    topology = fat_tree(4, levels=2, bandwidth_Bps=GBPS, latency_s=L * 1e-12)
    ranks = (
        [Step([Send(2, 3000)])],
        [Step([Send(3, 3000)], compute_ps=S // 2)],
        [Step(need=1)],
        [Step(need=1)],
    )
    jobs = traffic(*ranks, nodes=[0, 1, 2, 4])
    got = simulate(make_routing(topology, name), jobs, config())
    way = 4 * L + 3 * R
    if name == "adaptive":
        assert got.message_finish_ps.tolist() == [way + 3 * S, way + 3 * S + S // 2]
    else:
        assert got.message_finish_ps.tolist() == [way + 5 * S, way + 6 * S]


def _two_routers(concentration: int) -> Topology:
    return torus(
        [2],
        wrap=False,
        concentration=concentration,
        links=EqualLinks(
            node_bandwidth_Bps=GBPS,
            link_bandwidth_Bps=GBPS,
            node_latency_s=L * 1e-12,
            link_latency_s=L * 1e-12,
        ),
    )


@pytest.mark.parametrize("name", ["minimal-adaptive", "dimension-order"])
def test_room_leaves_out_what_waiting_packets_will_take(simulate: Simulate, name: str) -> None:
    """Two packets in one tick for one link with space for one on each channel.

    The first takes the adaptive channel (1) and its space, so the second takes the escape
    channel (0). Channel 0 is served first, the other S later. With one channel the second waits
    for the credit: 2 L + R + S.
    """
    topology = _two_routers(2)
    jobs = flows([(0, 2), (1, 3)], 1000, 4)
    got = simulate(make_routing(topology, name), jobs, config(buffer=1000))
    way = 3 * L + 2 * R + S
    if name == "minimal-adaptive":
        assert got.message_finish_ps.tolist() == [way + S, way]
    else:
        assert got.message_finish_ps.tolist() == [way, way + 2 * L + R + S]


def test_a_link_wakes_for_the_first_of_its_heads_whose_tails_come(simulate: Simulate) -> None:
    """Two slower inputs of a cable of S/4 a packet: a cable of 4 S, and rank 1's link, of S.

    The head from the cable is there at 2 D, its packet starts 4 S - S/4 later. Rank 1's first head
    comes at 2 D + 2.25 S; its packets start S - S/4 and 2 S - S/4 later. When the first has been
    sent, neither of the others can start: the cable's is the next, a quarter of S before rank 1's.
    """
    far = [Step([Send(2, 1000)])]
    near = [Step([Send(3, 1000), Send(4, 1000)], compute_ps=D + 9 * S // 4)]
    sent = traffic(far, near, *[[Step(need=1)]] * 3)
    got = simulate(line([0, 1, 2, 2, 2], [4000, 250]), sent, config())
    starts = [2 * D + 15 * S // 4, 2 * D + 3 * S, 2 * D + 4 * S]
    assert got.message_finish_ps.tolist() == [start + D + S + L for start in starts]


def test_of_two_heads_of_one_tick_the_one_whose_turn_it_is_goes_first(simulate: Simulate) -> None:
    """Rank 1's first packet takes channel 0 of a cable. Later a head of rank 1, for channel 0, and
    one from the cable before, for channel 1, come in one tick: it is channel 1's turn."""
    far = [Step([Send(2, 1000)], compute_ps=10 * S)]
    near = [Step([Send(2, 1000)]), Step([Send(2, 1000)], compute_ps=10 * S + D)]
    got = simulate(line([0, 1, 2], [1000] * 2), traffic(far, near, [Step(need=3)]), config())
    first = 10 * S + 3 * D + S + L
    assert got.message_finish_ps.tolist() == [first, 2 * D + S + L, first + S]


def test_a_packet_waits_for_the_second_of_two_credits_on_their_way(simulate: Simulate) -> None:
    """A cable of latency 2 S to a buffer for 1000 bytes: 500 from rank 0, 500 behind them.

    They leave the buffer at D + 2.5 S + R and at D + 3 S + R, S/2 after their starts at its end,
    and their space is seen 2 S later. Rank 1's 1000 bytes come at 4 S: they start with the second.
    """
    late = [Step([Send(2, 1000)], compute_ps=4 * S - D)]
    sent = traffic([Step([Send(2, 500)] * 2)], late, [Step(need=3)])
    got = simulate(line([0, 0, 1], [1000], [2 * S]), sent, config(buffer=1000))
    start = D + 3 * S + R + 2 * S
    assert got.message_finish_ps[2] == start + 2 * S + R + S + L


@pytest.mark.parametrize("sizes", [[1000], [500, 500]])
def test_space_that_comes_free_in_a_tick_is_seen_by_its_arrivals(simulate, sizes):
    """Two more packets come in the tick of the credit, P = 2 L + R + S after the first; it is the
    second of two credits where two halves filled the buffer.

    The adaptive channel (1) is free again for one, so the other has the escape channel (0),
    whose turn it is: P and P + S after the first. (Were the space not seen, both would want the
    escape channel: P and 2 P.)
    """
    topology = _two_routers(3)
    period = 2 * L + R + S
    ranks = [
        [Step([Send(3, size) for size in sizes])],
        [Step([Send(4, 1000)], compute_ps=period)],
        [Step([Send(5, 1000)], compute_ps=period)],
        *([Step(need=n)] for n in (len(sizes), 1, 1)),
    ]
    routing = make_routing(topology, "minimal-adaptive")
    got = simulate(routing, traffic(*ranks), config(buffer=1000))
    way = 3 * L + 2 * R + S
    assert got.message_finish_ps[-3:].tolist() == [way, way + period + S, way + period]


# Ranks


def test_a_local_message_takes_no_time_and_no_link(simulate: Simulate) -> None:
    """Same node: finish = post = the end of the compute."""
    ranks = ([Step([Send(1, 5000)], compute_ps=77)], [Step(need=1)])
    got = simulate(line([0, 0]), traffic(*ranks, nodes=[0, 0]), config())
    assert got.message_post_ps.tolist() == got.message_finish_ps.tolist() == [77]
    assert got.rank_finish_ps.tolist() == [77, 77]
    assert got.packet_hops == 0


def test_a_local_message_pays_the_overheads(simulate: Simulate) -> None:
    """C + o_send, then o_recv + bytes x copy."""
    ranks = ([Step([Send(1, 500)], compute_ps=77)], [Step(need=1)])
    setup = config(send_ps=10, recv_ps=20, copy_ps=3)
    got = simulate(line([0, 0]), traffic(*ranks, nodes=[0, 0]), setup)
    assert got.message_finish_ps.tolist() == [87]
    assert got.rank_finish_ps.tolist() == [87, 87 + 20 + 1500]


def test_local_messages_let_ranks_go_on_first_in_first_out(simulate: Simulate) -> None:
    """Rank 0 wakes rank 2, then rank 1, at C; both send a packet: C + 2 L + R + S, 2 S."""
    ranks = (
        [Step([Send(2, 8), Send(1, 8)], compute_ps=5)],
        [Step(need=1), Step([Send(3, 1000)])],
        [Step(need=1), Step([Send(3, 1000)])],
        [Step(need=2)],
    )
    got = simulate(line([0, 0]), traffic(*ranks, nodes=[0, 0, 0, 1]), config())
    way = 2 * L + R
    assert got.message_finish_ps.tolist() == [5, 5, 5 + way + 2 * S, 5 + way + S]


def test_at_the_start_ranks_begin_by_number_whoever_wrote_to_them(simulate: Simulate) -> None:
    """As before, but all at time 0: ranks 1 and 2 have not begun when rank 0's messages come."""
    ranks = (
        [Step([Send(2, 8), Send(1, 8)])],
        [Step(need=1), Step([Send(3, 1000)])],
        [Step(need=1), Step([Send(3, 1000)])],
        [Step(need=2)],
    )
    got = simulate(line([0, 0]), traffic(*ranks, nodes=[0, 0, 0, 1]), config())
    assert got.message_finish_ps.tolist() == [0, 0, 2 * L + R + S, 2 * L + R + 2 * S]


def test_ranks_that_are_ready_together_go_by_number(simulate: Simulate) -> None:
    """Equal computes on one node: rank i's packet is the (i+1)-th: C + 2 L + R + (i + 1) S."""
    ranks = [[Step([Send(3, 1000)], compute_ps=55)] for _ in range(3)]
    got = simulate(line([0, 0]), traffic(*ranks, [Step(need=3)], nodes=[0, 0, 0, 1]), config())
    assert got.message_finish_ps.tolist() == [55 + 2 * L + R + (i + 1) * S for i in range(3)]


def test_ranks_that_end_together_go_by_number_whoever_began_first(simulate: Simulate) -> None:
    """Rank 1 computes 10 at once, rank 0 twice 5: both post at 10, rank 0 before rank 1."""
    ranks = (
        [Step(compute_ps=5), Step([Send(2, 1000)], compute_ps=5)],
        [Step([Send(2, 1000)], compute_ps=10)],
        [Step(need=2)],
    )
    got = simulate(line([0, 0]), traffic(*ranks, nodes=[0, 0, 1]), config())
    assert got.message_post_ps.tolist() == [10, 10]
    assert got.message_finish_ps.tolist() == [10 + 2 * L + R + S, 10 + 2 * L + R + 2 * S]


def test_each_send_is_posted_at_the_end_of_its_overhead(simulate: Simulate) -> None:
    """Send i: C + (i + 1) o; the rank leaves its step with the last."""
    ranks = ([Step([Send(1, 10)] * 3, compute_ps=500)], [Step(need=3)])
    got = simulate(line([0, 0]), traffic(*ranks), config(send_ps=70))
    assert got.message_post_ps.tolist() == [570, 640, 710]
    assert got.rank_finish_ps[0] == 710


def test_receives_queue_at_the_processor(simulate: Simulate) -> None:
    """Two packets S apart, each 3 S + 1000 x 5 to receive: first arrival + 2 V."""
    ranks = ([Step([Send(1, 1000), Send(1, 1000)])], [Step(need=2)])
    got = simulate(line([0, 0]), traffic(*ranks), config(recv_ps=3 * S, copy_ps=5))
    way = 2 * L + R
    assert got.message_finish_ps.tolist() == [way + S, way + 2 * S]
    assert got.rank_finish_ps[1] == way + S + 2 * (3 * S + 5000)


def test_the_cost_of_a_receive_is_rounded_as_one_duration(simulate: Simulate) -> None:
    """0.3 ps and 1000 x 0.0003 ps are 0.6 ps, so 1 ps; apart they would be 0."""
    costs = replace(config(), recv_overhead_s=0.3e-12, copy_s_per_byte=0.0003e-12)
    got = simulate(line([0, 0]), flows([(0, 1)], 1000, 2), costs)
    assert got.rank_finish_ps[1] == got.message_finish_ps[0] + 1


def test_a_free_processor_takes_a_queued_arrival_before_it_begins_a_step(simulate):
    """The message comes in step 0 (C0) and is for step 2: step 1 (C1) posts at C0 + V + C1."""
    c0, c1, v = 5 * S, 300, 40
    ranks = (
        [Step([Send(1, 1000, 2)], need=1)],
        [Step(compute_ps=c0), Step([Send(0, 10)], compute_ps=c1), Step(need=1)],
    )
    got = simulate(line([0, 0]), traffic(*ranks), config(recv_ps=v))
    assert got.message_post_ps[1] == c0 + v + c1
    assert got.rank_finish_ps[1] == c0 + v + c1


def test_a_step_once_begun_is_not_interrupted(simulate: Simulate) -> None:
    """The message comes between two sends of a step: they go out on time, then V."""
    overhead, v = 2 * S, 40
    ranks = (
        [Step([Send(1, 1000)])],
        [Step([Send(2, 10), Send(2, 10)], need=1)],
        [Step(need=2)],
    )
    got = simulate(line([0, 0, 0]), traffic(*ranks), config(send_ps=overhead, recv_ps=v))
    assert got.message_finish_ps[0] == overhead + 2 * L + R + S
    assert got.message_finish_ps[0] < 2 * overhead
    assert got.message_post_ps.tolist() == [overhead, overhead, 2 * overhead]
    assert got.rank_finish_ps[1] == 2 * overhead + v


def test_the_last_step_is_left_while_receives_are_queued(simulate: Simulate) -> None:
    """The rank needs one of two messages: it is done at first arrival + V; both are counted."""
    v = 10 * S
    ranks = ([Step([Send(1, 1000), Send(1, 1000)])], [Step(need=1)])
    got = simulate(line([0, 0]), traffic(*ranks), config(recv_ps=v))
    assert got.rank_finish_ps[1] == 2 * L + R + S + v
    assert got.end_ps == 2 * L + R + S + 2 * v


def test_a_receive_in_work_does_not_hold_the_last_step(simulate: Simulate) -> None:
    """At 0.4 ps a byte a million bytes cost 400,000 ps to receive and one byte nothing.

    The byte comes 1000 ps after the large message, is counted while that is received, and is all
    that the rank needs: done at 2 L + R + 10^6 x 1000 + 1000. The receive still ends.
    """
    size = 10**6
    ranks = ([Step([Send(1, size), Send(1, 1)])], [Step(need=1)])
    got = simulate(line([0, 0]), traffic(*ranks), config(packet=size, copy_ps=0.4))
    first = 2 * L + R + size * 1000
    assert got.rank_finish_ps[1] == first + 1000
    assert got.end_ps == first + 400_000


def test_a_message_may_come_before_its_step(simulate: Simulate) -> None:
    """Counted already, the step is left at once: C0, not later."""
    c0 = 9 * S
    ranks = ([Step([Send(1, 1000, 1)])], [Step(compute_ps=c0), Step(need=1)])
    got = simulate(line([0, 0]), traffic(*ranks), config())
    assert got.message_finish_ps[0] == 2 * L + R + S
    assert got.rank_finish_ps[1] == c0


def test_groups_start_at_their_times(simulate: Simulate) -> None:
    """The same exchange twice on other nodes, one later by 3 us; a rank without steps is done."""
    exchange = program([Step([Send(1, 1000)])], [Step(need=1)], [])
    jobs = combine([exchange, exchange], [np.array([0, 1, 0]), np.array([2, 3, 2])], [0.0, 3e-6])
    got = simulate(line([0, 0, 0, 0]), jobs, config())
    way = 2 * L + R + S
    assert got.rank_finish_ps.tolist() == [0, way, 0, 3 * S, 3 * S + way, 3 * S]
    assert got.group_finish_ps.tolist() == [way, 3 * S + way]


# The end of a run


def test_until_includes_its_own_tick(simulate: Simulate) -> None:
    """At T = 2 L + R + S the message is in; one picosecond earlier it is not."""
    end = 2 * L + R + S
    case = (line([0, 0]), flows([(0, 1)], 1000, 2), config())
    at, before = (simulate(*case, until_s=t * 1e-12) for t in (end, end - 1))
    assert (at.end_ps, before.end_ps) == (end, end - 1)
    assert at.message_finish_ps.tolist() == [end]
    assert at.rank_finish_ps.tolist() == [0, end]
    assert before.message_finish_ps.tolist() == [-1]
    assert before.rank_finish_ps.tolist() == [0, -1]
    assert before.group_finish_ps.tolist() == [-1]
    assert at.link_packets.tolist() == before.link_packets.tolist() == [1, 0, 0, 1]


def test_until_counts_a_stall_that_has_not_ended(simulate: Simulate) -> None:
    """One packet's buffer: the injection link stalls from S; cut at S + 123 that is one of 123."""
    case = (line([0, 0]), flows([(0, 1)], 3000, 2), config(buffer=1000))
    got = simulate(*case, until_s=(S + 123) * 1e-12)
    assert got.link_stalls.tolist() == [1, 0, 0, 0]
    assert got.link_stall_ps.tolist() == [123, 0, 0, 0]


def test_until_may_lie_beyond_the_last_event(simulate: Simulate) -> None:
    """The end is what was asked for; without it, the last arrival."""
    case = (line([0, 0]), flows([(0, 1)], 1000, 2), config())
    assert simulate(*case, until_s=1.0).end_ps == 10**12
    assert simulate(*case).end_ps == 2 * L + R + S


def test_a_ring_with_one_channel_deadlocks_and_the_cycle_is_named(simulate: Simulate) -> None:
    """Four packets go two routers on; each buffer holds one: none can take its second link."""
    case = (
        one_way_ring(4),
        flows([(i, (i + 2) % 4) for i in range(4)], 1000, 4),
        config(buffer=1000),
    )
    named = (
        "link 8 (router 0 -> router 1) vc 0 -> link 9 (router 1 -> router 2) vc 0 -> "
        "link 10 (router 2 -> router 3) vc 0 -> link 11 (router 3 -> router 0) vc 0 -> "
        "link 8 (router 0 -> router 1) vc 0"
    )
    with pytest.raises(NetworkDeadlockError) as error:
        simulate(*case)
    assert named in str(error.value)


def test_with_until_a_deadlock_is_a_long_stall(simulate: Simulate) -> None:
    """Each ring link is stalled from the tick in which it is free, D + S (> 2 D), to the end."""
    case = (
        one_way_ring(4),
        flows([(i, (i + 2) % 4) for i in range(4)], 1000, 4),
        config(buffer=1000),
    )
    end = 10 * S
    got = simulate(*case, until_s=end * 1e-12)
    assert got.message_finish_ps.tolist() == [-1] * 4
    assert got.link_stalls.tolist() == [0] * 8 + [1] * 4 + [0] * 4
    assert got.link_stall_ps[8:12].tolist() == [end - (D + S)] * 4


def test_the_ring_works_with_room_for_two(simulate: Simulate) -> None:
    """With space for two each takes its second link at D + S, when its first packet is gone.

    It was at that router at 2 D < D + S already; then D, S and L to the node.
    """
    case = (one_way_ring(4), flows([(i, (i + 2) % 4) for i in range(4)], 1000, 4))
    got = simulate(*case, config(buffer=2000))
    assert got.message_finish_ps.tolist() == [(D + S) + D + S + L] * 4


def test_a_program_that_waits_for_nothing_names_rank_and_step(simulate: Simulate) -> None:
    """Rank 1 waits in its step 1 for two messages; one comes."""
    ranks = ([Step([Send(1, 10, 1)])], [Step(), Step(need=2)])
    case = (line([0, 0]), traffic(*ranks), config())
    with pytest.raises(ProgramStuckError, match=r"rank 1 .*step 1 .*1 of 2 messages"):
        simulate(*case)
    assert simulate(*case, until_s=1e-3).group_finish_ps.tolist() == [-1]


@pytest.mark.parametrize("until_s", [-1.0, float("nan"), float("inf")])
def test_an_impossible_end_is_refused(simulate: Simulate, until_s: float) -> None:
    """One line names the value."""
    with pytest.raises(NetcosimError, match="until_s"):
        simulate(line([0, 0]), flows([(0, 1)], 10, 2), config(), until_s=until_s)


def test_a_rank_on_a_node_that_is_not_there_is_refused(simulate: Simulate) -> None:
    """One line names what is out of range."""
    jobs = traffic([Step()], [Step()], nodes=[0, 2])
    with pytest.raises(NetcosimError, match="rank_node"):
        simulate(line([0, 0]), jobs, config())


# Conservation


def _machines() -> list[tuple[Topology, str]]:
    machines = (dragonfly(1, 2, 5), fat_tree(4), torus([3, 3]), torus([2, 3], wrap=False))
    return [(t, name) for t in machines for name in routings_for(t.family)]


@pytest.mark.parametrize(("topology", "name"), _machines(), ids=lambda x: getattr(x, "name", x))
def test_what_goes_in_comes_out(simulate: Simulate, topology: Topology, name: str) -> None:
    """All-to-all with tight buffers, every routing: packets and bytes in = out = sent."""
    n, size, header = topology.n_nodes, 2500, 24
    jobs = all_to_all(n, size)
    got = simulate(make_routing(topology, name), jobs, config(header=header, buffer=2048))
    packets, wire = 3 * (n - 1), (size + 3 * header) * (n - 1)
    for kind in ("injection", "ejection"):
        mask = topology.kind_mask(kind)
        assert got.link_packets[mask].tolist() == [packets] * n
        assert got.link_bytes[mask].tolist() == [wire] * n
    assert (got.message_finish_ps > got.message_post_ps).all()
    into = jobs.program.send_dst
    for rank in range(n):  # a rank is done with its last message
        assert got.rank_finish_ps[rank] == got.message_finish_ps[into == rank].max()
    assert (got.link_busy_ps + got.link_stall_ps <= got.end_ps).all()


@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_run_takes_one_draw(engine: str) -> None:
    """The same generator state gives the same run; one 63-bit draw is taken from it."""
    topology = dragonfly(1, 2, 5)
    case = (make_routing(topology, "valiant"), all_to_all(topology.n_nodes, 1000), config())
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    first = ENGINES[engine](*case, rng)
    other.integers(0, 2**63)
    assert rng.bit_generator.state == other.bit_generator.state
    again = ENGINES[engine](*case, np.random.default_rng(3))
    assert first.message_finish_ps.tolist() == again.message_finish_ps.tolist()
    changed = ENGINES[engine](*case, rng)
    assert first.message_finish_ps.tolist() != changed.message_finish_ps.tolist()
