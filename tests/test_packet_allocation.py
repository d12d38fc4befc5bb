"""Input-queued routers whose heads are allocated channels, as BookSim2's are, to the picosecond.

S, L, R and A as in `test_packet_crossbar`; O is the overhead of a crossing.
"""

from __future__ import annotations

import pytest
from packet_cases import (
    BIG,
    ENGINES,
    GBPS,
    Simulate,
    flows,
    line,
    one_way_ring,
    seeded,
)
from test_packet_crossbar import A, L, S, switch

from netsim.errors import NetcosimError
from netsim.packet.model import (
    ARBITRATIONS,
    INPUT_QUEUED,
    NetworkDeadlockError,
    PacketConfig,
)
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.torus import torus

O = S // 4  # noqa: E741


@pytest.fixture(params=list(ENGINES))
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """An engine with its generator."""
    return seeded(request.param)


def allocated(overhead: int, n: int = 1, speedup: float = 1, **more: object) -> PacketConfig:
    """Routers with an overhead in picoseconds and ``n`` channels per class."""
    more = {"crossing_overhead_s": overhead * 1e-12, "channels_per_class": n, **more}
    return switch(speedup, **more)  # type: ignore[arg-type]


def finish(simulate: Simulate, sent: list[tuple[int, int]], settings: PacketConfig) -> list[int]:
    """When messages of 1000 bytes between nodes of one router arrive."""
    n = 1 + max(map(max, sent))
    result = simulate(line([0] * n), flows(sent, 1000, n), settings)
    return sorted(result.message_finish_ps.tolist())


def test_each_head_of_a_fifo_pays_after_its_predecessor_has_left(simulate: Simulate) -> None:
    """The second asks when the first has crossed, at A + O + S, also for another output."""
    for destinations in ((1, 1, 1), (1, 2, 1)):
        got = finish(simulate, [(0, node) for node in destinations], allocated(O))
        assert got == [A + i * (O + S) + L for i in (1, 2, 3)]
    assert finish(simulate, [(0, 1)] * 3, allocated(0)) == [A + i * S + L for i in (1, 2, 3)]


def test_heads_of_two_channels_pay_while_another_crosses(simulate: Simulate) -> None:
    """The second goes to channel 1, asks when it comes, at A + S, and gets channel 1 again."""
    got = finish(simulate, [(0, 1)] * 3, allocated(O, 2))
    assert got == [A + O + i * S + L for i in (1, 2, 3)]


