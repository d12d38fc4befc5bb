"""Congestion control: its rules by hand, and its laws on incasts and on traffic without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from numba import njit
from packet_cases import Send as To
from packet_cases import Step, all_to_all, flows, line, traffic

from experiments.validation.reference.congestion import (
    Dcqcn,
    EndpointPairs,
    Sent,
    _Limited,
    _Port,
)
from experiments.validation.reference.packets import simulate_reference
from netcosim.config.load import config_from
from netsim.errors import NetcosimError
from netsim.packet import engine
from netsim.packet import kernels_congestion as kernels
from netsim.packet import tables as t
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.registry import make_topology
from netsim.traffic import Traffic

US = 10**6
"""A microsecond in picoseconds."""
GB = 10**9
PACES = t.Paces(
    flow_of=np.zeros(1, np.int32),
    flows=t.make_table(1, t.FLOW),
    destinations=t.make_table(1, t.DESTINATION),
    parts=t.make_table(1, t.PART),
    delay=US,
    interval=4 * US,
    recovery=20 * US,
    targets=np.array([2 * US]),
    most=np.array([8 * US]),
    marks=False,
)
"""What the engine has of PAIRS."""
SLOWER = PACES._replace(recovery=50 * US)
ONE, OTHER = (1, 0), (2, 0)
"""Flows to port 0."""
PAIRS = PacketConfig(
    packet_bytes=1000,
    congestion_control="endpoint-pairs",
    congestion_threshold_bytes=2000,
    congestion_delay_s=1e-6,
    congestion_interval_s=4e-6,
    congestion_recovery_s=20e-6,
)
"""On links of 1 GB/s: packets of 1 us, 2 us are to be in flight, intervals of 5 us."""


@njit
def _of_first(kernel, paces, rows, more):
    kernel(paces, rows[0], *more)


def compiled(kernel: Any, paces: t.Paces, dtype: Any, state: dict[str, float], *more: int) -> Any:
    """A row of the engine's, all else 0, after a kernel."""
    rows = t.make_table(1, dtype, **state)
    _of_first(kernel, paces, rows, more)
    return rows[0]


def pairs() -> EndpointPairs:
    return EndpointPairs(PAIRS, lambda port, n_bytes: at_gb(n_bytes))


def sent(flow: tuple[int, int], now_us: float) -> Sent:
    return Sent(flow, int(now_us * US), 1000, US)


def gap_us(control: EndpointPairs | Dcqcn, flow: tuple[int, int], now_us: float) -> float:
    """From a packet's start to the flow's next."""
    control.started(sent(flow, now_us))
    return (control.next_ps(flow) - int(now_us * US)) / US


def loaded() -> EndpointPairs:
    """Two flows have sent 10 packets, of which the second arrives at 5 us; four more are at 9 us.

    At 5 us the interval is over, and one packet of 5 us has arrived: the destination limits
    nothing. At 10 us 8 packets have been sent in 5 us and 5 have arrived: it does. 5 are in flight,
    so that the slowdown is divided by 1 + 0.25 (1 - 8/5) - 0.1 (5 - 2)/5 = 0.79.
    """
    control = pairs()
    for flow in (ONE, OTHER):
        control.started(sent(flow, 0))
    control.arrived(sent(ONE, 5))
    for flow in (ONE, OTHER) * 4:
        control.started(sent(flow, 5))
    for now in range(6, 11):
        control.arrived(sent(OTHER if now == 6 else ONE, now))
    return control


def test_a_destination_that_limits_tells_its_share() -> None:
    control = loaded()
    assert control.ports[0].slowdown == pytest.approx(1 / 0.79)
    # the packet of 10 us has told flow ONE, who knows at 11 us
    assert gap_us(control, ONE, 10.9) == 1.0
    assert gap_us(control, ONE, 11.0) == pytest.approx(1 / 0.79, abs=1e-6)
    assert gap_us(control, OTHER, 11.0) == 1.0


def test_without_signals_a_flow_is_twice_as_fast_after_a_while() -> None:
    """20 us and four gaps of 1.2658 us after 11 us, and at most as fast as its link."""
    control = loaded()
    assert gap_us(control, ONE, 36.06) == pytest.approx(1 / 0.79, abs=1e-6)
    assert gap_us(control, ONE, 36.07) == 1.0


