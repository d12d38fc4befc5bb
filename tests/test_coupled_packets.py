"""Coupled run times at packet level: one cable shared, periods, phases, look-ups, the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.stats
from mean_value_analysis import mean_value_analysis
from queue_helpers import make_workload
from selection import first_only
from test_coupled_flow import Across, Given, Watched, job_network, one_cable, random_jobs, run

from alloc.policy import Placement
from alloc.registry import make_policy
from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, SharedNetwork
from cosim.network.isolated_loops import IsolatedLoop, IsolatedLoops
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.loops import LoopTimes
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.situation import Situation
from cosim.parameters import PHASES
from cosim.run_times.coupled import CoupledFlow
from cosim.run_times.coupled_packets import CoupledPackets
from cosim.run_times.packet_judge import (
    PacketBudget,
    PacketJudge,
    PacketRecord,
    mean_ranks,
    rank_correlation,
)
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from netsim.topology import Topology
from queuesim.draws import substitute_id

APART = (300_000, 185_000, 411_000, 249_000)
"""Bytes of messages whose times have no small common multiple: the jobs' phases drift."""
LONG = PacketBudget(periods=40)


def long_messages(network: JobNetwork) -> JobNetwork:
    return replace(
        network,
        communications=[
            replace(c, message_bytes=n) for c, n in zip(network.communications, APART, strict=False)
        ],
    )


def cable(n: int) -> Topology:
    """Two routers of n nodes, one cable as fast as the nodes' links."""
    wires = nx.Graph()
    wires.add_node("a", nodes=n)
    wires.add_node("b", nodes=n)
    wires.add_edge("a", "b")
    return graph(wires)


def pairs_on_a_cable(
    fractions: Sequence[float], message_bytes: Sequence[int]
) -> tuple[JobNetwork, tuple[Situation, ...]]:
    """One job of two nodes a fraction, all of them across one cable."""
    n = len(fractions)
    mix = CommunicationMix([PatternShare("pairs", 1.0, f, f) for f in fractions])
    sent = [Communication("pairs", n_bytes) for n_bytes in message_bytes[:n]]
    network = JobNetwork(SharedNetwork(make_routing(cable(n))), mix, sent, True)
    nodes = (np.array([k, k + n], np.int32).tobytes() for k in range(n))
    jobs = (Situation(k, at, f) for k, (at, f) in enumerate(zip(nodes, fractions, strict=True)))
    return network, tuple(jobs)


SHALLOW = PacketConfig(buffer_bytes=2048)
"""Two packets: the cable is shared packet by packet, as processor sharing has it."""


@pytest.mark.parametrize(
    ("fractions", "equal"),
    [
        *(
            ([fraction] * n, equal)
            for n in (2, 3, 4)
            for fraction in (0.25, 0.5)
            for equal in (1, 0)
        ),
        *(([0.1, 0.4], 1), ([0.5, 0.3, 0.2, 0.1], 1), ([0.5, 0.3, 0.2, 0.1], 0)),
    ],
)
def test_jobs_on_one_cable_meet_mean_value_analysis(fractions: list[float], equal: int) -> None:
    """Extra time within 4 %, of equal and unequal periods, as computing varies.

    For two it is the other's fraction. With the neighbours' stretched duties it would be 13 % more.
    """
    n = len(fractions)
    network, jobs = pairs_on_a_cable(fractions, (200_000,) * 4 if equal else APART)
    # extra times of other seeds scatter by 2 %
    network = replace(network, shared=replace(network.shared, packet=SHALLOW, seed=1))
    alike = equal and len({*fractions}) == 1
    budget = PacketBudget(*((12, 480 if n == 2 else 240) if alike else (200, 16)))
    found = PacketJudge(JobLoads(network), budget, PacketRecord()).judge(jobs)
    exact = np.array(mean_value_analysis([1 / fraction - 1 for fraction in fractions]))
    if n == 2:
        assert exact == pytest.approx([1 + fraction for fraction in fractions[::-1]])
    extra = [job.stretch(slowdown) - 1 for job, slowdown in zip(jobs, found, strict=True)]
    assert sum(extra) == pytest.approx((exact - 1).sum(), rel=0.04)


