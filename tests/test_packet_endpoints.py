"""End points of both packet engines: what processors and network ports cost, in closed form."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packet_cases import ENGINES, L, R, Send, Step, config, line, seeded, traffic

from netsim.errors import NetcosimError
from netsim.packet.model import INPUT_QUEUED, PacketConfig


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