@pytest.mark.parametrize(("now_us", "gap"), [(35.9, 4), (36, 2), (63.9, 2), (64, 1)])
def test_a_flow_recovers_as_often_as_its_time_allows(now_us: float, gap: float) -> None:
    """Of a slowdown of 4: 20 us and four gaps of 4 us, then 20 us and four gaps of 2 us."""
    control = pairs()
    flow = control.flows[ONE]
    flow.slowdown, flow.since_ps = 4.0, 0
    assert gap_us(control, ONE, now_us) == gap
    fast = compiled(kernels._recover, PACES, t.FLOW, {"slowdown": 4.0}, US, int(now_us * US))
    assert fast.slowdown == gap


def test_a_backlog_is_drained_at_three_times_the_share() -> None:
    """More than 2 x 2 + 4 x 2 us of packets are in flight: slowdown 6, and 2 when they are not."""
    control = pairs()
    for flow in (ONE, OTHER) * 10:
        control.started(sent(flow, 0))
    for now in range(1, 7):
        control.arrived(sent(ONE, now))
    assert control.ports[0].slowdown == 6.0  # at 5 us, when 16 were in flight
    for now in range(7, 17):
        control.arrived(sent(OTHER if now > 10 else ONE, now))
    # the next interval of 4 + 6 us is over at 15 us, with 6 in flight
    assert control.ports[0].slowdown == 2.0


def test_a_backlog_that_grows_again_keeps_the_most_pairs() -> None:
    """Three had packets in flight, two have now: 13 us of packets are more than 2 x 2 + 4 x 2 us.

    The slowdown stays 3 x 3 after its interval of 4 + 9 us, in which all was received.
    """
    state: dict[str, Any] = {"slowdown": 9.0, "pairs": 2, "peak": 3}
    plain = _Port(since_ps=0, arrived_ps=13 * US, in_flight_ps=13 * US, **state)
    pairs()._update(plain, sent(ONE, 13))
    there = {"arrived": 13 * US, "in_flight": 13 * US, **state}
    fast = compiled(kernels._update_port, PACES, t.DESTINATION, there, US, 2 * US, 13 * US)
    for port in (plain, fast):
        assert (port.slowdown, port.peak) == (9.0, 3)


def at_gb(n_bytes: int) -> int:
    """Serialisation at 1 GB/s."""
    return n_bytes * 1000


def dcqcn() -> Dcqcn:
    return Dcqcn(replace(PAIRS, congestion_control="dcqcn", congestion_recovery_s=50e-6), 7)


def test_dcqcn_cuts_by_half_of_alpha_and_recovers_by_halves() -> None:
    """Alpha is 1 at first: half of the rate, then 3/4, 7/8 after 50 and 100 us (5 fast stages)."""
    control = dcqcn()
    control.joined(ONE, 0, (5, 0), at_gb, 9 * US)  # above 4 x 2 us every packet is marked
    assert gap_us(control, ONE, 0.9) == 1.0
    assert gap_us(control, ONE, 1.0) == 2.0
    assert gap_us(control, ONE, 50.9) == 2.0
    assert gap_us(control, ONE, 51.0) == pytest.approx(1 / 0.75, abs=1e-6)
    assert gap_us(control, ONE, 101.0) == pytest.approx(1 / 0.875, abs=1e-6)
    # then a thousandth of the link is added to the target, which is the link's rate already
    assert gap_us(control, ONE, 400.0) == pytest.approx(1 / (1 - 0.5**8), abs=1e-6)


@pytest.mark.parametrize(("now_us", "rate"), [(254.9, 0.484375), (255.0, 0.4926875)])
def test_dcqcn_adds_to_its_target_from_the_fifth_stage_on(now_us: float, rate: float) -> None:
    """Cut to 1/2 at 1 us and to 1/4 at 5 us; then half way to 1/2 four times, each 50 us.

    At 255 us the target is 0.501, and the rate (0.484375 + 0.501) / 2.
    """
    control = dcqcn()
    for now in (0, 4):
        control.joined(ONE, now * US, (5, 0), at_gb, 9 * US)
    assert gap_us(control, ONE, now_us) == pytest.approx(1 / rate, abs=1e-6)


