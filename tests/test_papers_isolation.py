"""The verdict: its arithmetic by hand, its points whatever runs them, its queues closed form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.build import build_machine
from experiments.config_load import config_from
from experiments.papers.isolation import point as isolation_point
from experiments.papers.isolation.cases import CASES, PATTERNS, Case, machines
from experiments.papers.isolation.paper import PAPER
from experiments.papers.isolation.point import (
    measure_points,
    measure_snapshot,
    measured_pairs,
    points_of,
    queue_point,
    run_queue,
)
from experiments.papers.isolation.queues import LOGGED, sensitivity_points
from experiments.papers.isolation.tables import (
    QUANTILES,
    SHARES,
    counting_share,
    job_shares,
    speedups,
    square_law,
    verdict_tables,
)
from experiments.papers.kit.logs import LOGS_VARIABLE
from experiments.papers.paper import Options
from experiments.points import canonical_json
from experiments.schedules import queues_of
from netcosim.reproduce import reproduce
from netsim.errors import NetcosimError
from queuesim.communication import Communication
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.pairs import Pair, taken_off
from queuesim.scenario_fit import assumed_shares, break_even, distances, share_needed
from queuesim.snapshots import size_class
from queuesim.statistics import mean_of_snapshots, weighted_quantiles

QUICK = Options(scale="quick")
MAIN = CASES["fattree"][0].name


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv(LOGS_VARIABLE, raising=False)


def made_pairs(ratio, n_nodes, *, duty_case=MAIN, snapshots=4):
    """Pairs with chosen ratios; alone under the reference a job takes half as long."""
    [duty] = {case.duty for case in CASES["fattree"] if case.name == duty_case}
    labels = {"network": "fattree", "log": "made", "case": duty_case}
    rows = []
    for i, (one, size) in enumerate(zip(ratio, n_nodes, strict=True)):
        times = (100e-6, 50e-6, 100e-6 * one, 100e-6 * one)
        pair = Pair(i % snapshots, "jigsaw", i + 1, size, 9.0, "pairs", 5, duty, *times)
        rows.append({**labels, **pair.row()})
    return measured_pairs({"pairs": pd.DataFrame(rows)})


def test_run_times_from_communication_times():
    """30 % of the time communicating, in two thirds of the time: a tenth less; 10 % less needs
    just that share, 20 % more than there is at a ratio of 0.9."""
    assert taken_off(2 / 3, 0.3) == pytest.approx(0.1)
    assert taken_off(1.5, 0.2) == pytest.approx(-0.1)
    assert share_needed(0.1, 2 / 3) == pytest.approx(0.3)
    assert share_needed(0.2, 0.9) == pytest.approx(2.0)
    assert np.isnan(share_needed(0.1, 1.0))


@pytest.mark.parametrize("scenario", ["none", "5%", "10%", "20%", "V1", "V2", "Random"])
def test_a_scenario_is_nearest_to_itself(scenario):
    """Each job once for each draw, in any order: the distribution is the scenario's own."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(2, 700, 40)
    mine = assumed_shares(sizes)[scenario]
    order = rng.permutation(mine.size)
    every = np.tile(sizes, len(mine))[order]
    weights = every * 1.0
    found = distances(mine.ravel()[order], assumed_shares(every), weights, size_class(every))
    assert min(found, key=found.__getitem__) == scenario
    assert found[scenario] == pytest.approx(0, abs=1e-9)
    assert sum(far < 1e-9 for far in found.values()) == 1


def test_random_draws_are_the_scenarios_own():
    """V2 at 512 nodes: bins 0-10, 10-20, 10-30 %, the upper ends; Random: 0, 5, 15, 30 %."""
    found = assumed_shares([512])
    np.testing.assert_allclose(np.sort(found["V2"][:, 0]), np.repeat([0.1, 0.2, 0.3], 4))
    np.testing.assert_allclose(np.sort(found["Random"][:, 0]), np.repeat([0, 0.05, 0.15, 0.3], 3))


