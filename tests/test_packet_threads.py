"""A run on several threads gives what it gives on one, to the last counter."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_cases import R, Send, Step, config, line, one_way_ring, traffic
from selection import examples, first_only

from experiments.validation.cases import Case, random_case
from netsim.errors import NetcosimError
from netsim.packet import build_domains, thread_count
from netsim.packet import threads as threads_module
from netsim.packet.engine import simulate_packets
from netsim.packet.model import (
    DELIVERIES,
    RAIL_POLICIES,
    ROUTERS,
    UNLIMITED,
    NetworkDeadlockError,
    PacketConfig,
    PacketResult,
    ProgramStuckError,
)
from netsim.packet.thread_count import AUTO, threads_used, why_one_thread
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import GroupLinks, dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.registry import FAMILIES, make_topology
from netsim.topologies.torus import torus
from netsim.traffic import Traffic, combine
from patterns.registry import make_pattern

OUTPUT_QUEUED, INPUT_QUEUED = ROUTERS

CASES, MANY_CASES = 20, 2500
"""Of each family, in the usual run and in the long one."""


def splittable(case: Case) -> Case:
    """The case without what keeps a run on one thread, where that is the configuration."""
    config = replace(case.config, congestion_control="credits", nic_duplex_efficiency=None)
    return replace(case, config=config, traffic=replace(case.traffic, group_loops=None))


def outcome(
    case: Case, threads: int | str, until_s: float | None = None
) -> PacketResult | RuntimeError:
    """What a run gives, be it an error."""
    try:
        return simulate_packets(
            case.routing,
            case.traffic,
            case.config,
            np.random.default_rng(5),
            until_s=until_s,
            threads=threads,
        )
    except (NetworkDeadlockError, ProgramStuckError) as error:
        return error


def assert_same(one: PacketResult | RuntimeError, other: PacketResult | RuntimeError) -> None:
    """Every field of the results, or the words of the errors."""
    assert type(one) is type(other)
    if isinstance(one, PacketResult):
        for f in fields(PacketResult):
            np.testing.assert_array_equal(getattr(one, f.name), getattr(other, f.name), f.name)
    else:
        assert str(one) == str(other)


def compare_random_cases(family: str, router: str, numbers: range) -> int:
    """How many of the cases have such routers and ran on several threads, with equal results."""
    split = 0
    for k in numbers:
        rng = np.random.default_rng((13, k))
        case = splittable(random_case(rng, family))
        if case.config.router != router or why_one_thread(case.routing, case.config):
            continue
        split += 1
        until_s = None if k % 4 else 1e-9 * float(rng.integers(0, 20_000))
        one = outcome(case, 1, until_s)
        for threads in (2, 3, 4):
            assert_same(one, outcome(case, threads, until_s))
    return split


@pytest.mark.parametrize("family", first_only(FAMILIES))
def test_random_cases_are_equal_on_one_to_four_threads(family: str) -> None:
    assert compare_random_cases(family, OUTPUT_QUEUED, range(CASES)) > CASES / 3


@pytest.mark.full
def test_random_crossbars_are_equal_on_one_to_four_threads() -> None:
    cases = range(3 * CASES)
    assert sum(compare_random_cases(family, INPUT_QUEUED, cases) for family in FAMILIES) > CASES


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_thousands_of_random_cases_are_equal(family: str) -> None:
    cases = range(CASES, CASES + MANY_CASES)
    split = sum(compare_random_cases(family, router, cases) for router in ROUTERS)
    assert split > MANY_CASES / 2


def busy(routing_name: str, topology, size: int = 3500, jobs: int = 2) -> Case:
    """All-to-all jobs on all nodes, in buffers of two packets: queues, stalls, choices."""
    routing = make_routing(topology, routing_name)
    rng = np.random.default_rng(3)
    nodes = rng.permutation(topology.n_nodes)
    placed = np.array_split(nodes, jobs)
    programs = [make_pattern("all-to-all", len(part), size, 1, rng) for part in placed]
    return Case(
        routing, combine(programs, placed), PacketConfig(packet_bytes=1000, buffer_bytes=2500)
    )


CROWDED = [
    busy("adaptive", fat_tree(6)),
    busy("ugal-l", dragonfly(2, 4, 9)),
    busy("adaptive-local", dragonfly(2, 4, 5, h=2)),
    busy("minimal-adaptive", torus((4, 4, 3))),
]


@pytest.mark.parametrize("router", first_only(ROUTERS))
@pytest.mark.parametrize("case", first_only(CROWDED), ids=lambda case: case.routing.topology.family)
def test_a_crowded_network_is_equal_on_any_number_of_threads(case: Case, router: str) -> None:
    """5 threads share what 4 do, 7 divide nothing evenly; 16 take turns on fewer cores."""
    case = replace(case, config=replace(case.config, router=router))
    one = outcome(case, 1)
    assert isinstance(one, PacketResult)
    assert one.link_stalls.sum() > 0
    for threads in (2, 5, 7, 16):
        assert_same(one, outcome(case, threads))


@pytest.mark.full
def test_pools_and_outboxes_grow_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outboxes hold one tick's mail and pools a tick's packets at first: each grows, at other
    windows than the other domains' do."""
    built, widened, rooms = build_domains.empty_mail, build_domains.grown_mail, []
    pools = build_domains.grown

    def tight(domains):
        mail = built(domains)
        capacity = mail.spare + 1
        cut = [a[: 2 * domains.n * capacity] for a in (mail.mail, mail.back)]
        return mail._replace(capacity=capacity, mail=cut[0], back=cut[1])

    def grown_mail(mail):
        rooms.append("outbox")
        return widened(mail)

    def grown(arrays):
        rooms.append("pool")
        return pools(arrays)

    monkeypatch.setattr(threads_module, "empty_mail", tight)
    monkeypatch.setattr(build_domains, "grown_mail", grown_mail)
    monkeypatch.setattr(build_domains, "grown", grown)
    # wires so long that a window brings many packets, and buffers that hold them all
    topology = dragonfly(
        2, 4, 5, h=2, links=GroupLinks(global_latency_s=2e-4, local_latency_s=2e-4)
    )
    case = replace(busy("minimal", topology, 30_000), config=PacketConfig(packet_bytes=100))
    one = outcome(case, 1)
    rooms.clear()
    assert_same(one, outcome(case, 3))
    assert {"outbox", "pool"} <= set(rooms)