@pytest.mark.parametrize(
    ("stage", "target", "rate"), [(4, 0.5, 0.375), (5, 0.501, 0.3755), (6, 0.51, 0.38)]
)
def test_dcqcn_adds_ten_times_as_much_after_the_fifth_stage(
    stage: int, target: float, rate: float
) -> None:
    state: dict[str, Any] = {
        "rate": 0.25,
        "target": 0.5,
        "timer_stage": stage - 1,
        "byte_stage": stage,
    }
    plain = _Limited(alpha_since_ps=0, **state)
    dcqcn()._advance(plain, 50 * US)
    fast = compiled(kernels._advance, SLOWER, t.FLOW, state, 50 * US)
    for flow in (plain, fast):
        assert (flow.target, flow.rate) == pytest.approx((target, rate))


def test_after_a_cut_dcqcn_recovers_fast_again() -> None:
    """Cut from 1/2 to 1/4 at 1 us, after five stages; 50 us later half way to 1/2, adding nothing.

    Alpha is 1 still at the cut.
    """
    state: dict[str, Any] = {
        "rate": 0.5,
        "target": 0.5,
        "alpha": 1.0,
        "timer_stage": 5,
        "byte_stage": 5,
    }
    control = dcqcn()
    control.flows[ONE] = plain = _Limited(signal_ps=US, **state)
    control._at(ONE, 51 * US)
    fast = compiled(kernels._settle_rate, SLOWER, t.FLOW, {"signal": US, **state}, 51 * US)
    for flow in (plain, fast):
        assert (flow.target, flow.rate) == (0.5, 0.375)
        assert (flow.timer_stage, flow.byte_stage) == (1, 0)


def test_dcqcn_heeds_one_mark_an_interval_and_none_in_a_short_queue() -> None:
    control = dcqcn()
    control.joined(ONE, 0, (5, 0), at_gb, 2 * US)
    assert gap_us(control, ONE, 2.0) == 1.0
    control.joined(ONE, 3 * US, (5, 0), at_gb, 9 * US)
    control.joined(ONE, 5 * US, (5, 0), at_gb, 9 * US)  # within 4 us
    assert gap_us(control, ONE, 6.5) == 2.0
    control.joined(ONE, 7 * US, (5, 0), at_gb, 9 * US)
    # alpha is 1 still, as the timer has not expired
    assert gap_us(control, ONE, 8.0) == 4.0


def test_dcqcn_marks_in_proportion_to_the_queue() -> None:
    """Half way between 2 and 8 us: a packet in ten."""
    control = dcqcn()
    for k in range(4000):
        control.joined((k + 1, 0), k, (5, k), at_gb, 5 * US)
    marked = sum(flow.marked_ps >= 0 for flow in control.flows.values())
    assert marked == pytest.approx(400, abs=60)  # three standard errors


def run_both(routing: Routing, sends: Traffic, packets: PacketConfig) -> PacketResult:
    """The engine's result, which is the reference's."""
    fast = simulate_packets(routing, sends, packets, np.random.default_rng(1))
    plain = simulate_reference(routing, sends, packets, np.random.default_rng(1))
    for f in fields(PacketResult):
        np.testing.assert_array_equal(getattr(fast, f.name), getattr(plain, f.name), f.name)
    return fast


