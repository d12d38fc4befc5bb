"""Credit round trips: the arithmetic by hand, and the rate that the engines reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import ENGINES, GBPS, L, R, config, flows, line

from netsim.errors import ModelWarning
from netsim.packet.credit import buffer_warning, credit_loops, warn_of_buffers
from netsim.packet.model import PacketConfig
from netsim.topologies.dragonfly import GroupLinks, dragonfly

S = 1_000_000
"""Serialisation of a packet of 1000 bytes, ps."""


def test_round_trip_by_hand() -> None:
    """2 x 300 ns + 100 ns + 1024 B / 1 GB/s = 1724 ns: 2 packets; 2 x 5 us: 11 packets."""
    topology = dragonfly(
        2,
        2,
        3,
        links=GroupLinks(
            node_bandwidth_Bps=10**9,
            local_bandwidth_Bps=10**9,
            global_bandwidth_Bps=10**9,
            node_latency_s=0.0,
            local_latency_s=300e-9,
            global_latency_s=5e-6,
        ),
    )
    settings = PacketConfig(
        packet_bytes=1000, header_bytes=24, buffer_bytes=4096, router_latency_s=100e-9
    )
    loops = {loop.kind: loop for loop in credit_loops(topology, settings)}
    assert loops["injection"].round_trip_ps == 100_000 + 1_024_000
    assert loops["local"].round_trip_ps == 600_000 + 100_000 + 1_024_000
    assert loops["global"].round_trip_ps == 10_000_000 + 100_000 + 1_024_000
    assert {kind: loop.needed_bytes for kind, loop in loops.items()} == {
        "injection": 2 * 1024,
        "local": 2 * 1024,
        "global": 11 * 1024,
    }
    assert loops["local"].rate_Bps == 10**9
    # Four packets start in 11.124 us: 4 x 1024 bytes.
    assert loops["global"].rate_Bps == pytest.approx(4 * 1024 / 11.124e-6)


def test_where_nothing_takes_time_no_buffer_is_too_small() -> None:
    """Heads that cross an unlimited crossbar at once, without latencies."""
    at_once = {"router": "input-queued", "crossbar_speedup": "unlimited", "delivery": "head"}
    settings = replace(config(router_ps=0), **at_once)
    for loop in credit_loops(line([0, 1], [1000], [0], node_latency_ps=0).topology, settings):
        assert (loop.round_trip_ps, loop.needed_bytes, loop.rate_Bps) == (0, 0, GBPS)


def test_the_warning_names_kind_bytes_and_rate() -> None:
    topology = line([0, 1], [1000], [2_000_000]).topology
    short = config(packet=1000, buffer=2500, router_ps=0)
    # T = 4 + 1 us: two packets in 5 us, five needed.
    text = buffer_warning(topology, short)
    assert text == (
        "buffer_bytes = 2500 is below the credit round trip of cable links (5000 bytes needed): "
        "one channel carries at most 4e+08 of 1e+09 bytes/s (40 %)"
    )
    with pytest.warns(ModelWarning, match=r"^buffer_bytes = 2500 is below the credit round"):
        warn_of_buffers(topology, short)
    assert buffer_warning(topology, config(packet=1000, buffer=5000, router_ps=0)) is None
    assert buffer_warning(topology, config(packet=1000, buffer=4999, router_ps=0)) is not None


def test_of_links_of_one_kind_the_most_demanding_counts() -> None:
    """1 GB/s and 5 us: 11.1 us, 12 packets of 1 us; 4 GB/s and 40 ns: 0.43 us, 2 packets."""
    topology = line([0, 1, 2], [250, 1000], [40_000, 5_000_000]).topology
    loops = {loop.kind: loop for loop in credit_loops(topology, config(packet=1000))}
    assert loops["cable"].bandwidth_Bps == GBPS
    assert loops["cable"].round_trip_ps == 2 * 5_000_000 + R + S
    assert loops["cable"].needed_bytes == 12_000


def test_the_warning_is_of_the_kind_that_is_limited_most() -> None:
    """One packet's buffer: 1 of 1.18 us at the nodes, 1 of 5.1 us on the cable."""
    text = buffer_warning(line([0, 1], [1000], [2_000_000]).topology, config(buffer=1000))
    assert text is not None
    assert "round trip of cable links" in text
    assert "(19.6 %)" in text


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("header", [0, 24])
@pytest.mark.parametrize("whole", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(
    ("crossbar", "share"),
    [
        (None, 1),
        ({"crossbar_speedup": 1}, 1),
        ({"crossbar_speedup": 2}, 0.5),
        ({"crossbar_speedup": "unlimited"}, 0),
        ({"crossbar_bandwidth_Bps": 4e9}, 0.25),
    ],
)
@pytest.mark.parametrize("delivery", ["tail", "head"])
def test_engines_reach_that_rate_and_no_more(engine, header, whole, crossbar, share, delivery):
    """With n packets of buffer, starts come n a round trip, or back to back if that is slower.

    A packet stays in the buffer for its own time; where its tail does not count, for the time in
    the crossbar alone.
    """
    latency_ps = 2_000_000
    routing = line([0, 1], [1000], [latency_ps], node_latency_ps=L, node_Bps=GBPS)
    wire = 1000 + header
    settings = replace(
        config(packet=1000, header=header, buffer=wire * whole),
        router="output-queued" if crossbar is None else "input-queued",
        delivery=delivery,
        **crossbar or {},
    )
    cable = {loop.kind: loop for loop in credit_loops(routing.topology, settings)}["cable"]
    ser = held = wire * 1000
    if crossbar is not None and delivery == "head":
        held = int(share * ser)
    trip = 2 * latency_ps + R + held
    assert cable.round_trip_ps == trip
    assert cable.needed_bytes == -(-trip // ser) * wire
    packets = 60
    result = ENGINES[engine](
        routing, flows([(0, 1)], packets * 1000, 2), settings, np.random.default_rng(1)
    )
    # The last of 60 packets starts (59 div n) round trips and (59 mod n) packets after the first.
    last = packets - 1
    wait = last * ser if whole * ser >= trip else last // whole * trip + last % whole * ser
    tail = ser if delivery == "tail" else 0
    assert result.message_finish_ps[0] == L + R + latency_ps + R + L + tail + wait
    assert cable.rate_Bps == pytest.approx(min(GBPS, whole * wire * 1e12 / trip))
