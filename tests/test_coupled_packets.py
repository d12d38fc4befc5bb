"""Coupled run times at packet level: one cable shared, groups, look-ups, the budget."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.stats
from queue_helpers import make_workload
from test_coupled_flow import Across, Given, Watched, job_network, one_cable, random_jobs, run

from alloc.policy import Placement
from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from queuesim.coupled import CoupledFlow, LiveRunTimes
from queuesim.coupled_packets import CoupledPackets
from queuesim.job_network import JobLoads, JobNetwork
from queuesim.packet_judge import (
    PacketBudget,
    PacketJudge,
    PacketRecord,
    mean_ranks,
    rank_correlation,
)
from queuesim.situation import Situation


def long_messages(network: JobNetwork) -> JobNetwork:
    return replace(
        network,
        communications=[replace(c, message_bytes=200_000) for c in network.communications],
    )


def test_two_jobs_on_one_cable_as_at_flow_level() -> None:
    """Long messages: the packets share the cable evenly, so 15 and 25 s as by hand."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    record = PacketRecord()
    workload = make_workload([0, 0], [10, 20], [2, 2])
    result = run(CoupledPackets(network, record=record), workload, Across(topology))
    assert result.end_s == pytest.approx([15, 25], rel=0.02)
    assert record.flow == pytest.approx([2.0, 2.0], rel=0.02)
    assert record.packet == pytest.approx([2.0, 2.0], rel=0.03)
    assert (record.n_simulations, record.packet_hops > 0) == (1, True)
    assert record.summary()["error_p90"] < 0.03


def test_equal_situations_are_looked_up() -> None:
    """The same two jobs on the same nodes, again and again: simulated once, same run times."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    # one pattern, so that all pairs of jobs are alike
    mix = type(network.mix)([network.mix.shares[0]])
    network = replace(network, mix=mix, communications=network.communications[:1])
    record = PacketRecord()
    submit = [0, 0, 100, 100, 200, 200]
    workload = make_workload(submit, [10] * 6, [2] * 6)
    result = run(CoupledPackets(network, record=record), workload, Across(topology))
    took = result.end_s - result.start_s
    assert record.n_simulations == 1
    assert record.n_looked_up == 2
    assert took[2:4] == pytest.approx(took[:2])


def test_groups_are_judged_apart() -> None:
    """Two jobs across leaves 0-1 and two across leaves 2-3 of two pods: two groups of two."""
    topology = fat_tree(4)
    network = long_messages(job_network(make_routing(topology)))
    workload = make_workload([0] * 4, [10] * 4, [2] * 4)
    policy = make_policy(topology, "baseline", np.random.default_rng(1))
    record = PacketRecord()
    live = CoupledPackets(network, record=record).prepare(
        workload, policy, np.random.default_rng(1)
    )
    for job, nodes in enumerate([(0, 2), (1, 3), (4, 6), (5, 7)]):
        live.on_start(job, Placement(job, np.array(nodes, np.int32)), 0.0)
    first = dict(live.settle(0.0))
    assert set(first) <= {0, 1, 2, 3}
    before = record.n_simulations
    assert before <= 2
    live.on_finish(0, 1.0)
    second = live.settle(1.0)
    # job 1 is alone now; the other group has not been touched
    assert set(second) <= {1}
    assert record.n_simulations == before
    assert second.get(1, 1.0) == 1.0


def test_stretch_does_not_depend_on_who_is_named_first() -> None:
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    group = [Situation(k, np.array([k, k + 3], np.int32).tobytes()) for k in range(3)]

    def judged(order: list[int]) -> dict[int, float]:
        judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
        found = judge.stretches([group[k] for k in order])
        assert found is not None
        return dict(zip(order, found, strict=True))

    assert judged([0, 1, 2]) == judged([2, 0, 1])
    judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
    found, again = (judge.stretches([group[k] for k in order]) for order in ([0, 1, 2], [2, 0, 1]))
    assert (judge.record.n_simulations, judge.record.n_looked_up) == (1, 1)
    assert found is not None
    assert again == (found[2], found[0], found[1])


def test_passes_end_with_the_first_that_changes_nothing() -> None:
    """A billion of them are those that it takes, and give what two hundred give."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    group = tuple(Situation(k, np.array([k, k + 3], np.int32).tobytes()) for k in range(3))

    def judged(passes: int) -> tuple[float, ...]:
        return PacketJudge(JobLoads(network), PacketBudget(passes=passes), PacketRecord()).judge(
            group
        )

    assert judged(10**9) == judged(200)