def test_a_message_passes_one_that_has_to_wait() -> None:
    """Node 0 has 40 packets for node 3, as nodes 1 and 2 have, and then one for node 4.

    All are on one router. With credits alone the one goes last, and arrives at 41 us; paced, it
    goes as soon as node 0 has to wait between two packets for node 3. So does one that another
    rank of node 0 posts after that.
    """
    packets = replace(PAIRS, router_latency_s=0.0, buffer_bytes=100_000)
    routing = line([0] * 5, node_latency_ps=0)
    steps = [Step([To(3, 40_000), To(4, 1000)]), Step([To(3, 40_000)]), Step([To(3, 40_000)])]
    after = Step([To(4, 1000)], start_ps=20 * US)
    ranks = ([s] for s in (*steps, Step(need=3), Step(need=2), after))
    sends = traffic(*ranks, nodes=[0, 1, 2, 3, 4, 0])
    free = run_both(routing, sends, replace(packets, congestion_control="credits"))
    paced = run_both(routing, sends, packets)
    assert free.message_finish_ps[[1, 4]].tolist() == [41 * US, 42 * US]
    assert paced.message_finish_ps[1] < 20 * US
    assert paced.message_finish_ps[4] < 30 * US
    assert paced.message_finish_ps.max() == pytest.approx(120 * US, rel=0.1)
    # nobody stalls for being paced
    assert paced.link_stalls[:3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("control", ["endpoint-pairs", "dcqcn"])
@pytest.mark.parametrize("interval_s", [3e-6, 20e-6])
def test_both_engines_agree_on_incasts_that_begin_end_and_begin_again(control, interval_s) -> None:
    """Four nodes send to one, to another, and after a pause two to the first one, one for long."""
    packets = replace(
        PAIRS,
        congestion_control=control,
        congestion_threshold_bytes=3000,
        congestion_interval_s=interval_s,
        buffer_bytes=100_000,
    )
    first = [To(4, 40_000), To(5, 3000), To(4, 2500)]
    later = [[To(4, 250_000), To(5, 2000)], [To(4, 20_000)], [], []]
    sends = [[Step(first), Step(then, compute_ps=200 * US)] for then in later]
    run_both(line([0] * 6), traffic(*sends, [Step(need=10)], [Step(need=5)]), packets)


@pytest.mark.parametrize(("control", "waits"), [("credits", False), ("endpoint-pairs", True)])
def test_only_paced_packets_wait_for_their_tick(monkeypatch, control, waits):
    """Without control a packet starts, and ends, ahead of its tick: a fifth of the time."""
    seen = []

    def run(loop: Any, arrays: Any, *rest: Any) -> Any:
        seen.append(int(arrays.sc[0].until))
        return run_on_one(loop, arrays, *rest)

    run_on_one = engine._run_on_one
    monkeypatch.setattr(engine, "_run_on_one", run)
    packets = replace(PAIRS, congestion_control=control)
    sends = traffic([Step([To(1, 4000)])], [Step(need=1)])
    simulate_packets(line([0] * 2), sends, packets, np.random.default_rng(1))
    assert (seen == [-1]) is waits


# Laws


BANDWIDTH_BPS = 25 * GB
FABRIC = PacketConfig(packet_bytes=4096, buffer_bytes=65536, router_latency_s=350e-9)


def tree() -> Routing:
    topology = make_topology("fattree", {"radix": 12, "bandwidth_Bps": BANDWIDTH_BPS})
    return make_routing(topology, "d-mod-k")


def groups(routing: str) -> Routing:
    wires = {f"{kind}_bandwidth_Bps": BANDWIDTH_BPS for kind in ("node", "local", "global")}
    lengths = {"node_latency_s": 1e-8, "local_latency_s": 1e-8, "global_latency_s": 1e-7}
    return make_routing(dragonfly(8, 8, 9, 2, links=GroupLinks(**wires, **lengths)), routing)


def sized(pairs_of: Sequence[tuple[int, int, int]], n: int) -> Traffic:
    """Each (source, destination, bytes) a message, all at time 0."""
    return traffic(
        *(
            [
                Step(
                    sends=[To(b, size) for a, b, size in pairs_of if a == r],
                    need=sum(b == r for _, b, _ in pairs_of),
                )
            ]
            for r in range(n)
        )
    )


def incast(
    routing: Routing, senders: int, n_bytes: float, packets: PacketConfig
) -> tuple[float, float, float]:
    """Utilisation of the port, Jain's index of the rates, and a victim's rate over that alone.

    The victim sends 20 messages of 2 MB to the next node of the same router; its rate is that of
    the last ten, when the packets that were in flight before any signal have left.
    """
    n = routing.topology.n_nodes
    sources = np.random.default_rng(5).choice(np.arange(80, n - 1), senders, replace=False)
    size = int(n_bytes / senders)
    both = [(int(s), 0, size) for s in sources] + [(n - 1, 1, 2_000_000)] * 20
    took_s = []
    for case in (both, both[senders:]):
        done = simulate_packets(routing, sized(case, n), packets, np.random.default_rng(1))
        took_s.append((done.message_finish_ps - done.message_post_ps) / 1e12)
    rate = size / took_s[0][:senders]
    late = [np.ptp(np.sort(took[-20:])[9:]) for took in took_s]
    return (
        size * senders / BANDWIDTH_BPS / float(took_s[0][:senders].max()),
        float(rate.sum() ** 2 / (rate**2).sum() / senders),
        float(late[1] / late[0]),
    )


@pytest.mark.parametrize("network", ["tree", "minimal", "ugal-l"])
@pytest.mark.parametrize(
    "senders", [8, 32, *(pytest.param(n, marks=pytest.mark.full) for n in (128, 256))]
)
def test_endpoint_pairs_keep_the_port_full_fair_and_others_free(network: str, senders: int) -> None:
    routing = tree() if network == "tree" else groups(network)
    packets = replace(FABRIC, congestion_control="endpoint-pairs")
    utilisation, fairness, victim = incast(routing, senders, 250e6, packets)
    assert utilisation > 0.945
    assert fairness > 0.95
    assert victim > 0.95


def test_without_control_the_victim_waits() -> None:
    assert incast(groups("minimal"), 8, 250e6, FABRIC)[2] < 0.5


@pytest.mark.parametrize("senders", [8, pytest.param(128, marks=pytest.mark.full)])
def test_dcqcn_keeps_the_port_full_and_fair_in_the_long_run(senders: int) -> None:
    """40 ms, through which its slow recovery shows in the first ten alone."""
    packets = replace(FABRIC, congestion_control="dcqcn")
    utilisation, fairness, _ = incast(tree(), senders, 1e9, packets)
    assert utilisation > 0.95
    assert fairness > 0.95


@pytest.mark.parametrize("senders", [8, pytest.param(24, marks=pytest.mark.full)])
def test_what_is_in_flight_is_what_the_fluid_model_says(senders, monkeypatch):
    """Where the rates are constant, as much starts as arrives, and in flight is the target."""
    seen = []
    plain = EndpointPairs.arrived

    def arrived(control: EndpointPairs, packet: Sent) -> None:
        plain(control, packet)
        if packet.flow[1] == 0:
            seen.append((packet.now_ps, control.ports[0].in_flight_ps))

    monkeypatch.setattr(EndpointPairs, "arrived", arrived)
    packets = replace(FABRIC, congestion_control="endpoint-pairs")
    routing = make_routing(
        make_topology("fattree", {"radix": 6, "bandwidth_Bps": BANDWIDTH_BPS}), "d-mod-k"
    )
    size = 8_000_000 // senders
    sends = sized([(20 + k, 0, size) for k in range(senders)], 54)
    simulate_reference(routing, sends, packets, np.random.default_rng(1))
    n_bytes = np.array([in_flight * BANDWIDTH_BPS / 1e12 for _, in_flight in seen])
    settled = n_bytes[len(n_bytes) // 2 : -len(n_bytes) // 10]
    assert settled.mean() == pytest.approx(packets.congestion_threshold_bytes, rel=0.2)


@pytest.mark.parametrize("senders", [8, 24])
def test_dcqcn_keeps_the_queue_of_its_published_fluid_model(senders: int) -> None:
    """The fixed point of Zhu et al., "ECN or Delay" (CoNEXT 2016), section 3: a share p of marks.

    p^3 = R_AI N^2 / (T C^2) (1/B + N/(T C))^2, where p is small, with C = 6.10e6 packets/s,
    R_AI = C/1000, T = 55 us, B = 2441 packets. For N = 8 it is 0.0048, and 0.0207 for N = 24:
    queues of 1.07 and 1.31 times the least that is marked, as p rises to 0.2 at 4 times as much.
    Probes of 64 bytes wait as long as the queue takes; the first half of 40 ms is left out.
    """
    packets = replace(
        FABRIC, congestion_control="dcqcn", buffer_bytes=1 << 24, router_latency_s=0.0
    )
    c = BANDWIDTH_BPS / packets.packet_bytes
    of_rate, of_bytes = senders / (55e-6 * c), packets.packet_bytes / 10e6
    p = ((c / 1000) * senders**2 / (55e-6 * c**2) * (of_bytes + of_rate) ** 2) ** (1 / 3)
    assert p == pytest.approx({8: 0.0048, 24: 0.0207}[senders], abs=1e-4)
    expected_bytes = packets.congestion_threshold_bytes * (1 + 3 * p / 0.2)

    end_us, every_us = 40_000, 20
    size = BANDWIDTH_BPS // 20 // senders
    probes = [Step([To(0, 64)], start_ps=now * US) for now in range(0, end_us, every_us)]
    sends = traffic([Step()], *[[Step([To(0, size)])]] * senders, probes)
    routing = line([0] * (senders + 2), node_latency_ps=0, node_Bps=BANDWIDTH_BPS)
    done = simulate_packets(
        routing, sends, packets, np.random.default_rng(1), until_s=end_us * 1e-6
    )
    late = slice(-len(probes) // 2, -1)
    waits_s = (done.message_finish_ps - done.message_post_ps)[late] / 1e12
    assert waits_s.min() > 0
    assert waits_s.mean() * BANDWIDTH_BPS == pytest.approx(expected_bytes, rel=0.2)


@pytest.mark.parametrize("network", ["tree", "minimal", "ugal-l"])
def test_traffic_without_an_incast_loses_nothing(network: str) -> None:
    """Permutations, shifts and all-to-alls: at most 2 %, also where the network limits."""
    routing = tree() if network == "tree" else groups(network)
    n = routing.topology.n_nodes
    order = np.random.default_rng(3).permutation(n)
    nodes = order[:48]
    together = all_to_all(48, 16384)
    cases = {
        "permutation": flows([(i, int(j)) for i, j in enumerate(order) if i != j], 500_000, n),
        "shift": flows([(i, (i + n // 2) % n) for i in range(n)], 500_000, n),
        "all-to-all": replace(together, rank_node=nodes.astype(together.rank_node.dtype)),
    }
    for name, sends in cases.items():
        free, paced = (
            simulate_packets(
                routing,
                sends,
                replace(FABRIC, congestion_control=control),
                np.random.default_rng(1),
            ).end_ps
            for control in ("credits", "endpoint-pairs")
        )
        assert paced < 1.02 * free, name


# Keys


@pytest.mark.parametrize("given", [{"port_messages": 2}, {"control_first": True}])
def test_the_order_of_messages_is_the_control_s(given: dict[str, object]) -> None:
    with pytest.raises(NetcosimError, match=r"= (2|True) with congestion_control = dcqcn, which"):
        PacketConfig(eager_limit_bytes=1000, congestion_control="dcqcn", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("congestion_control", "ecn", "congestion_control 'ecn'.*endpoint-pairs"),
        ("congestion_threshold_bytes", 0, "congestion_threshold_bytes = 0; it must be at least 1"),
        ("congestion_delay_s", -1.0, "congestion_delay_s = -1; it must be at least 0"),
        ("congestion_interval_s", 0.0, "congestion_interval_s = 0.0; it must be at least"),
        ("congestion_recovery_s", 0.0, "congestion_recovery_s = 0.0; it must be at least"),
        ("congestion_recovery_s", float("nan"), "congestion_recovery_s = nan"),
    ],
)
def test_mistakes_are_named(key: str, value: object, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        PacketConfig(**{key: value})  # type: ignore[arg-type]


def config_of(**packet: object) -> dict[str, object]:
    """The packet section of a small config, as it counts in a point's content."""
    content = {
        "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 3, "packet": packet},
        "workload": {"synthetic": {"n_jobs": 2, "mean_nodes": 2}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 1},
    }
    found: dict[str, object] = config_from(content).resolved()["machine"]["packet"]
    return found


def test_a_config_without_it_keeps_its_draws() -> None:
    """What is not used does not count; what is used does, and is kept."""
    assert not [key for key in config_of() if key.startswith("congestion")]
    used = config_of(congestion_control="endpoint-pairs", congestion_delay="2 us")
    later = {key: value for key, value in used.items() if key.startswith("congestion")}
    assert later == {"congestion_control": "endpoint-pairs", "congestion_delay_s": 2e-6}
    assert config_of(**used) == used
    with pytest.raises(NetcosimError, match="congestion_delay needs congestion_control"):
        config_of(congestion_delay="2 us")
