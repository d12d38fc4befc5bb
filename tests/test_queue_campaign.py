"""The measuring campaign: instants, ratios and tables by hand; jobs isolated and together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from alloc.registry import make_policy
from cosim.measuring.campaign import (
    NOT_KNOWN,
    ratio_of_stretches,
    speedup_table,
)
from cosim.measuring.measured import SpeedupRow
from cosim.measuring.neighbours import neighbours
from cosim.measuring.snapshots import Measurements, Ratio, Side, Study, snapshot_times
from cosim.measuring.stretching import IsolatedBaselines, stretches
from cosim.measuring.tasks import SerialExecutor
from cosim.network.communication import ALWAYS, Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.job import Workload

TOPOLOGY = dragonfly(2, 4, 5)
ROUTING = make_routing(TOPOLOGY, "minimal")


def jobs_of(sizes, runs, submits):
    n = len(sizes)
    return Workload(
        name="by hand",
        job_id=np.arange(n, dtype=np.int64),
        submit_s=np.zeros(n) if submits is None else np.array(submits),
        run_time_s=np.array(runs),
        n_nodes=np.array(sizes, dtype=np.int32),
        requested_s=np.array(runs),
        user=np.full(n, -1, dtype=np.int32),
        project=np.full(n, -1, dtype=np.int32),
        wait_s=np.full(n, np.nan),
    )


def schedule(sizes, runs, submits=None, policy="simple", keep=True):
    workload = jobs_of(sizes, runs, submits)
    chosen = make_policy(TOPOLOGY, policy, np.random.default_rng(1))
    return simulate_queue(workload, chosen, rng=np.random.default_rng(2), keep_placements=keep)


def test_snapshots_cut_the_work_into_equal_parts():
    """10 nodes for 100 s, then 30 nodes for 100 s: 4,000 node-seconds. Four instants lie at
    500, 1500, 2500, 3500 of them: 50 s; then 100 + (500, 1500, 2500) / 30 s."""
    result = schedule([10, 30], [100.0, 100.0], [0.0, 100.0])
    np.testing.assert_allclose(
        snapshot_times(result, 4), [50.0, 100 + 500 / 30, 150.0, 100 + 2500 / 30]
    )


def test_idle_times_are_not_sampled():
    """Two jobs with a day between them: no instant falls into the gap."""
    result = schedule([4, 4], [100.0, 100.0], [0.0, 86400.0])
    times = snapshot_times(result, 10)
    assert np.all((times < 100) | (times > 86400))
    assert (times < 100).sum() == 5


def measured(policy, snapshot, stretch, share=None, n_nodes=None):
    n = len(stretch)
    return Measurements(
        policy=policy,
        snapshot=np.array(snapshot),
        job=np.arange(n),
        share=np.zeros(n, dtype=np.int64) if share is None else np.array(share),
        n_nodes=np.full(n, 4) if n_nodes is None else np.array(n_nodes),
        time_s=np.array(stretch, dtype=float),
        baseline_s=np.ones(n),
    )


def test_ratio_is_the_ratio_of_means_over_jobs():
    mine = measured("b", [0, 0, 1, 2, 3, 4], [1.0, 2.0, 3.0, 3.0, 3.0, 3.0])
    other = measured("a", [0, 1, 2, 3, 4, 4], [4.0] * 6)
    ratio = ratio_of_stretches(mine, other, np.random.default_rng(1))
    assert ratio.ratio == pytest.approx(0.625)
    assert ratio.low <= 0.625 <= ratio.high
    # resampled snapshots of `mine` have means between 1.5 (the first alone) and 3 (without it)
    assert ratio.low >= 1.5 / 4 - 1e-12
    assert ratio.high <= 3.0 / 4 + 1e-12


@pytest.mark.parametrize(("options", "confidence"), [({}, 0.95), ({"confidence": 0.8}, 0.8)])
def test_interval_is_that_of_the_binomial_over_snapshots(options, confidence):
    """Snapshots of four equal jobs, in k of n stretched to 3 and else 1, against a reference
    without stretch: the ratio drawn again is 1 + 2 binomial(n, k / n) / n. Its quantiles, to 1.3
    counts of 400; those of 95 and 90 % are 3.1 apart, and jobs drawn one by one give half the
    width."""
    n, k = 400, 200
    stretched = np.repeat(np.repeat([3.0, 1.0], [k, n - k]), 4)
    mine = measured("b", np.repeat(np.arange(n), 4), stretched)
    other = measured("a", np.arange(n), np.ones(n))
    rng = np.random.default_rng(6)
    found = ratio_of_stretches(mine, other, rng, resamples=4000, **options)
    low, high = stats.binom.ppf([(1 - confidence) / 2, (1 + confidence) / 2], n, k / n)
    assert found.ratio == pytest.approx(2.0)
    assert found.low == pytest.approx(1 + 2 * low / n, abs=2.6 / n)
    assert found.high == pytest.approx(1 + 2 * high / n, abs=2.6 / n)
    assert found.n_jobs == n


def test_snapshots_weigh_as_many_jobs_as_they_have():
    """One job of stretch 1 in each of three snapshots, three of 3 in each of three others: mean
    30 / 12. Three of six drawn are of either kind with chance 20/64: so are the middle 20 %."""
    mine = measured("b", [0, 1, 2, *np.repeat([3, 4, 5], 3)], [1.0] * 3 + [3.0] * 9)
    other = measured("a", range(6), [1.0] * 6)
    found = ratio_of_stretches(mine, other, np.random.default_rng(1), confidence=0.2)
    assert (found.ratio, found.low, found.high) == pytest.approx((2.5, 2.5, 2.5))


def test_table_has_the_intervals_of_its_confidence_and_classes_with_both_ends():
    """Jobs of 2, 8, 9 and 32 nodes: two in 2-8, two in 9-32; each row is the ratio of the rows
    of its class, at 95 % if nothing is said."""
    rng = np.random.default_rng(3)
    snapshot, sizes = np.repeat(np.arange(30), 4), np.tile([2, 8, 9, 32], 30)
    mine = measured("b", snapshot, 1 + rng.exponential(1, 120), n_nodes=sizes)
    other = measured("a", snapshot, 1 + rng.exponential(1, 120), n_nodes=sizes)
    for options, confidence in (({}, 0.95), ({"confidence": 0.5}, 0.5)):
        table = speedup_table(
            {"a": other, "b": mine}, "a", ["pairs"], np.random.default_rng(1), **options
        )
        draws = np.random.default_rng(1)
        for row, (low, high) in zip(table.rows, [(2, 8), (9, 32)], strict=True):
            rows = (sizes >= low) & (sizes <= high)
            want = ratio_of_stretches(
                mine, other, draws, of_mine=rows, of_reference=rows, confidence=confidence
            )
            assert (row.min_nodes, row.max_nodes) == (low, high)
            assert (row.ratio, row.ratio_low, row.ratio_high) == (want.ratio, want.low, want.high)
            assert want.n_jobs == 60


def test_table_by_pattern_and_class():
    """Two patterns, two classes; a class without jobs on one side is left out; a pattern that
    was never seen is marked as not known."""
    reference = measured("a", [0, 0, 1], [2.0, 4.0, 2.0], [0, 0, 0], [4, 20, 4])
    mine = measured("b", [0, 0, 1], [1.0, 4.0, 1.0], [0, 0, 0], [4, 100, 4])
    table = speedup_table(
        {"a": reference, "b": mine}, "a", ["halo3d", "pairs"], np.random.default_rng(1)
    )
    rows = {(r.pattern, r.min_nodes): r for r in table.rows}
    assert set(rows) == {("halo3d", 2), ("pairs", 2)}
    assert rows["halo3d", 2].ratio == pytest.approx(0.5)
    pairs = rows["pairs", 2]
    assert (pairs.ratio, pairs.ratio_low, pairs.ratio_high) == NOT_KNOWN
    with pytest.raises(NetcosimError, match="reference policy 'c' was not measured"):
        speedup_table({"a": reference}, "c", ["halo3d"], np.random.default_rng(1))


def test_what_one_snapshot_alone_has_seen_has_no_interval():
    """Its class is left to the nearest one; a pattern of one snapshot has a ratio without one.
    Drawing one snapshot again and again gave 0.88 (0.88 to 0.88)."""
    reference = measured("a", [0, 1, 1], [2.0, 2.0, 4.0], [0, 0, 1], [4, 4, 20])
    mine = measured("b", [0, 1, 1, 1], [1.0, 1.0, 3.0, 1.0], [0, 0, 1, 1], [4, 4, 20, 40])
    alone = ratio_of_stretches(
        mine,
        reference,
        np.random.default_rng(1),
        of_mine=mine.share == 1,
        of_reference=reference.share == 1,
    )
    assert alone == Ratio(0.5, None, None, 1)
    table = speedup_table(
        {"a": reference, "b": mine}, "a", ["halo3d", "pairs"], np.random.default_rng(1)
    )
    assert table.rows == (
        SpeedupRow("halo3d", 2, 8, "b", 0.5, None, None),
        SpeedupRow("pairs", 2, 1 << 30, "b", 0.5, None, None),
    )
    sizes = np.array([1, 4, 40], dtype=np.int32)
    np.testing.assert_array_equal(table.ratios("pairs", "b", sizes), [1, 0.5, 0.5])
    with pytest.raises(NetcosimError, match="'low': the ratio of pairs under 'b' has no interval"):
        table.ratios("pairs", "b", sizes, "low")


@pytest.mark.parametrize(("n_jobs", "known"), [(2, False), (4, False), (5, True)])
def test_few_jobs_at_many_snapshots_have_no_interval(n_jobs, known):
    """`judge` on the first two jobs of a log printed 9.7 % (9.7 to 9.7) from 20 snapshots.

    The side with fewer jobs counts.
    """
    sides = []
    for name, n, stretch in (("b", n_jobs, 0.9), ("a", 5, 1.0)):
        side = measured(name, np.repeat(np.arange(20), n), np.full(20 * n, stretch))
        sides.append(replace(side, job=np.arange(20 * n) % n))
    found = ratio_of_stretches(*sides, np.random.default_rng(1))
    assert found.ratio == pytest.approx(0.9)
    assert (found.low is not None, found.high is not None) == (known, known)


def test_a_class_of_one_snapshot_takes_the_nearest_one():
    """Large jobs were seen in one snapshot alone: they get the small ones' ratio."""
    reference = measured("a", [0, 1, 1], [2.0, 2.0, 4.0], None, [4, 4, 20])
    mine = measured("b", [0, 1, 1], [1.0, 1.0, 4.0], None, [4, 4, 20])
    table = speedup_table({"a": reference, "b": mine}, "a", ["pairs"], np.random.default_rng(1))
    assert [(row.min_nodes, row.ratio) for row in table.rows] == [(2, 0.5)]


