"""Figs. 2 and 4 of the Level-Spread paper: homogeneous workloads, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread import common
from experiments.papers.level_spread.machine import network_config, networks
from experiments.papers.level_spread.point import FUNCTION, make_point
from experiments.papers.level_spread.workloads import PATTERNS, homogeneous, job_type
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from queuesim.statistics import bootstrap_ratio

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIG2_WORKLOADS = {"17 x 16 nodes": (17, 16), "4 x 68 nodes": (4, 68)}
FIG2_POLICIES = ("rdg", "rdn")
FIG2_PAPER_PERCENT = 30.0
ALPHAS = (0.25, 1.0, 4.0)
FIG4_16_PAPER = (15.0, 89.0)
FIG4_64_PAPER = (22.0, 54.0)
FIG4_KEYS = ["routing", "alpha", "job_nodes", "pattern"]


def fig2_points(options: Options) -> list[Point]:
    """Both workloads on the full machine of 272 nodes; the pattern is all-to-all."""
    return [
        make_point(
            n_nodes=272,
            alpha=1.0,
            network=network_config(network),
            jobs=[job_type("small" if k <= 16 else "large", n, k, "all-to-all").config()],
            policies=FIG2_POLICIES,
            draws={"seed": options.seed, "workload": label, "repetition": repetition},
            labels={"routing": network.routing, "workload": label, "repetition": repetition},
        )
        for network in networks(options, ("ugal-l", "minimal"))
        for label, (n, k) in FIG2_WORKLOADS.items()
        for repetition in range(common.repetitions(options))
    ]


def fig2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Who wins in each workload, and by how much RDN wins with large jobs."""
    times = frames["times"]
    table = common.normalised(times, ["routing", "workload"], options, reference="rdg")
    small, large = FIG2_WORKLOADS
    claims = []
    for cell, part in common.cells(times, ["routing", "workload"]):
        rdg, rdn = (
            part[part["policy"] == p].sort_values("repetition")[common.measure_column(options)]
            for p in FIG2_POLICIES
        )
        ratio = bootstrap_ratio(rdn.to_numpy(), rdg.to_numpy(), common.statistics_rng())
        below = common.reduction_interval(ratio)
        where = "Fig. 2, III-A"
        if cell["workload"] == small:
            claims.append(
                Claim(
                    "17 x 16-node jobs favour RDG: RDN's time over RDG's",
                    where,
                    ratio.low > 1,
                    "interval above 1",
                    cell["routing"],
                    None,
                    *ratio,
                )
            )
        if cell["workload"] == large:
            claims.append(
                Claim(
                    "4 x 68-node jobs favour RDN: RDN's time over RDG's",
                    where,
                    ratio.high < 1,
                    "interval below 1",
                    cell["routing"],
                    0.7,
                    *ratio,
                )
            )
            claims.append(
                Claim(
                    "4 x 68-node jobs: RDN below RDG (%)",
                    where,
                    common.near(below.value, FIG2_PAPER_PERCENT),
                    common.POINTS_RULE,
                    cell["routing"],
                    FIG2_PAPER_PERCENT,
                    *below,
                )
            )
    return Analysis(claims_frame(claims), {"times": table})


def fig2_draw(analysis: Analysis, options: Options) -> Figure:
    """Two bars a workload, one panel a routing."""
    table = analysis.tables["times"]
    routings = list(dict.fromkeys(table["routing"]))
    drawing, axes = common.panels(1, len(routings), 4 * len(routings), 3.2, sharey=True)
    for panel, routing in zip(axes[0], routings, strict=True):
        mine = table[table["routing"] == routing]
        for i, policy in enumerate(FIG2_POLICIES):
            bars = mine[mine["policy"] == policy]
            at = [list(FIG2_WORKLOADS).index(w) + 0.36 * (i - 0.5) for w in bars["workload"]]
            panel.bar(
                at,
                bars["ratio"],
                0.34,
                yerr=bars["ratio_sd"],
                capsize=3,
                color=common.STYLES[policy][1],
                label=policy.upper(),
            )
        panel.set_xticks(range(len(FIG2_WORKLOADS)), list(FIG2_WORKLOADS))
        panel.set_title(f"272 nodes, all-to-all, {routing}", fontsize=9)
        panel.axhline(1, color="0.6", lw=0.6, zorder=0)
    axes[0][0].set_ylabel("communication time / RDG")
    axes[0][0].legend(fontsize=8)
    return drawing