@pytest.mark.parametrize(("buffer_bytes", "queued"), [(1 << 20, True), (2048, False)])
def test_buffers_make_a_link_first_come_first_served(buffer_bytes: int, queued: bool) -> None:
    """Why jobs on a cable are below mean-value analysis where buffers hold their messages.

    Three one-way messages that take c alone come x and y later, in order. The first is complete
    when all that came before its last packet has left: after 3 c - x - y where the buffers hold
    them, as its last packet comes in at c and the others have sent c - x and c - y by then. Packet
    by packet it is (x + (y - x) / 2) served by y, and a third from then on: 3 c - 1.5 x - 0.5 y.
    """
    network, jobs = pairs_on_a_cable([0.5] * 3, (1_000_000,) * 3)
    shared = replace(network.shared, packet=PacketConfig(buffer_bytes=buffer_bytes))
    placed = [job.job(network.communications[job.share]) for job in jobs]
    c_s = float(Ensemble(shared, placed[:1]).packets().time_s[0])
    x_s, y_s = 0.2 * c_s, 0.6 * c_s
    late = [replace(job, start_s=s) for job, s in zip(placed, (0.0, x_s, y_s), strict=True)]
    first_s = float(Ensemble(shared, late).packets().time_s[0])
    expected_s = 3 * c_s - (x_s + y_s if queued else 1.5 * x_s + 0.5 * y_s)
    assert first_s == pytest.approx(expected_s, rel=0.01)


def test_only_few_jobs_are_simulated_with_other_phases() -> None:
    for n, draws in ((1, 0), (2, 2), (3, 3), (4, 0)):
        network, jobs = pairs_on_a_cable([0.5] * n, APART)
        record = PacketRecord()
        PacketJudge(JobLoads(network), PacketBudget(phases=2), record).judge(jobs)
        assert (record.n_simulations, len(record.phase_spread)) == (1, draws)


def test_the_fraction_is_part_of_a_situation() -> None:
    """Same jobs on same nodes with other fractions: judged anew, 1 + f f' by hand."""
    network, often = pairs_on_a_cable([0.6, 0.5], APART)
    seldom = tuple(job._replace(fraction=job.fraction / 2) for job in often)
    judge = PacketJudge(JobLoads(network), LONG, PacketRecord())
    assert judge.judge(often) == pytest.approx([1.3, 1.3], rel=0.03)
    assert judge.judge(seldom) == pytest.approx([1.075, 1.075], rel=0.03)
    once, half = (judge._isolated.of(jobs[0], 1.0) for jobs in (often, seldom))
    assert once is not None
    assert half is not None
    assert half.period_s == pytest.approx(2 * once.period_s, rel=1e-3)


@pytest.mark.parametrize("pattern", ["broadcast", "all-to-all", "halo3d"])
def test_a_fraction_is_the_share_of_the_isolated_period(pattern: str) -> None:
    """Ranks that are done compute while others wait, a broadcast's root above all."""
    mix = CommunicationMix([PatternShare(pattern, 1.0, 0.4, 0.4)])
    shared = SharedNetwork(make_routing(torus((4, 4))))
    network = JobNetwork(shared, mix, [Communication(pattern, 50_000)], True)
    situation = Situation(0, np.arange(16, dtype=np.int32).tobytes(), 0.4)
    loop = JobLoads(network).isolated.of(situation, 1.0)
    assert loop is not None
    assert 1 - loop.job.compute_s / loop.period_s == pytest.approx(0.4, abs=0.01)


def test_who_hardly_communicates_is_simulated_as_one_in_a_hundred() -> None:
    """f = 1e-9 beside f' = 0.3: 1 + f f' for itself, and 1 + 0.01 f' for the other by hand."""
    network, jobs = pairs_on_a_cable([1e-9, 0.3], APART)
    judge = PacketJudge(JobLoads(network), PacketBudget(periods=200, phases=40), PacketRecord())
    seldom, often = judge.judge(jobs)
    assert seldom - 1 == pytest.approx(1e-9 * 0.3, rel=0.1)
    assert often - 1 == pytest.approx(0.01 * 0.3, rel=0.1)


