"""The fat-tree papers: their data, their points, their analyses on made-up numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fattree_stream import on_54_nodes, simulate, small_log

from experiments.jigsaw.figures import fig6_draw, printed
from experiments.jigsaw.paper import PAPER as JIGSAW
from experiments.jigsaw.why import distance
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.fat_tree_logs import THUNDER
from experiments.kit.logs import LOGS_VARIABLE, log_notes
from experiments.kit.papers import Analysis, Options
from experiments.kit.queues import READINGS, check_queues, reading_of, sweep_points
from netcosim.cli import main
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.points import point_key
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from netsim.topologies.fattree import xgft
from queuesim.observables.hops import average_pairwise_hops, least_hops
from queuesim.observables.registry import observed
from queuesim.site.bandwidth import bandwidth_by_class


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv(LOGS_VARIABLE, raising=False)


def test_the_papers_table_2_counts_each_start_and_end_once():
    """About two events a job of Thunder's 105,764 in every row, as the text says."""
    for counts in printed["table_2"]["counts"].values():
        assert sum(counts) == pytest.approx(2 * printed["table_1"]["thunder"][0], rel=0.001)


def test_hops_by_brute_force():
    topology, rng = xgft(3, 2, 3), np.random.default_rng(1)
    shape = topology.shape

    def apart(a, b):
        if shape.leaf_of(a) == shape.leaf_of(b):
            return 0
        return 2 if shape.pod_of(a) == shape.pod_of(b) else 4

    jobs = [rng.permutation(18)[:n].astype(np.int32) for n in (1, 2, 5, 11, 18)]
    ptr = np.cumsum([0, *(len(job) for job in jobs)])
    found = average_pairwise_hops(np.concatenate(jobs), ptr, shape)
    for job, simulated in zip(jobs, found, strict=True):
        pairs = [apart(a, b) for a, b in permutations(job.tolist(), 2)]
        assert simulated == pytest.approx(np.mean(pairs) if pairs else 0.0)
        assert least_hops(len(job), shape) <= simulated + 1e-12


def test_least_hops_is_the_least_of_all_subsets():
    from itertools import combinations

    shape = xgft(2, 2, 2).shape
    for n in range(1, 9):
        every = [np.array(c, dtype=np.int32) for c in combinations(range(8), n)]
        hops = [average_pairwise_hops(c, np.array([0, n]), shape)[0] for c in every]
        assert least_hops(n, shape) == pytest.approx(min(hops))


def test_all_policies_of_a_log_share_their_draws(tmp_path):
    """The same jobs take the same time under every isolating policy, whatever the scenario."""
    configs = [on_54_nodes(tmp_path, policy, scenario="Random") for policy in ("ta", "jigsaw")]
    runs = [result.end_s - result.start_s for result in map(simulate, configs)]
    assert np.allclose(runs[0], runs[1], rtol=0, atol=1e-9 * runs[0].max())
    base = simulate(on_54_nodes(tmp_path, "baseline", scenario="Random"))
    assert np.array_equal(base.end_s - base.start_s, base.workload.run_time_s)


def test_a_scenario_speeds_up_the_policies_that_the_config_names(tmp_path):
    """LC+S shares links, and the Jigsaw paper speeds it up all the same."""
    own, named = (
        simulate(on_54_nodes(tmp_path, "lc-s", scenario="20%", **more))
        for more in ({}, {"speeds_up": ["jigsaw", "lc-s"]})
    )
    assert np.array_equal(own.end_s - own.start_s, own.workload.run_time_s)
    shorter = np.where(named.workload.n_nodes > 4, 0.8, 1.0) * named.workload.run_time_s
    assert named.end_s - named.start_s == pytest.approx(shorter)
    with pytest.raises(NetcosimError, match=r"queue\.assumed\.speeds_up: .*jigsav.*jigsaw"):
        on_54_nodes(tmp_path, "lc-s", speeds_up=["jigsav"])


def test_rounding_is_a_loss_in_the_steady_state_but_not_by_allocated_nodes(tmp_path):
    """LaaS: by allocated nodes it stands above what was asked for; Jigsaw: both are one."""
    laas, jigsaw = (
        observed({policy: simulate(on_54_nodes(tmp_path, policy))}, ["runs"])["runs"][0]
        for policy in ("laas", "jigsaw")
    )
    assert laas["steady_allocated"] > laas["steady_utilisation"] + 0.005
    assert jigsaw["steady_allocated"] == pytest.approx(jigsaw["steady_utilisation"])