def test_a_network_that_locks_up_names_the_same_ring() -> None:
    n = 8
    routing = one_way_ring(n)
    sends = [Step([Send((r + n // 2) % n, 20_000)], need=1) for r in range(n)]
    jobs = traffic(*([step] for step in sends))
    case = Case(routing, jobs, config(buffer=1000))
    one = outcome(case, 1)
    assert isinstance(one, NetworkDeadlockError)
    for threads in (2, 3, 4):
        assert_same(one, outcome(case, threads))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_rank_that_waits_for_ever_has_what_arrived_in_its_domain(threads: int) -> None:
    """Rank 3 alone is at a step: one of its two messages has arrived, in the last domain."""
    routing = line([0, 1, 2, 3], [1000] * 3)
    jobs = traffic([Step([Send(3, 500)])], [Step()], [Step()], [Step(need=2)])
    found = outcome(Case(routing, jobs, config()), threads)
    assert isinstance(found, ProgramStuckError)
    assert "rank 3 (group 0) waits for ever in step 0" in str(found)
    assert "1 of 2 messages came" in str(found)


def test_messages_need_not_be_recorded_and_nobody_need_send() -> None:
    case = CROWDED[0]
    results = [
        simulate_packets(
            case.routing,
            case.traffic,
            case.config,
            np.random.default_rng(5),
            record_messages=False,
            threads=threads,
        )
        for threads in (1, 3)
    ]
    assert_same(*results)
    idle = Case(case.routing, traffic([Step(compute_ps=5_000_000)]), case.config)
    assert_same(outcome(idle, 1), outcome(idle, 3))
    assert outcome(idle, 3).end_ps == 5_000_000


def test_progress_is_told_and_an_interrupt_ends_all_threads(monkeypatch):
    monkeypatch.setattr(threads_module, "_FIRST_WINDOWS", 4)
    monkeypatch.setattr(threads_module, "PAUSE_S", 0.0)  # never more windows than one
    case, told = CROWDED[0], []

    def stop(seconds: float) -> None:
        told.append(seconds)
        if len(told) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_packets(
            case.routing,
            case.traffic,
            case.config,
            np.random.default_rng(5),
            threads=3,
            progress=stop,
        )
    assert told == sorted(told)
    assert 0 < told[0] < told[-1]
    assert_same(outcome(case, 1), outcome(case, 3))


def exchange(machine: dict[str, object], size: int, rounds: int, packets: PacketConfig) -> Case:
    """Uniform random messages on a fat-tree, each round after the one before."""
    topology = make_topology("fattree", machine)
    n = topology.n_nodes
    pattern = make_pattern("uniform-random", n, size, rounds, np.random.default_rng(1))
    return Case(make_routing(topology), combine([pattern], [np.arange(n)]), packets)


def test_a_slow_crossbar_before_nodes_of_two_domains() -> None:
    """A tail of 64 bytes reaches a node 40 + 64 ns after its start, the next router after 140 ns.

    Its crossing takes 128 ns: without the way to the node, windows of 140 ns end at 20.7 us.
    """
    machine = {"m1": 4, "m2": 4, "m3": 4, "rails": 2, "rail_routers": "different"}
    packets = PacketConfig(router="input-queued", crossbar_speedup=0.5)
    case = exchange(machine, 64, 4, packets)
    one = outcome(case, 1)
    assert isinstance(one, PacketResult)
    assert one.end_ps == 4_752_000
    for threads in (2, 4):
        assert_same(one, outcome(case, threads))


BANDWIDTHS = st.sampled_from((10**9, 250_000_000)) | st.integers(10**8, 10**10)
LATENCIES = st.sampled_from((40e-9, 1e-9, 13.7e-9))


@pytest.mark.full
@examples(100)
@given(
    machine=st.fixed_dictionaries(
        {
            "m1": st.just(2),
            "m2": st.just(4),
            "m3": st.sampled_from((2, 1)),
            "rails": st.sampled_from((2, 4)),
            "rail_routers": st.just("different"),
            "node_latency_s": LATENCIES,
            "level1_latency_s": LATENCIES,
            "level2_latency_s": LATENCIES,
        }
    ),
    bandwidths_Bps=BANDWIDTHS.map(lambda all_links: 3 * (all_links,))
    | st.tuples(BANDWIDTHS, BANDWIDTHS, BANDWIDTHS),
    size=st.integers(1, 300) | st.sampled_from((1, 64, 3700)),
    router=st.sampled_from(
        (
            *(
                {"router": "input-queued", "crossbar_speedup": speedup}
                for speedup in (0.25, 0.5, 0.7, 1, UNLIMITED)
            ),
            {},
        )
    ),
    router_latency_s=st.sampled_from((500e-9, 107.3e-9)),
    rail_policy=st.sampled_from(RAIL_POLICIES),
    delivery=st.sampled_from((DELIVERIES[0], *DELIVERIES)),
    threads=st.sampled_from((2, 3, 4)),
)
def test_rails_crossbars_and_odd_bandwidths_are_equal(
    machine, bandwidths_Bps, size, router, router_latency_s, rail_policy, delivery, threads
) -> None:
    packets = PacketConfig(
        packet_bytes=1000,
        buffer_bytes=2500,
        router_latency_s=router_latency_s,
        rail_policy=rail_policy,
        delivery=delivery,
        **router,
    )
    links = ("node_bandwidth_Bps", "level1_bandwidth_Bps", "level2_bandwidth_Bps")
    machine = {**machine, **dict(zip(links, bandwidths_Bps, strict=True))}
    case = exchange(machine, size, 6, packets)
    assert_same(outcome(case, 1), outcome(case, threads))


def test_what_cannot_be_split_runs_on_one_thread_and_says_why() -> None:
    machine = dragonfly(2, 4, 5)
    far, near = make_routing(machine, "ugal-g"), make_routing(machine, "ugal-l")
    throttled = PacketConfig(congestion_control="endpoint-pairs")
    still = dragonfly(2, 4, 5, links=GroupLinks(local_latency_s=0))
    instant = PacketConfig(router_latency_s=0)
    for routing, packets, word in (
        (far, PacketConfig(), "ugal-g"),
        (near, throttled, "endpoint-pairs"),
        (make_routing(still, "minimal"), instant, "latency"),
        (
            make_routing(still, "minimal"),
            PacketConfig(router="input-queued", crossbar_speedup="unlimited"),
            "latency",
        ),
    ):
        assert word in why_one_thread(routing, packets)
        assert threads_used(routing, packets, 4) == 1
        case = Case(routing, CROWDED[0].traffic, packets)
        nodes = np.arange(machine.n_nodes)
        case = replace(case, traffic=combine([make_pattern(
            "all-to-all", len(nodes), 100, 1, np.random.default_rng(1))], [nodes]))  # fmt: skip
        assert_same(outcome(case, 1), outcome(case, 4))
    assert threads_used(near, PacketConfig(), 4) == 4
    assert threads_used(make_routing(still, "minimal"), PacketConfig(), 4) == 4
    assert threads_used(near, instant, 4) == 4


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "all", 10**9, None])
def test_a_number_of_threads_that_is_none_is_refused(given: object) -> None:
    routing = CROWDED[0].routing
    with pytest.raises(NetcosimError, match=r'threads = .*allowed: 1 to 1,?024, or "auto"'):
        threads_used(routing, PacketConfig(), given)


def test_auto_goes_by_the_machine_and_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (
        make_routing(torus((4, 4)), "dimension-order"),
        make_routing(torus((16, 16, 16)), "dimension-order"),
    )
    monkeypatch.setattr(thread_count, "available_cores", lambda: 4)
    assert threads_used(small, PacketConfig(), AUTO) == 1
    assert threads_used(large, PacketConfig(), AUTO) == 4
    assert threads_used(large, PacketConfig(), AUTO, 150_000) == 3
    assert threads_used(large, PacketConfig(), AUTO, 99_000) == 1
    assert threads_used(large, PacketConfig(), 2, 1) == 2
    assert threads_used(small, PacketConfig(), 99) == 16


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_domain_has_sent_is_the_next_event_of_all(threads: int) -> None:
    """Two packets meet before a cable to the other domain; the buffer behind it holds one.

    Nodes have links of S a packet and of latency N, the cable S / 10 and C. The first packet starts
    on the cable when its tail has come but for S / 10, at N + R + 0.9 S, and leaves router 1 at
    N + R + 0.9 S + C + R + S. Its space is seen C later: the next event of all, with which the
    second starts. That is at router 1 another C + R later, before the first is at its node.
    """
    node, cable, size = 150_000, 10_000, 1_000_000
    send = [Step([Send(2, 1000)])]
    done = simulate_packets(
        line([0, 0, 1], [100], [cable], node_latency_ps=node),
        traffic(send, send, [Step(need=2)]),
        config(buffer=1000),
        np.random.default_rng(0),
        threads=threads,
    )
    left = node + R + 900_000 + cable + R + size
    second = left + cable + cable + R + size + node
    assert done.message_finish_ps.tolist() == [left + node, second]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_window_does_not_go_beyond_the_end(threads: int) -> None:
    """Rank 0 sends 3 packets at 20 us, over a cable of 5 us; the run ends after 1.5 of them."""
    jobs = traffic([Step([Send(1, 3000)], compute_ps=20_000_000)], [Step(need=1)])
    routing = line([0, 1], [1000], [5_000_000])
    done = simulate_packets(
        routing, jobs, config(), np.random.default_rng(0), until_s=21.5e-6, threads=threads
    )
    assert done.link_packets.tolist() == [2, 0, 0, 0, 2, 0]


def test_more_threads_than_nodes_that_send() -> None:
    """Some domains have nothing to do, or no routers at all."""
    topology = torus((6,))
    jobs = Traffic(
        program=make_pattern("all-to-all", 2, 5000, 1, np.random.default_rng(1)),
        rank_node=np.array([0, 1]),
        rank_group=np.array([0, 0]),
        start_s=np.array([0.0]),
    )
    case = Case(make_routing(topology, "minimal-adaptive"), jobs, PacketConfig())
    assert_same(outcome(case, 1), outcome(case, 6))


@pytest.mark.slow
@pytest.mark.parametrize(("p", "a", "g"), [(4, 8, 33), (4, 16, 65), (4, 16, 128)])
def test_large_machines_are_equal(p: int, a: int, g: int) -> None:
    """1056, 4160 and 8192 nodes, all of them in all-to-all jobs of 32."""
    topology = dragonfly(p, a, g)
    case = busy("ugal-l", topology, 1000, topology.n_nodes // 32)
    one = outcome(case, 1)
    for threads in (2, 4):
        assert_same(one, outcome(case, threads))
