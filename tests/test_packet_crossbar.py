"""Input-queued routers and delivery by the head, against closed forms, to the picosecond.

S is the time of a packet of 1000 bytes on a link of 1 GB/s, L the latency of a wire, R that of a
router; A = L + R is when a packet's head, sent at 0, can be routed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from packet_cases import (
    BIG,
    ENGINES,
    GBPS,
    L,
    R,
    Send,
    Simulate,
    Step,
    config,
    flows,
    line,
    one_way_ring,
    seeded,
    traffic,
)

from experiments.kit.offered import lone_time_ps
from experiments.validation.engines import both, crowded_cases, same
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import (
    INPUT_QUEUED,
    NetworkDeadlockError,
    PacketConfig,
    serialisation_ps,
)
from netsim.packet.presets import packet_preset
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import Traffic, combine
from patterns.registry import make_pattern

S = 1_000_000
A = L + R


@pytest.fixture(params=list(ENGINES))
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """An engine with its generator."""
    return seeded(request.param)


def switch(speedup: float | str | None = 1, *, buffer: int = BIG, **more: object) -> PacketConfig:
    """Input-queued routers."""
    values = {"router": INPUT_QUEUED, "crossbar_speedup": speedup, **more}
    return replace(config(buffer=buffer), **values)  # type: ignore[arg-type]


def saturated(n: int, count: int, rng: np.random.Generator) -> Traffic:
    """On one router, ``n`` nodes send ``count`` packets each to ``n`` others, drawn uniformly."""
    dst = n + rng.integers(0, n, (n, count))
    senders = [[Step([Send(int(d), 1000) for d in row])] for row in dst]
    return traffic(*senders, *([Step()] for _ in range(n)))


def throughput(
    engine: str, n: int, count: int, settings: PacketConfig, *, warm: float = 0.1
) -> float:
    """Packets a port and packet time, while all inputs have something to send."""
    sent = saturated(n, count, np.random.default_rng(n))
    until_ps = count * S // 2
    result = ENGINES[engine](
        line([0] * (2 * n)), sent, settings, np.random.default_rng(1), until_s=until_ps * 1e-12
    )
    counted = np.count_nonzero(result.message_finish_ps >= warm * until_ps)
    return counted / n / ((1 - warm) * until_ps / S)


@pytest.mark.parametrize("arbitration", ["least-recently-served", "round-robin"])
@pytest.mark.parametrize(("n", "expected"), [(2, 0.75), (4, 0.6553), (8, 0.6184)])
def test_uniform_traffic_saturates_input_fifos(n: int, expected: float, arbitration: str) -> None:
    """Karol, Hluchyj, Morgan 1987, table I: 0.75, 0.6553, 0.6184, ... towards 2 - sqrt 2."""
    settings = switch(buffer=10_000, arbitration=arbitration)
    assert throughput("engine", n, 12_000 // n, settings) == pytest.approx(expected, abs=0.012)


def test_many_input_fifos_saturate_at_two_less_the_root_of_two() -> None:
    """2 - sqrt 2 = 0.586 for ever more ports; 64 are within a hundredth of it."""
    got = throughput("engine", 64, 1000, switch(buffer=10_000), warm=0.3)
    assert got == pytest.approx(2 - 2**0.5, abs=0.01)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_output_queues_of_the_same_traffic_never_idle(engine: str) -> None:
    """An output with one packet or more in the switch works; with 4 ports few are without."""
    wide = config(buffer=10_000)
    narrow = replace(wide, router=INPUT_QUEUED)
    assert throughput(engine, 4, 300, wide) > 0.93
    assert throughput(engine, 4, 300, narrow) < 0.72


@pytest.mark.parametrize("cables", [0, 1, 3])
@pytest.mark.parametrize(
    ("speedup", "extra"), [(0.5, S), (0.8, S // 4), (1, 0), (1.5, 0), (4, 0), ("unlimited", 0)]
)
def test_a_lone_packet_waits_only_for_a_slower_crossbar(simulate, cables, speedup, extra):
    """h L + (h - 1) (R + max(0, S / speedup - S)) + S."""
    routing, settings = line([0, cables], [1000] * cables), switch(speedup)
    h = cables + 2
    got = simulate(routing, flows([(0, 1)], 1000, 2), settings)
    assert got.message_finish_ps[0] == h * L + (h - 1) * (R + extra) + S
    assert got.message_finish_ps[0] == lone_time_ps(routing, settings, h)


@pytest.mark.parametrize("byte_ps", [[4000], [250], [4000, 2000], [4000, 1000, 4000]])
@pytest.mark.parametrize("speedup", [None, 1, 2, "unlimited"])
def test_a_fast_crossbar_changes_nothing_for_a_lone_packet(simulate, byte_ps, speedup):
    """Not even on links of different speed: its tail has come in before it has crossed."""
    case = (line([0, len(byte_ps)], byte_ps), flows([(0, 1)], 1000, 2))
    ideal = simulate(*case, config())
    assert simulate(*case, switch(speedup)).message_finish_ps == ideal.message_finish_ps


@pytest.mark.parametrize(
    ("settings", "second"),
    [
        (config(), A + S),  # comes at A + S and goes on
        (switch(1), A + 2 * S),  # the first of its FIFO crosses from A + S to A + 2 S
        (switch(2), A + S),  # from A + S / 2 to A + S
        (switch("unlimited"), A + S),  # at A
        # at A + S the output buffer is free again, and the first crosses, the second after it
        (switch(2, output_buffer_bytes=1000), A + S + S // 2),
        (switch(1, arbitration="round-robin"), A + 2 * S),
    ],
)
def test_a_packet_waits_behind_the_head_for_a_free_output(simulate, settings, second):
    """0 sends to 2; 1 sends to 2, then to 3: the output to 3 is free when its packet comes."""
    sent = flows([(0, 2), (1, 2), (1, 3)], 1000, 4)
    got = simulate(line([0] * 4), sent, settings)
    assert got.message_finish_ps.tolist() == [A + S + L, A + 2 * S + L, second + S + L]


CROSSBARS: dict[str, dict[str, float]] = {
    "fastest link": {},
    "input's link": {"crossbar_speedup": 1},
    "a quarter": {"crossbar_bandwidth_Bps": 0.25e9},
    "fourfold": {"crossbar_bandwidth_Bps": 4e9},
}
"""Of routers with links of 1 and 0.25 GB/s."""


@pytest.mark.parametrize(
    ("crossbar", "crossing"),
    [("fastest link", S), ("input's link", S), ("a quarter", 4 * S), ("fourfold", S // 4)],
)
@pytest.mark.parametrize("delivery", ["tail", "head"])
def test_a_slow_output_does_not_hold_a_fast_input(simulate, crossbar, crossing, delivery):
    """0 sends over a cable of 4 ns a byte, then to its neighbour; the first crosses from A on.

    The head of the second packet comes at A + S.
    """
    settings = switch(None, delivery=delivery, **CROSSBARS[crossbar])
    got = simulate(line([0, 0, 1], [4000]), flows([(0, 2), (0, 1)], 1000, 3), settings)
    begins = A + max(S, crossing)
    ready = begins if delivery == "head" else begins + max(0, crossing - S)
    assert got.message_finish_ps[1] == ready + L + (S if delivery == "tail" else 0)


@pytest.mark.parametrize(
    ("crossbar", "second"), [("fastest link", 5 * S), ("input's link", 8 * S), ("fourfold", 5 * S)]
)
def test_slow_inputs_fill_a_fast_output_unless_the_crossbar_is_as_slow(simulate, crossbar, second):
    """From both sides over cables of 4 ns a byte to node 2; the heads come at 2 A.

    The first tail leaves at 2 A + 4 S. The second packet has crossed by then, or crosses from
    2 A + 4 S to 2 A + 8 S.
    """
    routing = line([0, 2, 1], [4000, 4000])
    got = simulate(routing, flows([(0, 2), (1, 2)], 1000, 3), switch(None, **CROSSBARS[crossbar]))
    assert sorted(got.message_finish_ps.tolist()) == [2 * A + 4 * S + L, 2 * A + second + L]


@pytest.mark.parametrize(
    ("arbitration", "first"), [("least-recently-served", 1), ("round-robin", 0)]
)
def test_who_waited_longest_goes_first_or_whose_turn_it_is(simulate, arbitration, first):
    """0 has just sent to 2 when 0 and 1 both want 3: 1 was never served; output 3's turn is 0's."""
    sent = traffic(
        [Step([Send(2, 1000), Send(3, 1000)])],
        [Step([Send(3, 1000)], compute_ps=S)],
        [Step()],
        [Step()],
    )
    got = simulate(line([0] * 4), sent, switch(arbitration=arbitration))
    times = [A + 2 * S + L, A + 3 * S + L]
    assert got.message_finish_ps[[1, 2]].tolist() == (times if first == 0 else times[::-1])


@pytest.mark.parametrize("overhead", [0, S])
def test_round_robin_goes_on_after_the_one_served_last(simulate, overhead):
    """Three inputs, two packets each, one output: 0 1 2 0 1 2; also of allocated channels."""
    sent = flows([(i, 3) for i in (0, 1, 2) for _ in range(2)], 1000, 4)
    settings = switch(arbitration="round-robin", crossing_overhead_s=overhead * 1e-12 or None)
    got = simulate(line([0] * 4), sent, settings)
    turns = (got.message_finish_ps - (A + L)) // (overhead + S)
    assert turns.tolist() == [1, 4, 2, 5, 3, 6]


@pytest.mark.parametrize(
    ("arbitration", "turns"),
    [("least-recently-served", [1, 2]), ("merlin-lru", [2, 1])],
)
def test_of_those_served_in_one_tick_merlin_puts_the_first_last(simulate, arbitration, turns):
    """0 and 1 cross in one tick, 0 first, then both want output 4: merlin lets 1 cross first."""
    sent = flows([(0, 2), (0, 4), (1, 3), (1, 4)], 1000, 5)
    got = simulate(line([0] * 5), sent, switch(arbitration=arbitration))
    second = got.message_finish_ps[[1, 3]] - (A + L)
    assert (second // S).tolist() == [1 + turn for turn in turns]


def test_a_crossing_that_needs_credit_waits_at_the_input(simulate: Simulate) -> None:
    """Three packets over a cable of a quarter of the speed, a fourth to another output behind them.

    The buffer behind the cable takes two. The third crosses when the credit of the first is back;
    that delays nobody but the fourth, which waits behind it.
    """
    sent = flows([(0, 2), (0, 2), (0, 2), (0, 1)], 1000, 3)
    times = {}
    for buffer, requires in product((2000, BIG), ("output-space", "credit")):
        settings = switch(1, buffer=buffer, output_buffer_bytes=BIG, crossing_requires=requires)
        got = simulate(line([0, 0, 1], [4000]), sent, settings)
        times[buffer, requires] = got.message_finish_ps.tolist()
    # the first is at the second router's input from 2 A to 2 A + 4 S; its feeder sees that L later
    credit = 2 * A + 4 * S + L
    free = times[2000, "output-space"]
    assert free[3] == A + 3 * S + S + L
    assert times[2000, "credit"] == [*free[:3], credit + S + S + L]
    assert times[BIG, "credit"] == times[BIG, "output-space"] == free


def test_crossings_that_need_credit_are_named_in_a_deadlock(simulate: Simulate) -> None:
    """As above, but that the packets stand at the inputs and the links are idle."""
    sent = flows([(i, (i + 3) % 4) for i in range(4) for _ in range(3)], 1000, 4)
    settings = switch(2, buffer=1000, crossing_requires="credit")
    with pytest.raises(NetworkDeadlockError) as error:
        simulate(one_way_ring(4), sent, settings)
    assert "link 8 (router 0 -> router 1) vc 0 -> link 9 (router 1 -> rout" in str(error.value)
    got = simulate(one_way_ring(4), sent, settings, until_s=20e-6)
    assert (got.link_stall_ps[8:12] == 0).all()


def test_without_ties_an_unlimited_crossbar_is_an_output_queue(simulate: Simulate) -> None:
    """Heads cross at once into wide buffers; nobody sees that they came through a crossbar."""
    n = 6
    programs: list[Sequence[Step]] = [
        [
            Step(
                [Send((r + i) % n, 900 + 7 * r + i) for i in range(1, n)],
                need=n - 1,
                compute_ps=137_123 * r + 11 * r * r,
            )
        ]
        for r in range(n)
    ]
    case = (line([0, 0, 1, 1, 2, 2], [1000, 700]), traffic(*programs))
    ideal = simulate(*case, config())
    got = simulate(*case, switch("unlimited"))
    assert got.message_finish_ps.tolist() == ideal.message_finish_ps.tolist()
    assert got.link_busy_ps.tolist() == ideal.link_busy_ps.tolist()


@pytest.mark.parametrize("speedup", [1, "unlimited"])
def test_a_ring_with_one_channel_deadlocks_and_the_cycle_is_named(simulate, speedup):
    """Each buffer, at inputs and outputs, holds one packet; each packet has three links to go."""
    sent = flows([(i, (i + 3) % 4) for i in range(4) for _ in range(3)], 1000, 4)
    settings = switch(speedup, buffer=1000)
    named = (
        "link 8 (router 0 -> router 1) vc 0 -> link 9 (router 1 -> router 2) vc 0 -> "
        "link 10 (router 2 -> router 3) vc 0 -> link 11 (router 3 -> router 0) vc 0 -> "
        "link 8 (router 0 -> router 1) vc 0"
    )
    with pytest.raises(NetworkDeadlockError) as error:
        simulate(one_way_ring(4), sent, settings)
    assert named in str(error.value)
    got = simulate(one_way_ring(4), sent, settings, until_s=20e-6)
    assert (got.link_stall_ps[8:12] > 10 * S).all()
    wide = replace(settings, buffer_bytes=4000)
    assert (simulate(one_way_ring(4), sent, wide).message_finish_ps > 0).all()


MERLIN = {"node_latency_ps": 46_750}
"""205.5 = 2 x 46.75 + 112 ns at one router; a router and a wire more take 152 ns."""


def merlin(router: str) -> PacketConfig:
    return replace(
        config(packet=2048, buffer=14_000, router_ps=112_000), delivery="head", router=router
    )


@pytest.mark.parametrize("router", ["output-queued", INPUT_QUEUED])
@pytest.mark.parametrize(
    ("cables", "one_ps"), [(0, 205_500), (1, 357_500), (2, 509_500), (3, 661_500)]
)
def test_times_measured_with_merlin(simulate, cables, one_ps, router):
    """A packet whatever its size; 49 of 100,000 bytes come 48 x 2.048 us later."""
    routing = line([0, cables], [1000] * cables, **MERLIN)
    for size, later in ((1, 0), (1000, 0), (2048, 0), (100_000, 48 * 2_048_000)):
        got = simulate(routing, flows([(0, 1)], size, 2), merlin(router))
        assert got.message_finish_ps[0] == one_ps + later


@pytest.mark.parametrize("router", ["output-queued", INPUT_QUEUED])
def test_two_flows_on_one_link_get_half_each(simulate: Simulate, router: str) -> None:
    """49 packets each, in turn: one flow ends with its last packet of 1696 bytes after 96 full ones
    and that of the other, which is two packets ahead at most."""
    routing = line([0, 0, 1, 1], [1000], **MERLIN)
    got = simulate(routing, flows([(0, 2), (1, 3)], 100_000, 4), merlin(router))
    first, last = sorted(got.message_finish_ps)
    assert last == 357_500 + 96 * 2_048_000 + 1_696_000
    assert last - first <= 2 * 2_048_000


def test_by_its_head_a_packet_does_not_wait_where_links_get_faster(simulate: Simulate) -> None:
    """Links of 4 and 1 ns a byte: nothing but latencies; by its tail 3 S + S more."""
    case = (line([0, 1], [4000]), flows([(0, 1)], 1000, 2))
    for settings in (config(), switch(2)):
        tail = simulate(*case, settings).message_finish_ps[0]
        head = simulate(*case, replace(settings, delivery="head")).message_finish_ps[0]
        assert (head, tail) == (3 * L + 2 * R, 3 * L + 2 * R + 4 * S)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"router": "ideal"}, "unknown router 'ideal'; valid: input-queued, output-queued"),
        ({"delivery": "early"}, "unknown delivery 'early'; valid: head, tail"),
        ({"crossbar_speedup": 1.0}, 'crossbar_speedup = 1.0 needs router = "input-queued"'),
        ({"output_buffer_bytes": 9000}, 'output_buffer_bytes = 9000 needs router = "input-'),
        ({"arbitration": "round-robin"}, 'arbitration = round-robin needs router = "input-'),
        ({"router": INPUT_QUEUED, "crossbar_speedup": 0}, "crossbar_speedup = 0; it must be"),
        ({"router": INPUT_QUEUED, "crossbar_speedup": float("nan")}, "crossbar_speedup = nan"),
        ({"router": INPUT_QUEUED, "crossbar_speedup": "fast"}, 'a number or "unlimited"'),
        ({"crossbar_bandwidth_Bps": 1e9}, 'crossbar_bandwidth = 1000000000.0 needs router = "inp'),
        (
            {"router": INPUT_QUEUED, "crossbar_bandwidth_Bps": 1e9, "crossbar_speedup": 1},
            "crossbar_bandwidth = 1000000000.0 and crossbar_speedup = 1 contradict each other",
        ),
        ({"router": INPUT_QUEUED, "crossbar_bandwidth_Bps": 0}, "crossbar_bandwidth = 0; it must"),
        ({"router": INPUT_QUEUED, "crossbar_bandwidth_Bps": float("inf")}, "bandwidth = inf; it"),
        ({"router": INPUT_QUEUED, "crossbar_bandwidth_Bps": float("nan")}, "bandwidth = nan; it"),
        ({"router": INPUT_QUEUED, "crossbar_bandwidth_Bps": True}, "bandwidth = True; it must"),
        ({"router": INPUT_QUEUED, "arbitration": "none"}, "unknown arbitration 'none'"),
        ({"crossing_requires": "credit"}, 'crossing_requires = credit needs router = "input-'),
        (
            {"router": INPUT_QUEUED, "crossing_requires": "luck"},
            "unknown crossing_requires 'luck'; valid: credit, output-space",
        ),
        (
            {
                "router": INPUT_QUEUED,
                "crossing_requires": "credit",
                "crossbar_speedup": "unlimited",
            },
            "crossing_requires = credit needs a number as crossbar_speedup",
        ),
        ({"router": INPUT_QUEUED, "output_buffer_bytes": 2047}, "cannot hold one packet of 2048"),
        ({"router": INPUT_QUEUED, "output_buffer_bytes": 1 << 31}, "at most 1,073,741,824"),
    ],
)
def test_what_a_router_cannot_be_is_said_in_one_line(values: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError) as error:
        PacketConfig(**values)  # type: ignore[arg-type]
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_infinity_is_unlimited() -> None:
    infinite, named = (
        PacketConfig(router=INPUT_QUEUED, crossbar_speedup=s) for s in (float("inf"), "unlimited")
    )
    assert infinite.crossing_ps(1000, GBPS, GBPS) == named.crossing_ps(1000, GBPS, GBPS) == 0


@pytest.mark.parametrize(
    ("wire_bytes", "ser_ps", "speedup", "expected"),
    [
        (2048, 2_048_000, 1, 2_048_000),
        (2048, 2_048_000, 1.5, 1_365_000),  # 1,365,333 in units of 1000
        (1000, 1_000_000, 1.5, 667_000),  # units of 1000: a 10,000th would be less than a hundred
        (1000, 303_030, 2, 151_520),  # 10 divides it; 151,515 is half way, and 15,152 even
        (1, 301, 2, 150),
        (1, 1, 4, 1),
    ],
)
def test_crossings_are_rounded_to_what_a_clock_can_bear(wire_bytes, ser_ps, speedup, expected):
    """The same for a speed-up and for the bandwidth that it stands for."""
    link_Bps = wire_bytes * 10**12 // ser_ps
    assert serialisation_ps(wire_bytes, link_Bps) == ser_ps
    settings = PacketConfig(router=INPUT_QUEUED, crossbar_speedup=speedup)
    assert settings.crossing_ps(wire_bytes, link_Bps, 10**13) == expected
    own = PacketConfig(router=INPUT_QUEUED, crossbar_bandwidth_Bps=speedup * link_Bps)
    assert own.crossing_ps(wire_bytes, link_Bps, 10**13) == pytest.approx(expected, abs=10)


def test_a_crossing_beyond_the_clock_is_refused() -> None:
    """2 MiB at 1 byte/s take 24 days."""
    mib = 1 << 20
    settings = switch(None, crossbar_bandwidth_Bps=1, packet_bytes=mib, header_bytes=mib)
    with pytest.raises(NetcosimError, match="through a crossbar, beyond the clock"):
        simulate_packets(line([0, 0]), flows([(0, 1)], mib, 2), settings, np.random.default_rng(1))


SST_US = 436.639
"""SST's merlin: 4 jobs on 68 of 272 nodes each, drawn at random, all-to-all of 1000 bytes, minimal
routing, global links of 0.25 GB/s, the others and the crossbar of 1 GB/s; mean job time."""


def test_a_crossbar_of_its_own_speed_meets_sst_on_unlike_links() -> None:
    """Crossings that last as long as the input's link takes would give 638 us."""
    speeds = {f"{kind}_bandwidth_Bps": GBPS for kind in ("node", "local")}
    wires = {f"{kind}_latency_s": 40e-9 for kind in ("node", "local", "global")}
    shape = {"p": 4, "a": 4, "g": 17, "global_bandwidth_Bps": GBPS // 4}
    routing = make_routing(make_topology("dragonfly", {**shape, **speeds, **wires}), "minimal")
    settings = replace(packet_preset("merlin"), header_bytes=45)
    rng = np.random.default_rng(1)
    nodes = rng.permutation(272).reshape(4, 68)
    programs = [make_pattern("all-to-all", 68, 1000, 1, rng) for _ in nodes]
    got = simulate_packets(routing, combine(programs, list(nodes)), settings, rng)
    assert got.group_finish_ps.mean() / 1e6 == pytest.approx(SST_US, rel=0.02)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"crossbar_speedup": 2.0},
        {"crossbar_speedup": 1.5, "arbitration": "round-robin"},
        {"crossbar_speedup": 0.5, "header_bytes": 24},
    ],
)
def test_packets_that_cross_as_they_arrive_keep_the_order_of_service(more: dict[str, Any]) -> None:
    """All-to-alls at once under every routing: some cross with others, and some on arrival."""
    for case in crowded_cases("dragonfly"):
        config = replace(case.config, router=INPUT_QUEUED, **more)
        assert same(*both(replace(case, config=config))), case.routing.name


