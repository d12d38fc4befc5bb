"""Judgements by packets are kept while few jobs are stale; a sample of them is simulated."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from queue_helpers import make_workload
from test_coupled_flow import Across, job_network, one_cable, random_jobs, run
from test_coupled_packets import a_pair_in_the_quiet, long_messages

from alloc.policy import Placement
from alloc.registry import make_policy
from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.coupled import LiveRunTimes
from cosim.run_times.coupled_packets import CoupledPackets
from cosim.run_times.packet_judge import PacketRecord, remember
from cosim.run_times.slowdown_cache import Audit, Judgement, SlowdownCache, cache_errors
from cosim.run_times.stretches import PacketStretches
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments/calibration/tables"))

from loop_errors import replayed

EXACT_SUM, EXACT_MAX = 2937.9482520734678, 243.6829309472494
EXACT_COUNTS = {"judged_jobs": 49, "simulations": 18, "packet_hops": 95262}


def test_a_job_is_stale_once_its_slowdown_by_flows_has_changed() -> None:
    kept = SlowdownCache(tolerance=0.1)
    group = (1, 2, 3, 4)
    kept.judged(group, (2.0, 2.0, 2.0, 1.0), (3.0, 3.0, 3.0, 1.0))
    assert kept.stale(group, (2.19, 1.81, 2.0, 1.09)) == []
    assert kept.stale(group, (2.21, 1.81, 1.79, 1.09)) == [1, 3]
    # a new one is off from 1
    assert kept.stale((1, 2, 3, 9), (2.0, 2.0, 2.0, 1.09)) == []
    assert kept.stale((1, 2, 3, 9), (2.0, 2.0, 2.0, 1.2)) == [9]
    kept.forget(1)
    assert kept.stale((1, 2, 3), (2.0, 2.0, 2.0)) == [1]


def test_without_a_tolerance_every_job_is_stale() -> None:
    assert SlowdownCache(0.0).stale((1, 2), (1.0, 1.0)) == [1, 2]


def test_a_stale_job_is_judged_among_those_that_share_links_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two cables in line: one job over both, one over the second, then one over the first.

    By hand the first two are slowed by 1 + f f'. The newcomer meets the first as if the second were
    not there, 1 + f f' too. By flows the first is a little slower than on its slowest link, as its
    neighbours are there at different times: what is kept of it may follow.
    """
    wires = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(wires, 2, "nodes")
    network = long_messages(job_network(make_routing(graph(wires)), (F, F)))
    record = PacketRecord()
    budget = PacketBudget(periods=80, tolerance=0.25)
    workload = make_workload([0] * 3, [10] * 3, [2] * 3)
    policy = make_policy(network.shared.routing.topology, "random", np.random.default_rng(1))
    model = CoupledPackets(network, budget, record=record)
    live = model.prepare(workload, policy, np.random.default_rng(1))
    assert isinstance(live, LiveRunTimes)
    live._share[:] = [0, 1, 2]
    live._fraction[:] = [0.3, F, F]
    for job, nodes in enumerate([(0, 4), (2, 5)]):
        live.on_start(job, Placement(job, np.array(nodes, np.int32)), 0.0)
    live.settle(0.0)
    assert len(record.phase_spread) == 2
    two = 1 + 0.3 * F
    slowdowns = [1 + f * (live.stretch(job) - 1) for job, f in enumerate((0.3, F))]
    assert slowdowns == pytest.approx([two, two], rel=0.03)
    live.on_start(2, Placement(2, np.array([1, 3], np.int32)), 1.0)
    of = live.stretches
    assert isinstance(of, PacketStretches)
    simulated: list[tuple[int, int]] = []
    slowdowns_of = of.judge.slowdowns

    def spied(group, beside=()):
        simulated.append((len(group), len(beside)))
        return slowdowns_of(group, beside)

    monkeypatch.setattr(of.judge, "slowdowns", spied)
    rates = live.settle(1.0)
    # the job on the second cable only shares links with the first
    assert simulated == [(1, 1)]
    assert 1 / rates[2] == pytest.approx(two, rel=0.03)
    assert set(rates) <= {0, 2}
    # two were simulated together, one of them to be timed
    assert len(record.phase_spread) == 3
    assert record.n_simulations == 2


def test_what_is_kept_follows_the_flow_level_half_the_way() -> None:
    kept = SlowdownCache(tolerance=0.1)
    kept.judged((1, 2), (2.0, 3.0), (1.5, 1.1))
    found = kept.estimates((1, 2, 3), (8.0, 0.75 * 3, 1.7))
    assert found == pytest.approx((3.0, 1.0, 1.7))
    assert (kept.n_with_packets, kept.n_by_flow) == (2, 1)
    # who was alone in the meantime has nothing to keep
    kept.judged((1,), (1.0,), None)
    assert kept.estimates((1,), (4.0,)) == (4.0,)


