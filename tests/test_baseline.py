"""Locality in coupled run times: isolated on the job's nodes over isolated on the reference's."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from queue_helpers import make_workload
from selection import first_only
from test_coupled_flow import run

from alloc.policy import Placement
from alloc.registry import make_policy
from cosim.network import isolated_loops
from cosim.network.communication import ALWAYS, Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.isolated_loops import ROUGH, IsolatedLoops, LoopPeriod
from cosim.network.job_network import JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.situation import Situation
from cosim.parameters import OWN_NODES, REFERENCE
from cosim.run_times.baseline import Baseline, near_fraction
from cosim.run_times.coupled import CoupledFlow, LiveRunTimes
from cosim.run_times.coupled_packets import CoupledPackets
from cosim.run_times.model_context import Pilot
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from queuesim.result import PlacementArrays, QueueResult
from queuesim.runtime import AsLogged
from workloads.job import Workload

F = 0.5


def network_of(
    routing: Routing, fraction: float = F, pattern: str = "pairs", **more: object
) -> JobNetwork:
    mix = CommunicationMix([PatternShare(pattern, 1.0, fraction, fraction)])
    sent = [Communication(pattern, 1_000_000, parameters=more)]
    return JobNetwork(SharedNetwork(routing), mix, sent)


def slow_cable() -> Routing:
    """Two routers of four nodes; the cable between them is half as fast as a node's link."""
    wires = nx.Graph()
    wires.add_node("a", nodes=4)
    wires.add_node("b", nodes=4)
    wires.add_edge("a", "b", bandwidth_Bps=2.5e9)
    return make_routing(graph(wires, node_bandwidth_Bps=5e9))


def pilot_at(network: JobNetwork, workload: Workload, nodes: list[list[int]]) -> Pilot:
    """A reference policy's queue that has put the jobs there."""
    topology = network.shared.routing.topology
    policy = make_policy(topology, "random", np.random.default_rng(1))
    result: QueueResult = run(AsLogged(), workload, policy, keep_placements=True)
    places = [Placement(k, np.array(at, np.int32)) for k, at in enumerate(nodes)]
    result = replace(result, placements=PlacementArrays.from_placements(places))
    return Pilot(result, np.full(len(workload), F), network)


def live_on(
    model: CoupledFlow | CoupledPackets, workload: Workload, nodes: list[list[int]]
) -> tuple[LiveRunTimes, dict[int, float]]:
    """Start all jobs at once; the rates that that gives."""
    topology = model.network.shared.routing.topology
    policy = make_policy(topology, "random", np.random.default_rng(1))
    live = model.prepare(workload, policy, np.random.default_rng(5))
    assert isinstance(live, LiveRunTimes)
    rates: dict[int, float] = {}
    for job, at in enumerate(nodes):
        rates |= live.on_start(job, Placement(job, np.array(at, np.int32)), 0.0)
    return live, rates | dict(live.settle(0.0))


@pytest.mark.parametrize("kind", [CoupledFlow, CoupledPackets])
def test_a_job_alone_on_the_references_nodes_is_exactly_as_logged(kind) -> None:
    for routing in (slow_cable(), make_routing(fat_tree(4)), make_routing(dragonfly(2, 2, g=5))):
        network = network_of(routing)
        workload, nodes = make_workload([0], [10], [4]), [[0, 5, 2, 7]]
        model = kind(network, baseline=REFERENCE, pilot=pilot_at(network, workload, nodes))
        assert live_on(model, workload, nodes)[1] == {}


def test_locality_by_hand() -> None:
    """c within a router and 2 c across the cable. With f = 1/2 and C = c a period of 2 c becomes
    3 c: 1.5 as long, of which two thirds communicate. From the other side it is 4 c that become
    3 c. With communication all the time f = 1/2 of the run takes 2 c for c."""
    network, workload = network_of(slow_cable()), make_workload([0], [10], [2])
    within, across = [[0, 1]], [[0, 4]]
    for reference, own, factor in ((within, across, 1.5), (across, within, 0.75)):
        pilot = pilot_at(network, workload, reference)
        model = CoupledFlow(network, baseline=REFERENCE, pilot=pilot)
        live, rates = live_on(model, workload, own)
        assert 1 / rates[0] == pytest.approx(factor, rel=0.01)
        assert live.stretch(0) == 1.0
    always = replace(network, together=ALWAYS)
    model = CoupledFlow(always, baseline=REFERENCE, pilot=pilot_at(always, workload, within))
    assert 1 / live_on(model, workload, across)[1][0] == pytest.approx(1.5, rel=0.01)


