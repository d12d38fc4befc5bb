"""End points of both packet engines: what processors and network ports cost, in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import ENGINES, L, R, Send, Step, config, line, seeded, traffic

from experiments.validation.cases import program
from netsim.errors import NetcosimError
from netsim.packet.jitter import RECEIVES, SENDS, jitter_ps
from netsim.packet.model import INPUT_QUEUED, PacketConfig, ProgramStuckError
from netsim.traffic import combine
from patterns.build import build_one_sided, make_messages


@pytest.fixture(params=ENGINES)
def run(request):
    return seeded(request.param)


PORTS = replace(config(), nic_efficiency=0.8, nic_duplex_efficiency=0.5)
"""A packet of 1000 bytes takes 1.25 us on a port's link, and 2 us while the port does both."""


def test_processor_time_of_a_byte_that_is_sent(run):
    """100 ns a message and 100 ps a byte: posted at 200 ns, then 150 ns later."""
    packets = replace(config(), send_overhead_s=100e-9, send_s_per_byte=1e-10)
    done = run(
        line([0, 0]), traffic([Step([Send(1, 1000), Send(1, 500)])], [Step(need=2)]), packets
    )
    assert done.message_post_ps.tolist() == [200_000, 350_000]
    assert done.rank_finish_ps.tolist() == [350_000, 200_000 + 1_500_000 + 2 * L + R]


def test_processor_time_of_each_byte_that_is_received(run):
    """Three packets are in at 3 us + 2 L + R; their 3000 bytes take 1 ns each."""
    done = run(line([0, 0]), traffic([Step([Send(1, 3000)])], [Step(need=1)]), config(copy_ps=1000))
    assert done.rank_finish_ps.tolist() == [0, 3_000_000 + 2 * L + R + 3_000_000]


def test_messages_that_cost_nothing_are_posted_together(run):
    """0.1 fs a byte: 10 ps for the long message, and less than half a tick for the others.

    Rank 0 waits for rank 1 on its node, whose other message is posted first.
    """
    answer = [Step(need=1), Step([Send(2, 1000)])]
    other = [Step([Send(0, 1000), Send(2, 1000)])]
    sent = traffic(answer, other, [Step(need=2)], [Step([Send(4, 100_000)])], [Step(need=1)],
                   nodes=[0, 0, 1, 2, 3])  # fmt: skip
    done = run(line([0] * 4), sent, replace(config(), send_s_per_byte=1e-16))
    assert done.message_finish_ps[:3].tolist() == [2_000_000 + 2 * L + R, 0, 1_000_000 + 2 * L + R]


def test_arrivals_that_wait_are_received_in_their_order(run):
    """Messages of 1000 and 500 bytes come while rank 2 computes; it spends 1 ns a byte on each."""
    last = [Step(compute_ps=10_000_000), Step(need=1), Step(need=1)]
    sent = traffic(
        [Step([Send(2, 1000, 1)])], [Step([Send(2, 500, 2)], compute_ps=1_000_000)], last
    )
    done = run(line([0] * 3), sent, config(copy_ps=1000))
    assert done.rank_finish_ps[2] == 11_500_000


def test_the_arrival_that_waited_longest_is_received_first(run):
    """As above, but rank 2 needs one message: it is done when it has received 1000 bytes."""
    sent = traffic(
        [Step([Send(2, 1000)])],
        [Step([Send(2, 500)], compute_ps=1_000_000)],
        [Step(compute_ps=10_000_000, need=1)],
    )
    done = run(line([0] * 3), sent, config(copy_ps=1000))
    assert done.rank_finish_ps[2] == 11_000_000


def test_a_port_that_sends_or_receives_has_its_efficiency(run):
    done = run(line([0, 0]), traffic([Step([Send(1, 5000)])], [Step(need=1)]), PORTS)
    assert done.message_finish_ps.tolist() == [5 * 1_250_000 + 2 * L + R]
    assert done.link_busy_ps.tolist() == [6_250_000, 0, 0, 6_250_000]


