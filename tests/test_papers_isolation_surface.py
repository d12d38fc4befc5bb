"""Isolation's surface: its factors are keys, and small made jobs go through all of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cosim.isolation.design import Factor, most_confounded
from cosim.isolation.surface import Surface
from experiments.papers.isolation import surface, surface_points
from experiments.papers.paper import Options
from netcosim.reproduce import reproduce

QUICK = Options(scale="quick")


def test_every_factor_changes_the_config_of_a_point() -> None:
    sections = surface_points.SMALL.sections(None) or {}
    middle = {f.name: surface_points.middle(f) for f in surface_points.FACTORS}
    middle |= {"chance": "0", "log": "synth-small"}
    usual = surface_points.content(sections, middle, 1)
    for factor in (*surface_points.FACTORS, surface_points.CHANCE):
        other = factor.levels[-1] if factor.levels else factor.high
        changed = surface_points.content(sections, middle | {factor.name: other}, 1)
        assert changed != usual, factor.name


def test_stretches_are_balanced_over_all_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the part of a design that is computed: some logs on their own machines."""
    every = [(log, {}) for log in surface_points.LOGS]
    monkeypatch.setattr(surface_points, "logs", lambda *_, **__: every)
    for name in (surface_points.FILLING, surface_points.OWN):
        design = surface_points.design(name, Options())
        assert surface_points.CHANCE in design.factors
        columns = design.strata(design.places())
        assert most_confounded(columns) is None
        logs = next(f.levels for f in design.factors if f.name == "log")
        scaled = np.isin(np.array(logs)[columns["log"]], list(surface_points.SCALED))
        assert most_confounded({k: column[scaled] for k, column in columns.items()}) is None


def test_chance_scales_all_weights_alike_and_collectives_have_theirs() -> None:
    sections = surface_points.SMALL.sections(None) or {}
    v = {f.name: surface_points.middle(f) for f in surface_points.FACTORS}
    v |= {"collectives": 0.6, "log": "synth-small"}
    one, other = (surface_points.content(sections, v | {"chance": c}, 1) for c in "03")
    weights = [[e["weight"] for e in c["communication"]["mix"]] for c in (one, other)]
    np.testing.assert_allclose(np.array(weights[1]), 4 * np.array(weights[0]), rtol=1e-5)
    # the last entry stands in for the first where jobs are large
    mix = one["communication"]["mix"][:-1]
    part = sum(e["weight"] for e in mix if e["pattern"] in surface_points.COLLECTIVES)
    assert part == pytest.approx(0.6, abs=1e-5)
    assert sum(e["weight"] for e in mix) == pytest.approx(1, abs=1e-5)


def test_the_share_from_which_isolation_pays_is_where_the_surface_meets_the_break_even() -> None:
    """A plane by hand, of asinh(percent): 5 % from a share of 0.25 on, whatever else."""
    factors = [Factor("share", 0.05, 0.55), Factor("placement", levels=surface_points.PLACEMENTS)]
    factors += [Factor("drive", levels=surface.DRIVES)]
    steep = 4 * np.arcsinh(5.0)
    slope = steep * 0.5 / 2 / np.sqrt(3)  # of the orthonormal line over the range
    plane = Surface(factors, 2, (((0, 0),),), np.array([steep * 0.3, slope]), 9)
    names = [f"off {name}" for name in surface.ASSUMED]
    runs = pd.DataFrame({"log": ["synth-small"], "part": ["all"], **{n: [5.0] for n in names}})
    needed = pd.DataFrame(
        [{"log": "synth-small", "metric": "makespan", "break_even": 12.0, "low": 8.0, "high": 9.0}]
    )
    found = surface._crossings(plane, [plane] * 9, needed, runs)
    off = found[found["target"] == "5%"]
    np.testing.assert_allclose(off[["share", "low", "high"]], 0.25, atol=1e-3)
    needs = found[found["target"] == "break-even makespan"]["share"]
    np.testing.assert_allclose(needs, np.arcsinh(12.0) / steep, atol=1e-3)