@pytest.mark.parametrize("kind", [CoupledFlow, CoupledPackets])
def test_locality_times_interference_by_hand(kind) -> None:
    """Two jobs of f = 1/2 across the cable, whose reference is within a router: alone they
    communicate for 2/3 of 1.5 of the time, so the other adds 2/3 to that part of it.

    1.5 (1 + 2/3 2/3) = 2.17. Relative to their own nodes they would take 1 + 1/4.
    """
    network, workload = network_of(slow_cable()), make_workload([0, 0], [10, 10], [2, 2])
    # buffers that hold little, so that the cable is shared packet by packet
    shared = replace(network.shared, packet=PacketConfig(buffer_bytes=4096))
    network = replace(network, shared=shared)
    across = [[0, 4], [1, 5]]
    pilot = pilot_at(network, workload, [[0, 1], [2, 3]])
    budget = {} if kind is CoupledFlow else {"budget": kind.parameters(periods=60, phases=40)}
    model = kind(network, baseline=REFERENCE, pilot=pilot, **budget)
    _, rates = live_on(model, workload, across)
    assert [1 / rates[job] for job in (0, 1)] == pytest.approx([1.5 * 13 / 9] * 2, rel=0.03)
    own = kind(network, baseline=OWN_NODES, **budget)
    _, rates = live_on(own, workload, across)
    assert [1 / rates[job] for job in (0, 1)] == pytest.approx([1.25] * 2, rel=0.03)


def test_who_hardly_communicates_is_hardly_moved() -> None:
    """f = 1e-6: 1 + f (2 - 1), though its loop is simulated with 0.01."""
    network = network_of(slow_cable(), 1e-6)
    workload = make_workload([0], [10], [2])
    pilot = pilot_at(network, workload, [[0, 1]])
    model = CoupledFlow(network, baseline=REFERENCE, pilot=pilot)
    _, rates = live_on(model, workload, [[0, 4]])
    assert 1 / rates[0] - 1 == pytest.approx(1e-6, rel=0.01)


def test_jobs_of_isolating_policies_have_their_own_links_locality() -> None:
    """Jigsaw's jobs never meet, and each takes as long as its loop on its links, by hand."""
    topology = fat_tree(4)
    network = network_of(make_routing(topology), pattern="all-to-all")
    workload = make_workload([0] * 3, [10, 20, 30], [3, 5, 4])
    policy = make_policy(topology, "jigsaw", np.random.default_rng(1))
    pilot = pilot_at(network, workload, [[0, 4, 8], [1, 2, 5, 9, 13], [3, 6, 10, 14]])
    model = CoupledFlow(network, baseline=REFERENCE, pilot=pilot)
    result = run(model, workload, policy, keep_placements=True)
    assert result.placements is not None
    baseline = Baseline(network, workload, np.zeros(3, int), np.full(3, F), pilot)
    factors = []
    for job in range(3):
        placement = result.placements.placement(job, job)
        reference = baseline.on_reference(job)
        assert reference is not None
        found = baseline.of(job, placement, True)
        assert found is not None
        assert bool(found.situation.partition) == bool(len(placement.links))
        placed = found.situation.job(network.communications[0])
        loop = Ensemble(network.shared, [replace(placed, compute_s=reference.near_s)])
        ends_ps = loop.loops(12 * loop.packets().time_s[0]).ends_ps[0]
        period_s = float(ends_ps[-1] - ends_ps[0]) * 1e-12 / (len(ends_ps) - 1)
        comm_s = period_s - reference.near_s
        factors.append((reference.compute_s + comm_s) / (reference.compute_s + reference.comm_s))
    took = result.end_s - result.start_s
    assert took / workload.run_time_s == pytest.approx(factors, rel=0.01)
    assert min(factors) < 0.99


def test_without_a_pilot_it_is_the_mean_of_random_placements() -> None:
    """The mean computing and the mean communication of four placements, plainly.

    Each computes for 1 / 0.3 - 1 times what an iteration takes on the machine's first nodes.
    """
    network = network_of(make_routing(torus((4, 4))), 0.3, "halo2d")
    workload = make_workload([0], [10], [6])
    baseline = Baseline(network, workload, np.zeros(1, int), np.array([0.3]))
    found = baseline.on_reference(0)
    assert found is not None
    rng, comm_s = np.random.default_rng([0, 6]), []
    draw = int(workload.job_id[0]) % 8
    once_s, _ = network.loads.isolated.once(
        Situation(0, np.arange(6, dtype=np.int32).tobytes(), draw=0)
    )
    for _ in range(4):
        nodes = rng.permutation(16)[:6].astype(np.int32).tobytes()
        place = Situation(0, nodes, near_fraction(0.3), once_s=once_s, draw=draw)
        loop = network.loads.isolated.of(place, 1.0, ROUGH)
        assert loop is not None
        assert loop.job.compute_s == pytest.approx(once_s * (1 / near_fraction(0.3) - 1), abs=1e-7)
        comm_s.append(loop.period_s - loop.job.compute_s)
    assert np.std(comm_s) > 0.01 * np.mean(comm_s)
    assert found.comm_s == pytest.approx(np.mean(comm_s), rel=1e-9)
    assert found.comm_s / (found.compute_s + found.comm_s) == pytest.approx(0.3, rel=1e-9)


