"""`Live`: what running jobs do to each other, told at each change."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from queue_helpers import make_workload

import netcosim as nc
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_network import JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.coupled import CoupledFlow
from cosim.run_times.coupled_packets import CoupledPackets
from cosim.run_times.live import Effect, Live, LiveJob
from cosim.run_times.stretches import FlowStretches, PacketStretches
from netsim.errors import NetcosimError
from netsim.flow.message_network import TOLERANCE
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.torus import torus
from queuesim.queue import simulate_queue

RING = torus((4,), concentration=2)
A, B = LiveJob("a", [0, 2], communication_fraction=0.5), LiveJob("b", [1, 3])
HABITS = (("all-to-all", 40_000, 0.5), ("unstructured-mesh", 30_000, 1.0), ("halo3d", 20_000, 0.2))


def ring() -> Live:
    return Live(RING, task_mapping="in-order")


def test_two_jobs_on_one_cable() -> None:
    """Both send over the cable between routers 0 and 1 only, A half of its time and B always.

    Each has half of the cable while the other communicates: a stretch of 1 + the other's fraction,
    and both run 1 + 0.5 * 1 times as long.
    """
    live = ring()
    assert live.change([A]) == {"a": Effect(1.0, 1.0)}
    both = live.change([B])
    assert both.keys() == {"a", "b"}
    for name, fraction, others in (("a", 0.5, 1.0), ("b", 1.0, 0.5)):
        assert both[name].stretch == pytest.approx(1 + others, rel=0.02)
        assert both[name].slowdown == pytest.approx(1 - fraction + fraction * both[name].stretch)
        assert live.effect(name) == both[name]
    assert live.change(ended=["b"]) == {"a": Effect(1.0, 1.0)}
    assert len(live) == 1
    assert "b" not in live
    # who ends frees its nodes for who starts in the same instant, under the same name too
    assert live.change([LiveJob("a", [2, 4])], ["a"]) == {"a": Effect(1.0, 1.0)}


def test_jobs_that_send_nothing_over_the_network_touch_nobody() -> None:
    live = ring()
    quiet = [LiveJob(1, [5]), LiveJob(2, [1, 3], communication_fraction=0.0)]
    assert set(live.change([A, *quiet]).values()) == {Effect(1.0, 1.0)}


@pytest.mark.parametrize(("level", "within"), [("flow", 0.01), ("packets", 0.03)])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_a_job_is_felt_at_the_rate_at_which_it_sends(
    level: str, within: float, share: float
) -> None:
    """At a share of the rate that it has alone, B communicates for that share of its time.

    A, with a fraction of 0.5, then runs 1 + 0.5 * share times as long: 1.15 for a share of 0.3
    (1.20 with B's duty beside A, 1.25 with A's for B's).
    """
    live = Live(RING, level=level, task_mapping="in-order")
    with pytest.raises(
        NetcosimError, match="in isolation on its nodes its pattern sends"
    ) as refused:
        live.change([LiveJob("b", [1, 3], bytes_per_node_s=1e17)])
    alone_Bps = float(str(refused.value).split("sends ")[1].split()[0])
    assert alone_Bps == pytest.approx(RING.link_bandwidth_Bps[-1], rel=0.05)
    with pytest.raises(NetcosimError, match="bytes_per_node_s"):
        live.change([LiveJob("b", [1, 3], bytes_per_node_s=1.001 * alone_Bps)])
    live.change([A, LiveJob("b", [1, 3], bytes_per_node_s=share * alone_Bps)])
    assert live.effect("a").slowdown == pytest.approx(1 + 0.5 * share, rel=within)


ADAPTIVE = [
    (lambda: dragonfly(2, 4, 9), "ugal-l"),
    (lambda: dragonfly(2, 4, 9), "ugal-g"),
    (lambda: dragonfly(2, 4, 9), "par"),
    (lambda: dragonfly(2, 4, 9), "adaptive-local"),
    (lambda: dragonfly(2, 4, 9), "adaptive-shortest-path"),
    (lambda: dragonfly(2, 4, 9), "merlin-adaptive-local"),
    (lambda: dragonfly(2, 4, 9), "merlin-ugal"),
    (lambda: torus((5, 4, 3)), "minimal-adaptive"),
    (lambda: fat_tree(6), "adaptive"),
    (lambda: fat_tree(6), "two-choice"),
]


def test_every_adaptive_routing_is_here() -> None:
    names = {name for _, name in ADAPTIVE}
    for make in {make for make, _ in ADAPTIVE}:
        machine = make()
        for name in routings_for(machine.family):
            assert name in names or not make_routing(machine, name).adaptive


@pytest.mark.parametrize(("make", "routing"), ADAPTIVE)
def test_jobs_at_a_low_rate_stretch_nobody(make, routing: str) -> None:
    """From 1 B/s to all the time, in order but for the tolerance of the model; 1 B/s is nothing."""
    machine = make()
    nodes = np.random.default_rng(3).permutation(machine.n_nodes).tolist()
    size = machine.n_nodes // 6
    patterns = ("all-to-all", "halo2d", "uniform-random", "all-to-all", "permutation")
    means = []
    for rate in (1.0, 1e7, 1e8, 3e8, None):
        live = Live(machine, routing=routing)
        live.change(
            LiveJob(k, nodes[k * size : (k + 1) * size], name, bytes_per_node_s=rate)
            for k, name in enumerate(patterns)
        )
        found = [live.effect(k).stretch for k in range(len(patterns))]
        if rate == 1.0:
            assert found == [1.0] * len(patterns)
        means.append(float(np.mean(found)))
    for lower, higher in pairwise(means):
        assert lower <= higher * (1 + TOLERANCE)
    assert means[-2] < 0.95 * means[-1]


def coupled(level: str, seed: int):
    """A queue under a coupled model, and all that it told its network."""
    topology = dragonfly(2, 4, 5)
    shared = SharedNetwork(make_routing(topology), PacketConfig(), 2, "random", seed)
    shares = [PatternShare(name, 1.0, f, f) for name, _, f in HABITS]
    said = [Communication(name, rank_bytes=n // 2) for name, n, _ in HABITS]
    network = JobNetwork(shared, CommunicationMix(shares), said)
    rng = np.random.default_rng(seed)
    n = 40 if level == "flow" else 12
    workload = make_workload(
        np.sort(rng.integers(0, 60, n)), rng.integers(5, 30, n), rng.integers(1, 9, n)
    )
    policy = nc.make_policy(topology, "rdn", np.random.default_rng(seed))
    model = CoupledFlow(network) if level == "flow" else CoupledPackets(network)
    return topology, workload, policy, model


@pytest.mark.parametrize("level", ["flow", "packets"])
def test_the_coupled_queue_gets_the_same_to_the_bit(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every start and end that the queue tells its network, told to `Live` instead."""
    topology, workload, policy, model = coupled(level, 3)
    kind = FlowStretches if level == "flow" else PacketStretches
    events: list[tuple[dict[int, Situation], list[int], dict[int, float]]] = []
    coming: dict[int, Situation] = {}
    leaving: list[int] = []
    start, end, settle = FlowStretches.start, FlowStretches.end, kind.settle

    def note_start(self, job, situation, load=None):
        coming[job] = situation
        start(self, job, situation, load)

    def note_end(self, job):
        leaving.append(job)
        end(self, job)

    def note_settle(self, now_s=0.0):
        told = settle(self, now_s)
        events.append((dict(coming), list(leaving), told))
        coming.clear()
        leaving.clear()
        return told

    monkeypatch.setattr(FlowStretches, "start", note_start)
    monkeypatch.setattr(FlowStretches, "end", note_end)
    monkeypatch.setattr(kind, "settle", note_settle)
    rng = np.random.default_rng(5)
    simulate_queue(workload, policy, run_time_model=model, rng=rng)
    monkeypatch.undo()
    live = Live(topology, level=level, ranks_per_node=2, seed=3)
    # the numbers of what is sent, in the order of the mix: what is drawn belongs to them
    for pattern, n_bytes, _ in HABITS:
        live._senders.number_of(Communication(pattern, rank_bytes=n_bytes // 2))
    running: set[Hashable] = set()
    compared = 0
    for came, went, told in events:
        jobs = []
        for job, situation in came.items():
            pattern, n_bytes, fraction = HABITS[situation.share]
            nodes = np.frombuffer(situation.nodes, np.int32)
            jobs.append(LiveJob(job, nodes, pattern, n_bytes, fraction))
        found = live.change(jobs, [job for job in went if job in running])
        running = (running - set(went)) | set(came)
        for job, stretch in told.items():
            assert found[job].stretch == stretch
            compared += stretch > 1
        assert all(found[job].stretch == 1.0 for job in found if job not in told)
    assert compared > 20


def test_packets_agree_with_their_budget() -> None:
    """One simulated group of two, 1 + f_a f_b = 1.5; then the same situation is looked up."""
    live = Live(RING, level="packets", task_mapping="in-order", budget=PacketBudget(phases=16))
    live.change([A])
    both = live.change([B])
    assert [both[name].slowdown for name in "ab"] == pytest.approx([1.5, 1.5], rel=0.03)
    live.change(ended=["b"])
    assert live.change([B]) == both
    told = live.report()["flow_vs_packets"]
    assert (told["simulations"], told["looked_up"]) == (1, 2)


def test_flows_feel_only_the_most_contended_link_of_a_path() -> None:
    """A known failure: a pair over two cables with a neighbour on each, all at 0.3 of their time.

    If the neighbours took turns the delays would add up, 1 + 2 * 0.3; if they came together it
    would be 1.3. Flows: nearly that; packets: the sum and more.
    """
    places = {"a": [0, 6], "b": [1, 4], "c": [5, 7]}
    jobs = [
        LiveJob(name, nodes, "halo2d", 60_000, communication_fraction=0.3)
        for name, nodes in places.items()
    ]
    machine = torus((7,), concentration=3)
    by_packets = {"level": "packets", "budget": PacketBudget(periods=64, phases=4)}
    flows, packets = (
        Live(machine, task_mapping="in-order", **given).change(jobs)["a"].stretch
        for given in ({}, by_packets)
    )
    assert 1.25 < flows < 1.45
    assert 1.6 < packets < 1.8


def test_a_trace_runs_on_a_job_that_is_large_enough(tmp_path: Path) -> None:
    path = tmp_path / "t.goal"
    path.write_text("num_ranks 2\nrank 0 { send 90000b to 1 }\nrank 1 { recv 90000b from 0 }\n")
    given = {"file": str(path)}
    live = ring()
    with pytest.raises(NetcosimError, match="job 1: 1 ranks; its goal has 2"):
        live.change([LiveJob(1, [0], "goal", parameters=given)])
    live.change([LiveJob(1, [0, 2], "goal", parameters=given)])
    assert live.change([LiveJob(2, [1, 3])])[1].stretch > 1.5


@pytest.mark.parametrize(
    ("started", "ended", "told"),
    [
        (lambda: [LiveJob("a", [4, 5])], [], "job 'a' runs already"),
        (lambda: [LiveJob("c", [4, 5]), LiveJob("c", [6, 7])], [], "job 'c' runs already"),
        (list, ["x"], "job 'x' does not run"),
        (list, ["a", "a"], "a job ends twice"),
        (lambda: [LiveJob("c", [2, 5])], [], "job 'c': node 2 is job 'a''s"),
        (lambda: [LiveJob("c", [4]), LiveJob("d", [4, 5])], [], "job 'd': node 4 is job 'c''s"),
        (lambda: [LiveJob("c", [5, 8])], [], "job 'c': its nodes must be some of 0 to 7"),
        (lambda: [LiveJob("c", [])], [], "job 'c': it has no nodes"),
        (lambda: [LiveJob("c", [5, 5])], [], "a node is listed twice"),
        (lambda: [LiveJob("c", [5, 6], "no-such")], [], "unknown pattern of job 'c'"),
        (lambda: [LiveJob("c", [5, 6], "adversarial")], [], "parameter group_size is missing"),
        (lambda: [LiveJob("c", [10**30, 6])], [], "a node = about 10^30; it must be at most"),
        (lambda: [LiveJob("c", np.array([[5, 6]]))], [], "a node = array([5, 6]); it must be a"),
        (lambda: [LiveJob(["c"], [5, 6])], [], "job_id = ['c']; it must be a number or a text"),
        (list, [["a"]], "job ['a'] does not run"),
    ],
)
def test_a_wrong_change_changes_nothing(
    started: Callable[[], list[LiveJob]], ended: list[Hashable], told: str
) -> None:
    live = ring()
    live.change([A])
    with pytest.raises(NetcosimError) as caught:
        live.change([LiveJob("good", [1, 3]), *started()], ended)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(live) == 1
    assert live.effect("a") == Effect(1.0, 1.0)
    assert live.change([B])["b"].stretch == pytest.approx(1.5, rel=0.02)


def test_what_is_for_one_level_alone_is_refused_at_the_other() -> None:
    with pytest.raises(NetcosimError, match="a budget is for packets"):
        Live(RING, budget=PacketBudget())
    with pytest.raises(NetcosimError, match="unknown level 'fast'"):
        Live(RING, level="fast")


@pytest.mark.parametrize("ranks_per_node", [10**9, 2 * 10**9, 10**30])
def test_too_many_ranks_are_refused_before_any_is_made(
    ranks_per_node: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Communication, "__init__", None)  # nothing is made of the job
    monkeypatch.setattr("netsim.limits.memory_bytes", lambda: 10**11)
    live = Live(RING, ranks_per_node=ranks_per_node)
    with pytest.raises(NetcosimError, match="job 'a': ranks_per_node = ") as caught:
        live.change([A])
    assert "\n" not in str(caught.value)
