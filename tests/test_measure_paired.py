"""The paired measure by hand: two jobs on one link, through every step of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from speedup_csv import write_speedups
from two_jobs import FIRST, SECOND, exchange, sides_of

from alloc.registry import make_policy
from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.paired import Paired
from cosim.measuring.pairing import Pairing
from cosim.measuring.pairs import Pair, speedup_rows, summary
from cosim.measuring.snapshots import SIZE_CLASSES, Study, size_class
from cosim.measuring.speedup_file import read_speedups
from cosim.measuring.tasks import SerialExecutor
from cosim.network.communication import ALWAYS, BY_SHARE, Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.registry import MEASURES
from cosim.run_times.measured_times import Measured
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from patterns.registry import PATTERNS

LINK_BPS = 5 * 10**9
NODE_BYTES = 256 * 1024
SEND_S = NODE_BYTES / LINK_BPS
NEAR = 0.03
"""Heads on the wires, and packets that take turns: so much beside the closed form."""

SHARED = {0: 10.0, 4: 10.0, 1: 30.0, 6: 30.0}
"""When single nodes come free: the first job gets 0 and 4, the second 1 and 6. D-mod-k sends
what is for 4 and for 6 up the same link of the leaf that has 0 and 1; the ways back differ."""
ONE_LEAF = {0: 10.0, 2: 10.0, 1: 30.0, 3: 30.0}

SWAP = exchange(NODE_BYTES)


def study(
    tmp_path, *, duty=None, seed=1, free=SHARED, taper=1.0, policies=("ta", "jigsaw"), only=None
):
    """A snapshot of two jobs of two nodes that exchange, on a tree of 16 nodes (leaves of 2).

    Without a duty they communicate all the time.
    """
    tree = fat_tree(4, bandwidth_Bps=LINK_BPS, taper=taper)
    network = SharedNetwork(make_routing(tree, "d-mod-k"), task_mapping="in-order", seed=seed)
    sides = sides_of(tmp_path, network, free, policies=("baseline", *policies))
    n = len(sides["baseline"].schedule.workload)
    duties, together = np.full(n, duty or 1.0), BY_SHARE if duty else ALWAYS
    share = np.zeros(n, int)
    return Study(sides, "baseline", [SWAP], share, duties, 1, only, together=together)


def pairs(found):
    rows = (
        Paired().measure(found, lambda: np.random.default_rng(1), SerialExecutor()).tables["pairs"]
    )
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def phase(job_id, seed):
    """Where in its first iteration a job begins, of 1: a draw of its own."""
    return np.random.default_rng([seed, job_id, 1]).random()


def apart(seed):
    """How much later the second begins than the first, in periods."""
    return phase(SECOND, seed) - phase(FIRST, seed)


def seeds(low, high):
    """Two seeds whose jobs begin so far apart (in periods, the shorter way round)."""
    found = [s for s in range(400) if low < abs(apart(s)) < high and abs(apart(s)) < 0.5]
    assert len(found) > 1
    return found[:2]


def test_two_jobs_on_one_link_take_twice_as_long_as_isolated_ones(tmp_path):
    found = pairs(study(tmp_path))
    assert sorted(set(found["job_id"].tolist())) == [FIRST, SECOND]
    assert (found["iterations"] == 5).all()
    alone = found["reference_alone_s"] / found["iterations"]
    np.testing.assert_allclose(alone, SEND_S, rtol=NEAR)
    np.testing.assert_allclose(found["stretch"], 2, rtol=NEAR)
    np.testing.assert_allclose(found["ratio"], 0.5, rtol=NEAR)
    np.testing.assert_allclose(found["interference_ratio"], 0.5, rtol=NEAR)
    np.testing.assert_allclose(found["locality_ratio"], 1, rtol=NEAR)
    assert (found["policy_s"] == found["policy_alone_s"]).all()


@pytest.mark.parametrize(("node_bytes", "often"), [(NODE_BYTES, 5), (64, 1)])
def test_a_job_repeats_as_often_as_its_bytes_take_a_link_time(tmp_path, node_bytes, often):
    """64 bytes take 13 ns of a link and more than ten times as long on their way: once."""
    found = replace(study(tmp_path), communications=[exchange(node_bytes)])
    [index] = np.flatnonzero(found.sides["ta"].schedule.workload.job_id == FIRST).tolist()
    count, once_s = Pairing(found, 5, 32).repeat(index)
    assert count == often
    assert (once_s > 10 * node_bytes / LINK_BPS) == (often == 1)


def test_jobs_on_links_of_their_own_do_not_feel_each_other(tmp_path):
    """The second on nodes 1 and 3: what is for 3 goes up the other link."""
    found = pairs(study(tmp_path, free={0: 10.0, 4: 10.0, 1: 30.0, 3: 30.0}))
    assert (found["reference_s"] == found["reference_alone_s"]).all()
    assert (found["stretch"] == 1).all()


def test_a_job_alone_has_no_effect_of_others(tmp_path):
    """Only the first job runs at the instant: nothing to isolate it from, under any policy."""
    whole = study(tmp_path, policies=("ta", "slurm-tree"))
    pairing = Pairing(whole, 5, 32)
    [index] = np.flatnonzero(whole.sides["ta"].schedule.workload.job_id == FIRST).tolist()
    together = {name: pairing.together(name, [index], 0) for name in pairing.gathered}
    for pair in pairing.pairs(pairing.compared(0, [index], together)):
        assert pair.stretch == 1
        assert pair.interference_ratio == 1
        assert pair.ratio == pytest.approx(pair.locality_ratio, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_job_alone_communicates_for_its_share_of_the_time(tmp_path, share):
    """An iteration takes t / f alone: it computes for t (1 / f - 1), before it sends for t."""
    found, whole = pairs(study(tmp_path, duty=share)), pairs(study(tmp_path))
    send_s = whole["reference_alone_s"] / whole["iterations"]
    alone_s = found["reference_alone_s"] / found["iterations"]
    # computing is in whole tenths of a microsecond, and a lone iteration starts cold
    np.testing.assert_allclose(alone_s, send_s / share, rtol=0.01)
    assert (found["duty"] == share).all()


def test_jobs_that_never_communicate_are_left_out(tmp_path):
    """Of two jobs the one that computes all the time is on no link, and none can disturb it."""
    half = study(tmp_path, duty=1.0)
    half.fraction[half.sides["ta"].schedule.workload.job_id == SECOND] = 0.0
    found = pairs(half)
    assert set(found["job_id"].tolist()) == {FIRST}
    assert (found["stretch"] == 1).all()


@pytest.mark.parametrize("seed", seeds(0.35, 0.5))
def test_jobs_that_never_send_at_once_do_not_feel_each_other(tmp_path, seed):
    """At f = 0.3, begun more than 0.3 and less than 0.7 of a period apart."""
    found = pairs(study(tmp_path, duty=0.3, seed=seed))
    assert (found["reference_s"] == found["reference_alone_s"]).all()


@pytest.mark.parametrize("seed", [*seeds(0.02, 0.08), *seeds(0.15, 0.25)])
def test_jobs_that_meet_in_part_feel_each_other_in_part(tmp_path, seed):
    """The one sends alone for d, then both share the link: an iteration sends for 2 t - d.

    The second begins d later and ends d later, so it is the same in every iteration. What a
    leaf of their own (the tree rule finds one) takes off is 1 - (c + t) / (c + 2 t - d), with
    computing c = t (1 / f - 1).
    """
    policies = ("slurm-tree",)
    two = study(tmp_path, duty=0.3, seed=seed, free=ONE_LEAF, taper=0.5, policies=policies)
    measurement = Paired().measure(two, lambda: np.random.default_rng(1), SerialExecutor())
    found = measurement.tables["pairs"]
    period_s = found[0]["reference_alone_s"] / found[0]["iterations"]
    together_s = period_s + 0.3 * period_s - abs(apart(seed)) * period_s
    for row in found:
        assert row["policy_s"] == row["policy_alone_s"]
        assert row["reference_s"] / row["iterations"] == pytest.approx(together_s, rel=NEAR)
    expected = 100 * (1 - period_s / together_s)
    [told] = measurement.tables["paired"]
    assert told["taken_off_percent"] == pytest.approx(expected, abs=1.5)
    assert told["taken_off_percent_low"] is None
    # the run-time model's table says so of the whole run, whatever its communication share
    assert measurement.table.of_run_times
    [row] = measurement.table.rows
    assert 100 * (1 - row.ratio) == pytest.approx(told["taken_off_percent"])
    mix = CommunicationMix([PatternShare("bisection-pairing", 1.0, 0.3, 0.3)])
    jobs = two.sides["baseline"].schedule.workload
    policy = make_policy(fat_tree(4), "slurm-tree", np.random.default_rng(0))
    times = Measured(measurement.table, mix).prepare(jobs, policy, np.random.default_rng(0))
    work_s = [times.work_s(job) for job in range(len(jobs))]
    np.testing.assert_allclose(work_s, np.where(jobs.n_nodes > 1, row.ratio, 1.0) * jobs.run_time_s)


CONFIG = {
    "machine": {"family": "fattree", "radix": 8, "bandwidth": "5 GB/s"},
    "workload": {"synthetic": {"n_jobs": 80, "mean_nodes": 10}},
    "queue": {"policies": ["baseline", "slurm-tree", "jigsaw"], "run_time_model": "as-logged"},
    "communication": {
        "mix": [
            {"pattern": "pairs", "node_bytes": "64 KiB", "communication_fraction": [0.1, 0.5]},
            {"pattern": "fft3d", "node_bytes": "64 KiB", "communication_fraction": 0.3},
        ],
        "ranks_per_node": 2,
    },
    "run": {"measure": "paired", "snapshots": 3},
}


@cache
def paired():
    return result_tables(run())


def run(**sections):
    return run_cosim(config_from({**CONFIG, **sections}))


@pytest.mark.parametrize("routing", ["adaptive", "two-choice"])
def test_isolated_jobs_are_untouched_where_their_routes_are_chosen_too(routing):
    """A config that asks for it: a job's own links and its own chance, alone and in company."""
    machine = {**CONFIG["machine"], "routing": routing}
    queue = {"policies": ["baseline", "laas", "jigsaw"], "run_time_model": "as-logged"}
    tables = result_tables(run(machine=machine, queue=queue, run={**CONFIG["run"], "snapshots": 1}))
    assert [row["policy"] for row in tables["proof"]] == ["laas", "jigsaw"]
    for proof in tables["proof"]:
        assert proof["jobs"] == proof["untouched"] > 3
        assert proof["largest_difference_ps"] == 0


