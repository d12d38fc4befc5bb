"""A budget of packets for the locality of jobs, and what jobs beyond it have: that of like jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from queue_helpers import make_workload
from selection import first_only
from test_baseline import network_of, pilot_at, slow_cable

from alloc.policy import Placement
from cosim.network import isolated_loops
from cosim.network.isolated_loops import IsolatedLoops, LoopPeriod
from cosim.network.mix import CommunicationMix
from cosim.network.placed_job import PlacedJob, SharedNetwork
from cosim.network.situation import Situation
from cosim.run_times.baseline import Baseline
from cosim.run_times.like_jobs import LikeJobs
from cosim.run_times.packet_ages import describe_localities
from cosim.run_times.packet_judge import PacketRecord
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree


def localities(
    monkeypatch: pytest.MonkeyPatch,
    budget_s: float,
    own_comm_s: list[float],
    groups: bool = False,
    n_equal: int = 0,
    shares: tuple[int, ...] = (),
) -> tuple[list[float], list[float], PacketRecord]:
    """Start jobs of two nodes that compute for 2 s and communicate for 2 s on the reference's.

    Each loop takes 10 million packet hops, so one second and 4 ms. That on the reference's nodes is
    simulated twice, since the first try has too short computing. The first ``n_equal`` jobs are on
    these nodes, the others on the same in reverse.
    """
    network = network_of(make_routing(dragonfly(2, 4, 2), "ugal-l"), 0.5, "broadcast")
    mix = CommunicationMix([*network.mix.shares] * 2)
    network = replace(network, mix=mix, communications=[*network.communications] * 2)
    n_jobs = len(own_comm_s)

    def loop(shared: SharedNetwork, job: PlacedJob, *how: object) -> LoopPeriod:
        first, second = job.nodes.tolist()
        comm_s = 2.0 if first < second else own_comm_s[second // 2]
        return LoopPeriod(job.compute_s + comm_s, 0.0, 10_000_000)

    monkeypatch.setattr(isolated_loops, "loop_isolated", loop)
    workload = make_workload([0] * n_jobs, [10] * n_jobs, [2] * n_jobs)
    places = [[2 * k, 2 * k + 1] for k in range(n_jobs)]
    pilot, record = pilot_at(network, workload, places), PacketRecord()
    baseline = Baseline(
        *(network, workload, np.array(shares or [0] * n_jobs), np.full(n_jobs, 0.5), pilot),
        record=record,
        budget_s=budget_s,
        beside_groups=groups,
    )
    found = []
    for job, at in enumerate(places):
        nodes = np.array(at if job < n_equal else at[::-1], np.int32)
        isolated = baseline.of(job, Placement(job, nodes), False)
        assert isolated is not None
        found.append(isolated)
    return [x.locality for x in found], [x.situation.fraction for x in found], record


OWN_COMM_S = [3.0, 5.0, 4.0, 4.0, 9.0, 9.0, 9.0, 6.0]


@pytest.mark.parametrize("groups", [False, True])
def test_a_budget_by_hand(monkeypatch: pytest.MonkeyPatch, groups: bool) -> None:
    """A job takes 3.01 s. Of 13 s, 1.6 s a start, the first two are in pace; two more make four of
    their class. Their mean, (2 + 4) / (2 + 2), is that of the next three, until 13 s by the last
    start are above 12 s spent. Groups have as much for themselves."""
    budget_s = 26.0 if groups else 13.0
    found, fractions, record = localities(monkeypatch, budget_s, OWN_COMM_S, groups)
    assert found == pytest.approx([1.25, 1.75, 1.5, 1.5, 1.5, 1.5, 1.5, 2.0])
    assert fractions == pytest.approx([3 / 5, 5 / 7, *[4 / 6] * 5, 6 / 8])
    assert (record.n_localities, record.n_equal, record.n_like) == (5, 0, 3)
    assert record.spent_s == record.loops_s == pytest.approx(5 * 3.008 + 0.004, abs=1e-3)
    assert record.localities(budget_s)["like_jobs"] == 3


def test_a_budget_of_almost_nothing_and_one_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, record = localities(monkeypatch, 1e-300, OWN_COMM_S)
    assert found == pytest.approx([1.25] * 8)
    assert (record.n_localities, record.n_like) == (1, 7)
    # of each communication one is simulated all the same
    found, _, record = localities(monkeypatch, 1e-300, OWN_COMM_S[:4], shares=(0, 0, 1, 1))
    assert found == pytest.approx([1.25, 1.25, 1.5, 1.5])
    assert (record.n_localities, record.n_like) == (2, 2)
    found, _, record = localities(monkeypatch, float("inf"), OWN_COMM_S)
    assert found == pytest.approx([(2 + comm_s) / 4 for comm_s in OWN_COMM_S])
    assert (record.n_localities, record.n_like) == (8, 0)


def test_no_more_are_simulated_where_estimates_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, but four jobs are equal, so the last one is not simulated either; without an end
    of the budget all are."""
    for budget_s, counts in ((13.0, (4, 4)), (float("inf"), (8, 0))):
        found, _, record = localities(monkeypatch, budget_s, [3.0] * 8)
        assert found == pytest.approx([1.25] * 8)
        assert (record.n_localities, record.n_like) == counts