def test_own_loops_last_as_long_as_the_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six periods of 3 s of computing and the reference's 2 s, half of both with half messages.

    So a job on the reference's nodes is simulated as there; no iteration is sent beforehand.
    """
    network = network_of(make_routing(torus((4, 4))), 0.3, "halo2d")
    loops, about_s = network.loads.isolated, []

    def noted(shared: SharedNetwork, job: object, s: float, *how: object) -> LoopPeriod:
        about_s.append(s)
        return LoopPeriod(s)

    monkeypatch.setattr(isolated_loops, "loop_isolated", noted)
    monkeypatch.setattr(Ensemble, "packets", None)
    nodes = np.arange(6, dtype=np.int32).tobytes()
    own = Situation(0, nodes, compute_s=3.0, once_s=2.0)
    found, half = loops.of(own, 1.0), loops.of(own, 0.5)
    assert about_s == [5.0, 2.5]
    assert found is not None
    assert half is not None
    assert (found.job.compute_s, half.job.compute_s) == (3.0, 1.5)
    assert loops.of(own._replace(nodes=nodes[:4]), 1.0) is None


def test_locality_is_that_of_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside 2 s of computing an iteration takes 2 s on the reference's nodes and 4 s on its own,
    in the long run 1.5 s and 3 s: (2 + 3) / (2 + 1.5), for 4 of 6 s at first."""
    network = network_of(slow_cable(), 0.5, "broadcast")

    def loop(shared: SharedNetwork, job: PlacedJob, *how: object) -> LoopPeriod:
        comm_s = 2.0 if 1 in job.nodes else 4.0
        return LoopPeriod(job.compute_s + comm_s, -comm_s / 4)

    monkeypatch.setattr(isolated_loops, "loop_isolated", loop)
    workload = make_workload([0], [10], [2])
    pilot = pilot_at(network, workload, [[0, 1]])
    baseline = Baseline(network, workload, np.zeros(1, int), np.array([0.5]), pilot)
    own = baseline.of(0, Placement(0, np.array([0, 4], np.int32)), False)
    assert own is not None
    assert own.locality == pytest.approx(5 / 3.5)
    assert own.situation.fraction == pytest.approx(4 / 6)
    alone = baseline.of(0, Placement(0, np.array([0, 1], np.int32)), False)
    assert alone is not None
    assert alone.locality == 1.0