def test_yardsticks_of_another_network_are_the_measure_there():
    """Times are those of the machine; what they are divided by is told."""
    result = schedule([16, 12], [100.0, 100.0])
    other = make_routing(TOPOLOGY, "valiant")
    there = baselines(other)
    share = np.zeros(2, dtype=np.int64)
    plain = measure(result, share, baselines(), n_snapshots=1)
    told = measure(result, share, baselines(), n_snapshots=1, alone=there)
    np.testing.assert_array_equal(told.time_s, plain.time_s)
    assert told.baseline_s.tolist() == [
        there.times_s((0, n, 1.0, b""))[1] for n in told.n_nodes.tolist()
    ]
    assert (told.baseline_s != plain.baseline_s).all()


def measure(result, share, said, *, n_snapshots, alone=None):
    """Stretches of a schedule on the network of the yardsticks, over these or others."""
    side = Side(result, said.network)
    fraction = np.ones(len(share))
    communications, at_once = said.communications, {"together": ALWAYS}
    study = Study({"it": side}, "it", communications, share, fraction, n_snapshots, **at_once)
    return stretches(study, said if alone is None else alone, SerialExecutor())["it"]


def baselines(routing=ROUTING, message_bytes=2000):
    network = SharedNetwork(routing, task_mapping="in-order", seed=7)
    return IsolatedBaselines(network, [Communication("all-to-all", message_bytes)], by_share=False)