def test_a_config_measures_the_same_jobs_under_every_policy():
    """Pattern, repeats, duty and the reference's times are the job's; isolated ones take the same
    time alone and with others, to the picosecond."""
    tables = paired()
    by_job = {}
    for row in tables["pairs"]:
        mine = by_job.setdefault((row["snapshot"], row["job_id"]), {})
        mine[row["policy"]] = [
            row[k] for k in ("pattern", "iterations", "duty", "n_nodes", "reference_s")
        ]
        if row["policy"] == "jigsaw":
            assert row["policy_s"] == row["policy_alone_s"]
        whole = row["interference_ratio"] * row["locality_ratio"]
        assert whole == pytest.approx(row["ratio"], rel=1e-9)
    assert len(by_job) > 10
    for mine in by_job.values():
        assert set(mine) == {"slurm-tree", "jigsaw"}
        assert mine["slurm-tree"] == mine["jigsaw"]
    assert {row["duty"] for row in tables["pairs"] if row["pattern"] == "fft3d"} == {0.3}
    [proof] = tables["proof"]
    assert proof["policy"] == "jigsaw"
    assert proof["jobs"] == proof["untouched"] > 3
    assert proof["largest_difference_ps"] == 0
    first = tables["policies"][0]
    assert (first["communication_ratio"], first["measured_jobs"]) == (1.0, len(by_job))
    assert {row["ratio_of"] for row in tables["speedups"]} == {"run"}