def test_a_job_on_the_references_nodes_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under adaptive routing, too: its period was the last of the search for the computing time."""
    network = network_of(make_routing(dragonfly(2, 4, 2), "ugal-l"), 0.3, "all-to-all")
    loops, nodes = network.loads.isolated, np.arange(3, 9, dtype=np.int32).tobytes()
    place = Situation(0, nodes, 0.3, once_s=1e-3, draw=0)
    on_reference = loops.of(place, 1.0, ROUGH)
    assert on_reference is not None
    given = place._replace(fraction=1.0, compute_s=on_reference.job.compute_s)
    monkeypatch.setattr(IsolatedLoops, "_period", None)
    own = loops.of(given, 1.0)
    assert own is not None
    assert own.period_s == on_reference.period_s
    with pytest.raises(TypeError):
        loops.of(given._replace(draw=1), 1.0)


def test_fractions_are_rounded_to_eighths_of_an_octave() -> None:
    """At most 4.4 % off: 2^(1/16) = 1.0443."""
    assert near_fraction(1.0) == near_fraction(0.97) == 1.0
    assert near_fraction(0.25) == near_fraction(1.04 * 0.25) == near_fraction(0.25 / 1.04) == 0.25
    assert near_fraction(1.05 * 0.25) == pytest.approx(0.25 * 2 ** (1 / 8))


def test_a_job_that_computes_while_it_sends() -> None:
    """A broadcast's root waits for nobody: its period is that of its link, or of its computing.

    So with f = 0.3 it computes for 0.7 of what its messages take. Across a cable of half the speed
    they take twice as long, which is all of its time.
    """
    network = network_of(slow_cable(), 0.3, "broadcast")
    workload = make_workload([0], [10], [2])
    pilot = pilot_at(network, workload, [[0, 1]])
    baseline = Baseline(network, workload, np.zeros(1, int), np.array([0.3]), pilot)
    found = baseline.on_reference(0)
    assert found is not None
    sent_s = 1_000_000 / 5e9
    assert found.compute_s + found.comm_s == pytest.approx(sent_s, rel=0.05)
    own = baseline.of(0, Placement(0, np.array([0, 4], np.int32)), False)
    assert own is not None
    assert own.locality == pytest.approx(2.0, rel=0.05)
    assert own.situation.fraction == pytest.approx(1 - 0.7 / 2, rel=0.05)


@pytest.mark.parametrize("name", ["fat-tree", "dragonfly", "torus"])
def test_jobs_that_the_network_cannot_tell_apart_take_as_long(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked up or simulated, to the bit; on a fat-tree most are looked up."""
    topologies = {"fat-tree": fat_tree(8), "dragonfly": dragonfly(2, 4, 2), "torus": torus((4, 4))}
    network = network_of(make_routing(topologies[name]), pattern="all-to-all")
    simulated: list[int] = []
    period = IsolatedLoops._period

    def noted(self: IsolatedLoops, looping, once_s: float) -> LoopPeriod:
        simulated.append(1)
        return period(self, looping, once_s)

    monkeypatch.setattr(IsolatedLoops, "_period", noted)
    loops = IsolatedLoops(network.shared, network.communications)
    n_nodes, rng = topologies[name].n_nodes, np.random.default_rng(3)
    for k in range(60):
        nodes = np.sort(rng.permutation(n_nodes)[: 2 + k % 2]).astype(np.int32).tobytes()
        job = Situation(0, nodes, 1.0, 1e-4, draw=0)
        fresh = IsolatedLoops(network.shared, network.communications).of(job, 1.0)
        found = loops.of(job, 1.0)
        assert found is not None
        assert fresh is not None
        assert found.period_s == fresh.period_s
        assert found.job.nodes.tobytes() == nodes
    assert len(simulated) - 60 < {"fat-tree": 45, "dragonfly": 60, "torus": 45}[name]


def test_who_shares_a_link_tells_jobs_apart() -> None:
    """Two of four pairs on each of two cables, or three on one: as many links on as many paths of
    equal lengths, but 0.4 and 0.6 ms."""
    wires = nx.Graph()
    for name in "acbd":
        wires.add_node(name, nodes=4)
    wires.add_edges_from([("a", "b"), ("c", "d"), ("b", "c")], bandwidth_Bps=5e9)
    network = network_of(make_routing(graph(wires, node_bandwidth_Bps=5e9)))
    shared = replace(network.shared, task_mapping="in-order")
    loops = IsolatedLoops(shared, network.communications)

    def comm_s(first: list[int], second: list[int]) -> float:
        job = Situation(0, np.arange(8, dtype=np.int32).tobytes(), 1.0, 1e-4, draw=0)
        program = shared.program(loops._job(job, 1.0), 1)
        partner = dict(zip(program.send_src().tolist(), program.send_dst.tolist(), strict=True))
        nodes = np.zeros(8, dtype=np.int32)
        pairs = [[rank, other] for rank, other in partner.items() if rank < other]
        nodes[np.array(pairs)] = np.array([first, second]).T
        found = loops.of(job._replace(nodes=nodes.tobytes()), 1.0)
        assert found is not None
        return found.comm_s

    assert comm_s([0, 1, 4, 5], [8, 9, 12, 13]) == pytest.approx(0.4e-3, rel=0.05)
    assert comm_s([0, 1, 2, 4], [8, 9, 10, 12]) == pytest.approx(0.6e-3, rel=0.05)


@pytest.mark.parametrize("seed", first_only(range(3)))
def test_own_nodes_is_todays_meaning_by_name(seed: int) -> None:
    """A placement on bad nodes costs nothing: rates are those of contention alone."""
    network = network_of(slow_cable())
    workload = make_workload([0, 0], [10, 10], [2, 2])
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(8).reshape(4, 2)[:2].tolist()
    live, rates = live_on(CoupledFlow(network), workload, nodes)
    for job in (0, 1):
        assert 1 / rates.get(job, 1.0) == pytest.approx(1 + F * (live.stretch(job) - 1))
    assert live_on(CoupledFlow(network, baseline=OWN_NODES), workload, nodes)[1] == rates
