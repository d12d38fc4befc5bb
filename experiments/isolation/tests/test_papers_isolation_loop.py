"""The figures loop and cab: their machines and factors, their tables by hand, a quick campaign."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cosim.parameters import CONTENDED, ISOLATED
from experiments.isolation import cab, loop
from experiments.kit.papers import Options
from experiments.kit.windows import over_windows, table_of, with_speedups
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.points import point_key
from queuesim.statistics import t_of_snapshots

QUEUE = {
    "workload": {"synthetic": {}},
    "queue": {"policies": ["ta"], "run_time_model": "as-logged"},
}
QUICK, FULL = Options(scale="quick"), Options()


def test_the_tree_of_18_and_4_is_cab() -> None:
    simulated, preset = (
        build_machine(checked_config({**QUEUE, "machine": machine}).machine).topology
        for machine in (cab.tree(18, 4), {"preset": "cab"})
    )
    for name in ("link_src", "link_dst", "link_bandwidth_Bps"):
        np.testing.assert_array_equal(getattr(simulated, name), getattr(preset, name))


def test_every_variant_of_cab_is_a_config_of_its_own() -> None:
    """One factor at a time; those that were there before do not count as another packing."""
    found = [p for p in cab.points(FULL) if p["labels"]["packing"] == 0]  # type: ignore[index]
    assert len({point_key(point) for point in found}) == len(found)
    told = {(p["labels"]["variant"], p["labels"]["f"]) for p in found}  # type: ignore[index]
    both = {(name, 0.3) for name in cab.VARIANTS} | {(name, 1.0) for name in cab.study["always"]}
    assert told == both


def test_cab_speed_ups_by_hand() -> None:
    """Two jobs a packing: the mean over jobs, and the base's over the same packings."""
    rows = [
        {"variant": variant, "f": 0.3, "packing": packing, "pattern": "pairs"}
        | {"reference_s": reference, "policy_s": 1.0}
        for variant, packing, reference in (
            *((cab.BASE, 0, 1.2), (cab.BASE, 0, 1.0), (cab.BASE, 1, 1.4), (cab.BASE, 1, 1.6)),
            *(("begin at once", 0, 1.1), ("begin at once", 0, 1.3)),
        )
    ]
    table = cab.speedups(pd.DataFrame(rows)).set_index(["variant", "pattern"])
    base, other = table.loc[(cab.BASE, "all")], table.loc[("begin at once", "all")]
    assert (base["speedup"], base["base"], base["paper"]) == pytest.approx((1.3, 1.3, 1.08))
    assert (other["speedup"], other["base"], other["most"]) == pytest.approx((1.2, 1.1, 1.3))
    assert np.isnan(base["low"])  # two packings: no interval
    assert cab.printed["speedups"][cab.CASE][cab.ALL] == 1.08


def test_means_over_windows_and_their_intervals() -> None:
    values = [1.0, 3.0, 2.0, 4.0]
    frame = pd.DataFrame({"log": "x", "window": range(4), "gain": values})
    [row] = over_windows(frame, ["gain"], "log").to_dict("records")
    mean = t_of_snapshots(values, np.ones(4), np.arange(4), least_samples=4)
    assert (row["gain"], row["gain_low"], row["gain_high"]) == mean
    assert row["windows"] == 4


def test_queues_with_a_table_that_halves_every_job() -> None:
    """All jobs of several nodes take half as long: so does a queue of nothing else, all at 0."""
    [first, *_] = loop.points(QUICK)
    content = dict(first["config"])  # type: ignore[call-overload]
    content["workload"] = {"synthetic": {"n_jobs": 40, "sizes": [4]}, "all_at_zero": True}
    content["queue"] = {"policies": ["baseline"], "run_time_model": "as-logged", "window": 50}
    content["run"] = {"seed": 1, "snapshots": 0}
    rows = [
        {"policy": "baseline", "pattern": entry["pattern"], "n_nodes": 4, "run_ratio": 0.5}
        | {"window": window, "snapshot": 0, "job_id": window}
        for entry in content["communication"]["mix"]
        for window in range(5)
    ]
    table = table_of(pd.DataFrame(rows), ["baseline"], [], 1)
    bounds = {"baseline": ["none", "mean", "low"]}
    point = {"config": content, "labels": {}, "speedups": table, "bounds": bounds}
    found = {row["bound"]: row for row in with_speedups(point)["queues"]}
    assert found["none"]["makespan_ratio"] == 1
    for bound in ("mean", "low"):
        assert found[bound]["makespan_ratio"] == pytest.approx(0.5, rel=1e-9)
        assert found[bound]["turnaround_ratio"] == pytest.approx(0.5, rel=1e-9)


@pytest.mark.full
def test_cab_in_quick(tmp_path, reproduced) -> None:
    done = reproduced("isolation", "cab")
    table = done.analysis.tables["cab"].set_index(["variant", "f", "pattern"])["speedup"]
    # isolation does not make jobs slower in the mean, and always communicating gains more
    assert (table.xs("all", level="pattern") > 1).all()
    assert table[(cab.BASE, 1.0, "all")] > table[(cab.BASE, 0.3, "all")]
    assert (tmp_path / "isolation-cab-quick.png").is_file()


@pytest.mark.full
def test_the_loop_in_quick(reproduced) -> None:
    done = reproduced("isolation", "loop")
    rounds = done.analysis.tables["rounds"]
    first = rounds[rounds["round"] == 1]
    assert (first[list(loop.MOVED)].abs().max() == 0).all()
    # before anything has answered both readings of the log have measured the same
    key = ["log", "reference", "policy", "round"]
    both = first.set_index([*key, "logged"])["taken_off_percent"].unstack()
    np.testing.assert_array_equal(both[CONTENDED].loc["made", "random"], both[ISOLATED].dropna())
    # as logged the reference's own schedule stands: a policy's answers with its nodes alone
    runs = done.analysis.tables["queues"]
    none = runs[runs["bound"] == "none"].groupby(["log", "policy", "at_zero"])["makespan_ratio"]
    assert (none.nunique() == 1).all()  # the three references have one schedule