def test_who_is_on_equal_nodes_is_no_sample_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first takes 2 s, the next four 3 s each: 14 s of 13. The last has their mean."""
    found, _, record = localities(monkeypatch, 26.0, [2.0, 5.0, 4.0, 4.0, 3.0, 9.0], True, 1)
    assert found == pytest.approx([1.0, 1.75, 1.5, 1.5, 1.25, 1.5])
    assert record.loops_s == pytest.approx(14.04, abs=0.01)


def test_beyond_the_budget_equal_nodes_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first spends more than all; the other three are as on the reference's nodes."""
    found, _, record = localities(monkeypatch, 1e-300, [2.0] * 4, True, 4)
    assert found == [1.0] * 4
    assert (record.n_localities, record.n_equal, record.n_like) == (1, 3, 0)


def test_who_is_on_equal_nodes_needs_no_packets() -> None:
    """Beside groups the computing of its loop is needed, as the budget allows."""
    network = network_of(make_routing(fat_tree(4)), pattern="all-to-all")
    network = replace(network, shared=replace(network.shared, task_mapping="in-order"))
    workload, nodes = make_workload([0] * 3, [10] * 3, [2] * 3), [[0, 4], [1, 5], [2, 6]]
    pilot = pilot_at(network, workload, nodes)
    for groups, budget_s, counts in ((False, 1e-300, (0, 3)), (True, 600.0, (1, 2))):
        record = PacketRecord()
        baseline = Baseline(
            *(network, workload, np.zeros(3, int), np.full(3, 0.5), pilot),
            record=record,
            budget_s=budget_s,
            beside_groups=groups,
        )
        for job, at in enumerate(nodes):
            isolated = baseline.of(job, Placement(job, np.array(at, np.int32)), False)
            assert isolated is not None
            assert isolated.locality == 1.0
            assert isolated.situation.fraction == pytest.approx(0.5)
        assert (record.n_localities, record.n_equal) == counts
        assert (record.spent_s > 0) == groups


def test_what_a_run_before_has_simulated_costs_as_much() -> None:
    """So no result depends on what else a process has done."""
    network = network_of(make_routing(dragonfly(2, 4, 2)), pattern="all-to-all")
    workload = make_workload([0] * 2, [10] * 2, [3] * 2)
    spent_s = []
    for _ in range(2):
        record = PacketRecord()
        drawn = np.zeros(2, int), np.full(2, 0.3)
        baseline = Baseline(network, workload, *drawn, record=record, budget_s=600.0)
        for job, at in enumerate([[0, 5, 9], [1, 6, 12]]):
            baseline.of(job, Placement(job, np.array(at, np.int32)), False)
        spent_s.append(record.spent_s)
    assert spent_s[0] == spent_s[1] > 9 * 0.004


def bounded(bound: float) -> Callable[[], float]:
    return lambda: bound