# Several crossings in a tick, and crossings on arrival


def test_crossings_of_one_tick_keep_the_earlier_order_of_their_inputs(simulate: Simulate) -> None:
    """Input 0 crosses first, at 10 us both to different outputs; at 20 us both want one.

    Input 1 had not crossed before 10 us, so it is the first at 20 us.
    """
    ten_us = 10 * S
    steps = [
        [Step([Send(2, 1000)]), Step([Send(3, 1000)], compute_ps=ten_us)],
        [Step(), Step([Send(4, 1000)], compute_ps=ten_us)],
    ]
    ends = [Step([Send(5, 1000)], compute_ps=ten_us)]
    needs = [[Step(need=n)] for n in (1, 1, 1, 2)]
    sent = traffic(*(rank + ends for rank in steps), *needs)
    done = simulate(line([0] * 6), sent, switch())
    first = 2 * ten_us + 2 * A - R + S
    assert done.message_finish_ps[[2, 4]].tolist() == [first + S, first]


def test_crossings_of_different_ticks_are_in_the_order_of_time(simulate: Simulate) -> None:
    """Input 2 crosses at 10 us and input 1 at 20 us, alone; at 30 us both want one output.

    Input 2, which has waited longer, goes first; by its head, its packet arrives L later.
    """
    ten_us = 10 * S
    one = [Step([Send(0, 1000)], compute_ps=2 * ten_us), Step([Send(3, 1000)], compute_ps=ten_us)]
    two = [Step([Send(0, 1000)], compute_ps=ten_us), Step([Send(3, 1000)], compute_ps=2 * ten_us)]
    sent = traffic([Step(need=2)], one, two, [Step(need=2)])
    first = 3 * ten_us + A + L
    done = simulate(line([0] * 4), sent, switch(delivery="head"), until_s=first * 1e-12)
    assert done.message_finish_ps.tolist() == [first - ten_us, -1, first - 2 * ten_us, first]


