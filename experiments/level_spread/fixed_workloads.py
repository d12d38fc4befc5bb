"""Figs. 2 and 4 to 8 of the Level-Spread paper: jobs of one size, and of two sizes together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.dragonfly_workloads.measures import LEVEL_SPREAD
from experiments.kit.dragonfly_workloads.point import LINK_KINDS
from experiments.kit.dragonfly_workloads.points import FIG2_WORKLOADS
from experiments.kit.frames import cells, first_seen, groups, lookup
from experiments.kit.panels import Heights, grouped_bars, panels
from experiments.kit.panels import dots as draw_dots
from experiments.kit.papers import Analysis, Options
from experiments.level_spread.times import (
    CALLED,
    COLOURS,
    COMPACT,
    STYLES,
    WIDE,
    WITHIN_POINTS,
    normalised,
    pick,
    reduction_interval,
    reduction_percent,
    shrinking,
)
from netcosim.report.figures.shapes import boxes as draw_boxes
from queuesim.statistics import Interval

printed = read_printed("level_spread")
FIG4_KEYS = ["routing", "alpha", "job_nodes", "pattern"]
FIG7_KEYS = ["routing", "n_nodes", "alpha", "pattern"]
FIG8_KEYS = ["routing", "small_kb", "large_kb", "pattern"]
RATIO = ("ratio", "low", "high")
"""Columns of `normalised`: a ratio with its interval."""
SLACK = 1.02
"""Level-Spread "coincides" with the best of the others if it is at most 2 % above it."""


class Half(NamedTuple):
    """Statements of Fig. 4 on one job size, with policies by their names in `CALLED`.

    Each of the ``fast`` is below all of the ``slow``, and there is a range by which those
    ``compared`` with the slow are below them; at ``alpha`` alone, if given.
    """

    where: str
    jobs: str
    fast: str
    slow: str
    compared: str
    alpha: float | None = None


FIG4 = {
    16: Half("Fig. 4(a), VI-A", "16-node jobs", COMPACT, "spreading", COMPACT),
    64: Half("Fig. 4(b), VI-A", "64-node jobs, alpha 1", WIDE, "Simple", "Level-Spread", 1.0),
}
"""By nodes of a job."""
QUANTITIES = {"packets": "packets", "stall_us": "stall time (us)", "stalls": "stalls"}
DRAWN = ("packets", "stall_us")
"""SST counts the time for which a port is stalled, so that is drawn."""
VARIATION = "coefficient_of_variation"
FIVE = ("min", "q25", "median", "q75", "max")
RULE = "the largest is at most the others' least, not all 0; simulated: ratio of means"
COMPARED = {
    "Fig. 5, VI-A": (
        ("packets", "mean", "mean packets", COMPACT, "spreading"),
        ("stall_us", "mean", "mean stall time", COMPACT, "spreading"),
    ),
    "Fig. 6, VI-A": (
        ("packets", "median", "median packets", "grouping", WIDE),
        ("packets", VARIATION, "variation of packets (sd / mean)", WIDE, "grouping"),
        ("stall_us", "mean", "mean stall time", WIDE, "grouping"),
    ),
}
"""Quantity, its column, its description, policies (by `CALLED`) with less of it, with more."""


def fig2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Judge which policy wins in each workload, and by how much RDN wins with large jobs."""
    table = normalised(frames["times"], ["routing", "workload"], options, reference="rdg")
    small, _ = FIG2_WORKLOADS
    claims = []
    for (routing, workload), row in groups(table[table["policy"] == "rdn"], "routing", "workload"):
        check, ratio = ClaimBuilder("Fig. 2, III-A", routing), Interval(*row[list(RATIO)].iloc[0])
        if workload == small:
            what = "17 x 16-node jobs favour RDG: RDN's time over RDG's"
            claims.append(check.surely_above(what, ratio, 1))
            continue
        what = "4 x 68-node jobs favour RDN: RDN's time over RDG's"
        claims.append(check.surely_below(what, ratio, 1, paper=printed["fig2"]["ratio"]))
        what, published = "4 x 68-node jobs: RDN below RDG (%)", printed["fig2"]["below"]
        value = reduction_interval(ratio)
        claims.append(check.near(what, published, value, within=WITHIN_POINTS, unit="points"))
    return Analysis(claims_frame(claims), {"times": table})


