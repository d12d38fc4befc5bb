"""Coupled run times at flow level: hand-worked cases, a plain second model, invariants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_reference import PlainJob, plain_stretches
from queue_helpers import make_workload
from selection import examples, first_only

from alloc.policy import Placement, Policy
from alloc.registry import make_policy
from cosim.network.communication import ALWAYS, Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.situation import Situation
from cosim.run_times.coupled import CoupledFlow, LiveRunTimes, mean_slowdowns
from netsim.errors import NetcosimError
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topology import Topology
from queuesim.draws import job_streams, substitute_id
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel, RunTimes
from workloads.job import Workload

NAMES = ("all-to-all", "halo2d", "pairs")


def job_network(
    routing: Routing,
    fraction: tuple[float, float] = (0.5, 0.5),
    *,
    message_bytes: int = 1000,
    ranks_per_node: int = 1,
    partition_routing: bool = True,
) -> JobNetwork:
    mix = CommunicationMix([PatternShare(name, 1.0, *fraction) for name in NAMES])
    said = [Communication(name, message_bytes) for name in NAMES]
    shared = SharedNetwork(routing, ranks_per_node=ranks_per_node)
    return JobNetwork(shared, mix, said, partition_routing)


def one_cable() -> Topology:
    """Two routers of three nodes, one cable as fast as the nodes' links."""
    network = nx.Graph()
    network.add_node("a", nodes=3)
    network.add_node("b", nodes=3)
    network.add_edge("a", "b")
    return graph(network)