def test_scaled_messages_take_as_much_less() -> None:
    network, group = a_pair_in_the_quiet()
    half, whole = (
        PacketJudge(JobLoads(network), PacketBudget(message_scale=scale), PacketRecord())
        for scale in (0.5, 1.0)
    )
    assert half.alone_s(group[0], 1) == pytest.approx(whole.alone_s(group[0], 1) / 2, rel=0.05)


@pytest.mark.parametrize(("tolerance", "looked_up", "tolerated"), [(0.31, 1, 0), (0.36, 0, 1)])
def test_small_changes_are_tolerated(tolerance: float, looked_up: int, tolerated: int) -> None:
    """Two jobs fill a cable, a third comes and goes: stretches of 2, 3 and 2, a third less."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    record = PacketRecord()
    model = CoupledPackets(network, PacketBudget(tolerance=tolerance), record=record)
    workload = make_workload([0] * 3, [10] * 3, [2] * 3)
    live = model.prepare(workload, Across(topology), np.random.default_rng(1))
    assert isinstance(live, LiveRunTimes)
    live._share[:] = [0, 1, 2]
    for job in (0, 1):
        live.on_start(job, Placement(job, np.array([job, job + 3], np.int32)), 0.0)
    live.settle(0.0)
    live.on_start(2, Placement(2, np.array([2, 5], np.int32)), 1.0)
    live.settle(1.0)
    live.on_finish(2, 2.0)
    live.settle(2.0)
    assert (record.n_looked_up, record.n_tolerated) == (looked_up, tolerated)


def test_short_jobs_feel_long_ones_all_the_time() -> None:
    """A job with a tenth of the bytes repeats until it takes as long as its neighbour."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    sizes = (400_000, 40_000, 40_000)
    network = replace(
        network,
        communications=[
            replace(c, pattern="all-to-all", message_bytes=n)
            for c, n in zip(network.communications, sizes, strict=True)
        ],
        mix=type(network.mix)([replace(s, pattern="all-to-all") for s in network.mix.shares]),
    )
    group = [Situation(k, np.array([k, k + 3], np.int32).tobytes()) for k in range(2)]

    def stretches(max_repeats: int) -> tuple[float, ...]:
        budget = PacketBudget(max_repeats=max_repeats)
        judge = PacketJudge(JobLoads(network), budget, PacketRecord())
        found = judge.stretches(group)
        assert found is not None
        return found

    long, short = stretches(1)
    assert long == pytest.approx(1.1, rel=0.05)
    # not quite 2: between its small messages the short job leaves the cable idle
    long, short_again = stretches(16)
    assert 1.6 < long <= 2.0
    assert short > 1.5
    assert short_again > 1.5


class Counting(PacketJudge):
    """Notes how often the jobs of each simulated group repeat their iteration."""

    def __init__(self, *parts) -> None:
        super().__init__(*parts)
        self.repeats: list[tuple[int, ...]] = []

    def _simulate(self, jobs):
        if len(jobs) > 1:
            self.repeats.append(tuple(n for _, n in jobs))
        return super()._simulate(jobs)


def a_pair_in_the_quiet() -> tuple[JobNetwork, tuple[Situation, ...]]:
    """Two pairs that share a cable, and one at one of its ends that shares nothing."""
    wires = nx.Graph()
    wires.add_node("a", nodes=4)
    wires.add_node("b", nodes=4)
    wires.add_edge("a", "b")
    network = long_messages(job_network(make_routing(graph(wires))))
    places = [(0, 4), (1, 5), (2, 3)]
    return network, tuple(Situation(0, np.array(p, np.int32).tobytes()) for p in places)


@pytest.mark.parametrize(
    ("budget", "repeats"),
    [
        (PacketBudget(passes=3), [(1, 1, 1), (1, 1, 2)]),
        (PacketBudget(passes=2, iterations=3), [(3, 3, 3), (3, 3, 6)]),
        (PacketBudget(passes=1), [(1, 1, 1)]),
        (PacketBudget(passes=2, max_repeats=1, iterations=2), [(2, 2, 2)]),
    ],
)
def test_who_is_done_early_repeats_more(budget: PacketBudget, repeats: list) -> None:
    """All take as long alone; two are slowed to twice that, so the third repeats twice as often.

    A pass that would repeat the one before is not simulated.
    """
    network, group = a_pair_in_the_quiet()
    judge = Counting(JobLoads(network), budget, PacketRecord())
    found = judge.judge(group)
    assert judge.repeats == repeats
    assert found == pytest.approx([2, 2, 1], rel=0.03)