def test_like_jobs_by_hand() -> None:
    """Three jobs of 5 to 8 nodes stretch by 0.4 / 0.8; with one of 9 to 16 they are four: 0.6 / 1.
    Of another communication one job is all there is. A bound of 4 doubles the stretch of 1.6."""
    like = LikeJobs()
    for n_nodes, fraction, locality in ((5, 0.1, 1.1), (8, 0.4, 1.1), (6, 0.3, 1.2), (9, 0.2, 1.2)):
        like.add(0, n_nodes, fraction, locality, bounded(1.0))
    like.add(1, 2, 0.5, 0.75, bounded(1.0))
    assert [like.count(0, n) for n in (4, 5, 8, 9, 16, 17)] == [0, 3, 3, 1, 1, 0]
    assert like.locality(0, 7, 0.2, 1.0) == pytest.approx(1 + 0.2 * 0.6 / 1.0)
    assert like.locality(0, 7, 0.2, 4.0) == pytest.approx(1 + 0.2 * (2 * 1.6 - 1))
    assert like.locality(1, 100, 1.0, 1.0) == pytest.approx(0.5)
    like.add(0, 7, 0.2, 0.9, bounded(1.0))
    assert like.locality(0, 7, 0.2, 1.0) == pytest.approx(1 + 0.2 * 0.3 / 1.0)
    assert like.locality(0, 16, 0.2, 1.0) == pytest.approx(1 + 0.2 * 0.5 / 1.2)
    assert like.knows(1)
    assert not like.knows(2)


@pytest.mark.parametrize(("error", "suffice"), [(0.004, True), (0.006, False)])
def test_estimates_that_suffice_by_hand(error: float, suffice: bool) -> None:
    """Four jobs off by 0.004 in turn have a variance of 4 * 0.004^2 / 3, below 0.005^2."""
    like = LikeJobs()
    for job, off in enumerate([error, -error, error, -error]):
        assert not like.suffices(0, 8)
        like.add(0, 8 if job else 9, 0.5, 1 + off, bounded(1.0))
    assert [like.suffices(0, n) for n in (8, 16, 4)] == [suffice, suffice, False]
    like.add(0, 8, 0.5, 1.5, bounded(4.0))
    assert like.suffices(0, 8) == suffice


def test_the_bound_is_that_of_the_busiest_link() -> None:
    """A megabyte at 5 GB/s within a router, at half of that over the cable between two."""
    network, of_nodes = network_of(slow_cable()), []
    for nodes in ([0, 1], [0, 4]):
        at = np.array(nodes, np.int32).tobytes()
        of_nodes.append(network.loads.bound_s(Situation(0, at, draw=0)))
    assert of_nodes == pytest.approx([2e-4, 4e-4])


@pytest.mark.parametrize("seed", first_only(range(5)))
def test_estimates_have_the_mean_of_their_sample(seed: int) -> None:
    """Whatever the stretches, and however they depend on fractions and sizes within the class."""
    rng = np.random.default_rng(seed)
    like = LikeJobs()
    jobs = [
        (int(rng.integers(9, 17)), float(rng.uniform(0.01, 1)), float(rng.uniform(0.3, 3)))
        for _ in range(20)
    ]
    known = [1 + f * rng.normal(0.02 * n, 0.1 + f) for n, f, _ in jobs]
    for (n_nodes, fraction, bound), locality in zip(jobs, known, strict=True):
        like.add(3, n_nodes, fraction, float(locality), bounded(bound))
    assert np.mean([like.locality(3, *job) for job in jobs]) == pytest.approx(np.mean(known))


def test_draws_that_change_nothing_make_no_places() -> None:
    """An all-to-all in order is one for all draws; partners that are drawn, and mappings, not."""
    routing, nodes = make_routing(fat_tree(4)), np.array([0, 1, 4, 9], np.int32).tobytes()
    for pattern, mapping, places in (
        ("all-to-all", "in-order", 1),
        ("all-to-all", "random", 4),
        ("pairs", "in-order", 4),
    ):
        sent = network_of(routing, pattern=pattern).communications
        loops = IsolatedLoops(SharedNetwork(routing, task_mapping=mapping), sent)
        assert len({loops.place(Situation(0, nodes, draw=draw)) for draw in range(4)}) == places


def test_the_sentence() -> None:
    row = {"simulated": 1234, "equal_jobs": 0, "like_jobs": 56, "cpu_s": 30.0, "budget_s": 600.0}
    assert describe_localities(row, "coupled-flow") == (
        "locality of jobs: of 1,234 simulated, of 56 estimated from like jobs (CPU time 30 s of 10 "
        "min, queue.coupled-flow.budget)"
    )
