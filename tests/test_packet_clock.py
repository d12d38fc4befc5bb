"""The clock of a run: what it is made of is found by counting, and once a machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from experiments.validation.cases import Send, Step, program
from netsim.packet import message_rows
from netsim.packet.build import choose_clock
from netsim.packet.message_rows import classes
from netsim.packet.model import PS_PER_S, PacketConfig, serialisation_ps
from netsim.topologies.registry import make_topology
from netsim.traffic import combine


@examples(200)
@given(
    st.lists(st.integers(1, 50), max_size=40),
    st.sampled_from([50, 100, message_rows._COUNTED + 1]),
)
def test_classes_are_those_of_sorting(values: list[int], most: int) -> None:
    given_values = np.array(values, dtype=np.int64)
    found, place = classes(given_values, most)
    expected, inverse = np.unique(given_values, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(place, inverse)
    assert (found.dtype, place.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("copy", [0.0, 2e-12])
@pytest.mark.parametrize("latency_s", [40e-9, 13.7e-9, 50e-9])
def test_tick_divides_every_duration_and_is_the_greatest(copy: float, latency_s: float) -> None:
    """Two machines one after the other, each with its own latency."""
    config = PacketConfig(
        packet_bytes=1000, header_bytes=24, recv_overhead_s=70e-9, copy_s_per_byte=copy
    )
    sizes = (1, 999, 1000, 1001, 2500)
    bandwidth_Bps = 3_300_000_000
    topology = make_topology(
        "torus", {"dims": [4], "link_latency_s": latency_s, "link_bandwidth_Bps": bandwidth_Bps}
    )
    steps = [Step(sends=[Send(1, n) for n in sizes])]
    traffic = combine([program(steps, [Step(need=len(sizes))])], [np.arange(2)])
    clock = choose_clock(topology, traffic, config, None)

    def ps(seconds: float) -> int:
        return round(seconds * PS_PER_S)

    bandwidths = {int(b) for b in topology.link_bandwidth_Bps}
    wires = {1000, *(n - (-(-n // 1000) - 1) * 1000 for n in sizes)}
    durations = [serialisation_ps(w + 24, b) for w in wires for b in bandwidths]
    durations += [ps(x) for x in topology.link_latency_s]
    durations += [ps(70e-9 + copy * n) for n in sizes]
    durations += [ps(config.router_latency_s), ps(config.send_overhead_s)]
    assert clock.tick_ps == np.gcd.reduce(durations)
    np.testing.assert_array_equal(clock.recv_ps, [ps(70e-9 + copy * n) for n in sizes])
    sizes_used = clock.sizes
    assert [int(sizes_used.wire[c]) - 24 for c in sizes_used.tail] == [1, 999, 1000, 1, 500]