def both_ways():
    return traffic([Step([Send(1, 5000)], need=1)], [Step([Send(0, 5000)], need=1)])


def test_a_port_that_does_both_is_slower_each_way(run):
    """The first packets leave at 0, alone; all later ones find the other direction at work.

    Injection begins at 0, 1.25, 3.25, 5.25 and 7.25 us, ejection at 0.14, 2.14, ... 8.14 us.
    """
    done = run(line([0, 0]), both_ways(), PORTS)
    assert done.message_finish_ps.tolist() == [8_140_000 + 2_000_000 + L] * 2
    assert done.link_busy_ps.tolist() == [9_250_000] * 2 + [10_000_000] * 2


def test_directions_in_step_count_as_both(run):
    """Without latency both links begin at 0, alone; at 1.25 us the other one has just ended."""
    instant = replace(PORTS, router_latency_s=0.0)
    done = run(line([0, 0], node_latency_ps=0), both_ways(), instant)
    assert done.link_busy_ps.tolist() == [9_250_000] * 4
    assert done.message_finish_ps.tolist() == [10_000_000] * 2


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"nic_efficiency": 1.5}, "allowed: 0.001 to 1"),
        ({"nic_duplex_efficiency": 0}, "allowed: 0.001 to 1"),
        ({"nic_efficiency": 0.5, "nic_duplex_efficiency": 0.6}, "no faster when it does both"),
        ({"nic_duplex_efficiency": 0.6, "router": INPUT_QUEUED}, "needs router"),
    ],
)
def test_efficiencies_out_of_range(keys, message):
    with pytest.raises(NetcosimError, match=message):
        PacketConfig(**keys)


# Own sends


def test_a_step_waits_until_its_sends_have_left(run):
    """5000 bytes have left at 5 us; without waiting the rank is done at 0."""
    waits = [Step([Send(1, 5000)], waits_sends=True)]
    done = run(line([0, 0]), traffic(waits, [Step(need=1)]), config())
    assert done.rank_finish_ps.tolist() == [5_000_000, 5_000_000 + 2 * L + R]


def test_a_later_step_waits_for_what_was_sent_before(run):
    """`MPI_Isend`, 2 us of computing, `MPI_Waitall`; a message within the node is sent at once."""
    steps = [Step([Send(1, 5000), Send(2, 10**6)]), Step(compute_ps=2_000_000, waits_sends=True)]
    sent = traffic(steps, [Step(need=1)], [Step(need=1)], nodes=[0, 1, 0])
    assert run(line([0, 0]), sent, config()).rank_finish_ps[0] == 5_000_000


def test_messages_that_come_do_not_stand_for_sends(run):
    """Rank 1's two messages have come long before rank 0's have left; it needs only one."""
    first = [Step([Send(1, 9000)], need=1, waits_sends=True)]
    other = [Step([Send(0, 1), Send(0, 1)], need=1)]
    done = run(line([0, 0]), traffic(first, other), config())
    assert done.rank_finish_ps[0] == 9_000_000


def test_a_rendezvous_has_left_when_its_data_have(run):
    """The request and the clear-to-send of 64 bytes take 244 ns each."""
    sent = traffic([Step([Send(1, 5000)], waits_sends=True)], [Step(need=1)])
    done = run(line([0, 0]), sent, replace(config(), eager_limit_bytes=0, control_bytes=64))
    assert done.rank_finish_ps[0] == 2 * (64_000 + 2 * L + R) + 5_000_000


def test_sends_by_rendezvous_that_wait_for_each_other_are_stuck(run):
    """Both send before they receive, as two blocking `MPI_Send` do."""
    both = [[Step([Send(1 - r, 5000, step=1)], waits_sends=True), Step(need=1)] for r in range(2)]
    with pytest.raises(ProgramStuckError, match="0 of 0 messages came, and it waits for its own"):
        run(line([0, 0]), traffic(*both), replace(config(), eager_limit_bytes=0))


