"""Figs. 7 and 8 of the Level-Spread paper: 16-node and 64-node jobs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread import common
from experiments.papers.level_spread.machine import network_config, networks
from experiments.papers.level_spread.point import FUNCTION, make_point
from experiments.papers.level_spread.workloads import PATTERNS, heterogeneous
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIG7_CELLS = ((272, 0.25), (272, 1.0), (272, 4.0), (528, 1.0), (544, 1.0), (1056, 1.0))
"""Nodes and alpha. Fig. 7(b) shows three machine sizes without naming two of them; all are run."""
FIG7_QUICK_CELLS = ((272, 1.0), (544, 1.0))
QUICK_PATTERNS = ("all-to-all", "halo3d")
SIZES_KB = ((1, 100), (1, 10), (1, 1), (10, 1), (100, 1))
"""KB of small and of large jobs; the paper names 1 and 100 KB, the steps between are ours."""
QUICK_SIZES_KB = ((1, 10), (1, 1), (10, 1))
KEYS_7 = ["routing", "n_nodes", "alpha", "pattern"]
KEYS_8 = ["routing", "small_kb", "large_kb", "pattern"]
PAPER_1056 = {"broadcast": 32.0, "all-to-all": 64.0}
SLACK = 1.02
"""Level-Spread "coincides" with the best of the others if it is at most 2 % above it."""


def fig7_points(options: Options) -> list[Point]:
    """n jobs of each size at 90 %, messages of 1 KB."""
    return [
        make_point(
            n_nodes=n_nodes,
            alpha=alpha,
            network=network_config(network),
            jobs=[t.config() for t in heterogeneous(n_nodes, pattern)],
            policies=common.POLICIES,
            draws={"seed": options.seed, "workload": f"16+64 {n_nodes}", "repetition": repetition},
            labels={
                "routing": network.routing,
                "n_nodes": n_nodes,
                "alpha": alpha,
                "pattern": pattern,
                "repetition": repetition,
            },
        )
        for network in networks(options, ("ugal-l",))
        for n_nodes, alpha in (FIG7_QUICK_CELLS if options.quick else FIG7_CELLS)
        for pattern in (QUICK_PATTERNS if options.quick else PATTERNS)
        for repetition in range(common.repetitions(options))
    ]


def fig8_points(options: Options) -> list[Point]:
    """Three jobs of each size on 272 nodes, messages of different sizes."""
    return [
        make_point(
            n_nodes=272,
            alpha=1.0,
            network=network_config(network),
            jobs=[t.config() for t in heterogeneous(272, pattern, small_kb, large_kb)],
            policies=common.POLICIES,
            draws={"seed": options.seed, "workload": "16+64 272", "repetition": repetition},
            labels={
                "routing": network.routing,
                "small_kb": small_kb,
                "large_kb": large_kb,
                "pattern": pattern,
                "repetition": repetition,
            },
        )
        for network in networks(options, ("ugal-l",))
        for small_kb, large_kb in (QUICK_SIZES_KB if options.quick else SIZES_KB)
        for pattern in (QUICK_PATTERNS if options.quick else PATTERNS)
        for repetition in range(common.repetitions(options))
    ]


def scatter(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """One row a dot: x is the small jobs' ratio, y the large jobs'."""
    wide = table.pivot_table(index=[*keys, "policy"], columns="kind", values="ratio", sort=False)
    return wide.reset_index().rename(columns={"small": "x", "large": "y"})


def _xy(part: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    return common.ratios_by_policy(part, "x"), common.ratios_by_policy(part, "y")


def _corner_claim(dots: pd.DataFrame, keys: list[str], where: str, routing: str) -> list[Claim]:
    """Level-Spread against the spreading policies for small, the grouping ones for large jobs."""
    left, low, small, large = [], [], [], []
    for _, part in common.cells(dots, keys[1:]):
        x, y = _xy(part)
        ours = common.LEVEL_SPREAD
        left.append(x[ours] < min(common.pick(x, common.SPREADING)))
        low.append(y[ours] < min(common.pick(y, common.GROUPING)))
        small.append(x[ours] <= SLACK * max(common.pick(x, common.GROUPING)))
        large.append(y[ours] <= SLACK * max(common.pick(y, common.SPREADING)))
    told = (
        ("small jobs: Level-Spread below every spreading policy", left),
        ("large jobs: Level-Spread below every grouping policy", low),
        ("small jobs: Level-Spread no worse than the grouping policies", small),
        ("large jobs: Level-Spread no worse than the spreading policies", large),
    )
    return [
        Claim(
            f"{what} (% of panels)",
            where,
            all(held),
            f"in all {len(held)} panels",
            routing,
            100.0,
            100.0 * float(np.mean(held)),
        )
        for what, held in told
    ]


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The corner in which Level-Spread lies, and what it gains on 1056 nodes."""
    table = common.normalised(frames["times"], KEYS_7, options)
    dots = scatter(table, KEYS_7)
    claims: list[Claim] = []
    for cell, part in common.cells(dots, ["routing"]):
        routing = cell["routing"]
        claims += _corner_claim(part, KEYS_7, "Fig. 7, VI-B", routing)
        for pattern, printed in PAPER_1056.items():
            mine = part[(part["n_nodes"] == 1056) & (part["pattern"] == pattern)]
            if len(mine):
                x, _ = _xy(mine)
                ours = common.reduction_percent(
                    x[common.LEVEL_SPREAD], float(np.mean(common.pick(x, common.SPREADING)))
                )
                claims.append(
                    Claim(
                        f"1056 nodes, 16-node jobs, {pattern}: Level-Spread below the mean of "
                        "the spreading policies (%)",
                        "VI-B",
                        common.near(ours, printed),
                        common.POINTS_RULE,
                        routing,
                        printed,
                        ours,
                    )
                )
        claims += _shrink_claims(part, routing)
        slow = part[(part["alpha"] == 0.25) & (part["policy"] == "rrr")]
        if len(slow):
            claims.append(
                Claim(
                    "alpha 0.25: RRR's small jobs take more than 5 times Simple's (median panel)",
                    "Fig. 7(a)",
                    bool(slow["x"].median() > 5),
                    "above 5",
                    routing,
                    5.0,
                    float(slow["x"].median()),
                )
            )
    return Analysis(claims_frame(claims), {"times": table, "dots": dots})