def test_distances_by_hand():
    """5 % against 4 and 10 %: 1 and 5 points apart; by 3 nodes and 1: 2. Against 10 and 4 %
    assumed there is no distance within a class, but 6 points if each is a class of its own."""
    five = {"5%": np.array([[0.05, 0.05]])}
    assert distances([0.04, 0.10], five, [3, 1], [0, 0])["5%"] == pytest.approx(2)
    swapped = {"x": np.array([[0.10, 0.04]])}
    assert distances([0.04, 0.10], swapped, [1, 1], [0, 0])["x"] == pytest.approx(0)
    assert distances([0.04, 0.10], swapped, [1, 1], [0, 1])["x"] == pytest.approx(6)


def test_means_and_intervals_of_snapshots():
    rng = np.random.default_rng(1)
    found = mean_of_snapshots([1, 3, 5, 9], [1, 1, 2, 4], [0, 0, 1, 2], rng)
    assert found.value == pytest.approx(50 / 8)
    assert found.low <= found.value <= found.high
    alike = mean_of_snapshots([1, 3, 1, 3], np.ones(4), [0, 0, 1, 1], rng)
    assert tuple(alike) == pytest.approx((2, 2, 2))


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1, max_size=30),
)
def test_weighted_quantiles_are_those_of_repeated_values(rows):
    values, weights = np.array(rows).T
    repeated = np.repeat(values, weights)
    np.testing.assert_array_equal(
        weighted_quantiles(values, weights, QUANTILES),
        np.quantile(repeated, QUANTILES, method="inverted_cdf"),
    )


def test_where_jobs_compute_too_run_times_are_compared():
    """Run times fell by 40 %, and so it is told whatever share of them was communication."""
    half = next(case for case in CASES["fattree"] if case.duty == 0.5)
    row = made_pairs([0.6], [16], duty_case=half.name).iloc[0]
    assert counting_share(row["duty"], "0.5") == (1.0, 1.0)
    assert taken_off(row["run_ratio"], 1.0) == pytest.approx(0.4)


def test_large_gains_reach_the_queue():
    """At f = 0.3 contention makes a run of 10 into one of 20: half of it goes, more than the
    0.3 that communicates alone. Both tables and queues must take a run ratio of 0.5 as it is."""
    live = next(case for case in CASES["fattree"] if case.duty == 0.3)
    pairs = made_pairs([0.5] * 6, [16] * 6, duty_case=live.name, snapshots=3)
    verdict, scenarios, _ = verdict_tables(pairs, 1)
    np.testing.assert_allclose(verdict["taken_off"], 50)
    np.testing.assert_allclose(verdict["job_speedup"], 2)
    assert scenarios["share_needed"].isna().all()
    table = speedups(pairs, "fattree", "made", live.name, 1)
    run = run_of(table=table, share=counting_share(live.duty, "0.3"))
    jobs = jobs_of()
    single = float(jobs.run_time_s[jobs.n_nodes == 1].sum()) / len(jobs)
    assert run["mean_run_s"] == pytest.approx((run_of()["mean_run_s"] + single) / 2)


def run_of(**run_times):
    """A row on Jigsaw's queue of the small machine."""
    machine = machines("fattree", QUICK)[0]
    [row] = run_queue(queue_point(machine, "jigsaw", "x", 1, **run_times))["runs"]
    return row


def jobs_of():
    point = queue_point(machines("fattree", QUICK)[0], "jigsaw", "x", 1)
    config = config_from(point["config"])
    return queues_of(config, build_machine(config.machine).topology).jobs


def test_verdict_on_made_numbers():
    """Every job communicates in two thirds of the time: with f = 0.3 exactly the scenario of
    10 %, with f = 0.1 a third of it; f = 0.3 is what 10 % needs."""
    pairs = made_pairs([2 / 3] * 12, [16] * 12)
    verdict, scenarios, boxes = verdict_tables(pairs, 1)
    told = verdict.set_index(["share", "weighting"])
    for weighting in ("node-hours", "jobs"):
        assert told.loc[("0.3", weighting), "taken_off"] == pytest.approx(10)
        assert told.loc[("0.3", weighting), "job_speedup"] == pytest.approx(1 / 0.9)
        assert told.loc[("0.3", weighting), "nearest"] == "10%"
        assert told.loc[("0.3", weighting), "distance"] == pytest.approx(0)
        assert told.loc[("0.1", weighting), "taken_off"] == pytest.approx(10 / 3)
        assert told.loc[("0.5", weighting), "job_speedup"] == pytest.approx(1.2)
    ten = scenarios[(scenarios["scenario"] == "10%")]
    np.testing.assert_allclose(ten["share_needed"], 0.3)
    assert (boxes["jobs"] == 12).all()
    drawn = job_shares(np.arange(1000), SHARES["mix"], 1)
    assert 0.1 <= drawn.min() < 0.11
    assert 0.49 < drawn.max() <= 0.5