def test_snapshots_one_by_one_are_those_of_one_run():
    whole = paired()["pairs"]
    parts = [
        row
        for number in range(3)
        for row in result_tables(
            run(run={"measure": "paired", "snapshots": 3, "only_snapshot": number})
        )["pairs"]
    ]
    assert parts == whole


def test_the_measure_changes_no_job_and_no_schedule():
    """Another measure measures the same jobs of the same schedules; that of a config that names
    none is "stretch"."""
    paired, stretch, plain = (
        run(run={"snapshots": 1, **more})
        for more in ({"measure": "paired"}, {"measure": "stretch"}, {})
    )
    for name, schedule in paired.schedules.items():
        np.testing.assert_array_equal(schedule.start_s, plain.schedules[name].start_s)
    first = "baseline"
    assert paired.measured[first].job.tolist() == stretch.measured[first].job.tolist()
    assert paired.measured[first].share.tolist() == stretch.measured[first].share.tolist()
    told, same = result_tables(stretch), result_tables(plain)
    assert told == same
    assert "pairs" not in told


def test_a_reference_elsewhere_is_measured_there():
    """Under adaptive routing jobs take another time than under D-mod-k; alone they are compared
    with the reference's alone."""
    own = {"policies": ["baseline", "jigsaw"], "run_time_model": "as-logged"}
    here = run(queue=own, run={"measure": "paired", "snapshots": 2})
    there = run(
        queue=own,
        run={"measure": "paired", "snapshots": 2},
        machine={**CONFIG["machine"], "routing": "adaptive"},
        reference={"machine.routing": "d-mod-k"},
    )
    rows = result_tables(there)["pairs"]
    assert {row["policy"] for row in rows} == {"baseline", "jigsaw"}
    mine = {(r["snapshot"], r["job_id"]): r for r in rows if r["policy"] == "jigsaw"}
    for row in result_tables(here)["pairs"]:
        assert mine[row["snapshot"], row["job_id"]]["reference_s"] == row["reference_s"]
    moved = [row["policy_s"] != row["reference_s"] for row in rows if row["policy"] == "baseline"]
    assert any(moved)