def test_an_input_port_with_two_heads_crosses_once(simulate: Simulate) -> None:
    """Two channels of a cable want the ports of ranks 2 and 3, where 4000 bytes cross until 4 us.

    Both ports are free in the same tick, and the cable's input takes part in one crossing at a
    time: one packet is 1 us behind the other.
    """
    messages = ((2, 1000), (3, 1000), (2, 4000), (3, 4000))
    sends = [[Step([Send(to, size)])] for to, size in messages]
    sent = traffic(*sends[:2], [Step(need=2)], [Step(need=2)], *sends[2:])
    settings = replace(switch(), packet_bytes=4000)
    done = simulate(line([0, 1, 2, 2, 2, 2], [1000, 1000]), sent, settings)
    begin = A + 4 * S
    assert sorted(done.message_finish_ps[:2].tolist()) == [begin + S + L, begin + 2 * S + L]


def test_a_packet_does_not_pass_another_that_waits_for_space(simulate: Simulate) -> None:
    """Buffers of 1500 bytes: one packet is sent, the next one at the slow cable's router leaves 500
    there, too few for the third one, on the first cable, and enough for the 10 bytes behind it."""
    late = [Step([Send(2, 10)], compute_ps=20 * S)]
    sent = traffic([Step([Send(2, 1000)] * 3)], late, [Step(need=4)])
    settings = switch(buffer=1500, output_buffer_bytes=1500)
    done = simulate(line([0, 0, 2], [1000, 50_000]), sent, settings)
    assert np.argsort(done.message_finish_ps).tolist() == [0, 1, 2, 3]