def test_the_square_law_of_made_numbers():
    """Half the run time goes while all communicate, an eighth at half the time: 50 f^2 both."""
    half = next(case for case in CASES["fattree"] if case.duty == 0.5)
    pairs = pd.concat(
        [made_pairs([0.5] * 4, [16] * 4), made_pairs([0.875] * 4, [16] * 4, duty_case=half.name)]
    )
    law = square_law(verdict_tables(pairs, 1)[0])
    assert law["share"].tolist() == [0.5, 1.0]
    np.testing.assert_allclose(law["coefficient"], 50)


def test_speedups_for_the_queue():
    """Means by class; a class seen in one snapshot alone is left to its neighbours."""
    pairs = made_pairs([0.5, 0.7, 0.9, 0.9, 0.2], [16, 16, 64, 64, 5], snapshots=5)
    table = speedups(pairs, "fattree", "made", MAIN, 1)
    sizes = np.array([16, 64, 5, 1], dtype=np.int32)
    found = table.ratios("pairs", "jigsaw", sizes)
    assert found == pytest.approx([0.6, 0.9, 0.6, 1.0])
    # a pattern never seen has the mean of all
    assert table.ratios("fft3d", "jigsaw", sizes[:1]) == pytest.approx([3.2 / 5])


def test_patterns_send_what_is_asked():
    point = measure_points(machines("fattree", QUICK)[0], CASES["fattree"][0], 1)[0]
    for entry in point["config"]["communication"]["mix"]:
        for n in (27, 64):
            said = Communication(
                entry["pattern"], rank_bytes=100_000, parameters=entry["parameters"]
            )
            program = said.program(n, np.random.default_rng(0))
            assert program.total_bytes / n == pytest.approx(100_000, rel=0.2), (said, n)


def test_break_even_by_hand():
    assert break_even([0, 5, 10], [1.2, 1.1, 0.9]) == pytest.approx(7.5)
    assert break_even([0, 5], [0.9, 0.8]) == 0
    assert np.isnan(break_even([0, 5], [1.2, 1.1]))


@pytest.mark.parametrize("network", ["fattree", "dragonfly"])
def test_a_point_does_not_depend_on_those_before(network):
    """Caches of a process must not show: the second snapshot first, alone or after the first."""
    machine = machines(network, QUICK)[0]
    points = measure_points(machine, CASES[network][0], 1)
    isolation_point._pairing.cache_clear()
    late = [measure_snapshot(point) for point in points][1]
    isolation_point._pairing.cache_clear()
    assert measure_snapshot(points[1]) == late
    rows = pd.DataFrame(late["pairs"])
    per_job = rows.groupby("job_id")[["reference_s", "n_nodes", "pattern"]].nunique()
    assert (per_job == 1).all().all()
    if network == "fattree":
        assert (rows["policy_s"] == rows["policy_alone_s"]).all()


def test_the_same_rows_on_one_process_and_on_two(tmp_path):
    frames = {}
    for jobs in (1, 2):
        done = reproduce(
            "isolation",
            "fattree",
            out_dir=tmp_path / str(jobs),
            jobs=jobs,
            options=QUICK,
            progress=False,
        )
        assert done is not None
        assert not done.failed
        frames[jobs] = done.analysis
    pd.testing.assert_frame_equal(frames[1].claims, frames[2].claims)
    for name, table in frames[1].tables.items():
        pd.testing.assert_frame_equal(table, frames[2].tables[name])
    proof = frames[1].tables["proof"]
    assert (proof["untouched"] == proof["jobs"]).all()
    assert proof["jobs"].sum() > 20