def fig4_points(options: Options) -> list[Point]:
    """Jobs of 16 and of 64 nodes at 90 %, each pattern, three global bandwidths."""
    alphas = (1.0,) if options.quick else ALPHAS
    patterns = ("all-to-all", "broadcast", "halo3d") if options.quick else PATTERNS
    return [
        make_point(
            n_nodes=272,
            alpha=alpha,
            network=network_config(network),
            jobs=[t.config() for t in homogeneous(272, nodes, pattern)],
            policies=common.POLICIES,
            draws={"seed": options.seed, "workload": f"{nodes} nodes", "repetition": repetition},
            labels={
                "routing": network.routing,
                "alpha": alpha,
                "job_nodes": nodes,
                "pattern": pattern,
                "repetition": repetition,
            },
        )
        for network in networks(options, ("ugal-l",))
        for nodes in (16, 64)
        for alpha in alphas
        for pattern in patterns
        for repetition in range(common.repetitions(options))
    ]


def fig4_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The two orderings and their ranges, and whether differences shrink with alpha."""
    table = common.normalised(frames["times"], FIG4_KEYS, options)
    claims: list[Claim] = []
    for cell, part in common.cells(table, ["routing"]):
        claims += _small_claims(part[part["job_nodes"] == 16], cell["routing"])
        claims += _large_claims(part[part["job_nodes"] == 64], cell["routing"])
        claims += _shrink_claims(part, cell["routing"])
    return Analysis(claims_frame(claims), {"times": table, "cells": _fig4_cells(table)})


def _fig4_cells(table: pd.DataFrame) -> pd.DataFrame:
    """One row a panel: the paper's range beside our least and largest reduction."""
    import pandas as pd

    rows = []
    for cell, part in common.cells(table, FIG4_KEYS):
        ratio = common.ratios_by_policy(part)
        ours = ratio[common.LEVEL_SPREAD]
        small = cell["job_nodes"] == 16
        versus = common.pick(ratio, common.SPREADING if small else ("simple",))
        reductions = [common.reduction_percent(ours, other) for other in versus]
        paper = FIG4_16_PAPER if small else FIG4_64_PAPER
        printed = small or cell["alpha"] == 1.0
        rows.append(
            {
                **cell,
                "against": "each spreading policy" if small else "simple",
                "paper_low_percent": paper[0] if printed else None,
                "paper_high_percent": paper[1] if printed else None,
                "ours_low_percent": min(reductions),
                "ours_high_percent": max(reductions),
                "worst_over_best_policy": max(ratio.values()) / min(ratio.values()),
            }
        )
    return pd.DataFrame(rows)


def _range_claims(
    what: str, paper: tuple[float, float], ours: list[float], routing: str
) -> list[Claim]:
    return [
        Claim(
            f"{what}: {name} reduction (%)",
            "Fig. 4, VI-A",
            common.near(mine, printed),
            common.POINTS_RULE,
            routing,
            printed,
            mine,
        )
        for name, printed, mine in zip(
            ("least", "largest"), paper, (min(ours), max(ours)), strict=True
        )
    ]


def _share_claim(what: str, held: list[bool], where: str, routing: str) -> Claim:
    """A claim about every panel; ours is the share of panels in which it holds, in percent."""
    return Claim(
        what,
        where,
        all(held),
        f"in all {len(held)} panels",
        routing,
        100.0,
        100.0 * sum(held) / len(held),
    )