def test_a_step_starts_no_earlier_than_stated(run):
    """3 us after the group, which starts at 1 us; a step that is reached later begins at once."""
    steps = [Step([Send(1, 1000)], compute_ps=500, start_ps=3_000_000), Step(start_ps=1)]
    sent = replace(traffic(steps, [Step(need=1)]), start_s=np.array([1e-6]))
    done = run(line([0, 0]), sent, config())
    assert done.message_post_ps.tolist() == [4_000_500]
    assert done.rank_finish_ps[0] == 4_000_500


# Groups that loop


def ping(size: int):
    """Rank 0 sends, rank 1 answers."""
    return program([Step([Send(1, size)], need=1)], [Step(need=1), Step([Send(0, size)])])


ONE_WAY = 1_000_000 + 2 * L + R
"""Of 1000 bytes."""


def test_a_group_that_only_computes_loops_too(run):
    """No rank sends: a step of 3 us again and again beside one of 10 us."""
    programs = [program([Step(compute_ps=10_000_000)]), program([Step(compute_ps=3_000_000)])]
    sent = combine(programs, [np.array([0]), np.array([1])], group_loops=[False, True])
    done = run(line([0, 0]), sent, config())
    assert done.end_ps == 10_000_000
    assert done.rank_finish_ps.tolist() == [10_000_000, -1]


def test_a_group_loops_until_the_others_have_ended(run):
    """Nine ping-pongs fit into the time of one message of 20,000 bytes, and half of a tenth."""
    one = program([Step([Send(1, 20_000)])], [Step(need=1)])
    places = [np.array([0, 1]), np.array([2, 3])]
    sent = combine([one, ping(1000)], places, group_loops=[False, True])
    done = run(line([0] * 4), sent, config())
    end = 20_000_000 + 2 * L + R
    assert done.end_ps == end == done.group_finish_ps[0]
    assert done.group_finish_ps[1] == -1
    assert end // (2 * ONE_WAY) == 8
    # the ninth ping has been sent, and answered: 17 one-way times are 20.06 us
    assert done.link_packets[[2, 3]].tolist() == [9, 9]
    assert done.message_post_ps[[1, 2]].tolist() == [16 * ONE_WAY, 17 * ONE_WAY]


def test_a_rank_that_only_sends_waits_until_all_is_counted(run):
    """An incast: the next round begins when the receiver has spent 300 ns on the message."""
    one = program([Step(compute_ps=10_000_000)])
    incast = program([Step([Send(1, 1000)])], [Step(need=1)])
    sent = combine([one, incast], [np.array([0]), np.array([1, 2])], group_loops=[False, True])
    done = run(line([0] * 3), sent, config(recv_ps=300_000))
    assert done.end_ps == 10_000_000
    assert done.message_post_ps.tolist() == [6 * (ONE_WAY + 300_000)]


def test_a_round_begins_when_all_messages_of_the_last_one_are_counted(run):
    """1000 and 3000 bytes, one after the other: a round takes 4 us and the way."""
    one = program([Step(compute_ps=20_000_000)])
    two = program([Step([Send(1, 1000), Send(2, 3000)])], [Step(need=1)], [Step(need=1)])
    places = [np.array([0]), np.array([1, 2, 3])]
    sent = combine([one, two], places, group_loops=[False, True])
    done = run(line([0] * 4), sent, config())
    assert 20_000_000 // (3_000_000 + ONE_WAY) == 4
    assert done.message_post_ps.tolist() == [4 * (3_000_000 + ONE_WAY)] * 2


def test_a_round_has_what_has_come_for_it_before_it_begins(run):
    """Three messages come 11.18, 12.18 and 13.18 us after the start, the next ones at 24.36 us.

    The second rank's first round waits for one of them. Two have come when it leaves its second
    round, so it does not wait in the third and is in the fourth when the other group ends.
    """
    one = program([Step(compute_ps=23_000_000)])
    two = program(
        [Step([Send(1, 1000)] * 3, compute_ps=10_000_000)],
        [Step([Send(2, 1000)], compute_ps=3_000_000, need=1)],
        [Step(need=1)],
    )
    places = [np.array([0]), np.array([1, 2, 3])]
    sent = combine([one, two], places, group_loops=[False, True])
    done = run(line([0] * 4), sent, config())
    assert done.message_post_ps[-1] == 10_000_000 + 3 * 3_000_000 + 3 * ONE_WAY == 22_540_000