class Across(Policy):
    """Every job of two nodes gets one node at each end of the cable."""

    name = "across"
    description = "one node at each router"

    def __init__(self, topology: Topology) -> None:
        super().__init__(topology, np.random.default_rng(0))
        self.free = list(range(topology.n_nodes // 2))

    @property
    def n_free(self) -> int:
        return 2 * len(self.free)

    def allocate(self, request):
        if not self.free:
            return None
        at = self.free.pop(0)
        nodes = [at, at + self.topology.n_nodes // 2]
        return Placement(request.job_id, np.array(nodes, np.int32))

    def release(self, placement):
        self.free = sorted([*self.free, int(placement.nodes[0])])

    def hold(self, placement):
        pass

    def unhold(self):
        pass

    def clone(self):
        other = Across(self.topology)
        other.free = list(self.free)
        return other


def run(
    model: RunTimeModel, workload: Workload, policy: Policy, keep_placements: bool = False
) -> QueueResult:
    return simulate_queue(
        workload,
        policy,
        run_time_model=model,
        rng=np.random.default_rng(5),
        keep_placements=keep_placements,
    )


def test_two_jobs_on_one_cable() -> None:
    """f = 1/2; both fill the cable alone, so their stretch is 1 + 1/2 and their rate 1/1.25 = 0.8.

    A (10 s) ends at 12.5. B (20 s) has then done 10, and ends at 22.5.
    """
    topology = one_cable()
    model = CoupledFlow(job_network(make_routing(topology), message_bytes=10**8))
    workload = make_workload([0, 0], [10, 20], [2, 2])
    result = run(model, workload, Across(topology))
    assert result.end_s == pytest.approx([12.5, 22.5], rel=0.01)


def test_two_jobs_that_communicate_always() -> None:
    """f = 1/2; both fill the cable all the time, so their stretch is 2 and their rate 1/1.5.

    A (10 s) ends at 15. B (20 s) has then done 10, and ends at 25.
    """
    topology = one_cable()
    network = job_network(make_routing(topology), message_bytes=10**8)
    workload = make_workload([0, 0], [10, 20], [2, 2])
    result = run(CoupledFlow(replace(network, together=ALWAYS)), workload, Across(topology))
    assert result.end_s == pytest.approx([15, 25], rel=0.01)


@pytest.mark.parametrize("fractions", [(0.1, 0.8), (0.3, 0.6)])
def test_each_of_two_jobs_feels_the_others_fraction(fractions: tuple[float, float]) -> None:
    """Stretches of 1 + the other's fraction, so both run 1 + f_a f_b times as long."""
    topology = one_cable()
    network = job_network(make_routing(topology), message_bytes=10**8)
    workload, policy = make_workload([0, 0], [10, 10], [2, 2]), Across(topology)
    live = CoupledFlow(network).prepare(workload, policy, np.random.default_rng(5))
    assert isinstance(live, LiveRunTimes)
    live._fraction[:] = fractions
    together_s = 10 * (1 + fractions[0] * fractions[1])
    assert run(Given(live), workload, policy).end_s == pytest.approx([together_s] * 2, rel=0.01)


def test_a_late_third_job() -> None:
    """A and B from 0 at 0.8, C from 6: what is left is worked off piece by piece.

    Three jobs with f = 1/2, a pause p = 1: each communicates for r / (1 + r) of the time without
    one of the others, r = (1 + s) / 2, and takes as much of the cable as any. So
    s = 1 + 2 r / (1 + r), s^2 = 5 (exact mean-value analysis: 2.2). The rate is 2 / (1 + s), 0.618.

    A (10): 4.8 by 6, then 5.2 / 0.618: 14.41. B (20): 10 by then, C (10): 5.2. Then both at 0.8:
    C ends after 6 s, at 20.41. B has done 14.8, and ends at 25.61 alone.
    """
    topology = one_cable()
    model = CoupledFlow(job_network(make_routing(topology), message_bytes=10**8))
    workload = make_workload([0, 0, 6], [10, 20, 10], [2, 2, 2])
    result = run(model, workload, Across(topology))
    third = 5.2 * (1 + 5**0.5) / 2
    expected = np.array([6 + third, 17.2 + third, 12 + third])
    assert result.end_s == pytest.approx(expected, rel=0.01)
    factor = (expected - [0, 0, 6]) / [10, 20, 10]
    assert mean_slowdowns(result) == pytest.approx(factor, rel=0.01)


def test_contended_baseline_gives_the_baseline_its_logged_times() -> None:
    """Two equal jobs that always run together take as long as logged; alone they are shorter.

    With f = 1/2 they have a stretch of 1.5 together: 12 s are 12 / 1.25 = 9.6 s alone.
    """
    topology = one_cable()
    network = job_network(make_routing(topology), message_bytes=10**8)
    pair = make_workload([0, 0], [12, 12], [2, 2])
    slowdown = mean_slowdowns(run(CoupledFlow(network), pair, Across(topology)))
    assert slowdown == pytest.approx([1.25, 1.25], rel=0.01)
    model = CoupledFlow(network, reference_slowdown=slowdown)
    assert run(model, pair, Across(topology)).end_s == pytest.approx([12, 12], rel=1e-9)
    apart = make_workload([0, 100], [12, 12], [2, 2])
    assert run(model, apart, Across(topology)).end_s == pytest.approx([9.6, 109.6], rel=0.01)


def random_jobs(rng: np.random.Generator, n: int, largest: int) -> Workload:
    return make_workload(
        np.cumsum(rng.exponential(2.0, n)).tolist(),
        rng.uniform(5, 50, n).tolist(),
        rng.integers(1, largest + 1, n).tolist(),
    )


class Plain(RunTimes):
    """The same model, plainly: everything solved again at every event, own books."""

    def __init__(self, network: JobNetwork, workload: Workload, share, fraction) -> None:
        self.network, self.workload = network, workload
        self.share, self.fraction = share, fraction
        self.loads = JobLoads(network)
        self.placed: dict[int, PlainJob] = {}
        self.n_started = 0
        self.alone: set[int] = set()
        self.rates: dict[int, float] = {}
        self.done = np.zeros(len(workload))
        self.now = 0.0

    def work_s(self, job: int) -> float:
        return float(self.workload.run_time_s[job])

    def _pass_time(self, now_s: float) -> None:
        for job, rate in self.rates.items():
            self.done[job] += rate * (now_s - self.now)
        self.now = now_s

    def _solve(self) -> Mapping[int, float]:
        jobs = list(self.placed)
        stretch = np.array(plain_stretches([self.placed[job] for job in jobs]))
        f = self.fraction[jobs]
        self.rates = dict(zip(jobs, (1 / ((1 - f) + f * stretch)).tolist(), strict=True))
        self.rates |= dict.fromkeys(self.alone, 1.0)
        return self.rates

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        n = int(self.workload.n_nodes[job])
        if n == 1:
            self.alone.add(job)
            return self._solve()
        situation = Situation(int(self.share[job]), placement.nodes[:n].tobytes())
        fraction = float(self.fraction[job])
        rank_node = self.loads.rank_node(situation)
        shared = self.network.shared
        stand_in = substitute_id([situation.share, *placement.nodes[:n].tolist()])
        communication = self.network.communications[situation.share]
        rng = job_streams(shared.seed, stand_in).partners
        program = communication.program(len(rank_node), rng)
        self.placed[job] = PlainJob(
            *(shared.routing, program, rank_node, shared.packet, 0),
            fraction=fraction,
            key=self.n_started,
        )
        self.n_started += 1
        return self._solve()

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        self.alone.discard(job)
        self.placed.pop(job, None)
        return self._solve()


class Given(RunTimeModel):
    name = "given"
    description = "for the test"

    def __init__(self, live: RunTimes) -> None:
        self.live = live

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return self.live


@pytest.mark.parametrize(
    ("make", "routing"),
    first_only(
        [
            pytest.param(lambda: fat_tree(4), "d-mod-k"),
            pytest.param(lambda: fat_tree(4), "adaptive"),
            pytest.param(lambda: dragonfly(2, 2, 5), "minimal"),
        ]
    ),
)
@pytest.mark.parametrize("seed", first_only([1, 2]))
def test_equals_the_plain_model(make, routing: str, seed: int) -> None:
    """Seeds at which the model has one solution at every moment, as far as can be seen."""
    rng = np.random.default_rng(seed)
    topology = make()
    network = job_network(make_routing(topology, routing), (0.1, 0.9), ranks_per_node=2)
    workload = random_jobs(rng, 8, 4)
    share, fraction = network.mix.draw(workload, np.random.default_rng(5))
    plain = Plain(network, workload, share, fraction)

    def policy() -> Policy:
        return make_policy(topology, "random", np.random.default_rng(seed))

    expected = run(Given(plain), workload, policy())
    result = run(CoupledFlow(network), workload, policy())
    assert result.end_s == pytest.approx(expected.end_s, rel=0.03)
    assert np.array_equal(result.end_s, run(CoupledFlow(network), workload, policy()).end_s)
    # the plain model's own books: the integral of the rate is the work
    assert plain.done == pytest.approx(workload.run_time_s, rel=1e-9)


class Watched(RunTimes):
    """Adds up another model's rates over time."""

    def __init__(self, inner: RunTimes, n_jobs: int) -> None:
        self.inner, self.done = inner, np.zeros(n_jobs)
        self.rates: dict[int, float] = {}
        self.now = 0.0
        self.changes = 0

    def work_s(self, job: int) -> float:
        return self.inner.work_s(job)

    def _pass_time(self, now_s: float) -> None:
        for job, rate in self.rates.items():
            self.done[job] += rate * (now_s - self.now)
        self.now = now_s

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        self.rates[job] = 1.0
        return self.inner.on_start(job, placement, now_s)

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._pass_time(now_s)
        del self.rates[job]
        return self.inner.on_finish(job, now_s)

    def settle(self, now_s: float) -> Mapping[int, float]:
        changed = self.inner.settle(now_s)
        self._pass_time(now_s)
        self.rates.update(changed)
        self.changes += len(changed)
        return changed


@examples(10)
@given(seed=st.integers(0, 1000))
def test_work_is_conserved(seed: int) -> None:
    topology = fat_tree(6)
    model = CoupledFlow(job_network(make_routing(topology), (0.2, 0.9)))
    workload = random_jobs(np.random.default_rng(seed), 60, 20)
    policy = make_policy(topology, "random", np.random.default_rng(seed))
    live = Watched(model.prepare(workload, policy, np.random.default_rng(5)), len(workload))
    result = run(Given(live), workload, policy)
    assert live.changes > 0
    assert live.done == pytest.approx(workload.run_time_s, rel=1e-9)
    assert np.all(result.end_s - result.start_s >= workload.run_time_s * (1 - 1e-12))


@pytest.mark.parametrize("partition_routing", [True, False])
def test_isolated_jobs_run_as_logged(partition_routing: bool) -> None:
    """Under Jigsaw with partition routing nothing changes, to the bit."""
    topology = fat_tree(6)
    network = job_network(make_routing(topology), partition_routing=partition_routing)
    workload = random_jobs(np.random.default_rng(3), 80, 20)

    def policy() -> Policy:
        return make_policy(topology, "jigsaw", np.random.default_rng(1))

    logged = run(AsLogged(), workload, policy())
    coupled = run(CoupledFlow(network), workload, policy())
    same = np.array_equal(logged.end_s, coupled.end_s)
    assert same == partition_routing


def test_jobs_on_leaves_of_their_own_have_stretch_one() -> None:
    """No policy promises it, but no link is shared."""
    topology = fat_tree(4)
    workload = make_workload([0, 0, 0], [10, 10, 10], [2, 2, 2])
    network = job_network(make_routing(topology))
    policy = make_policy(topology, "baseline", np.random.default_rng(1))
    live = CoupledFlow(network).prepare(workload, policy, np.random.default_rng(1))
    assert isinstance(live, LiveRunTimes)
    for job in range(3):
        nodes = np.array([2 * job, 2 * job + 1], np.int32)
        live.on_start(job, Placement(job, nodes), 0.0)
    assert live.settle(0.0) == {}
    assert [live.stretch(job) for job in range(3)] == [1.0, 1.0, 1.0]


class Generous(Policy):
    """Two nodes of a router for a job of two, and the third of the other router besides."""

    name = "generous"
    description = "a node more than requested"

    def __init__(self, topology: Topology) -> None:
        super().__init__(topology, np.random.default_rng(0))
        self.left = [[0, 1, 5], [3, 4, 2]]

    @property
    def n_free(self) -> int:
        return 3 * len(self.left)

    def allocate(self, request):
        if not self.left:
            return None
        return Placement(request.job_id, np.array(self.left.pop(0), np.int32))

    def release(self, placement):
        self.left.append(placement.nodes.tolist())

    def hold(self, placement):
        pass

    def unhold(self):
        pass

    def clone(self):
        return Generous(self.topology)


def test_nodes_beyond_the_request_send_nothing() -> None:
    """Only the spare nodes lie across the cable: no job shares a link, all run as alone."""
    topology = one_cable()
    model = CoupledFlow(job_network(make_routing(topology), message_bytes=10**8))
    result = run(model, make_workload([0, 0], [10, 20], [2, 2]), Generous(topology))
    assert result.allocated_nodes.tolist() == [3, 3]
    assert result.end_s.tolist() == [10, 20]


def test_bad_input_says_what() -> None:
    topology = one_cable()
    network = job_network(make_routing(topology))
    workload = make_workload([0], [1], [2])
    for keys, message in (
        ({"baseline": "own"}, "unknown baseline 'own'"),
        ({"reference_slowdown": np.ones(2)}, "one value above 0 a job"),
        ({"reference_slowdown": np.zeros(1)}, "one value above 0 a job"),
    ):
        with pytest.raises(NetcosimError, match=message):
            run(CoupledFlow(network, **keys), workload, Across(topology))  # type: ignore[arg-type]
    with pytest.raises(NetcosimError, match="6 nodes"):
        run(
            CoupledFlow(network),
            workload,
            make_policy(fat_tree(4), "baseline", np.random.default_rng(1)),
        )
    with pytest.raises(NetcosimError, match="one each"):
        JobNetwork(network.shared, network.mix, network.communications[:1])