HEADLINES = {
    "d-mod-k": (5.127, 4.340, 4.637),
    "d-mod-k, communicating 30% of the time": (1.471, 1.244, 0.213),
    "adaptive": (2.844, 2.534, 2.227),
    "d-mod-k, reference on slurm-tree nodes, communicating 30% of the time": (2.957, 2.763, 1.761),
    "d-mod-k, reference on random nodes, communicating 30% of the time": (3.313, 3.167, 1.990),
    "d-mod-k, reference on random nodes, 4 ranks a node, communicating 30% of the time": (
        7.354,
        6.847,
        6.426,
    ),
    "d-mod-k, reference on slurm-tree nodes": (6.939, 6.663, 6.199),
    "d-mod-k, reference on random nodes": (10.008, 9.684, 9.306),
}
"""Percent off the run time at f = 0.3 by node-hours under TA, LaaS and Jigsaw."""


def test_headline_numbers_are_pinned():
    """The small machine with made jobs: any change of what is measured moves these."""
    points = {
        canonical_json(p): p for p in (*points_of("fattree", QUICK), *sensitivity_points(QUICK))
    }
    rows = [row for point in points.values() for row in measure_snapshot(point)["pairs"]]
    verdict = verdict_tables(measured_pairs({"pairs": pd.DataFrame(rows)}), 1)[0]
    verdict = verdict[(verdict["share"] == "0.3") & (verdict["weighting"] == "node-hours")]
    found = verdict.set_index(["case", "policy"])["taken_off"]
    assert set(found.index.get_level_values("case")) == set(HEADLINES)
    for case, numbers in HEADLINES.items():
        assert found[case][["ta", "laas", "jigsaw"]].tolist() == pytest.approx(numbers, abs=1e-3)


def test_queues_with_run_times_by_hand():
    """Communication in half the time, 30 % of it: every job of more than one node is 15 %
    shorter, as under no scenario; ratio 1 is as logged."""

    def table(ratio, low=None, high=None):
        low, high = low or ratio, high or ratio
        rows = tuple(
            SpeedupRow(pattern, 2, 1 << 30, "jigsaw", ratio, low, high) for pattern in PATTERNS
        )
        return SpeedupTable("baseline", rows)

    logged, share = run_of(), (0.3, 0.3)
    assert run_of(table=table(1.0), share=share) == logged
    assert run_of(scenario="none") == logged
    jobs = jobs_of()
    for bound, left in (("mean", 0.85), ("low", 0.76), ("high", 0.94)):
        found = run_of(table=table(0.5, 0.2, 0.8), share=share, bound=bound)
        factor = np.where(jobs.n_nodes > 1, left, 1.0)
        assert found["mean_run_s"] == pytest.approx(float((jobs.run_time_s * factor).mean()))


def test_the_queues_figure_measures_first(tmp_path):
    done = reproduce("isolation", "queues", out_dir=tmp_path, options=QUICK, progress=False)
    assert done is not None
    assert not done.failed
    runs = done.analysis.tables["queues"]
    base = runs[(runs["run_times"] == LOGGED) & (runs["network"] == "fattree")]
    assert (base["makespan_s_ratio"] == 1).all()
    fat = runs[runs["network"] == "fattree"].set_index(["policy", "run_times"])
    for policy in ("ta", "laas", "jigsaw"):
        run_s = fat.loc[policy]["mean_run_s"]
        assert run_s["20%"] < run_s["10%"] < run_s["5%"] < run_s["none"]
        assert run_s["none"] == base["mean_run_s"].iloc[0]
    assert any("Level-Spread" in claim for claim in done.analysis.claims["claim"])


def test_what_is_not_there_is_told():
    with pytest.raises(NetcosimError, match="none of this figure's job logs is there"):
        points_of("fattree", Options())
    with pytest.raises(NetcosimError, match="routing of isolation"):
        PAPER.check(Options(routings=("shortest-path",)))
    with pytest.raises(NetcosimError, match="setting"):
        PAPER.check(Options(settings={"colour": "red"}))
    assert Case("d-mod-k", "small", "random", 0.3).name == (
        "d-mod-k, small messages, random mapping, communicating 30% of the time"
    )