def fig4_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Judge the two orderings and their ranges, and whether differences shrink with alpha."""
    table = normalised(frames["times"], FIG4_KEYS, options)
    claims: list[Claim] = []
    for (routing,), part in groups(table, "routing"):
        for nodes in FIG4:
            claims += _half_claims(part[part["job_nodes"] == nodes], nodes, routing)
        held = shrinking(part, ["job_nodes", "pattern"], ["ratio"])
        if held:
            what = "faster global links, smaller differences (% of panels)"
            claims.append(ClaimBuilder("Fig. 4, VI-A", routing).everywhere(what, held))
    return Analysis(claims_frame(claims), {"times": table, "cells": _fig4_cells(table)})


def _fig4_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row a panel: the paper's range, and the least and largest simulated reduction."""
    rows = []
    for cell, part in cells(table, *FIG4_KEYS):
        half, paper = FIG4[cell["job_nodes"]], printed["fig4"][str(cell["job_nodes"])]
        ratio = lookup(part, ["policy"], "ratio")
        reductions = [reduction_percent(ratio[LEVEL_SPREAD], s) for s in pick(ratio, half.slow)]
        published = half.alpha in (None, cell["alpha"])
        rows.append(
            {
                **cell,
                "against": half.slow,
                "paper_low_percent": paper[0] if published else None,
                "paper_high_percent": paper[1] if published else None,
                "ours_low_percent": min(reductions),
                "ours_high_percent": max(reductions),
                "worst_over_best_policy": max(ratio.values()) / min(ratio.values()),
            }
        )
    return pd.DataFrame(rows)


def _half_claims(table: pd.DataFrame, nodes: int, routing: str) -> list[Claim]:
    half = FIG4[nodes]
    held, reductions = [], []
    for (alpha, _), part in groups(table, "alpha", "pattern"):
        if half.alpha in (None, alpha):
            ratio = lookup(part, ["policy"], "ratio")
            slow, compared = pick(ratio, half.slow), pick(ratio, half.compared)
            held.append(max(pick(ratio, half.fast)) < min(slow))
            reductions += [reduction_percent(c, s) for c in compared for s in slow]
    what = f"{half.jobs}: {half.fast} below {half.slow} (% of panels)"
    claims = [ClaimBuilder(half.where, routing).everywhere(what, held)]
    check = ClaimBuilder("Fig. 4, VI-A", routing)
    paper = printed["fig4"][str(nodes)]
    for end, of, published in zip(("least", "largest"), (min, max), paper, strict=True):
        what = f"{half.jobs}, {half.compared} against {half.slow}: {end} reduction (%)"
        value = of(reductions)
        claims.append(check.near(what, published, value, within=WITHIN_POINTS, unit="points"))
    return claims


def boxes(links: pd.DataFrame) -> pd.DataFrame:
    """Return five numbers and the mean over links and repetitions, by policy, link, quantity."""
    rows: list[dict[str, object]] = []
    for cell, part in cells(links, "routing", "policy", "link_kind"):
        for quantity in QUANTITIES:
            values = np.concatenate([np.asarray(v, dtype=float) for v in part[quantity]])
            rows.append(
                {
                    **cell,
                    "quantity": quantity,
                    **dict(zip(FIVE, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]), strict=True)),
                    "mean": values.mean(),
                    VARIATION: values.std() / values.mean() if values.any() else 0.0,
                }
            )
    return pd.DataFrame(rows)


def links_analyse(frames: Mapping[str, pd.DataFrame], options: Options, *, where: str) -> Analysis:
    """Judge whether all policies of one group have at most what the others have, and not only 0.

    Fig. 5: grouping policies and Level-Spread put fewer packets and stalls on links. Fig. 6:
    spreading puts more packets on the median link, varies less and stalls less.
    """
    table = boxes(frames["links"])
    claims: list[Claim] = []
    for (routing,), part in groups(table, "routing"):
        for kind in LINK_KINDS:
            for quantity, column, what, less, more in COMPARED[where]:
                mine = part[(part["link_kind"] == kind) & (part["quantity"] == quantity)]
                values = lookup(mine, ["policy"], column)
                low, high = pick(values, less), pick(values, more)
                some = bool(np.mean(high))
                value = float(np.mean(low) / np.mean(high)) if some else None
                good = some and max(low) <= min(high)
                published = f"{kind} links, {what}: {less} below {more}"
                claims.append(ClaimBuilder(where, routing).holds(published, good, RULE, value))
    return Analysis(claims_frame(claims), {"boxes": table})


