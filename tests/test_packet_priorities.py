"""Strict priorities of messages on links, in both packet engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packet_cases import ENGINES, config, line, seeded

from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from experiments.validation.cases import Case, Send, Step, program
from experiments.validation.engines import both, same
from netcosim.config.load import load_config
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.family import EqualLinks
from netsim.topologies.hyperx import hyperx
from netsim.topologies.torus import torus
from netsim.traffic import Traffic, combine
from patterns.registry import make_pattern

MB = 10**6
PACKET = 1000
"""1 ms on a link of 1 MB/s: what has begun is not preempted."""
CONFIG = PacketConfig(packet_bytes=PACKET, buffer_bytes=4 * PACKET, router_latency_s=0.0)


def two_routers(nodes: int) -> Routing:
    """Two routers joined by one link of 1 MB/s in each direction; nodes have faster ones."""
    topology = hyperx(
        (2,),
        concentration=nodes,
        links=EqualLinks(
            node_bandwidth_Bps=10 * MB,
            link_bandwidth_Bps=MB,
            node_latency_s=0.0,
            link_latency_s=0.0,
        ),
    )
    return make_routing(topology, "min-hop")


def one_message(size: int) -> object:
    return program([Step([Send(1, size)])], [Step(need=1)])


def pairs(sizes: list[int], priorities: list[int] | None, start_s: list[float]) -> Traffic:
    """A message of each job from the first router to the second one."""
    n = len(sizes)
    nodes = [np.array([k, n + k]) for k in range(n)]
    return combine([one_message(s) for s in sizes], nodes, start_s, group_priority=priorities)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_higher_priority_is_served_as_if_alone(engine):
    """All but a packet of the lower one that has begun; the link is never idle."""
    routing, simulate = two_routers(3), seeded(engine)
    traffic = pairs([MB, MB // 2, MB // 4], [0, 3, 7], [0.0, 0.1, 0.1005])
    done = simulate(routing, traffic, CONFIG)
    # a packet of the first job ends at 101 ms, and the third one's are there by then
    assert (done.group_finish_ps // 10**9).tolist() == [1750, 101 + 250 + 500, 101 + 250]


@pytest.mark.parametrize("engine", ENGINES)
def test_channels_of_a_lower_priority_keep_their_turns(engine):
    """Packets of 10 us over the second cable: of two jobs in turn, on channels 1 and 0.

    One of a higher priority comes while the second packet of channel 0 is sent; channel 1 is next.
    """
    four = program([Step([Send(1, PACKET)] * 4)], [Step(need=4)])
    traffic = combine(
        [four, four, one_message(PACKET)],
        [np.array([0, 3]), np.array([1, 4]), np.array([2, 5])],
        [0.0, 0.0, 24e-6],
        group_priority=[0, 0, 1],
    )
    done = seeded(engine)(line([0, 1, 1, 2, 2, 2], [1000, 10_000]), traffic, config())
    assert np.argsort(done.message_finish_ps).tolist() == [4, 0, 5, 8, 1, 6, 2, 7, 3]


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_priorities_share_and_change_nothing(engine):
    routing, simulate = two_routers(2), seeded(engine)
    results = [
        simulate(routing, pairs([MB, MB], priorities, [0.0, 0.0]), CONFIG)
        for priorities in (None, [0, 0], [5, 5])
    ]
    assert all(same(results[0], other) for other in results[1:])
    assert results[0].group_finish_ps.min() > 1.9e12


@pytest.mark.parametrize("engine", ENGINES)
def test_a_port_sends_the_higher_priority_first(engine):
    """Two jobs on one node: the second one's message is posted later and overtakes."""
    routing, simulate = two_routers(2), seeded(engine)
    traffic = combine(
        [one_message(MB), one_message(MB // 2)],
        [np.array([0, 2]), np.array([0, 3])],
        [0.0, 0.5],
        group_priority=[1, 2],
    )
    done = simulate(routing, traffic, CONFIG)
    assert (done.group_finish_ps // 10**9).tolist() == [1500, 1001]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lower_priority_goes_on_where_the_higher_has_no_credit(engine):
    """The first job waits for a slow receiver; the second one's path shares only the first link."""
    topology = torus([4], links=EqualLinks(node_bandwidth_Bps=10 * MB, link_bandwidth_Bps=MB))
    speed = topology.link_bandwidth_Bps.copy()
    speed[topology.n_ports + 1] = MB // 4  # ejection at node 1
    slow = replace(topology, link_bandwidth_Bps=speed)
    routing = make_routing(slow)
    traffic = combine(
        [one_message(MB), one_message(MB // 2)],
        [np.array([0, 1]), np.array([0, 2])],
        group_priority=[4, 0],
    )
    done = seeded(engine)(routing, traffic, CONFIG)
    assert done.group_finish_ps[0] / 1e12 == pytest.approx(4.0, rel=0.01)
    assert done.group_finish_ps[1] / 1e12 < 1.0


def exchanges(iteration_s: float, iterations: int) -> object:
    """Two ranks exchange data for a time on the link, then compute as long; both alike."""
    size, compute_ps = round(iteration_s * MB), round(iteration_s * 1e12)
    steps = [
        [
            Step([Send(1 - rank, size, step)], 1, compute_ps if step else 0)
            for step in range(iterations)
        ]
        for rank in range(2)
    ]
    return program(*steps)


def computing_s(done: PacketResult, iterations: list[int], end_s: float) -> list[float]:
    """Seconds until the end that each job computes, between a message and the next one's post."""
    found, first = [], 0
    for n in iterations:
        post = done.message_post_ps[first + 1 : first + n].astype(float)
        finish = done.message_finish_ps[first : first + n - 1].astype(float)
        post[post < 0] = end_s * 1e12
        finish[finish < 0] = end_s * 1e12
        found.append(float((post - finish).sum()) / 1e12)
        first += 2 * n
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("first", "busy_s", "percent"), [(0, [6.0, 3.0], 37.5), (1, [4.0, 5.997], 41.7)]
)
def test_gpu_utilisation_of_crux_by_which_job_has_priority(engine, first, busy_s, percent):
    """Cao et al., SIGCOMM 2024, example 1: 2 s + 2 s beside 1 s + 1 s on one link, over 12 s.

    Three times the second job has to wait for a packet of the first, 1 ms each.
    """
    iterations = [4, 8]
    traffic = combine(
        [exchanges(2.0, 4), exchanges(1.0, 8)],
        [np.array([0, 2]), np.array([1, 3])],
        group_priority=[int(first == 0), int(first == 1)],
    )
    done = seeded(engine)(two_routers(2), traffic, CONFIG, until_s=12.0)
    found = computing_s(done, iterations, 12.0)
    assert found == pytest.approx(busy_s, abs=1e-9)
    assert round(100 * sum(found) / 24, 1) == percent


@pytest.mark.parametrize(
    ("routing", "config", "words"),
    [
        ("min-hop", {"router": "input-queued"}, "router = input-queued"),
        ("min-hop", {"congestion_control": "endpoint-pairs"}, "congestion_control"),
        ("minimal-adaptive", {}, "routing minimal-adaptive, which looks at the free space"),
    ],
)
def test_what_priorities_do_not_go_with_is_refused(routing, config, words):
    traffic = pairs([MB, MB], [0, 1], [0.0, 0.0])
    config = PacketConfig(**config)
    with pytest.raises(NetcosimError, match=f"2 priorities; not available with {words}"):
        simulate_packets(
            make_routing(torus([4]), routing), traffic, config, np.random.default_rng(1)
        )


@pytest.mark.parametrize("priorities", [[0, 8], [-1, 0]])
def test_a_priority_is_from_0_to_7(priorities):
    with pytest.raises(NetcosimError, match=r"group_priority has .*; each must be from 0 to 7"):
        pairs([MB, MB], priorities, [0.0, 0.0])
    traffic = replace(pairs([MB, MB], [0, 7], [0.0, 0.0]), group_priority=np.array(priorities))
    with pytest.raises(NetcosimError, match="one from 0 to 7 for each of 2"):
        simulate_packets(two_routers(2), traffic, CONFIG, np.random.default_rng(1))


def test_both_engines_agree_on_all_channels_that_a_link_can_have():
    """Four priorities of eight channels, all nodes to all others."""
    topology = torus([16])
    every = make_pattern("all-to-all", 16, 3 * PACKET, 1, np.random.default_rng(1))
    traffic = combine([every] * 4, [np.arange(16)] * 4, group_priority=[0, 7, 2, 5])
    config = PacketConfig(packet_bytes=PACKET, buffer_bytes=2 * PACKET)
    fast, plain = both(Case(make_routing(topology, "shortest-path"), traffic, config))
    assert same(fast, plain)
    assert np.argsort(fast.group_finish_ps).tolist() == [1, 3, 2, 0]


def test_more_channels_than_a_link_has_are_refused():
    routing = make_routing(torus([16]), "shortest-path")
    assert routing.n_vcs == 8
    traffic = pairs([MB] * 5, [0, 1, 2, 3, 4], [0.0] * 5)
    with pytest.raises(NetcosimError, match="5 priorities need 40 channels a link"):
        simulate_packets(routing, traffic, CONFIG, np.random.default_rng(1))


def test_a_job_of_a_higher_priority_hardly_notices_the_others():
    """Two all-to-alls over the same link: both wait alike without priorities."""
    network = SharedNetwork(two_routers(4), CONFIG, task_mapping="in-order")
    times = {}
    for priority in (0, 5):
        patterns = [Communication("all-to-all", 100_000, priority=p) for p in (priority, 0)]
        nodes = [np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])]
        jobs = [PlacedJob(k, patterns[k], nodes[k]) for k in range(2)]
        both_s = Ensemble(network, jobs).packets().time_ps / 1e12
        times[priority] = both_s / (Ensemble(network, jobs).alone(0).packets().time_ps[0] / 1e12)
    assert times[0] == pytest.approx([2.0, 2.0], rel=0.02)
    assert times[5] == pytest.approx([1.0, 2.0], rel=0.02)
    with pytest.raises(NetcosimError, match="different priorities need packets"):
        Ensemble(network, jobs).flows()


def test_a_config_names_the_priority_of_an_entry_and_flows_of_a_queue_have_none(tmp_path):
    """Jobs of both priorities share the network, and the flow level of the queue refuses it."""
    text = """
        [machine]
        family = "fattree"
        radix = 4
        [workload.synthetic]
        n_jobs = 10
        mean_nodes = 4
        [queue]
        policies = ["random"]
        run_time_model = "coupled-flow"
        [[communication.mix]]
        pattern = "all-to-all"
        priority = 3
        [[communication.mix]]
        pattern = "halo2d"
        [run]
        snapshots = 0
    """
    file = tmp_path / "priorities.toml"
    file.write_text(text)
    config = load_config(file)
    assert [entry.priority for entry in config.communication.mix] == [3, 0]
    assert [entry.get("priority") for entry in config.model_dump()["communication"]["mix"]] == [
        3,
        None,
    ]
    with pytest.raises(NetcosimError, match=r"priorities \[0, 3\]; coupled-flow has none"):
        run_cosim(config)
    file.write_text(text.replace("priority = 3", "priority = 8"))
    with pytest.raises(NetcosimError, match="priority"):
        load_config(file)
