"""Request, clear-to-send, data: the rendezvous of both packet engines in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import ENGINES, L, R, Send, Step, config, line, traffic

from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig, PacketResult, ProgramStuckError

CONTROL = 64
CONTROL_PS = CONTROL * 1000
"""A request on a link of 1 GB/s."""
SHORT = 2 * L + R
ONE_WAY = SHORT + CONTROL_PS
"""Of a request or a clear-to-send over one router."""


def by_rendezvous(limit: int = 0, **given: int) -> PacketConfig:
    return replace(config(**given), eager_limit_bytes=limit, control_bytes=CONTROL)


@pytest.fixture(params=ENGINES)
def run(request):
    engine = ENGINES[request.param]

    def simulate(routing, sent, packets: PacketConfig, **more) -> PacketResult:
        return engine(routing, sent, packets, np.random.default_rng(0), **more)

    return simulate


def pair(size: int):
    return traffic([Step([Send(1, size)])], [Step(need=1)])


def test_a_lone_message_takes_three_one_way_times(run):
    done = run(line([0, 0]), pair(5000), by_rendezvous())
    assert done.message_post_ps.tolist() == [0]
    assert done.message_finish_ps.tolist() == [2 * ONE_WAY + SHORT + 5_000_000]
    assert done.rank_finish_ps.tolist() == [0, 2 * ONE_WAY + SHORT + 5_000_000]
    assert done.link_packets.tolist() == [6, 1, 1, 6]
    assert done.link_bytes.tolist() == [5064, 64, 64, 5064]


@pytest.mark.parametrize(("size", "control"), [(12_000, 0), (12_001, 1)])
def test_a_message_of_the_limit_is_eager(run, size, control):
    """merlin's rule: rendezvous above 12,000 bytes."""
    done = run(line([0, 0]), pair(size), by_rendezvous(12_000))
    assert done.message_finish_ps.tolist() == [control * 2 * ONE_WAY + SHORT + size * 1000]
    assert done.link_packets[1] == control


def test_a_request_has_a_header_as_all_packets_have(run):
    done = run(line([0, 0]), pair(1000), by_rendezvous(header=36))
    assert done.message_finish_ps.tolist() == [2 * (SHORT + 100_000) + SHORT + 1_036_000]


def test_clear_to_send_waits_for_the_step(run):
    """The receiver begins the message's step at 3 us; it computes in it, which does not matter."""
    sent = traffic(
        [Step([Send(1, 1000, step=1)])], [Step(compute_ps=3_000_000), Step(need=1, compute_ps=500)]
    )
    done = run(line([0, 0]), sent, by_rendezvous())
    assert done.message_finish_ps.tolist() == [3_000_000 + ONE_WAY + SHORT + 1_000_000]


def test_a_group_that_has_not_started_has_posted_no_receive(run):
    late = replace(pair(1000), start_s=np.array([2e-6]))
    done = run(line([0, 0]), late, by_rendezvous())
    assert done.message_finish_ps.tolist() == [2_000_000 + 2 * ONE_WAY + SHORT + 1_000_000]


def test_requests_that_waited_are_cleared_in_order_of_arrival(run):
    """Rank 2's is there first, though its message has the higher number."""
    sent = traffic(
        [Step(compute_ps=500), Step([Send(1, 1000, step=1)])],
        [Step(compute_ps=3_000_000), Step(need=2)],
        [Step([Send(1, 1000, step=1)])],
    )
    done = run(line([0, 0, 0]), sent, by_rendezvous())
    first = 3_000_000 + ONE_WAY + SHORT + 1_000_000
    assert done.message_finish_ps.tolist() == [first + 1_000_000, first]


def test_a_busy_receiver_is_cleared_all_the_same(run):
    """Rank 1 computes for 1 ms in the step itself: its receive is posted before."""
    sent = traffic([Step([Send(1, 1000)])], [Step(need=1, compute_ps=10**9)])
    done = run(line([0, 0]), sent, by_rendezvous())
    assert done.message_finish_ps.tolist() == [2 * ONE_WAY + SHORT + 1_000_000]


def test_a_sender_does_not_wait_for_its_rendezvous(run):
    sent = traffic([Step([Send(1, 1000, step=1)]), Step()], [Step(compute_ps=10**7), Step(need=1)])
    assert run(line([0, 0]), sent, by_rendezvous()).rank_finish_ps[0] == 0


def test_messages_inside_a_node_are_there_at_once(run):
    sent = traffic([Step([Send(1, 10**6)])], [Step(need=1)], nodes=[0, 0])
    done = run(line([0, 0]), sent, by_rendezvous())
    assert done.message_finish_ps.tolist() == [0]
    assert done.link_packets.sum() == 0


def test_a_queue_does_not_let_a_clear_to_send_pass(run):
    """Rank 1 sends 5000 bytes of its own: its clear-to-send waits behind them."""
    sent = traffic([Step([Send(1, 9000)])], [Step([Send(2, 5000)], need=1)], [Step(need=1)])
    done = run(line([0, 0, 0]), sent, by_rendezvous(6000))
    assert done.message_finish_ps.tolist() == [
        5_000_000 + ONE_WAY + SHORT + 9_000_000,
        SHORT + 5_000_000,
    ]


def test_who_waits_for_ever_is_named(run):
    """Rank 1 waits in its first step for a message that nobody sends, so it never begins the
    step that the request asks for; the data stay with rank 0."""
    sent = traffic([Step([Send(1, 1000, step=1)])], [Step(need=1), Step(need=1)])
    with pytest.raises(ProgramStuckError, match=r"rank 1 .* in step 0 of its steps"):
        run(line([0, 0]), sent, by_rendezvous())
    done = run(line([0, 0]), sent, by_rendezvous(), until_s=1e-3)
    assert done.message_finish_ps.tolist() == [-1]
    assert done.link_packets.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"eager_limit_bytes": -1}, "eager_limit_bytes = -1; it must be at least 0"),
        ({"eager_limit_bytes": 0, "control_bytes": 0}, "control_bytes = 0; allowed: 1 to packet"),
        ({"eager_limit_bytes": 0, "control_bytes": 4096}, "packet_bytes = 2048, a request is one"),
    ],
)
def test_bad_values_are_refused_in_one_line(given, told):
    with pytest.raises(NetcosimError, match=told):
        PacketConfig(**given)