def test_a_slowdown_is_of_the_periods_after_the_warm_up() -> None:
    """By hand: what iterations take beside computing, without the first quarter of them."""
    network, jobs = pairs_on_a_cable([0.5] * 4, (200_000, 170_000, 130_000, 230_000))
    shared = network.shared
    judge = PacketJudge(JobLoads(network), PacketBudget(periods=20, phases=1), PacketRecord())
    loops = [loop for job in sorted(jobs) if (loop := judge._isolated.of(job, 1.0))]
    group = substitute_id(loop.job.job_id for loop in loops)
    draw, stream = PHASES * (group >> 2), substitute_id([group, 0])
    together = Ensemble(shared, [loop.started(shared, draw) for loop in loops])
    # the longest for 11 of its periods, the others for 4/3 of 20 of theirs
    longest_s, next_s = sorted((loop.period_s for loop in loops), reverse=True)[:2]
    until_s = min(20 * longest_s, max(11 * longest_s, 80 / 3 * next_s))
    assert next_s > 0.75 * longest_s
    ends_ps = together.loops(until_s, stream=stream).ends_ps
    exact, every = [], []
    for loop, job, ends in zip(loops, together.jobs, ends_ps, strict=True):
        took_s = np.diff(ends) * 1e-12 - shared.computing_s(job, len(ends))[1:]
        comm_s = loop.period_s - loop.job.compute_s
        exact.append(1 + 0.5 * (took_s[len(ends) // 4 - 1 :].mean() / comm_s - 1))
        every.append(1 + 0.5 * (took_s.mean() / comm_s - 1))
    assert judge.judge(jobs) == pytest.approx(exact, rel=1e-9)
    assert exact != pytest.approx(every, rel=1e-4)


def test_isolated_loops_are_shared_by_policies_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one run has simulated in isolation no later one on the network simulates again."""
    simulated: list[Situation] = []
    simulate = IsolatedLoops._loop

    def noted(self: IsolatedLoops, situation: Situation, *how: float) -> IsolatedLoop | None:
        simulated.append(situation)
        return simulate(self, situation, *how)

    monkeypatch.setattr(IsolatedLoops, "_loop", noted)
    topology = fat_tree(4)
    network = job_network(make_routing(topology))
    workload = random_jobs(np.random.default_rng(4), 25, 8)
    for policy in ("random", "random", "baseline"):
        model = CoupledPackets(network)
        run(model, workload, make_policy(topology, policy, np.random.default_rng(1)))
        if policy == "random":
            of_one = len(simulated)
    assert len(set(simulated)) == len(simulated) > of_one > 0


def test_two_jobs_on_one_cable_as_at_flow_level() -> None:
    """f = 1/2 and both fill the cable: 1.25 as long, so 12.5 s; the other 10 + 12.5 by hand."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    record = PacketRecord()
    workload = make_workload([0, 0], [10, 20], [2, 2])
    result = run(CoupledPackets(network, budget=LONG, record=record), workload, Across(topology))
    assert result.end_s == pytest.approx([12.5, 22.5], rel=0.02)
    assert record.flow == pytest.approx([1.25, 1.25], rel=0.02)
    assert record.packet == pytest.approx([1.25, 1.25], rel=0.03)
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
    # both jobs, twice
    assert record.n_looked_up == 4
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


def test_slowdowns_do_not_depend_on_who_is_named_first() -> None:
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology)))
    group = [Situation(k, np.array([k, k + 3], np.int32).tobytes()) for k in range(3)]

    def judged(order: list[int]) -> dict[int, float]:
        judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
        return dict(zip(order, judge.judge([group[k] for k in order]), strict=True))

    assert judged([0, 1, 2]) == judged([2, 0, 1])


def test_scaled_messages_take_as_much_less() -> None:
    network, group = a_pair_in_the_quiet()
    judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
    half, full = (judge._isolated.of(group[0], scale) for scale in (0.5, 1.0))
    assert half is not None
    assert full is not None
    assert half.period_s == pytest.approx(full.period_s / 2, rel=0.05)


def test_short_jobs_meet_long_ones_by_their_shares_of_the_time() -> None:
    """With a tenth of the bytes and all periods a tenth as long, it is 1 + f f' all the same."""
    network, jobs = pairs_on_a_cable([0.5, 0.4], (1_000_000, 93_000))
    judge = PacketJudge(JobLoads(network), LONG, PacketRecord())
    assert judge.judge(jobs) == pytest.approx([1.2, 1.2], rel=0.03)


