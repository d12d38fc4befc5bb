"""Figs. 10 to 13 of the Level-Spread paper: 1000 random workloads, as dots about (1, 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.dragonfly_workloads.measures import (
    DEFAULT_MEASURE,
    LEVEL_SPREAD,
    MEASURES,
    QUADRANTS,
    dots_of,
    measure_column,
    quadrant,
    reductions,
)
from experiments.kit.frames import cells
from experiments.kit.panels import dots as draw_dots
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options
from experiments.level_spread.times import JOKANOVICS, STYLES, statistics_rng
from queuesim.statistics import Interval, mean_of_snapshots

printed = read_printed("level_spread")
BETTER, WORSE = "reference better (%)", "other better (%)"
MEAN_REDUCTION, BEST_REDUCTION = "mean reduction (%)", "best reduction (%)"
WITHIN_POINTS = 5.0
"""Of the printed shares and reductions, in percentage points."""
STATEMENTS = {
    BETTER: "Level-Spread strictly better{than} (%)",
    WORSE: "{other} strictly better (%)",
    MEAN_REDUCTION: "mean reduction by Level-Spread (%)",
    BEST_REDUCTION: "best reduction by Level-Spread (%)",
}
"""Description of a printed number."""
CORNERS = ((0, 0.97, 0.97), (1, 0.03, 0.03), (2, 0.03, 0.97), (3, 0.97, 0.03))
"""Index of a quadrant, and where its share is written."""


def means(dots: pd.DataFrame) -> dict[str, Interval]:
    """Return percent of dots in each quadrant, and the mean reduction over dots and kinds of jobs.

    Workloads are drawn for the intervals, each with all its policies, since the dots of one
    workload are not independent.
    """
    at = quadrant(dots)
    values = {f"{name} (%)": 100.0 * (at == i) for i, name in enumerate(QUADRANTS)}
    values[MEAN_REDUCTION] = reductions(dots).mean(axis=1)
    ones, workload = np.ones(len(dots)), dots["workload"]
    return {
        name: mean_of_snapshots(of, ones, workload, statistics_rng()) for name, of in values.items()
    }


def summary_row(dots: pd.DataFrame) -> dict[str, object]:
    """Return `means` with the ends of their intervals, extreme reductions and medians."""
    row: dict[str, object] = {"dots": len(dots)}
    for name, found in means(dots).items():
        row |= {name: found.value, f"{name} low": found.low, f"{name} high": found.high}
    row[BEST_REDUCTION] = float(reductions(dots).max())
    row["worst reduction (%)"] = float(reductions(dots).min())
    return row | {f"median {axis}": float(dots[axis].median()) for axis in ("x", "y")}


def _summaries(times: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each cell, measure and policy ("all": all baselines together)."""
    rows = []
    for cell, part in cells(times, *keys):
        for name, column in MEASURES.items():
            dots = dots_of(part, column, LEVEL_SPREAD)
            dots = dots[np.isfinite(dots["x"]) & np.isfinite(dots["y"])]
            sets = {"all": dots, **dict(iter(dots.groupby("policy", sort=False)))}
            for policy, mine in sets.items():
                rows.append(cell | {"measure": name, "policy": policy} | summary_row(mine))
    return pd.DataFrame(rows)


def _chosen(
    summary: pd.DataFrame, options: Options, policies: Sequence[str] = ("all",)
) -> list[dict[str, Any]]:
    """Return rows of these policies by the measure that is compared."""
    measure = options.measure or DEFAULT_MEASURE
    chosen = summary[summary["policy"].isin(policies) & (summary["measure"] == measure)]
    return chosen.to_dict("records")  # type: ignore[return-value]


def _number(row: Mapping[str, Any], column: str) -> Interval:
    """Return a column of a summary's row, with its interval where it has one."""
    return Interval(row[column], row.get(f"{column} low"), row.get(f"{column} high"))  # type: ignore[arg-type]


