"""What the reference engine shows a routing: keys, visits, states, loads and room."""

from __future__ import annotations

import numpy as np
import pytest
from packet_cases import L, R, Send, Step, config, line, traffic

from experiments.validation.reference.decisions import choose_of
from experiments.validation.reference.packets import simulate_reference
from experiments.validation.reference.view import View
from netsim.packet.model import serialisation_ps, to_ps
from netsim.routing.base import Hop
from netsim.routing.kernels_random import packet_key


def test_a_router_visit_has_its_own_key() -> None:
    """Key = packet_key(seed, message, packet, visit), visits from 0 at the first router."""
    base = line([0, 2], [1000, 1000])
    seen: list[tuple[int, int, int, int]] = []

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        seen.append((router, state, key, wire_bytes))
        return choose_of(base)(view, router, dst_node, state, key, wire_bytes)

    ranks = ([Step([Send(1, 900), Send(1, 1700)])], [Step(need=2)])
    setup = config(header=10)
    rng = np.random.default_rng(11)
    simulate_reference(base, traffic(*ranks), setup, rng, choose=choose)
    seed = np.uint64(int(np.random.default_rng(11).integers(0, 2**63)))
    expected = {
        (visit, visit, int(packet_key(seed, np.uint64(m), np.uint64(k), np.uint64(visit))), size)
        for m, k, size in ((0, 0, 910), (1, 0, 1010), (1, 1, 710))
        for visit in range(3)
    }
    assert len(seen) == 9
    assert set(seen) == expected


def test_load_and_room_count_the_running_and_the_waiting() -> None:
    """At the first router, cable four times slower than the nodes: packet i comes at i S.

    Packet i sees the cable busy until 4 S after its last start, and those that wait.
    """
    slow, cable, s = 4_000_000, 4, 1_000_000
    base = line([0, 1], [4000])
    seen: list[tuple[int, int]] = []

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        if router == 0:
            seen.append((view.load(cable), view.room(cable, 0)))
        return choose_of(base)(view, router, dst_node, state, key, wire_bytes)

    simulate_reference(
        base,
        traffic([Step([Send(1, 6000)])], [Step(need=1)]),
        config(buffer=100_000),
        np.random.default_rng(0),
        choose=choose,
    )
    # All that came before, less the time that has gone; space behind comes back at
    # start + L + R + slow + L, before packet 5 comes only for packet 0.
    assert 4 * s < 2 * L + R + slow < 5 * s
    loads = [i * slow - i * s if i else 0 for i in range(6)]
    rooms = [100_000 - 1000 * i for i in range(5)] + [100_000 - 5000 + 1000]
    assert [load for load, _ in seen] == loads
    assert [room for _, room in seen] == rooms


@pytest.mark.parametrize(
    ("wire_bytes", "bandwidth_Bps", "expected"),
    [(1, 3 * 10**11, 3), (5, 3 * 10**11, 17), (1, 4 * 10**11, 3), (1, 10**13, 1), (7, 10**9, 7000)],
)
def test_serialisation_is_rounded_half_up_and_at_least_a_picosecond(
    wire_bytes: int, bandwidth_Bps: int, expected: int
) -> None:
    """3.33, 16.67, 2.5 and 0.1 ps; 7 ns."""
    assert serialisation_ps(wire_bytes, bandwidth_Bps) == expected


def test_a_duration_is_rounded_half_to_even() -> None:
    """1.6, 2.5 and 3.5 ps."""
    assert [to_ps(ps * 1e-12) for ps in (1.6, 2.5, 3.5)] == [2, 2, 4]