@pytest.mark.parametrize("name", READINGS)
def test_readings_of_ta_keep_their_rule(tmp_path, name):
    """At every start: who may share a leaf, and where a T1 job or a T2 job must go."""
    # Without backfilling no node is ever held, so where a job must go follows from who runs.
    fullest = name in ("ta-fullest-leaf", "ta-t3-whole-leaves")
    backfill = "none" if fullest else "easy"
    result = simulate(on_54_nodes(tmp_path, name, backfill=backfill))
    on_leaf = [set() for _ in range(18)]
    sizes = result.workload.n_nodes
    small = sizes <= 3
    for job, starts in zip(result.event_job, result.event_is_start, strict=True):
        nodes = result.placements.placement(int(job), 0).nodes
        leaves = set((nodes // 3).tolist())
        if starts and fullest:
            free = np.array([3 - sum(n for _, n in there) for there in on_leaf])
            wired = np.array([any(not small[other] for other, _ in there) for there in on_leaf])
            if small[job]:
                fits = free[free >= sizes[job]]
                assert [free[leaf] for leaf in leaves] == [fits.min()]
            elif sizes[job] <= 9:
                usable = np.where(wired, 0, free)
                in_pod = usable.reshape(6, 3).sum(axis=1)
                pod = int(np.flatnonzero(in_pod >= sizes[job])[0])
                order = sorted(range(3 * pod, 3 * pod + 3), key=lambda leaf: usable[leaf])
                order = [leaf for leaf in order if usable[leaf]]
                k = int(np.searchsorted(np.cumsum(usable[order]), sizes[job])) + 1
                assert leaves == set(order[:k])
        for leaf in leaves:
            here = (int(job), int(np.sum(nodes // 3 == leaf)))
            if starts and not small[job]:
                assert all(small[other] for other, _ in on_leaf[leaf])
                if not fullest or (name == "ta-t3-whole-leaves" and sizes[job] > 9):
                    assert on_leaf[leaf] == set()
            if starts and small[job] and name == "ta-one-type":
                assert all(small[other] for other, _ in on_leaf[leaf])
            on_leaf[leaf] ^= {here}
    assert not any(on_leaf)
    assert reading_of(name) == "ta"


def test_exact_walltimes_are_another_point_with_the_same_draws(tmp_path):
    plain, exact = (
        on_54_nodes(tmp_path, "lc-s", walltimes, scenario="V2", speeds_up=["lc-s"])
        for walltimes in ("logged", "exact")
    )
    assert point_key(plain.resolved()) != point_key(exact.resolved())
    # The stream has no walltimes: the run times stand in, so both schedules are one.
    assert np.array_equal(simulate(plain).start_s, simulate(exact).start_s)


def why_row(log, policy, steady, **others):
    row = {"log": log, "policy": policy, "walltimes": "logged", "window": 50}
    row |= {"backfill": "easy", "steady_utilisation": steady, "steady_allocated": steady}
    return row | {"makespan_s": 100.0} | others


def test_why_names_the_reading_that_closes_a_gap():
    rows = [
        why_row("atlas", "jigsaw", 0.89),
        why_row("atlas", "jigsaw", 0.90, backfill="easy-retest"),
        why_row("atlas", "jigsaw", 0.921, walltimes="exact", makespan_s=105.5),
        why_row("atlas", "baseline", 0.975),
        why_row("atlas", "baseline", 0.98, walltimes="exact"),
        why_row("atlas", "ta", 0.5),
    ]
    claims = JIGSAW.figures["fig6-why"].analyse({"runs": pd.DataFrame(rows)}, Options()).claims
    jigsaw, ta, makespan = claims.to_dict("records")
    assert jigsaw["condition"] == "jigsaw, exact walltimes, easy"
    assert [row["verdict"] for row in (jigsaw, ta, makespan)] == ["holds", "differs", "holds"]
    assert makespan["simulated"] == pytest.approx(5.5)


def made_jobs(seed):
    raw = {
        "machine": {"family": "fattree", "radix": 16},
        "workload": {"synthetic": {"n_jobs": 10_000, "mean_nodes": 16}, "larger_jobs": "drop"},
        "queue": {"policies": ["jigsaw"], "run_time_model": "as-logged"},
        "run": {"seed": seed},
    }
    config = checked_config(raw)
    return queues_of(config, build_machine(config.machine).topology).jobs


def test_bandwidth_classes_are_even_and_belong_to_the_job():
    needs_Bps = read_data("jigsaw")["policy_config"]["lc-s"]["queue.bandwidth_need_Bps"]
    needs = bandwidth_by_class(made_jobs(1), needs_Bps, np.random.default_rng(5))
    values, counts = np.unique(needs, return_counts=True)
    assert values.tolist() == [0.5e9, 1e9, 1.5e9, 2e9]
    assert np.all(np.abs(counts - 2500) < 4 * np.sqrt(2500 * 0.75))


def test_missing_logs_are_named_with_their_source():
    options = Options()
    with pytest.raises(NetcosimError, match=r"LLNL-Thunder.*l_llnl_thunder"):
        JIGSAW.figures["table2"].points(options)
    points = JIGSAW.figures["fig6"].points(options)
    assert {p["labels"]["log"] for p in points} == {"synth-16", "synth-22", "synth-28"}


def test_a_quick_look_takes_the_first_days_of_thunder(tmp_path):
    """The log is there, so it is used and what was cut is told; it is not called missing."""
    (tmp_path / "LLNL-Thunder-2007-1.1-cln.swf").write_text("; none\n")
    options = Options(scale="quick", settings={"logs": str(tmp_path)})
    points = JIGSAW.figures["table2"].points(options)
    found = {(p["labels"]["log"], p["config"]["workload"]["days"]) for p in points}
    assert found == {("thunder", 14.0)}
    assert log_notes((THUNDER,), options) == ("thunder: the first 14 days only",)
    full = Options(settings={"logs": str(tmp_path)})
    points = JIGSAW.figures["table2"].points(full)
    assert {p["config"]["workload"]["days"] for p in points} == {None}
    assert log_notes((THUNDER,), full) == ()


def test_logs_that_a_quick_look_leaves_out_are_not_called_missing(tmp_path):
    small_log(tmp_path)
    (tmp_path / "synth-28.csv").write_text("job,nodes,run_s,arrival_s\n")
    large = {"logs": ["synth-28-file"], "policies": ["baseline"]}
    options = Options(scale="quick", settings={"logs": str(tmp_path)})
    with pytest.raises(NetcosimError, match=r"quick leaves out .* \(synth-28-file\).*--scale full"):
        sweep_points("jigsaw", large, options)


def test_settings_that_the_papers_do_not_have_are_refused(tmp_path):
    with pytest.raises(NetcosimError, match="no such folder"):
        check_queues(Options(settings={"logs": str(tmp_path / "nothing")}))
    with pytest.raises(NetcosimError, match="endpoint"):
        check_queues(Options(settings={"endpoint": "firefly"}))
    with pytest.raises(NetcosimError, match="routing"):
        check_queues(Options(routings=("minimal",)))


def test_distance_to_a_range():
    assert [distance(x, 90, 91) for x in (88, 90, 90.5, 91, 93)] == [-2, 0, 0, 0, 2]


def fig6_frame(values):
    rows = [
        {
            "log": "thunder",
            "policy": policy,
            "steady_utilisation": value,
            "machine_nodes": 1458,
            "jobs": 1,
            "steady_allocated": value,
            "to_last_start": value,
            "utilisation": value,
            "makespan_s": 1.0,
            "notes": "",
        }
        for policy, value in values.items()
    ]
    return {"runs": pd.DataFrame(rows)}


def test_fig6_verdicts():
    values = {"baseline": 0.985, "ta": 0.86, "laas": 0.905, "jigsaw": 0.955, "lc-s": 0.97}
    good = JIGSAW.figures["fig6"].analyse(fig6_frame(values), Options())
    assert set(good.claims["verdict"]) == {"holds"}
    assert any("skipped thunder" in note for note in good.notes)
    bad = JIGSAW.figures["fig6"].analyse(fig6_frame({**values, "ta": 0.96}), Options())
    assert bad.claims["verdict"].tolist().count("differs") == 2  # its range and the order


def test_a_figure_end_to_end(tmp_path, reproduced, monkeypatch):
    """Points, store, claims, files: Table III's logs cut down to one small stream."""
    small_log(tmp_path)
    small = {
        "logs": ["synth-16-file", "thunder", "atlas"],
        "policies": ["ta", "laas", "jigsaw", "lc-s"],
    }
    table3 = JIGSAW.figures["table3"]
    cut = replace(table3, points=lambda options: sweep_points("jigsaw", small, options))
    monkeypatch.setitem(JIGSAW.figures, "table3", cut)
    done = reproduced("jigsaw", "table3", Options(settings={"logs": str(tmp_path)}))
    assert len(done.analysis.claims) == 4
    assert {path.name for path in done.files} == {
        "jigsaw-table3-claims.csv",
        "jigsaw-table3-timing.csv",
        "jigsaw-table3.html",
    }
    assert sum("skipped" in note for note in done.analysis.notes) == 2


def test_the_papers_ranges_are_in_the_panel() -> None:
    """Baseline 97 to 100 %, TA 85 to 88 %; another policy has no printed range."""
    table = pd.DataFrame(
        {
            "log": "thunder",
            "policy": ["baseline", "ta", "lc-s"],
            "steady_utilisation": [0.98, 0.86, 0.95],
        }
    )
    drawn = fig6_draw(Analysis(claims_frame([]), {"utilisation": table}), Options())
    lines = [c for c in drawn.axes[0].collections if c.get_label() == "paper"]
    heights = [sorted(path.vertices[0, 1] for path in line.get_paths()) for line in lines]
    assert heights == [[97, 100], [85, 88]]


def test_a_figure_compiles_what_it_computes_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 1 reads logs: no part of the kernels is compiled ahead of it."""
    kernels = tmp_path / "kernels"
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(kernels))
    assert main(["reproduce", "jigsaw", "table1", "--quiet", "--out", str(tmp_path / "out")]) == 0
    assert list(kernels.glob("compiled-*")) == []
