"""Figs. 10 to 13 of the Level-Spread paper: 1000 random workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread import common
from experiments.papers.level_spread.machine import network_config, networks
from experiments.papers.level_spread.point import FUNCTION, make_point
from experiments.papers.level_spread.quadrants import dots_of, quadrant, summary_row
from experiments.papers.level_spread.workloads import PATTERNS, random_workload
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

N_WORKLOADS, N_QUICK = 1000, 40
N_SINGLE, N_SINGLE_QUICK = 100, 10
SHARE_TOLERANCE = 5.0
SHARE_RULE = "within 5 percentage points"
WITH_JOKANOVIC = (common.LEVEL_SPREAD, *common.JOKANOVICS)
# VI-D's text: a baseline strictly better, in percent; the FFT is not named there.
SINGLE_PAPER = {"all-to-all": 1.0, "halo3d": 1.0, "halo3d26": 3.0, "halo2d": 4.0, "broadcast": 8.0}


def _points(
    options: Options,
    workloads: Sequence[int],
    policies: Sequence[str],
    *,
    large_first: bool = False,
    patterns: Sequence[str] = PATTERNS,
    label: str = "",
) -> list[Point]:
    found = []
    for network in networks(options, ("ugal-l",)):
        for index in workloads:
            jobs = random_workload(index, options.seed, patterns=patterns)
            small, large = jobs
            found.append(
                make_point(
                    n_nodes=272,
                    alpha=1.0,
                    network=network_config(network),
                    jobs=[t.config() for t in jobs],
                    policies=policies,
                    draws={"seed": options.seed, "workload": f"random {index}", "repetition": 0},
                    labels={
                        "routing": network.routing,
                        "set": label,
                        "workload": index,
                        "small_nodes": small.n_nodes,
                        "large_nodes": large.n_nodes,
                        "n_small": small.n_jobs,
                        "n_large": large.n_jobs,
                        "small_pattern": small.pattern,
                        "large_pattern": large.pattern,
                    },
                    large_first=large_first,
                )
            )
    return found


def mixed_points(
    options: Options, *, policies: Sequence[str] = common.POLICIES, large_first: bool = False
) -> list[Point]:
    """The 1000 workloads with mixed patterns; small jobs placed first, or large ones."""
    n = N_QUICK if options.quick else N_WORKLOADS
    return _points(options, range(n), policies, large_first=large_first)


def single_points(options: Options) -> list[Point]:
    """100 workloads a pattern, both types of jobs with this pattern."""
    n = N_SINGLE_QUICK if options.quick else N_SINGLE
    return [
        point
        for pattern in PATTERNS
        for point in _points(options, range(n), common.POLICIES, patterns=(pattern,), label=pattern)
    ]


def _summaries(times: pd.DataFrame, options: Options, keys: list[str]) -> pd.DataFrame:
    """A row for each cell, measure and policy ("all": all baselines together)."""
    import pandas as pd

    rows = []
    for cell, part in common.cells(times, keys):
        for name, column in common.MEASURES.items():
            dots = dots_of(part, column, common.LEVEL_SPREAD)
            dots = dots[np.isfinite(dots["x"]) & np.isfinite(dots["y"])]
            sets = {"all": dots, **dict(iter(dots.groupby("policy", sort=False)))}
            rows += [
                {
                    **cell,
                    "measure": name,
                    "policy": policy,
                    **summary_row(mine, common.statistics_rng()),
                }
                for policy, mine in sets.items()
            ]
    return pd.DataFrame(rows)


def _chosen(
    summary: pd.DataFrame, options: Options, policies: Sequence[str] = ("all",)
) -> pd.DataFrame:
    measure = options.measure or common.DEFAULT_MEASURE
    return summary[summary["policy"].isin(policies) & (summary["measure"] == measure)]


def _condition(row: pd.Series[float]) -> str:
    """The routing, and the policy where it is one alone."""
    routing, policy = str(row["routing"]), str(row["policy"])
    return routing if policy == "all" else f"{routing}, {policy}"


def _number_claim(
    row: pd.Series[float], column: str, what: str, where: str, printed: float
) -> Claim:
    ours = float(row[column])
    ends = (
        float(row[f"{column} {end}"]) if f"{column} {end}" in row else None
        for end in ("low", "high")
    )
    low, high = ends
    return Claim(
        what,
        where,
        common.near(ours, printed, SHARE_TOLERANCE),
        SHARE_RULE,
        _condition(row),
        printed,
        ours,
        low,
        high,
    )


NumberClaim = tuple[str, str, str, float]
"""Column of the summary, what it is, where it stands, the printed number."""

LS_BETTER, OTHER_BETTER = "reference better (%)", "other better (%)"
FIG10_CLAIMS: tuple[NumberClaim, ...] = (
    (LS_BETTER, "Level-Spread strictly better (%)", "Fig. 10, VI-D", 59.0),
    (OTHER_BETTER, "a baseline strictly better (%)", "Fig. 10, VI-D", 3.0),
    ("mean reduction (%)", "mean reduction by Level-Spread (%)", "VI-D, abstract", 16.0),
    ("best reduction (%)", "best reduction by Level-Spread (%)", "VI-D, abstract", 71.0),
)
FIG12_CLAIMS: tuple[NumberClaim, ...] = (
    (LS_BETTER, "Level-Spread strictly better than Jokanovic (%)", "Fig. 12, VI-F", 64.0),
    (OTHER_BETTER, "Jokanovic strictly better (%)", "Fig. 12, VI-F", 0.0),
)


def mixed_analyse(
    frames: Mapping[str, pd.DataFrame],
    options: Options,
    *,
    numbers: Sequence[NumberClaim],
    where: str,
    policies: Sequence[str] = ("all",),
) -> Analysis:
    """Quadrants, reductions and, policy by policy, who is better where."""
    times = frames["times"]
    summary = _summaries(times, options, ["routing"])
    claims = []
    for _, row in _chosen(summary, options, policies).iterrows():
        claims += [_number_claim(row, c, what, at, printed) for c, what, at, printed in numbers]
        better, worse = float(row[LS_BETTER]), float(row[OTHER_BETTER])
        claims.append(
            Claim(
                "Level-Spread strictly better more often than strictly worse",
                where,
                better > worse,
                f"percent better, ours, above percent worse, {worse:.1f}",
                _condition(row),
                None,
                better,
            )
        )
    dots = dots_of(times, common.measure_column(options), common.LEVEL_SPREAD)
    return Analysis(claims_frame(claims), {"summary": summary, "dots": dots})


def single_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """How often a baseline is strictly better, pattern by pattern."""
    summary = _summaries(frames["times"], options, ["routing", "set"])
    claims = [
        _number_claim(
            row,
            OTHER_BETTER,
            f"{row['set']} alone: a baseline strictly better (%)",
            "VI-D, text",
            SINGLE_PAPER[str(row["set"])],
        )
        for _, row in _chosen(summary, options).iterrows()
        if row["set"] in SINGLE_PAPER
    ]
    return Analysis(claims_frame(claims), {"summary": summary})


def draw(analysis: Analysis, options: Options) -> Figure:
    """One panel a routing: all dots, dashed lines at 1, the share of dots in each quarter."""
    dots = analysis.tables["dots"]
    routings = list(dict.fromkeys(dots["routing"]))
    drawing, axes = common.panels(1, len(routings), 5.6 * len(routings), 5.2)
    top = float(np.ceil(np.quantile(dots[["x", "y"]].to_numpy(), 0.995) * 4) / 4)
    for panel, routing in zip(axes[0], routings, strict=True):
        mine = dots[dots["routing"] == routing]
        for policy, part in mine.groupby("policy", sort=False):
            common.dot(panel, str(policy), part["x"], part["y"], 7, 0.5)
        common.dot(panel, common.LEVEL_SPREAD, [1], [1], 60)
        panel.axvline(1, color="#1a9850", ls="--", lw=1)
        panel.axhline(1, color="#1a9850", ls="--", lw=1)
        at = quadrant(mine["x"].to_numpy(), mine["y"].to_numpy())
        for index, x, y in ((0, 0.97, 0.97), (1, 0.03, 0.03), (2, 0.03, 0.97), (3, 0.97, 0.03)):
            panel.text(
                x,
                y,
                f"{100 * np.mean(at == index):.0f} %",
                transform=panel.transAxes,
                ha="right" if x > 0.5 else "left",
                va="top" if y > 0.5 else "bottom",
                color="blue",
                fontsize=13,
                zorder=5,
            )
        panel.set(xlim=(0.25, top), ylim=(0.25, top))
        panel.set_title(
            f"{routing}; ties {100 * np.mean(at == 4):.0f} %, "
            f"beyond the axes {100 * np.mean((mine[['x', 'y']] > top).any(axis=1)):.1f} %",
            fontsize=9,
        )
        panel.set_xlabel("small jobs' time / Level-Spread")
        panel.set_ylabel("large jobs' time / Level-Spread")
    handles = axes[0][0].get_legend_handles_labels()
    axes[0][0].legend(*handles, fontsize=8, loc="center right", framealpha=0.8)
    drawing.tight_layout()
    return drawing


def _figure(
    name: str,
    description: str,
    numbers: Sequence[NumberClaim],
    where: str,
    points: Callable[[Options], list[Point]],
    policies: Sequence[str] = ("all",),
) -> PaperFigure:
    analyse = partial(mixed_analyse, numbers=numbers, where=where, policies=policies)
    return PaperFigure(name, description, FUNCTION, points, analyse, draw)


FIG10 = _figure(
    "fig10",
    "1000 random workloads, 8 policies, small jobs placed first",
    FIG10_CLAIMS,
    "Fig. 10, VI-D",
    mixed_points,
)
FIG11 = _figure(
    "fig11",
    "the same with large jobs placed first",
    (),
    "Fig. 11, VI-E",
    partial(mixed_points, large_first=True),
)
FIG12 = _figure(
    "fig12",
    "1000 random workloads against Jokanovic's policy, small jobs first",
    FIG12_CLAIMS,
    "Fig. 12, VI-F",
    partial(mixed_points, policies=WITH_JOKANOVIC),
    common.JOKANOVICS,
)
FIG13 = _figure(
    "fig13",
    "the same with large jobs placed first",
    (),
    "Fig. 13, VI-F",
    partial(mixed_points, policies=WITH_JOKANOVIC, large_first=True),
    common.JOKANOVICS,
)
SINGLE = PaperFigure(
    "patterns",
    "random workloads of one pattern alone (text of VI-D)",
    FUNCTION,
    single_points,
    single_analyse,
)