def test_company_makes_nobody_faster_than_alone() -> None:
    """Where chance is luckier in company than alone (here: three times), the stretch is 1."""

    class Unlucky(PacketJudge):
        def alone_s(self, job, iterations):
            return 3 * super().alone_s(job, iterations)

    network, group = a_pair_in_the_quiet()
    judge = Unlucky(JobLoads(network), PacketBudget(passes=1), PacketRecord())
    assert judge.judge(group) == (1.0, 1.0, 1.0)


def test_small_jobs_repeat_as_often_as_they_fit_into_the_longest() -> None:
    network, group = a_pair_in_the_quiet()
    sizes = (600_000, 200_000, 100_000)
    network = replace(
        network,
        communications=[
            replace(c, pattern="all-to-all", message_bytes=n)
            for c, n in zip(network.communications, sizes, strict=True)
        ],
        mix=type(network.mix)([replace(s, pattern="all-to-all") for s in network.mix.shares]),
    )
    group = tuple(Situation(k, job.nodes) for k, job in enumerate(group))
    for most, repeats in ((64, (1, 3, 6)), (4, (1, 3, 4))):
        judge = Counting(
            JobLoads(network), PacketBudget(passes=1, max_repeats=most), PacketRecord()
        )
        judge.judge(group)
        assert judge.repeats == [repeats]


def test_jobs_that_send_nothing_are_not_slowed() -> None:
    """A tornado of two ranks has nowhere to go."""
    network, group = a_pair_in_the_quiet()
    silent = [replace(network.communications[0], pattern="tornado"), *network.communications[1:]]
    mix = type(network.mix)(
        [replace(network.mix.shares[0], pattern="tornado"), *network.mix.shares[1:]]
    )
    network = replace(network, communications=silent, mix=mix)
    judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
    jobs = (group[0], *(Situation(2, job.nodes) for job in group[:2]))
    assert judge.judge(jobs) == pytest.approx([1, 2, 2], rel=0.03)
    assert judge.judge(group) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "budget", [PacketBudget(), PacketBudget(tolerance=0.3), PacketBudget(max_simulations=3)]
)
def test_work_is_conserved_and_runs_repeat(budget: PacketBudget) -> None:
    topology = fat_tree(4)
    network = job_network(make_routing(topology), (0.2, 0.9))
    workload = random_jobs(np.random.default_rng(4), 25, 8)
    ends = []
    for _ in range(2):
        record = PacketRecord()
        model = CoupledPackets(network, budget=budget, record=record)
        policy = make_policy(topology, "random", np.random.default_rng(1))
        live = Watched(model.prepare(workload, policy, np.random.default_rng(5)), len(workload))
        ends.append(run(Given(live), workload, policy).end_s)
        assert live.done == pytest.approx(workload.run_time_s, rel=1e-9)
        assert live.changes > 0
        if budget.max_simulations is not None:
            assert record.n_simulations == 3
            assert record.n_over_budget > 0
        assert (record.n_tolerated > 0) == (budget.tolerance > 0)
    np.testing.assert_array_equal(*ends)


def test_no_budget_is_the_flow_level() -> None:
    topology = fat_tree(4)
    network = job_network(make_routing(topology))
    workload = random_jobs(np.random.default_rng(4), 25, 8)

    def policy():
        return make_policy(topology, "random", np.random.default_rng(1))

    spent = CoupledPackets(network, budget=PacketBudget(max_simulations=0))
    np.testing.assert_allclose(
        run(spent, workload, policy()).end_s,
        run(CoupledFlow(network), workload, policy()).end_s,
        rtol=1e-3,  # the packet level does not wait for a stretch to move by its tolerance
    )


def test_isolated_jobs_send_no_packets() -> None:
    topology = fat_tree(4)
    record = PacketRecord()
    model = CoupledPackets(job_network(make_routing(topology)), record=record)
    workload = random_jobs(np.random.default_rng(3), 30, 8)
    run(model, workload, make_policy(topology, "jigsaw", np.random.default_rng(1)))
    assert record.packet_hops == 0


def test_rank_correlation() -> None:
    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert rank_correlation(a, a**3) == pytest.approx(1)
    assert rank_correlation(a, -a) == pytest.approx(-1)
    assert np.isnan(rank_correlation(a, np.ones(4)))


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_those_of_scipy(seed: int) -> None:
    """Equal values share the mean of their places."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3 + 4 * seed, 30) * 0.1
    np.testing.assert_array_equal(mean_ranks(values), scipy.stats.rankdata(values))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PacketBudget(iterations=0), "at least 1"),
        (lambda: PacketBudget(message_scale=0), "message_scale = 0"),
        (lambda: PacketBudget(tolerance=-1), "tolerance = -1"),
        (lambda: PacketBudget(max_simulations=-1), "max_simulations = -1"),
    ],
)
def test_bad_budgets(make, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make()