@pytest.mark.parametrize("pattern", ["all-to-all", "sub-a2a", "fft3d", "halo3d", "stencil4d"])
def test_a_rank_sends_what_is_asked(pattern):
    said = Communication(pattern, rank_bytes=100_000)
    for n in (27, 64):
        program = said.program(n, np.random.default_rng(0))
        assert program.total_bytes / n == pytest.approx(100_000, rel=0.2), n
    if PATTERNS[pattern].uses_rng:
        assert said.draws


def test_mistakes_are_told():
    with pytest.raises(NetcosimError, match="needs node_bytes in every entry"):
        run(communication={"mix": [{"pattern": "pairs", "message_bytes": 1000}]})
    with pytest.raises(NetcosimError, match="either message_bytes or node_bytes"):
        run(communication={"mix": [{"pattern": "pairs", "message_bytes": 1, "node_bytes": 2}]})
    cells = {"pattern": "fft3d", "node_bytes": 2000, "parameters": {"cells": 10}}
    with pytest.raises(NetcosimError, match=r"remove parameters\.cells"):
        run(communication={"mix": [cells]})
    with pytest.raises(NetcosimError, match=r"run\.measure: .*valid: paired, steady, stretch"):
        run(run={"measure": "pairs"})
    with pytest.raises(NetcosimError, match="only_snapshot = 3; must be below snapshots = 3"):
        run(run={"measure": "paired", "snapshots": 3, "only_snapshot": 3})
    assert set(MEASURES) == {"stretch", "paired", "steady"}