def test_a_channel_served_on_arrival_is_the_last_in_turn(simulate: Simulate) -> None:
    """A packet on channel 0 of a free cable; meanwhile one comes on each channel, on 0 first."""
    early = [Step([Send(3, 1000)])]
    beside = [Step([Send(3, 1000)], compute_ps=100_000)]
    far = [Step([Send(3, 1000)])]
    sent = traffic(early, beside, far, [Step(need=3)])
    done = simulate(line([1, 1, 0, 2], [1000, 10_000]), sent, switch())
    assert np.argsort(done.message_finish_ps).tolist() == [0, 2, 1]


def test_a_packet_without_space_at_its_output_holds_up_the_one_behind(simulate: Simulate) -> None:
    """The cable sends the first packet for 50 us; the second one, of rank 1, crosses then."""
    last = [Step([Send(2, 1000), Send(3, 1000)], compute_ps=600_000)]
    sent = traffic([Step([Send(2, 1000)])], last, [Step(need=2)], [Step(need=1)])
    settings = switch(4.0, output_buffer_bytes=1000)
    done = simulate(line([0, 0, 1, 0], [50_000]), sent, settings)
    assert done.message_finish_ps[2] == A + 50 * S + S // 4 + S + L


def test_an_output_taken_before_the_input_is_free_is_tried_again(simulate: Simulate) -> None:
    """Crossings take 2 S, packets 4 S on the cable. Rank 0 sends to 3, over the cable, and to 4.

    Its first packet crosses until A + 2 S. Its second one waits for that input, and meanwhile the
    packet of rank 1 crosses to the cable, from A + 1.5 S until A + 3.5 S. Then the second one
    crosses, 2 S before the cable is free, and the third one from A + 5.5 S until A + 7.5 S.
    """
    three = [Step([Send(to, 1000) for to in (3, 2, 4)])]
    beside = [Step([Send(2, 1000)], compute_ps=3 * S // 2)]
    sent = traffic(three, beside, [Step(need=2)], [Step(need=1)], [Step(need=1)])
    done = simulate(line([0, 0, 1, 0, 0], [4000]), sent, switch(0.5))
    crossed = [A + 2 * S, A + 15 * S // 2]
    assert done.message_finish_ps[[0, 2]].tolist() == [at + L for at in crossed]


def test_a_head_without_space_at_an_idle_output_crosses_later(simulate: Simulate) -> None:
    """An output buffer for one packet, whose tail comes over the slow cable 4 S after its head.

    The head is at the second router at 2 A, so its port begins 3 S later. The packet of rank 1 is
    there at 2 A + 1.5 S, where the port is idle and its buffer full, and crosses at 2 A + 4 S.
    """
    late = [Step([Send(2, 1000)], compute_ps=A + 3 * S // 2)]
    sent = traffic([Step([Send(2, 1000)])], late, [Step(need=2)])
    settings = switch(None, output_buffer_bytes=1000)
    done = simulate(line([0, 1, 1], [4000]), sent, settings)
    assert done.message_finish_ps.tolist() == [2 * A + 4 * S + L, 2 * A + 5 * S + L]