def _small_claims(table: pd.DataFrame, routing: str) -> list[Claim]:
    held, reductions = [], []
    for _, part in common.cells(table, ["alpha", "pattern"]):
        ratio = common.ratios_by_policy(part)
        group = common.pick(ratio, (*common.GROUPING, common.LEVEL_SPREAD))
        spread = common.pick(ratio, common.SPREADING)
        held.append(max(group) < min(spread))
        reductions += [common.reduction_percent(g, s) for g in group for s in spread]
    return [
        _share_claim(
            "16-node jobs: grouping and Level-Spread below spreading (% of panels)",
            held,
            "Fig. 4(a), VI-A",
            routing,
        ),
        *_range_claims(
            "16-node jobs, grouping and Level-Spread against spreading",
            FIG4_16_PAPER,
            reductions,
            routing,
        ),
    ]


def _large_claims(table: pd.DataFrame, routing: str) -> list[Claim]:
    held, reductions = [], []
    for _, part in common.cells(table[table["alpha"] == 1.0], ["pattern"]):
        ratio = common.ratios_by_policy(part)
        held.append(max(common.pick(ratio, (*common.SPREADING, common.LEVEL_SPREAD))) < 1)
        reductions.append(common.reduction_percent(ratio[common.LEVEL_SPREAD], ratio["simple"]))
    return [
        _share_claim(
            "64-node jobs, alpha 1: spreading and Level-Spread below Simple (% of panels)",
            held,
            "Fig. 4(b), VI-A",
            routing,
        ),
        *_range_claims(
            "64-node jobs, alpha 1, Level-Spread against Simple", FIG4_64_PAPER, reductions, routing
        ),
    ]


def _shrink_claims(table: pd.DataFrame, routing: str) -> list[Claim]:
    held = []
    for _, part in common.cells(table, ["job_nodes", "pattern"]):
        spans = [
            row["ratio"].max() / row["ratio"].min()
            for _, row in common.cells(part.sort_values("alpha"), ["alpha"])
        ]
        if len(spans) > 1:
            held.append(all(b < a for a, b in pairwise(spans)))
    if not held:
        return []
    return [
        _share_claim(
            "faster global links, smaller differences (% of panels)", held, "Fig. 4, VI-A", routing
        )
    ]


def fig4_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: job size and alpha; columns: patterns; bars: policies, with deviations."""
    table = analysis.tables["times"]
    table = table[table["routing"] == table["routing"].iloc[0]]
    rows = [
        (nodes, alpha)
        for nodes in dict.fromkeys(table["job_nodes"])
        for alpha in sorted(set(table["alpha"]))
    ]
    patterns = list(dict.fromkeys(table["pattern"]))
    drawing, axes = common.panels(len(rows), len(patterns), 2.1 * len(patterns), 1.7 * len(rows))
    for r, (nodes, alpha) in enumerate(rows):
        for c, pattern in enumerate(patterns):
            panel = axes[r][c]
            mine = table[
                (table["job_nodes"] == nodes)
                & (table["alpha"] == alpha)
                & (table["pattern"] == pattern)
            ].set_index("policy")
            order = [p for p in common.POLICIES if p in mine.index]
            mine = mine.loc[order]
            panel.bar(
                order,
                mine["ratio"],
                yerr=mine["ratio_sd"],
                capsize=2,
                color=[common.STYLES[p][1] for p in order],
            )
            panel.axhline(1, color="0.5", lw=0.6)
            panel.tick_params(axis="x", rotation=90, labelsize=6)
            panel.tick_params(axis="y", labelsize=6)
            if r < len(rows) - 1:
                panel.set_xticklabels([])
            if r == 0:
                panel.set_title(pattern, fontsize=9)
        axes[r][0].set_ylabel(f"{nodes}-node jobs\nalpha = {alpha:g}", fontsize=7)
    drawing.suptitle(f"communication time / Simple, {table['routing'].iloc[0]}", fontsize=10)
    drawing.tight_layout()
    return drawing


FIG2 = PaperFigure(
    "fig2",
    "RDG and RDN with 17 x 16-node and 4 x 68-node jobs on 272 nodes",
    FUNCTION,
    fig2_points,
    fig2_analyse,
    fig2_draw,
)
FIG4 = PaperFigure(
    "fig4",
    "jobs of 16 and of 64 nodes: 6 patterns, 3 global bandwidths, 8 policies",
    FUNCTION,
    fig4_points,
    fig4_analyse,
    fig4_draw,
)