def _span(part: pd.DataFrame) -> float:
    """Worst over best policy, geometric mean of both kinds of jobs."""
    return float(np.sqrt(part["x"].max() / part["x"].min() * part["y"].max() / part["y"].min()))


def _shrink_claims(dots: pd.DataFrame, routing: str) -> list[Claim]:
    held = []
    for _, part in common.cells(dots[dots["n_nodes"] == 272], ["pattern"]):
        spans = [_span(row) for _, row in common.cells(part.sort_values("alpha"), ["alpha"])]
        if len(spans) > 1:
            held.append(all(b < a for a, b in pairwise(spans)))
    if not held:
        return []
    return [
        Claim(
            "faster global links, smaller differences (% of patterns)",
            "Fig. 7(a), VI-B",
            all(held),
            f"in all {len(held)} patterns",
            routing,
            100.0,
            100.0 * float(np.mean(held)),
        )
    ]


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Heavier jobs of one size slow the other's under the spreading policies."""
    table = common.normalised(frames["times"], KEYS_8, options)
    dots = scatter(table, KEYS_8)
    claims: list[Claim] = []
    for cell, part in common.cells(dots, ["routing"]):
        routing = cell["routing"]
        claims += _corner_claim(part, KEYS_8, "Fig. 8, VI-C", routing)
        # The FFT's messages do not follow the message size.
        moving = part[part["pattern"] != "fft3d"]
        for what, column, heavy in (
            ("heavier large jobs slow the small ones", "x", "large_kb"),
            ("heavier small jobs slow the large ones", "y", "small_kb"),
        ):
            held = [
                _spreading_mean(p, column, p[heavy] == p[heavy].max())
                > _spreading_mean(p, column, p["small_kb"] == p["large_kb"])
                for _, p in common.cells(moving, ["pattern"])
            ]
            claims.append(
                Claim(
                    f"{what} under the spreading policies (% of patterns)",
                    "Fig. 8, VI-C",
                    all(held),
                    "heaviest against equal sizes, mean of the spreading policies against Simple, "
                    f"in all {len(held)} patterns",
                    routing,
                    100.0,
                    100.0 * float(np.mean(held)),
                )
            )
    return Analysis(claims_frame(claims), {"times": table, "dots": dots})


def _spreading_mean(part: pd.DataFrame, column: str, rows: pd.Series[bool]) -> float:
    mine = part[rows & part["policy"].isin(common.SPREADING)]
    return float(mine[column].mean())


def _draw(
    dots: pd.DataFrame, row_keys: list[str], title: Callable[[Mapping[str, object]], str]
) -> Figure:
    routing = dots["routing"].iloc[0]
    dots = dots[dots["routing"] == routing]
    rows = list(common.cells(dots, row_keys))
    patterns = list(dict.fromkeys(dots["pattern"]))
    drawing, axes = common.panels(len(rows), len(patterns), 2.3 * len(patterns), 2.1 * len(rows))
    for r, (cell, part) in enumerate(rows):
        for c, pattern in enumerate(patterns):
            panel = axes[r][c]
            for _, row in part[part["pattern"] == pattern].iterrows():
                common.dot(panel, row["policy"], [row["x"]], [row["y"]])
            panel.axvline(1, color="0.8", lw=0.6, zorder=0)
            panel.axhline(1, color="0.8", lw=0.6, zorder=0)
            panel.tick_params(labelsize=6)
            if r == 0:
                panel.set_title(pattern, fontsize=9)
        axes[r][0].set_ylabel(f"{title(cell)}\nlarge jobs", fontsize=7)
    for panel in axes[-1]:
        panel.set_xlabel("small jobs", fontsize=7)
    handles, labels = axes[0][0].get_legend_handles_labels()
    drawing.suptitle(f"communication time / Simple, {routing}", fontsize=10)
    drawing.tight_layout(rect=(0, 0.04, 1, 1))
    drawing.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=8)
    return drawing


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: alpha on 272 nodes, then larger machines; columns: patterns."""
    return _draw(
        analysis.tables["dots"],
        ["n_nodes", "alpha"],
        lambda cell: f"{cell['n_nodes']} nodes, alpha {cell['alpha']:g}",
    )


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: message sizes; columns: patterns."""
    return _draw(
        analysis.tables["dots"],
        ["small_kb", "large_kb"],
        lambda cell: f"small {cell['small_kb']} KB, large {cell['large_kb']} KB",
    )


FIG7 = PaperFigure(
    "fig7",
    "16-node and 64-node jobs together: 3 global bandwidths, 4 machine sizes",
    FUNCTION,
    fig7_points,
    fig7_analyse,
    fig7_draw,
)
FIG8 = PaperFigure(
    "fig8",
    "16-node and 64-node jobs with different message sizes",
    FUNCTION,
    fig8_points,
    fig8_analyse,
    fig8_draw,
)