def made(ratio, n_nodes, snapshot, *, duty=1.0):
    """A job that takes 50 alone and 100 with others, ``ratio`` of that under the policy."""
    times = {"policy_s": 100 * ratio, "policy_alone_s": 100 * ratio}
    return Pair(snapshot, "jigsaw", snapshot, n_nodes, 9.0, "pairs", 5, duty, 100.0, 50.0, **times)


def test_ratios_come_apart_into_interference_and_locality():
    """Alone a job takes 50, with others 100; isolated 60: the ratio 0.6 is 0.5 by the others
    that are gone, times 1.2 by other nodes."""
    pair = made(0.6, 16, 0)
    assert (pair.ratio, pair.stretch, pair.run_ratio) == pytest.approx((0.6, 2.0, 0.6))
    assert pair.interference_ratio == pytest.approx(0.5)
    assert pair.locality_ratio == pytest.approx(1.2)


def test_where_jobs_compute_too_run_times_are_compared():
    """Half of 50 alone is computing: communication takes 75 of 100, then 35 of 60."""
    pair = made(0.6, 16, 0, duty=0.5)
    assert pair.ratio == pytest.approx(35 / 75)
    assert pair.run_ratio == pytest.approx(0.6)


def test_a_summary_weighs_by_node_hours():
    """Jobs of 96 nodes gain nothing, those of 32 gain 40 %: a tenth of the node-hours; at a
    share of 0.5 half of that."""
    both = [made(*job, i) for i, job in enumerate([(1.0, 96), (0.6, 32)] * 3)]
    for share, off in ((1.0, 10.0), (0.5, 5.0)):
        row = summary(both, [share] * 6, np.random.default_rng(1))
        assert row["taken_off_percent"] == pytest.approx(off)
        assert row["taken_off_percent_low"] <= off <= row["taken_off_percent_high"]
        assert row["ratio"] == pytest.approx(0.8)


def test_speedup_rows_are_means_by_class():
    """A class seen in one snapshot alone is left to its neighbours; a pattern never seen has the
    mean of all."""
    nodes, ratios = [16, 16, 64, 64, 5], [0.5, 0.7, 0.9, 0.9, 0.2]
    pairs = [
        {"pattern": "pairs", "n_nodes": n, "snapshot": k, "job_id": k, "run_ratio": ratio}
        for k, (n, ratio) in enumerate(zip(nodes, ratios, strict=True))
    ]
    rows = speedup_rows("jigsaw", pairs, ["pairs", "fft3d"], np.random.default_rng(1))
    assert [(r.pattern, r.min_nodes, r.ratio) for r in rows] == [
        ("pairs", 9, pytest.approx(0.6)),
        ("pairs", 33, pytest.approx(0.9)),
        ("fft3d", 2, pytest.approx(3.2 / 5)),
    ]


def test_size_classes():
    firsts = [SIZE_CLASSES[i][0] for i in size_class([2, 8, 9, 512, 513, 5000])]
    assert firsts == [2, 2, 9, 129, 513, 2049]


def test_a_file_says_what_its_ratios_are_of(tmp_path):
    rows = (SpeedupRow("pairs", 2, 8, "jigsaw", 0.9, None, None),)
    for whole in (False, True):
        table = SpeedupTable("baseline", rows, whole)
        write_speedups(table, tmp_path / "t.csv")
        assert read_speedups(tmp_path / "t.csv") == table
    text = (tmp_path / "t.csv").read_text().replace(",run", ",walk")
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(NetcosimError, match="ratio_of 'walk'; valid: communication, run"):
        read_speedups(tmp_path / "t.csv")