fig5_analyse = partial(links_analyse, where="Fig. 5, VI-A")
fig6_analyse = partial(links_analyse, where="Fig. 6, VI-A")


def _scatter(frames: Mapping[str, pd.DataFrame], keys: list[str], options: Options) -> Analysis:
    """Return tables "times" and "dots": x of a dot is the small jobs' ratio, y the large jobs'."""
    table = normalised(frames["times"], keys, options)
    wide = table.pivot_table(index=[*keys, "policy"], columns="kind", values="ratio", sort=False)
    dots = wide.reset_index().rename(columns={"small": "x", "large": "y"})
    return Analysis(claims_frame([]), {"times": table, "dots": dots})


def _corner_claims(dots: pd.DataFrame, keys: Sequence[str], check: ClaimBuilder) -> list[Claim]:
    """Compare Level-Spread with spreading policies for small, grouping ones for large jobs."""
    claims = []
    for axis, jobs, bad, good in (
        ("x", "small jobs", "spreading", "grouping"),
        ("y", "large jobs", "grouping", "spreading"),
    ):
        below, no_worse = [], []
        for _, part in groups(dots, *keys[1:]):
            at = lookup(part, ["policy"], axis)
            below.append(at[LEVEL_SPREAD] < min(pick(at, bad)))
            no_worse.append(at[LEVEL_SPREAD] <= SLACK * max(pick(at, good)))
        for what, held in (
            (f"below every {bad} policy", below),
            (f"no worse than the {good} policies", no_worse),
        ):
            claims.append(check.everywhere(f"{jobs}: Level-Spread {what} (% of panels)", held))
    return claims


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the corner in which Level-Spread lies, and what it gains on 1056 nodes."""
    found = _scatter(frames, FIG7_KEYS, options)
    claims: list[Claim] = []
    for (routing,), part in groups(found.tables["dots"], "routing"):
        claims += _corner_claims(part, FIG7_KEYS, ClaimBuilder("Fig. 7, VI-B", routing))
        for pattern, published in printed["small_on_1056"].items():
            mine = part[(part["n_nodes"] == 1056) & (part["pattern"] == pattern)]
            if len(mine):
                x = lookup(mine, ["policy"], "x")
                value = reduction_percent(x[LEVEL_SPREAD], float(np.mean(pick(x, "spreading"))))
                what = (
                    f"1056 nodes, 16-node jobs, {pattern}: Level-Spread below the mean of "
                    "the spreading policies (%)"
                )
                check = ClaimBuilder("VI-B", routing)
                claims.append(
                    check.near(what, published, value, within=WITHIN_POINTS, unit="points")
                )
        held = shrinking(part[part["n_nodes"] == 272], ["pattern"], ["x", "y"])
        if held:
            what = "faster global links, smaller differences (% of patterns)"
            claims.append(
                ClaimBuilder("Fig. 7(a), VI-B", routing).everywhere(what, held, "patterns")
            )
        slow = part[(part["alpha"] == 0.25) & (part["policy"] == "rrr")]
        if len(slow):
            what = "alpha 0.25: RRR's small jobs take more than 5 times Simple's (median panel)"
            check, least = ClaimBuilder("Fig. 7(a)", routing), printed["fig7"]["rrr_ratio"]
            claims.append(check.above(what, float(slow["x"].median()), least, paper=least))
    return Analysis(claims_frame(claims), found.tables)


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Judge whether heavier jobs of one size slow the other's under the spreading policies."""
    found = _scatter(frames, FIG8_KEYS, options)
    claims: list[Claim] = []
    note = "heaviest against equal sizes, mean of these policies against Simple"
    for (routing,), part in groups(found.tables["dots"], "routing"):
        check = ClaimBuilder("Fig. 8, VI-C", routing)
        claims += _corner_claims(part, FIG8_KEYS, check)
        # The FFT's messages do not follow the message size.
        spread = part[(part["pattern"] != "fft3d") & part["policy"].isin(CALLED["spreading"])]
        for what, column, heavy in (
            ("heavier large jobs slow the small ones", "x", "large_kb"),
            ("heavier small jobs slow the large ones", "y", "small_kb"),
        ):
            held = []
            for _, mine in groups(spread, "pattern"):
                equal = mine.loc[mine["small_kb"] == mine["large_kb"], column].mean()
                heaviest = mine.loc[mine[heavy] == mine[heavy].max(), column].mean()
                held.append(bool(heaviest > equal))
            what = f"{what} under the spreading policies (% of patterns)"
            claims.append(check.everywhere(what, held, "patterns", note=note))
    return Analysis(claims_frame(claims), found.tables)