F, SELDOM = 0.9, 0.1
TWO, WITH_THIRD, THIRD = 1.81, 1.9743, 1.1890
"""Slowdowns of two jobs on a cable with f = 0.9, of each of them with a third of f = 0.1, and the
third's, by mean-value analysis: 1 + f^2 for two, whose s = 1.9 keeps each there for 0.9448 of the
time, so the third has s = 1 + 2 * 0.9448. Without one of the two the other is there for 0.9083 and
the third for 0.1743, so s = 2.0826."""


def three_on_a_cable(budget: PacketBudget) -> tuple[LiveRunTimes, dict[int, float]]:
    """Two jobs on a cable, a third joins them; and the rates that it changes."""
    topology = one_cable()
    network = long_messages(job_network(make_routing(topology), (F, F)))
    model = CoupledPackets(network, budget)
    workload = make_workload([0] * 3, [10] * 3, [2] * 3)
    live = model.prepare(workload, Across(topology), np.random.default_rng(1))
    assert isinstance(live, LiveRunTimes)
    live._share[:] = [0, 1, 2]
    live._fraction[2] = SELDOM
    for job in (0, 1):
        live.on_start(job, Placement(job, np.array([job, job + 3], np.int32)), 0.0)
    live.settle(0.0)
    live.on_start(2, Placement(2, np.array([2, 5], np.int32)), 1.0)
    return live, dict(live.settle(1.0))


@pytest.mark.parametrize("tolerance", [0.2, 0.3])
def test_the_audit_reports_how_far_off_a_kept_slowdown_is(tolerance: float) -> None:
    """Kept: the geometric mean of both for the first two; by flows for the third."""
    live, rates = three_on_a_cable(PacketBudget(periods=80, tolerance=tolerance, audit=1.0))
    kept = (TWO * WITH_THIRD) ** 0.5
    exact = [1 + (kept - 1) / F] * 2 + [1 + (THIRD - 1) / SELDOM]
    assert [live.stretch(job) for job in range(3)] == pytest.approx(exact, rel=0.03)
    assert [rates[job] for job in range(3)] == pytest.approx([1 / kept, 1 / kept, 1 / THIRD], 0.03)
    told = live.report()["flow_vs_packets"]
    assert told["kept_slowest"] == pytest.approx((TWO / WITH_THIRD) ** 0.5 - 1, abs=0.015)
    assert told["kept_mean"] == pytest.approx(2 / 3 * ((TWO / WITH_THIRD) ** 0.5 - 1), abs=0.01)
    counts = [told[k] for k in ("simulations", "tolerated", "kept_jobs", "flow_jobs")]
    assert counts == [1, 1, 2, 1]
    assert told["audited_jobs"] == 3
    assert told["audit_hops"] > 0
    assert told["packet_hops"] > 0


def test_nothing_is_kept_of_jobs_that_have_ended() -> None:
    """A log's jobs come and go; what is known of them must not pile up."""
    live, _ = three_on_a_cable(PacketBudget(tolerance=0.3))
    for job in range(3):
        live.on_finish(job, 2.0)
    live.settle(2.0)
    of = live.stretches
    assert isinstance(of, PacketStretches)
    assert (of.cache._flow, of.cache._packet, of._members) == ({}, {}, {})


def test_without_an_audit_nothing_of_it_is_told() -> None:
    live, _ = three_on_a_cable(PacketBudget(tolerance=1.0))
    assert not {"kept_p50", "audited_jobs"} & live.report()["flow_vs_packets"].keys()


class Told(Audit):
    """Knows the answer."""

    def __init__(self, share: float, seed: int = 0) -> None:
        network = a_pair_in_the_quiet()[0]
        network = replace(network, shared=replace(network.shared, seed=seed))
        super().__init__(JobLoads(network), PacketBudget(audit=share))
        self.judge.judge = lambda group: tuple(2.0 + job.share for job in group)  # type: ignore[method-assign]


def situations(n: int) -> list[tuple[Situation, Situation]]:
    nodes = [np.array([k, k + 1], np.int32).tobytes() for k in range(n)]
    return [(Situation(1, a), Situation(0, a)) for a in nodes]


def test_the_sample_belongs_to_the_situations_and_the_seed() -> None:
    def sampled(audit: Told, groups: list[tuple[Situation, Situation]]) -> int:
        for group in groups:
            audit.look(group, (3.3, 2.0))
        return len(audit.kept)

    groups, audit = situations(500), Told(0.3)
    n = sampled(audit, groups)
    assert 2 * 110 < n < 2 * 190
    # each once, in whatever order they and their jobs come
    assert sampled(audit, groups) == n
    for a, b in groups:
        audit.look((b, a), (2.0, 3.3))
    assert len(audit.kept) == n
    assert sampled(Told(0.3), groups[::-1]) == n
    assert sampled(Told(0.3, seed=1), groups) != n
    assert sampled(Told(0.0), groups) == 0
    # the same nodes for another share of the time are another situation
    seldom = [(a._replace(fraction=0.5), b._replace(fraction=0.5)) for a, b in groups]
    assert sampled(Told(1.0), [*groups, *seldom]) == 2 * 2 * len(groups)
    told = audit.summary()
    assert told["audited_jobs"] == n
    assert (told["kept_p50"], told["kept_p90"]) == pytest.approx((0.05, 0.1))