def test_verdicts_by_intervals_and_where_logs_agree() -> None:
    """6 % whatever else. Needs of 3 to 5 % are met on both logs, of 5 to 7 % on one only
    and of 7 to 9 % not; what has no interval cannot be told."""
    factors = [Factor("share", 0.05, 0.55), Factor("placement", levels=surface_points.PLACEMENTS)]
    factors += [Factor("drive", levels=surface.DRIVES), Factor("log", levels=("a", "b"))]
    plane = Surface(factors, 2, (), np.arcsinh([6.0]), 9)
    needs = {"makespan": ((3, 5), (3, 5)), "turnaround": ((7, 9), (7, 9)), "x": ((3, 5), (5, 7))}
    needs |= {"y": ((5, 7), (5, 7)), "z": ((np.nan, np.nan), (3, 5))}
    rows = [
        {"log": log, "metric": metric, "break_even": 4.0, "low": low, "high": high}
        for metric, ends in needs.items()
        for log, (low, high) in zip("ab", ends, strict=True)
    ]
    # two points around it: the mean is what is half as much again and what is half of it
    scatter = np.arcsinh([9.0, 3.0])
    at = np.full((2, 4), 0.1)
    table = surface._verdicts(plane, [plane] * 9, pd.DataFrame(rows), at, scatter)
    table = table[table["share"] == 0.3].set_index(["metric", "log"])
    told = {
        metric: (*(table.loc[(metric, log), "verdict"].unique() for log in "ab"),)
        for metric in needs
    }
    assert {metric: tuple(map(str, np.concatenate(each))) for metric, each in told.items()} == {
        "makespan": ("pays", "pays"),
        "turnaround": ("does not pay", "does not pay"),
        "x": ("pays", surface.UNKNOWN),
        "y": (surface.UNKNOWN, surface.UNKNOWN),
        "z": (surface.UNKNOWN, "pays"),
    }
    agree = table.groupby("metric")["agree"].unique().map(list).to_dict()
    assert agree == {
        "makespan": [True],
        "turnaround": [True],
        "x": [False],
        "y": [False],
        "z": [False],
    }
    np.testing.assert_allclose(table["taken_off"], 6.0)
    np.testing.assert_allclose(table["mean"], 6.0)
    # points far above and as far below: the middle does not pay, the mean does
    wide = np.arcsinh([6.0]) + np.array([2.0, -2.0])
    table = surface._verdicts(plane, [plane] * 9, pd.DataFrame(rows), at, wide)
    assert (table["mean"] > 20).all()
    assert set(table.loc[table["metric"].eq("turnaround"), "verdict"]) == {surface.UNKNOWN}


def test_machines_of_their_own_size_against_the_surface() -> None:
    """Told 10 or 20 %; measured twice and four times as much: about 2.8 times in the middle."""
    ends = np.arcsinh([10.0, 20.0])
    line = np.array([ends.mean(), np.diff(ends)[0] / 2 / np.sqrt(3)])
    plane = Surface([Factor("share", 0.0, 1.0)], 2, (((0, 0),),), line, 9)
    own = pd.DataFrame({"log": "thunder", "share": [0.0, 0.0, 1.0, 1.0] * 2})
    own["taken_off_percent"] = [20.0, 40.0, 40.0, 80.0] * 2
    [row] = surface._full_size(plane, own).to_dict("records")
    assert row["r2"] == pytest.approx(0.5, abs=0.01)
    assert row["ratio"] == pytest.approx(2**1.5, rel=0.01)
    assert 1 < row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert row["factor"] == pytest.approx(np.exp(np.log(2) * np.sqrt(2.5)), rel=0.01)


def test_break_even_of_a_log_and_of_its_quarters() -> None:
    """Linear between scenarios; the interval is Student's over quarters, which differ."""
    rows = []
    for part, first in (("all", 1.05), *((f"quarter {i}", 1.04 + 0.01 * i) for i in range(4))):
        base = {"log": "thunder", "part": part, "policy": "baseline", "off": 0.0}
        rows.append(base | {"makespan_s": 100.0, "mean_turnaround_s": 10.0})
        for off, ratio in ((0.0, first), (10.0, first - 0.1)):
            one = {"log": "thunder", "part": part, "policy": "jigsaw", "off": off}
            rows.append(one | {"makespan_s": 100 * ratio, "mean_turnaround_s": 10 * ratio})
    off = {f"off {name}": float(i) for i, name in enumerate(surface.ASSUMED)}
    table = surface._break_even(pd.DataFrame([row | off for row in rows])).set_index("metric")
    assert table.loc["makespan", list(surface.ASSUMED)].tolist() == list(off.values())
    assert table.loc["makespan", "break_even"] == pytest.approx(5.0)
    assert table.loc["makespan", "quarter 3"] == pytest.approx(7.0)
    assert table.loc["makespan", "low"] < 5.5 < table.loc["makespan", "high"]


@pytest.mark.full
def test_the_figure_on_made_jobs(tmp_path) -> None:
    done = reproduce("isolation", "surface", out_dir=tmp_path, options=QUICK, progress=False)
    assert done is not None
    assert not done.failed
    tables = done.analysis.tables
    points = tables["points"].set_index(["design", "row"])
    assert len(points) == 2 * 6 + 12
    indices = tables["indices"]
    assert ((indices["first"] >= 0) & (indices["first"] <= indices["total"] + 1e-9)).all()
    screening = tables["screening"].set_index("factor")
    assert set(screening.index) == {*surface_points.QUICK, "chance"}
    assert (screening["mu_star"] >= screening["mu"].abs()).all()
    for name in ("curves", "crossings", "break-even"):
        assert len(tables[name])
    assert (tmp_path / "isolation-surface-quick.png").stat().st_size > 10_000