def _bars(axis: Axes, part: pd.DataFrame, x: str) -> None:
    """Draw ratios with a standard deviation either way, and a line at the reference."""
    ends = {"below": part["ratio"] - part["ratio_sd"], "above": part["ratio"] + part["ratio_sd"]}
    ratios = Heights("ratio", ends=("below", "above"))
    grouped_bars(axis, part.assign(**ends), x, "policy", ratios, colours=COLOURS)
    axis.axhline(1, color="0.5", lw=0.6)


def fig2_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw two bars a workload, one panel a routing."""
    return panels(
        analysis.tables["times"],
        "routing",
        lambda axis, part: _bars(axis, part, "workload"),
        columns=2,
        size_in=(4.0, 2.6),
        ylabel="communication time / RDG",
        title="272 nodes, all-to-all, {}".format,
        share=True,
    )


def fig4_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw rows by routing, job size and alpha, columns by pattern, bars by policy."""
    table = analysis.tables["times"]
    return panels(
        _by_routing(table, "job_nodes", "alpha"),
        ["routing", "job_nodes", "alpha", "pattern"],
        lambda axis, part: _bars(axis, part, "pattern"),
        columns=len(first_seen(table, "pattern")),
        size_in=(2.3, 1.7),
        ylabel="time / Simple",
        title=lambda routing, nodes, alpha, _: f"{routing}, {nodes}-node jobs, alpha {alpha:g}",
    )


def _by_routing(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows of each routing together, sorted by columns within it."""
    order = {routing: i for i, routing in enumerate(first_seen(table, "routing"))}
    return table.assign(order=table["routing"].map(order)).sort_values(
        ["order", *columns], kind="stable"
    )


def links_draw(analysis: Analysis, options: Options) -> Figure:
    """Draw boxes from 25 to 75 %, a line at the median, whiskers to the extremes."""
    table = analysis.tables["boxes"]

    def five(axis: Axes, part: pd.DataFrame) -> None:
        draw_boxes(axis, part, "policy", "link_kind", quantiles=FIVE)
        axis.tick_params(axis="x", rotation=45)
        axis.set_ylim(bottom=0)

    return panels(
        _by_routing(table[table["quantity"].isin(DRAWN)], "quantity", "link_kind"),
        ["routing", "quantity", "link_kind"],
        five,
        columns=len(LINK_KINDS),
        size_in=(4.5, 2.6),
        title=lambda routing, quantity, kind: f"{kind} links, {routing}: {QUANTITIES[quantity]}",
        legend=False,
    )


def _dots(axis: Axes, part: pd.DataFrame) -> None:
    """Draw communication times over Simple's, with lines at 1."""
    draw_dots(axis, part, "x", "y", "policy", styles=STYLES)
    axis.axvline(1, color="0.8", lw=0.6, zorder=0)
    axis.axhline(1, color="0.8", lw=0.6, zorder=0)


def _draw_dots(analysis: Analysis, options: Options, *, keys: Sequence[str], title: str) -> Figure:
    """Draw rows by routing and values of two keys, which the title names; columns by pattern."""
    dots = analysis.tables["dots"]
    return panels(
        dots,
        ["routing", *keys, "pattern"],
        _dots,
        columns=len(first_seen(dots, "pattern")),
        size_in=(2.4, 2.1),
        xlabel="small jobs / Simple",
        ylabel="large jobs / Simple",
        title=f"{{}}, {title}\n{{}}".format,
    )


fig7_draw = partial(_draw_dots, keys=FIG7_KEYS[1:3], title="{} nodes, alpha {:g}")
fig8_draw = partial(_draw_dots, keys=FIG8_KEYS[1:3], title="small {} KB, large {} KB")