def runs(budget: PacketBudget, **more) -> tuple[np.ndarray, dict[str, float]]:
    """25 jobs on a small tree."""
    topology = fat_tree(4)
    network = job_network(make_routing(topology), (0.2, 0.9))
    workload = random_jobs(np.random.default_rng(4), 25, 8)
    policy = make_policy(topology, "random", np.random.default_rng(1))
    result = run(CoupledPackets(network, budget, **more), workload, policy)
    return result.end_s, dict(result.reports["flow_vs_packets"])


def test_the_exact_loop_is_what_it_was() -> None:
    """Ends of jobs and counts of a run that keeps nothing."""
    end_s, told = runs(PacketBudget())
    assert end_s.sum() == pytest.approx(EXACT_SUM, rel=1e-12)
    assert end_s.max() == pytest.approx(EXACT_MAX, rel=1e-12)
    assert {k: told[k] for k in EXACT_COUNTS} == EXACT_COUNTS


def test_an_audit_changes_no_result() -> None:
    budget = PacketBudget(tolerance=0.1)
    end_s, told = runs(budget)
    audited_s, audited = runs(replace(budget, audit=1.0))
    np.testing.assert_array_equal(end_s, audited_s)
    # a rank correlation of equal slowdowns is nan
    np.testing.assert_equal(told, {key: audited[key] for key in told})
    assert audited["audited_jobs"] > 0
    assert 0 < told["simulations"] < EXACT_COUNTS["simulations"]


def test_a_replay_by_hand() -> None:
    journal = [
        Judgement((0,), (1.0,), (1.0,)),
        Judgement((0, 1), (2.0, 2.0), (2.2, 2.0)),
        Judgement((0, 1, 2), (2.0, 2.15, 1.05), (2.2, 2.5, 1.0)),
        Judgement((1, 2), (2.4, 1.05), (2.5, 1.0)),
    ]
    found = replayed(journal, tolerance=0.1)
    assert (found.n_groups, found.n_judged) == (3, 2)
    assert found.judgement.tolist() == [1, 1, 2, 2, 2, 3, 3]
    assert found.packet.tolist() == [2.2, 2.0, 2.2, 2.5, 1.0, 2.5, 1.0]
    kept = 2.0 * (2.15 / 2.0) ** 0.5
    assert found.estimate == pytest.approx([2.2, 2.0, 2.2, kept, 1.05, 2.5, 1.05])
    late = found.judgement == 2
    # errors of 0, -0.1706 and 0.05, the second of the job that packets slow most
    off = kept / 2.5 - 1
    assert cache_errors(found.estimate[late], found.packet[late]) == pytest.approx(
        {
            "kept_p50": 0.05,
            "kept_p90": 0.05 + 0.8 * (-off - 0.05),
            "kept_mean": (off + 0.05) / 3,
            "kept_slowest": off,
        }
    )
    every = replayed(journal, 0.0)
    assert every.n_judged == 3
    assert not any(cache_errors(every.estimate, every.packet).values())


def test_a_replay_judges_as_a_run_does() -> None:
    """Where hardly anything is communicated, a budget changes no schedule."""
    topology = fat_tree(4)
    network = job_network(make_routing(topology), (1e-12, 1e-12))
    workload = random_jobs(np.random.default_rng(4), 25, 8)

    def told(budget: PacketBudget, journal: list[Judgement] | None = None) -> dict[str, float]:
        policy = make_policy(topology, "random", np.random.default_rng(1))
        model = CoupledPackets(network, budget, journal=journal)
        return dict(run(model, workload, policy).reports["flow_vs_packets"])

    journal: list[Judgement] = []
    told(PacketBudget(), journal)
    lived = told(PacketBudget(tolerance=0.1))
    found = replayed(journal, 0.1)
    assert lived["simulations"] + lived["looked_up"] == found.n_judged
    assert lived["tolerated"] == found.n_groups - found.n_judged > 0


def test_what_is_remembered_has_an_end() -> None:
    known: dict[int, str] = {}
    for key in range(5):
        assert remember(known, key, str(key), 3) == str(key)
    assert known == {2: "2", 3: "3", 4: "4"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"audit": 1.5}, "audit = 1.5"),
    ],
)
def test_bad_shares(values: dict[str, float], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        PacketBudget(**values)