def test_a_round_without_time_is_the_last(run):
    """Rank 2 has nothing to do, so it does not loop in place."""
    sent = combine(
        [program([Step(compute_ps=1000)]), program([Step()])],
        [np.array([0]), np.array([1])],
        group_loops=[False, True],
    )
    assert run(line([0, 0]), sent, config()).rank_finish_ps.tolist() == [1000, 0]


def test_one_group_must_end():
    sent = combine([ping(1000)], [np.array([0, 1])], group_loops=[True])
    with pytest.raises(NetcosimError, match="group_loops has 1 of 1 groups"):
        ENGINES["engine"](line([0, 0]), sent, config(), np.random.default_rng(1))


# Queues of ports


def test_messages_of_a_port_take_turns(run):
    """Three messages of two packets: two of them in turn, the third when one of them has left.

    Each run ends after 10 us, so that an engine that sends a packet again and again fails here.
    """
    sent = traffic([Step([Send(1, 2000)] * 3)], [Step(need=3)])
    for messages, ends_us in ((1, (2, 4, 6)), (2, (3, 4, 6)), (3, (4, 5, 6)), (9, (4, 5, 6))):
        packets = replace(config(), port_messages=messages)
        done = run(line([0, 0]), sent, packets, until_s=10e-6)
        ends_ps = [1_000_000 * end + 2 * L + R for end in ends_us]
        assert done.message_finish_ps.tolist() == ends_ps


@pytest.mark.parametrize("first", [False, True])
def test_a_clear_to_send_passes_data(run, first):
    """Rank 1 sends 5000 bytes of its own. The clear-to-send is posted at 244 ns and leaves when the
    first packet has, at 1 us, or when the last has, at 5 us."""
    control = replace(config(), eager_limit_bytes=6000, control_bytes=64, control_first=first)
    sent = traffic([Step([Send(1, 9000)])], [Step([Send(2, 5000)], need=1)], [Step(need=1)])
    begin = 1_000_000 if first else 5_000_000
    one_way = 64_000 + 2 * L + R
    assert run(line([0, 0, 0]), sent, control).message_finish_ps.tolist() == [
        begin + one_way + 9_000_000 + 2 * L + R,
        5_000_000 + 2 * L + R + first * 64_000,
    ]


def test_requests_keep_their_order(run):
    """Both pass the 3000 bytes that were posted before them, the first one first."""
    control = replace(config(), eager_limit_bytes=3000, control_bytes=64, control_first=True)
    steps = [Step([Send(1, 3000), Send(2, 4000), Send(3, 4000)])]
    done = run(line([0] * 4), traffic(steps, *[[Step(need=1)]] * 3), control)
    # requests leave at 0 and 64 ns, before any data, and each comes back 488 ns after it left
    answer = 2 * (64_000 + 2 * L + R)
    assert done.message_post_ps.tolist() == [0, 0, 0]
    assert answer < 3_128_000
    data = 128_000 + 3_000_000 + 2 * L + R
    assert done.message_finish_ps.tolist() == [data, data + 4_000_000, data + 8_000_000]


def test_a_request_goes_behind_those_that_are_left(run):
    """The fourth is posted at 100 ns, when one has left, one is on its way, and one waits."""
    control = replace(config(), eager_limit_bytes=0, control_bytes=64, control_first=True)
    sends = [Send(k, 4000) for k in (1, 2, 3)]
    steps = [Step(sends), Step([Send(4, 4000)], compute_ps=100_000)]
    done = run(line([0] * 5), traffic(steps, *[[Step(need=1)]] * 4), control)
    assert np.argsort(done.message_finish_ps).tolist() == [0, 1, 2, 3]


# Jitter of hosts


