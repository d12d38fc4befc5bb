"""Figs. 2 and 4 of the Level-Spread paper: equal jobs, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import first_seen, groups, lookup
from experiments.papers.kit.panels import grouped_bars, panels
from experiments.papers.level_spread import printed
from experiments.papers.level_spread.times import (
    COLOURS,
    GROUPING,
    LEVEL_SPREAD,
    SPREADING,
    WITHIN_POINTS,
    measure_column,
    normalised,
    pick,
    reduction_interval,
    reduction_percent,
    shrinking,
    statistics_rng,
)
from experiments.papers.paper import Analysis, Options
from queuesim.statistics import bootstrap_ratio

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIG2_WORKLOADS = {"17 x 16 nodes": (17, 16), "4 x 68 nodes": (4, 68)}
FIG2_POLICIES = ("rdg", "rdn")
FIG4_KEYS = ["routing", "alpha", "job_nodes", "pattern"]


def fig2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Who wins in each workload, and by how much RDN wins with large jobs."""
    times, column = frames["times"], measure_column(options)
    small, _ = FIG2_WORKLOADS
    claims = []
    for (routing, workload), part in groups(times, "routing", "workload"):
        rdg, rdn = (
            part[part["policy"] == p].sort_values("repetition")[column] for p in FIG2_POLICIES
        )
        ratio = bootstrap_ratio(rdn.to_numpy(), rdg.to_numpy(), statistics_rng())
        says = Says("Fig. 2, III-A", routing)
        if workload == small:
            what = "17 x 16-node jobs favour RDG: RDN's time over RDG's"
            claims.append(says.surely_above(what, ratio, 1))
            continue
        what = "4 x 68-node jobs favour RDN: RDN's time over RDG's"
        below = reduction_interval(ratio)
        claims += [
            says.surely_below(what, ratio, 1, paper=printed.FIG2_RATIO),
            says.near(
                "4 x 68-node jobs: RDN below RDG (%)",
                printed.FIG2_BELOW,
                below,
                within=WITHIN_POINTS,
                unit="points",
            ),
        ]
    table = normalised(times, ["routing", "workload"], options, reference="rdg")
    return Analysis(claims_frame(claims), {"times": table})


def fig4_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The two orderings and their ranges, and whether differences shrink with alpha."""
    table = normalised(frames["times"], FIG4_KEYS, options)
    claims: list[Claim] = []
    for (routing,), part in groups(table, "routing"):
        claims += _small_claims(part[part["job_nodes"] == 16], routing)
        claims += _large_claims(part[part["job_nodes"] == 64], routing)
        held = shrinking(
            part, ["job_nodes", "pattern"], lambda row: row["ratio"].max() / row["ratio"].min()
        )
        if held:
            what = "faster global links, smaller differences (% of panels)"
            claims.append(Says("Fig. 4, VI-A", routing).everywhere(what, held))
    return Analysis(claims_frame(claims), {"times": table, "cells": _fig4_cells(table)})


def _fig4_cells(table: pd.DataFrame) -> pd.DataFrame:
    """One row a panel: the paper's range beside our least and largest reduction."""
    import pandas as pd

    rows = []
    for values, part in groups(table, *FIG4_KEYS):
        cell = dict(zip(FIG4_KEYS, values, strict=True))
        ratio = lookup(part, ["policy"], "ratio")
        small = cell["job_nodes"] == 16
        against = pick(ratio, SPREADING if small else ("simple",))
        reductions = [reduction_percent(ratio[LEVEL_SPREAD], other) for other in against]
        paper = printed.FIG4_16 if small else printed.FIG4_64
        told = small or cell["alpha"] == 1.0
        rows.append(
            {
                **cell,
                "against": "each spreading policy" if small else "simple",
                "paper_low_percent": paper[0] if told else None,
                "paper_high_percent": paper[1] if told else None,
                "ours_low_percent": min(reductions),
                "ours_high_percent": max(reductions),
                "worst_over_best_policy": max(ratio.values()) / min(ratio.values()),
            }
        )
    return pd.DataFrame(rows)


def _range_claims(
    what: str, paper: tuple[float, float], ours: list[float], routing: str
) -> list[Claim]:
    says = Says("Fig. 4, VI-A", routing)
    ends = zip(("least", "largest"), paper, (min(ours), max(ours)), strict=True)
    return [
        says.near(f"{what}: {name} reduction (%)", told, mine, within=WITHIN_POINTS, unit="points")
        for name, told, mine in ends
    ]


def _small_claims(table: pd.DataFrame, routing: str) -> list[Claim]:
    held, reductions = [], []
    for _, part in groups(table, "alpha", "pattern"):
        ratio = lookup(part, ["policy"], "ratio")
        group, spread = pick(ratio, (*GROUPING, LEVEL_SPREAD)), pick(ratio, SPREADING)
        held.append(max(group) < min(spread))
        reductions += [reduction_percent(g, s) for g in group for s in spread]
    below = "16-node jobs: grouping and Level-Spread below spreading (% of panels)"
    against = "16-node jobs, grouping and Level-Spread against spreading"
    return [
        Says("Fig. 4(a), VI-A", routing).everywhere(below, held),
        *_range_claims(against, printed.FIG4_16, reductions, routing),
    ]


def _large_claims(table: pd.DataFrame, routing: str) -> list[Claim]:
    held, reductions = [], []
    for _, part in groups(table[table["alpha"] == 1.0], "pattern"):
        ratio = lookup(part, ["policy"], "ratio")
        held.append(max(pick(ratio, (*SPREADING, LEVEL_SPREAD))) < 1)
        reductions.append(reduction_percent(ratio[LEVEL_SPREAD], ratio["simple"]))
    below = "64-node jobs, alpha 1: spreading and Level-Spread below Simple (% of panels)"
    against = "64-node jobs, alpha 1, Level-Spread against Simple"
    return [
        Says("Fig. 4(b), VI-A", routing).everywhere(below, held),
        *_range_claims(against, printed.FIG4_64, reductions, routing),
    ]


def _bars(axis: Axes, part: pd.DataFrame, x: str) -> None:
    """Ratios with a standard deviation either way, a line at the reference."""
    ends = {"below": part["ratio"] - part["ratio_sd"], "above": part["ratio"] + part["ratio_sd"]}
    grouped_bars(
        axis, part.assign(**ends), x, "policy", "ratio", ends=("below", "above"), colours=COLOURS
    )
    axis.axhline(1, color="0.5", lw=0.6)


def fig2_draw(analysis: Analysis, options: Options) -> Figure:
    """Two bars a workload, one panel a routing."""
    return panels(
        analysis.tables["times"],
        "routing",
        lambda axis, part: _bars(axis, part, "workload"),
        columns=2,
        size_in=(4.0, 2.6),
        ylabel="communication time / RDG",
        title=lambda routing: f"272 nodes, all-to-all, {routing}",
        share=True,
    )


def fig4_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: job size and alpha; columns: patterns; bars: policies, with deviations."""
    table = analysis.tables["times"]
    routing = table["routing"].iloc[0]
    table = table[table["routing"] == routing].sort_values(["job_nodes", "alpha"], kind="stable")
    return panels(
        table,
        ["job_nodes", "alpha", "pattern"],
        lambda axis, part: _bars(axis, part, "pattern"),
        columns=len(first_seen(table, "pattern")),
        size_in=(2.3, 1.7),
        ylabel=f"time / Simple, {routing}",
        title=lambda nodes, alpha, pattern: f"{nodes}-node jobs, alpha {alpha:g}",
    )