def test_the_longest_job_ends_a_judgement(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 0.55 of its six periods, in which the short one has had more than eight."""
    network, jobs = pairs_on_a_cable([0.5, 0.4], (1_000_000, 93_000))
    judge = PacketJudge(JobLoads(network), PacketBudget(periods=6, phases=1), PacketRecord())
    long = judge._isolated.of(jobs[0], 1.0)
    judge._isolated.of(jobs[1], 1.0)
    assert long is not None
    until_s: list[float] = []
    watched = Ensemble.watched

    def noted(self: Ensemble, most_s: float, n: int, **options: int) -> LoopTimes:
        until_s.append(most_s)
        return watched(self, most_s, n, **options)

    monkeypatch.setattr(Ensemble, "watched", noted)
    judge.judge(jobs)
    assert until_s == pytest.approx([3.3 * long.period_s])


def a_pair_in_the_quiet() -> tuple[JobNetwork, tuple[Situation, ...]]:
    """Two pairs that share a cable, and one at one of its ends that shares nothing."""
    wires = nx.Graph()
    wires.add_node("a", nodes=4)
    wires.add_node("b", nodes=4)
    wires.add_edge("a", "b")
    network = long_messages(job_network(make_routing(graph(wires))))
    places = [(0, 4), (1, 5), (2, 3)]
    return network, tuple(Situation(0, np.array(p, np.int32).tobytes()) for p in places)


def test_company_makes_nobody_faster_than_in_isolation() -> None:
    """Where routings draw luckier in company than in isolation (here: three times), it is 1."""

    class Unlucky(IsolatedLoops):
        def of(self, situation: Situation, message_scale: float) -> IsolatedLoop | None:
            loop = super().of(situation, message_scale)
            return loop and replace(loop, period_s=3 * loop.period_s)

    network, group = a_pair_in_the_quiet()
    judge = PacketJudge(JobLoads(network), PacketBudget(), PacketRecord())
    judge._isolated = Unlucky(network.shared, network.communications)
    assert judge.judge(group) == (1.0, 1.0, 1.0)


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


@pytest.mark.parametrize("budget_s", [600.0, 0.1])
def test_work_is_conserved_and_runs_repeat(budget_s: float) -> None:
    topology = fat_tree(4)
    network = job_network(make_routing(topology), (0.2, 0.9))
    workload = random_jobs(np.random.default_rng(4), 25, 8)
    ends = []
    for _ in range(2):
        record = PacketRecord()
        model = CoupledPackets(network, budget=PacketBudget(budget_s=budget_s), record=record)
        policy = make_policy(topology, "random", np.random.default_rng(1))
        live = Watched(model.prepare(workload, policy, np.random.default_rng(5)), len(workload))
        ends.append(run(Given(live), workload, policy).end_s)
        assert live.done == pytest.approx(workload.run_time_s, rel=1e-9)
        assert live.changes > 0
        assert (record.n_waited > 0) == (budget_s < 1)
    np.testing.assert_array_equal(*ends)


def test_without_any_packets_it_is_the_flow_level() -> None:
    topology = fat_tree(4)
    network = job_network(make_routing(topology))
    workload = random_jobs(np.random.default_rng(4), 25, 8)

    def policy():
        return make_policy(topology, "random", np.random.default_rng(1))

    # the first start is allowed nothing, so that the budget is never spent
    spent = CoupledPackets(
        network, budget=PacketBudget(budget_s=1e-300), record=PacketRecord(spent_s=1.0)
    )
    result = run(spent, workload, policy())
    np.testing.assert_allclose(
        result.end_s,
        run(CoupledFlow(network), workload, policy()).end_s,
        rtol=1e-3,  # the packet level does not wait for a stretch to move by its tolerance
    )
    ages = result.reports["packet_ages"]
    assert ages["none"] > 0.2
    assert ages["present"] + ages["none"] == pytest.approx(1.0)


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


@pytest.mark.parametrize("seed", first_only(range(5)))
def test_ranks_are_those_of_scipy(seed: int) -> None:
    """Equal values share the mean of their places."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3 + 4 * seed, 30) * 0.1
    np.testing.assert_array_equal(mean_ranks(values), scipy.stats.rankdata(values))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PacketBudget(periods=1), "at least 2"),
        (lambda: PacketBudget(phases=0), "at least 1"),
        (lambda: PacketBudget(message_scale=0), "message_scale = 0"),
        (lambda: PacketBudget(budget_s=0), "budget_s = 0"),
    ],
)
def test_bad_budgets(make, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make()