@pytest.mark.parametrize(("n", "last"), [(1, 2 * O + S), (2, O + S)])
def test_a_channel_is_held_until_its_head_has_crossed(simulate, n, last):
    """Two inputs, one output, crossings of S / 2: the link sends the second one S after the first,
    unless it is allocated its channel only when the first has crossed, at A + O + S / 2."""
    overhead = 4 * O  # S
    first, second = finish(simulate, [(0, 2), (1, 2)], allocated(overhead, n, speedup=2))
    assert first == A + overhead + S + L
    assert second == A + (2 * overhead + S // 2 if n == 1 else overhead + S) + S + L


@pytest.mark.parametrize("overhead", [0, O])
def test_an_input_fifo_passes_by_a_full_one_of_its_class(simulate: Simulate, overhead: int) -> None:
    """Buffers of one packet behind a cable of a quarter of the speed; credits are needed.

    The second packet takes channel 1, whose buffer is free, and follows the first on the cable.
    Without an overhead the first has left channel 0, and channel 1 is the next in turn as the cable
    has sent one packet. With one channel it needs the credit of the first, which has crossed at
    2 (A + O) + 4 S.
    """
    times = {}
    for n in (1, 2):
        settings = allocated(
            overhead, n, buffer=1000, output_buffer_bytes=BIG, crossing_requires="credit"
        )
        got = simulate(line([0, 1], [4000]), flows([(0, 1)] * 2, 1000, 2), settings)
        times[n] = got.message_finish_ps.tolist()
    # over the cable from A + O on, and from its end another O later
    first = 2 * (A + overhead) + 4 * S
    credit = first + L
    assert times[2] == [first + L, first + 4 * S + L]
    assert times[1] == [first + L, credit + A + overhead + 4 * S + L]


@pytest.mark.parametrize("arbitration", ARBITRATIONS)
def test_an_input_begins_one_crossing_in_a_tick(simulate: Simulate, arbitration: str) -> None:
    """Three packets of node 0 to three nodes, in channels 0, 1 and 0; a crossing takes 2 S.

    The first crosses from A on. The others come at A + S and at A + 2 S, when it has crossed: one
    of them crosses then, the other at A + 4 S. Each arrives 2 S + L after it begins to cross.
    """
    settings = allocated(0, 2, speedup=0.5, arbitration=arbitration)
    got = finish(simulate, [(0, 1), (0, 2), (0, 3)], settings)
    assert got == [A + 2 * i * S + L for i in (1, 2, 3)]


def test_a_bid_leaves_its_own_head_the_space(simulate):
    """A lone packet under UGAL, which counts the bids of heads, and a buffer for one packet.

    Credits are needed; the packet crosses the group's router and the other's, O each.
    """
    kinds = ("node", "local", "global")
    speeds = {f"{kind}_bandwidth_Bps": GBPS for kind in kinds}
    links = GroupLinks(**speeds, **{f"{kind}_latency_s": L * 1e-12 for kind in kinds})
    routing = make_routing(dragonfly(1, 1, 2, links=links), "ugal-l")
    assert routing.counts_bids
    settings = allocated(O, buffer=1000, crossing_requires="credit")
    got = simulate(routing, flows([(0, 1)], 1000, 2), settings)
    assert got.message_finish_ps.tolist() == [2 * (A + O) + S + L]


def test_a_ring_of_held_channels_is_named(simulate: Simulate) -> None:
    sent = flows([(i, (i + 3) % 4) for i in range(4) for _ in range(6)], 1000, 4)
    settings = allocated(O, 2, speedup=2, buffer=1000, crossing_requires="credit")
    with pytest.raises(NetworkDeadlockError, match=r"link 8 \(router 0 -> router 1\) vc "):
        simulate(one_way_ring(4), sent, settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"crossing_overhead_s": 1e-9}, 'crossing_overhead = 1e-09 needs router = "input-queued"'),
        ({"channels_per_class": 2}, 'channels_per_class = 2 needs router = "input-queued"'),
        (
            {"router": INPUT_QUEUED, "crossing_overhead_s": -1.0},
            "crossing_overhead_s = -1; it must be at least 0",
        ),
        (
            {"router": INPUT_QUEUED, "channels_per_class": 0},
            "= 0; it must be at least 1",
        ),
        ({"router": INPUT_QUEUED, "channels_per_class": 33}, "= 33; it must be at most 32"),
        (
            {"router": INPUT_QUEUED, "channels_per_class": 2, "crossbar_speedup": "unlimited"},
            "need a number as crossbar_speedup",
        ),
    ],
)
def test_bad_values_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        PacketConfig(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("routing", "n", "message"),
    [
        ("minimal-adaptive", 2, "looks at the space of single channels"),
        ("adaptive-local", 2, "looks at the space of single channels"),
        ("merlin-ugal", 2, "looks at the space of single channels"),
        ("minimal", 17, "routing minimal has 2 channels, allowed: 1 to 16"),
    ],
)
def test_routings_that_cannot_have_several_channels(simulate, routing, n, message):
    topology = torus((4, 4)) if routing == "minimal-adaptive" else dragonfly(2, 4, 9)
    with pytest.raises(NetcosimError, match=message):
        simulate(make_routing(topology, routing), flows([(0, 1)], 1000, 2), allocated(0, n))