def test_jitter_is_drawn_by_message(run):
    """An exponential time of its own for each send and each receive, in nanoseconds."""
    noisy = replace(config(), jitter_s=1e-6, jitter_seed=3)
    numbers = np.arange(2)
    sends, receives = (jitter_ps(noisy, numbers, side) for side in (SENDS, RECEIVES))
    assert len({*sends, *receives}) == 4
    done = run(line([0, 0]), traffic([Step([Send(1, 1000)] * 2)], [Step(need=2)]), noisy)
    assert done.message_post_ps.tolist() == np.cumsum(sends).tolist()
    counted = 0
    for arrived, work in zip(done.message_finish_ps, receives, strict=True):
        counted = max(counted, arrived) + work
    assert done.rank_finish_ps[1] == counted


@pytest.mark.parametrize(("name", "share"), [("exponential", 4.605), ("lognormal", 7.936)])
def test_jitter_has_its_distribution(name, share):
    """Of 200,000: the mean within 1 %, and the 99 % of it: ln 100, or exp(1.2 z - 0.72)."""
    noisy = PacketConfig(jitter_s=1e-6, jitter_distribution=name)
    times = jitter_ps(noisy, np.arange(200_000), SENDS)
    assert np.all(times % 1000 == 0)
    assert times.mean() == pytest.approx(1e6, rel=0.01)
    assert np.quantile(times, 0.99) == pytest.approx(share * 1e6, rel=0.03)
    other = replace(noisy, jitter_seed=1)
    assert abs(np.corrcoef(times, jitter_ps(other, np.arange(200_000), SENDS))[0, 1]) < 0.01


# Puts and gets


@pytest.mark.parametrize(("get", "there", "back"), [(False, 3000, 8), (True, 8, 3000)])
def test_a_nic_answers_without_a_processor(run, get, there, back):
    """The target computes for 1 ms meanwhile; its NIC answers in the tick of the arrival.

    The origin works 300 ns for the operation and 200 ns for its completion, not for bytes. Above
    the eager limit a put has no rendezvous.
    """
    costs = PacketConfig(
        packet_bytes=1000, send_overhead_s=300e-9, recv_overhead_s=200e-9, copy_s_per_byte=1e-9,
        send_s_per_byte=1e-9, eager_limit_bytes=100, router_latency_s=R * 1e-12,
    )  # fmt: skip
    operations = make_messages([0], 0, [1], 0, 3000)
    one = build_one_sided(2, 1, operations, get)
    busy = replace(one, compute_s=np.where(np.arange(one.n_steps) == 1, 1e-3, 0.0))
    sent = combine([busy], [np.array([0, 1])])
    done = run(line([0, 0]), sent, costs)
    arrived = 300_000 + there * 1000 + 2 * L + R
    assert done.message_post_ps.tolist() == [300_000, arrived]
    assert done.rank_finish_ps[0] == arrived + back * 1000 + 2 * L + R + 200_000
    # its own stream, which computed
    assert done.rank_finish_ps[1] == 1_000_000_000


def test_a_nic_answers_each_origin_in_order():
    """Rank 2 is accessed by 0 (steps 0 and 1) and 1: two streams of its NIC, of 3 and 2 steps."""
    operations = make_messages([0, 1, 0], [1, 0, 0], [2, 2, 2], [1, 0, 0], [5, 6, 7])
    one = build_one_sided(3, 2, operations, is_get=True)
    assert one.stream_ptr.tolist() == [0, 1, 2, 5]
    assert one.nic_stream.tolist() == [False, False, False, True, True]
    assert np.diff(one.step_ptr).tolist() == [2, 2, 2, 3, 2]
    # rank 0: its requests in the order of steps; then the answers to 0, in that order, and to 1
    assert one.send_bytes.tolist() == [8, 8, 8, 7, 5, 6]
    assert one.send_step.tolist() == [6, 7, 9, 0, 1, 2]
    one.validate()
    with pytest.raises(NetcosimError, match="nic_stream needs one value a stream"):
        replace(one, nic_stream=one.nic_stream[1:]).validate()