def test_a_job_alone_on_the_first_nodes_is_its_own_yardstick():
    """Under "simple" a job alone on the machine sits where its yardstick sits: stretch 1."""
    result = schedule([12], [100.0])
    found = measure(result, np.zeros(1, dtype=np.int64), baselines(), n_snapshots=3)
    np.testing.assert_array_equal(found.stretch, np.ones(3))
    assert found.snapshot.tolist() == [0, 1, 2]
    # injection, ejection, and the routers' links to each of the 11 others
    hops = 12 * 11 * (2 + mean_hops(12))
    assert found.packet_hops == pytest.approx(3 * hops)


def mean_hops(n):
    """Router-to-router hops from a node to the n - 1 others, on average, all-to-all in groups."""
    shape = TOPOLOGY.shape
    total = 0
    for s in range(n):
        for d in range(n):
            if s != d:
                total += hops_between(shape, s // shape.p, d // shape.p)
    return total / (n * (n - 1))


def hops_between(shape, r, t):
    if r == t:
        return 0
    if r // shape.a == t // shape.a:
        return 1
    src, dst = r // shape.a, t // shape.a
    leave = shape.global_router(src, dst, 0)
    enter = shape.global_router(dst, src, 0)
    return (r != leave) + 1 + (enter != t)


def test_a_job_sends_the_same_in_all_snapshots_and_chance_on_the_way_is_new():
    """One job all the time, partners and task mapping random: three times the same seconds by
    minimal routing, three others by Valiant's. Another seed gives other partners."""
    result = schedule([30], [100.0])

    def times(name, seed):
        network = SharedNetwork(make_routing(TOPOLOGY, name), seed=seed)
        said = IsolatedBaselines(network, [Communication("pairs", 50_000)], by_share=False)
        return measure(result, np.zeros(1, dtype=np.int64), said, n_snapshots=3).time_s.tolist()

    assert len(set(times("minimal", 1))) == 1
    assert len(set(times("valiant", 1))) == 3
    assert times("valiant", 1) == times("valiant", 1)
    assert times("minimal", 2)[0] != times("minimal", 1)[0]


def test_isolated_times_beside_neighbours_are_drawn_anew_in_each_snapshot():
    """One job at three snapshots: one time by minimal routing, three by Valiant's."""
    result, share = schedule([30], [100.0]), np.zeros(1, dtype=np.int64)
    for name, n_times in (("minimal", 1), ("valiant", 3)):
        network = SharedNetwork(make_routing(TOPOLOGY, name), seed=1)
        alone = IsolatedBaselines(network, [Communication("pairs", 50_000)], by_share=False)
        side, at_once = Side(result, network), {"together": ALWAYS}
        study = Study({"it": side}, "it", alone.communications, share, np.ones(1), 3, **at_once)
        found = neighbours(study, "it", stretches(study, alone, SerialExecutor())["it"])
        assert len({*found.alone_s.tolist()}) == n_times


def test_a_measured_job_draws_by_its_id():
    """The second job of the list, number 9 in the log, sends what 9 sends, on "simple"'s nodes."""
    jobs = replace(jobs_of([2, 30], [100.0, 100.0], None), job_id=np.array([4, 9]))
    policy = make_policy(TOPOLOGY, "simple", np.random.default_rng(1))
    result = simulate_queue(jobs, policy, rng=np.random.default_rng(2), keep_placements=True)
    network = SharedNetwork(ROUTING, seed=7)
    said = Communication("pairs", 50_000)
    alone = IsolatedBaselines(network, [said], by_share=False)
    found = measure(result, np.zeros(2, dtype=np.int64), alone, n_snapshots=1)
    (snapshot,) = result.snapshots(snapshot_times(result, 1))
    both = [
        PlacedJob(job_id, said, place.nodes)
        for job_id, place in zip((4, 9), snapshot.placements, strict=True)
    ]
    assert found.time_s.tolist() == Ensemble(network, both).packets().time_s.tolist()
    both[1] = replace(both[1], job_id=1)
    assert found.time_s.tolist() != Ensemble(network, both).packets().time_s.tolist()


def test_single_node_jobs_send_nothing_and_are_left_out():
    result = schedule([1, 1, 6], [100.0, 100.0, 100.0])
    found = measure(result, np.zeros(3, dtype=np.int64), baselines(), n_snapshots=2)
    assert found.job.tolist() == [2, 2]


@pytest.mark.parametrize(("policy", "rounds_up"), [("jigsaw", False), ("laas", True)])
def test_isolated_jobs_are_measured_on_their_own_links(policy, rounds_up):
    """Every job of a snapshot takes as long as alone in its partition, on the nodes that it asked
    for: those that LaaS adds stay silent."""
    topology = fat_tree(8)
    sizes = [37, 22, 13, 9, 5]
    rng = np.random.default_rng(1)
    result = simulate_queue(
        jobs_of(sizes, [100.0] * len(sizes), None),
        make_policy(topology, policy, rng),
        rng=rng,
        keep_placements=True,
    )
    alone_there = baselines(make_routing(topology, "d-mod-k"), 20_000)
    [said] = alone_there.communications
    share = np.zeros(len(sizes), dtype=np.int64)
    found = measure(result, share, alone_there, n_snapshots=1)
    (snapshot,) = result.snapshots(snapshot_times(result, 1))
    assert sum(len(place.links) > 0 for place in snapshot.placements) >= 3
    assert bool(np.any(result.allocated_nodes > sizes)) == rounds_up
    for job, place in zip(snapshot.jobs.tolist(), snapshot.placements, strict=True):
        mine = PlacedJob(job, said, place.nodes[: sizes[job]], partition=place)
        alone = Ensemble(alone_there.network, [mine]).packets()
        assert found.time_s[found.job == job] == alone.time_s
