"""Figs. 10 to 13 of the Level-Spread paper: 1000 random workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.kit.panels import dots as draw_dots
from experiments.papers.kit.panels import panels
from experiments.papers.level_spread import printed
from experiments.papers.level_spread.quadrants import dots_of, quadrant, summary_row
from experiments.papers.level_spread.times import (
    DEFAULT_MEASURE,
    JOKANOVICS,
    LEVEL_SPREAD,
    LOOKS,
    MEASURES,
    measure_column,
    statistics_rng,
)
from experiments.papers.paper import Analysis, Options
from queuesim.statistics import Interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITHIN_POINTS = 5.0
"""Of the printed shares and reductions, in percentage points."""
TOLD = {
    printed.LEVEL_SPREAD_BETTER: "Level-Spread strictly better{than} (%)",
    printed.OTHER_BETTER: "{other} strictly better (%)",
    printed.MEAN_REDUCTION: "mean reduction by Level-Spread (%)",
    printed.BEST_REDUCTION: "best reduction by Level-Spread (%)",
}
"""A printed number in words."""
CORNERS = ((0, 0.97, 0.97), (1, 0.03, 0.03), (2, 0.03, 0.97), (3, 0.97, 0.03))
"""Index of a quadrant, and where its share is written."""


def _summaries(times: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """A row for each cell, measure and policy ("all": all baselines together)."""
    import pandas as pd

    rows = []
    for values, part in groups(times, *keys):
        for name, column in MEASURES.items():
            dots = dots_of(part, column, LEVEL_SPREAD)
            dots = dots[np.isfinite(dots["x"]) & np.isfinite(dots["y"])]
            sets = {"all": dots, **dict(iter(dots.groupby("policy", sort=False)))}
            for policy, mine in sets.items():
                cell = dict(zip(keys, values, strict=True)) | {"measure": name, "policy": policy}
                rows.append(cell | summary_row(mine, statistics_rng()))
    return pd.DataFrame(rows)


def _chosen(
    summary: pd.DataFrame, options: Options, policies: Sequence[str] = ("all",)
) -> list[dict[str, Any]]:
    """Rows of these policies by the measure that is compared."""
    measure = options.measure or DEFAULT_MEASURE
    chosen = summary[summary["policy"].isin(policies) & (summary["measure"] == measure)]
    return chosen.to_dict("records")  # type: ignore[return-value]


def _number(row: Mapping[str, Any], column: str) -> float | Interval:
    """A column of a summary's row, with its interval where it has one."""
    if f"{column} low" not in row:
        return float(row[column])
    return Interval(float(row[column]), row[f"{column} low"], row[f"{column} high"])


def mixed_analyse(
    frames: Mapping[str, pd.DataFrame],
    options: Options,
    *,
    where: str,
    policies: Sequence[str] = ("all",),
) -> Analysis:
    """Quadrants, reductions and, policy by policy, who is better where."""
    times = frames["times"]
    summary = _summaries(times, ["routing"])
    claims = []
    other, than = ("Jokanovic", " than Jokanovic") if policies == JOKANOVICS else ("a baseline", "")
    for row in _chosen(summary, options, policies):
        alone = "" if row["policy"] == "all" else f", {row['policy']}"
        condition = f"{row['routing']}{alone}"
        for column, paper in printed.RANDOM.get(where, {}).items():
            says = Says("VI-D, abstract" if "reduction" in column else where, condition)
            what, ours = TOLD[column].format(other=other, than=than), _number(row, column)
            claims.append(says.near(what, paper, ours, within=WITHIN_POINTS, unit="points"))
        better, worse = (
            float(row[side]) for side in (printed.LEVEL_SPREAD_BETTER, printed.OTHER_BETTER)
        )
        claims.append(
            Says(where, condition).holds(
                "Level-Spread strictly better more often than strictly worse",
                better > worse,
                f"percent better, ours, above percent worse, {worse:.1f}",
                better,
            )
        )
    dots = dots_of(times, measure_column(options), LEVEL_SPREAD)
    return Analysis(claims_frame(claims), {"summary": summary, "dots": dots})


fig10_analyse = partial(mixed_analyse, where="Fig. 10, VI-D")
fig11_analyse = partial(mixed_analyse, where="Fig. 11, VI-E")
fig12_analyse = partial(mixed_analyse, where="Fig. 12, VI-F", policies=JOKANOVICS)
fig13_analyse = partial(mixed_analyse, where="Fig. 13, VI-F", policies=JOKANOVICS)


def single_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """How often a baseline is strictly better, pattern by pattern."""
    summary = _summaries(frames["times"], ["routing", "set"])
    claims = [
        Says("VI-D, text", row["routing"]).near(
            f"{row['set']} alone: a baseline strictly better (%)",
            printed.SINGLE[row["set"]],
            _number(row, printed.OTHER_BETTER),
            within=WITHIN_POINTS,
            unit="points",
        )
        for row in _chosen(summary, options)
        if row["set"] in printed.SINGLE
    ]
    return Analysis(claims_frame(claims), {"summary": summary})


def draw(analysis: Analysis, options: Options) -> Figure:
    """One panel a routing: all dots, dashed lines at 1, the share of dots in each quarter."""
    dots = analysis.tables["dots"]
    top = float(np.ceil(np.quantile(dots[["x", "y"]].to_numpy(), 0.995) * 4) / 4)

    def quarters(axis: Axes, part: pd.DataFrame) -> None:
        draw_dots(axis, part, "x", "y", "policy", looks=LOOKS, size=7, alpha=0.5)
        ours = part.iloc[:1].assign(policy=LEVEL_SPREAD, x=1, y=1)
        draw_dots(axis, ours, "x", "y", "policy", looks=LOOKS, size=60)
        axis.axvline(1, color=LOOKS[LEVEL_SPREAD].colour, ls="--", lw=1)
        axis.axhline(1, color=LOOKS[LEVEL_SPREAD].colour, ls="--", lw=1)
        at = quadrant(part["x"].to_numpy(), part["y"].to_numpy())
        for index, x, y in CORNERS:
            axis.text(
                x,
                y,
                f"{100 * np.mean(at == index):.0f} %",
                transform=axis.transAxes,
                ha="right" if x > 0.5 else "left",
                va="top" if y > 0.5 else "bottom",
                color="blue",
                fontsize=13,
                zorder=5,
            )
        axis.set(xlim=(0.25, top), ylim=(0.25, top))

    def title(routing: str) -> str:
        part = dots[dots["routing"] == routing]
        ties = np.mean(quadrant(part["x"].to_numpy(), part["y"].to_numpy()) == 4)
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