def mixed_analyse(
    frames: Mapping[str, pd.DataFrame],
    options: Options,
    *,
    where: str,
    policies: Sequence[str] = ("all",),
) -> Analysis:
    """Return quadrants, reductions and, policy by policy, which one is better where."""
    times = frames["times"]
    summary = _summaries(times, ["routing"])
    claims = []
    other, than = ("Jokanovic", " than Jokanovic") if policies == JOKANOVICS else ("a baseline", "")
    for row in _chosen(summary, options, policies):
        alone = "" if row["policy"] == "all" else f", {row['policy']}"
        condition = f"{row['routing']}{alone}"
        for column, paper in printed["random"].get(where, {}).items():
            check = ClaimBuilder("VI-D, abstract" if "reduction" in column else where, condition)
            what, computed = STATEMENTS[column].format(other=other, than=than), _number(row, column)
            claims.append(check.near(what, paper, computed, within=WITHIN_POINTS, unit="points"))
        better, worse = row[BETTER], row[WORSE]
        what = "Level-Spread strictly better more often than strictly worse"
        rule = f"percent better, above percent worse, {worse:.1f}"
        claims.append(ClaimBuilder(where, condition).holds(what, better > worse, rule, better))
    dots = dots_of(times, measure_column(options), LEVEL_SPREAD)
    return Analysis(claims_frame(claims), {"summary": summary, "dots": dots})


fig10_analyse = partial(mixed_analyse, where="Fig. 10, VI-D")
fig11_analyse = partial(mixed_analyse, where="Fig. 11, VI-E")
fig12_analyse = partial(mixed_analyse, where="Fig. 12, VI-F", policies=JOKANOVICS)
fig13_analyse = partial(mixed_analyse, where="Fig. 13, VI-F", policies=JOKANOVICS)


def single_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return how often a baseline is strictly better, pattern by pattern."""
    summary = _summaries(frames["times"], ["routing", "set"])
    claims = [
        ClaimBuilder("VI-D, text", row["routing"]).near(
            f"{row['set']} alone: a baseline strictly better (%)",
            printed["single"][row["set"]],
            _number(row, WORSE),
            within=WITHIN_POINTS,
            unit="points",
        )
        for row in _chosen(summary, options)
        if row["set"] in printed["single"]
    ]
    return Analysis(claims_frame(claims), {"summary": summary})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw one panel a routing: all dots, dashed lines at 1, the share of dots in each quarter."""
    dots = analysis.tables["dots"]
    top = float(np.ceil(np.quantile(dots[["x", "y"]].to_numpy(), 0.995) * 4) / 4)

    def quarters(axis: Axes, part: pd.DataFrame) -> None:
        draw_dots(axis, part, "x", "y", "policy", styles=STYLES, size=7, alpha=0.5)
        computed = part.iloc[:1].assign(policy=LEVEL_SPREAD, x=1, y=1)
        draw_dots(axis, computed, "x", "y", "policy", styles=STYLES, size=60)
        for line in (axis.axvline, axis.axhline):
            line(1, color=STYLES[LEVEL_SPREAD].colour, ls="--", lw=1)
        at = quadrant(part)
        style: dict[str, Any] = {"color": "blue", "fontsize": 13, "zorder": 5}
        style["transform"] = axis.transAxes
        for index, x, y in CORNERS:
            ha, va = "right" if x > 0.5 else "left", "top" if y > 0.5 else "bottom"
            axis.text(x, y, f"{100 * np.mean(at == index):.0f} %", ha=ha, va=va, **style)
        axis.set(xlim=(0.25, top), ylim=(0.25, top))

    def title(routing: str) -> str:
        part = dots[dots["routing"] == routing]
        ties = np.mean(quadrant(part) == 4)
        beyond = np.mean((part[["x", "y"]] > top).any(axis=1))
        return f"{routing}; ties {100 * ties:.0f} %, beyond the axes {100 * beyond:.1f} %"

    return panels(
        dots,
        "routing",
        quarters,
        title=title,
        columns=2,
        size_in=(5.2, 5.0),
        xlabel="small jobs' time / Level-Spread",
        ylabel="large jobs' time / Level-Spread",
    )
