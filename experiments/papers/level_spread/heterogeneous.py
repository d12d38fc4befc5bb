"""Figs. 7 and 8 of the Level-Spread paper: 16-node and 64-node jobs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import first_seen, groups, lookup
from experiments.papers.kit.panels import dots as draw_dots
from experiments.papers.kit.panels import panels
from experiments.papers.level_spread import printed
from experiments.papers.level_spread.times import (
    GROUPING,
    LEVEL_SPREAD,
    LOOKS,
    SPREADING,
    WITHIN_POINTS,
    normalised,
    pick,
    reduction_percent,
    shrinking,
)
from experiments.papers.paper import Analysis, Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIG7_KEYS = ["routing", "n_nodes", "alpha", "pattern"]
FIG8_KEYS = ["routing", "small_kb", "large_kb", "pattern"]
SLACK = 1.02
"""Level-Spread "coincides" with the best of the others if it is at most 2 % above it."""


def scatter(frames: Mapping[str, pd.DataFrame], keys: list[str], options: Options) -> Analysis:
    """Tables "times" and "dots": of each dot, x is the small jobs' ratio, y the large jobs'."""
    table = normalised(frames["times"], keys, options)
    wide = table.pivot_table(index=[*keys, "policy"], columns="kind", values="ratio", sort=False)
    dots = wide.reset_index().rename(columns={"small": "x", "large": "y"})
    return Analysis(claims_frame([]), {"times": table, "dots": dots})


def _corner_claims(dots: pd.DataFrame, keys: Sequence[str], says: Says) -> list[Claim]:
    """Level-Spread against the spreading policies for small, the grouping ones for large jobs."""
    told: dict[str, list[bool]] = {
        "small jobs: Level-Spread below every spreading policy": [],
        "large jobs: Level-Spread below every grouping policy": [],
        "small jobs: Level-Spread no worse than the grouping policies": [],
        "large jobs: Level-Spread no worse than the spreading policies": [],
    }
    left, low, small, large = told.values()
    for _, part in groups(dots, *keys[1:]):
        x, y = (lookup(part, ["policy"], axis) for axis in "xy")
        left.append(x[LEVEL_SPREAD] < min(pick(x, SPREADING)))
        low.append(y[LEVEL_SPREAD] < min(pick(y, GROUPING)))
        small.append(x[LEVEL_SPREAD] <= SLACK * max(pick(x, GROUPING)))
        large.append(y[LEVEL_SPREAD] <= SLACK * max(pick(y, SPREADING)))
    return [says.everywhere(f"{what} (% of panels)", held) for what, held in told.items()]


def fig7_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The corner in which Level-Spread lies, and what it gains on 1056 nodes."""
    found = scatter(frames, FIG7_KEYS, options)
    claims: list[Claim] = []
    for (routing,), part in groups(found.tables["dots"], "routing"):
        claims += _corner_claims(part, FIG7_KEYS, Says("Fig. 7, VI-B", routing))
        for pattern, below in printed.SMALL_ON_1056.items():
            mine = part[(part["n_nodes"] == 1056) & (part["pattern"] == pattern)]
            if len(mine):
                x = lookup(mine, ["policy"], "x")
                mean = float(np.mean(pick(x, SPREADING)))
                claims.append(
                    Says("VI-B", routing).near(
                        f"1056 nodes, 16-node jobs, {pattern}: Level-Spread below the mean of "
                        "the spreading policies (%)",
                        below,
                        reduction_percent(x[LEVEL_SPREAD], mean),
                        within=WITHIN_POINTS,
                        unit="points",
                    )
                )
        held = shrinking(part[part["n_nodes"] == 272], ["pattern"], _span)
        if held:
            what = "faster global links, smaller differences (% of patterns)"
            claims.append(Says("Fig. 7(a), VI-B", routing).everywhere(what, held, "patterns"))
        slow = part[(part["alpha"] == 0.25) & (part["policy"] == "rrr")]
        if len(slow):
            what = "alpha 0.25: RRR's small jobs take more than 5 times Simple's (median panel)"
            says, least = Says("Fig. 7(a)", routing), printed.FIG7_RRR
            claims.append(says.above(what, float(slow["x"].median()), least, paper=least))
    return Analysis(claims_frame(claims), found.tables)


def _span(part: pd.DataFrame) -> float:
    """Worst over best policy, geometric mean of both kinds of jobs."""
    return float(np.sqrt(part["x"].max() / part["x"].min() * part["y"].max() / part["y"].min()))


def fig8_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Heavier jobs of one size slow the other's under the spreading policies."""
    found = scatter(frames, FIG8_KEYS, options)
    claims: list[Claim] = []
    for (routing,), part in groups(found.tables["dots"], "routing"):
        says = Says("Fig. 8, VI-C", routing)
        claims += _corner_claims(part, FIG8_KEYS, says)
        # The FFT's messages do not follow the message size.
        spread = part[(part["pattern"] != "fft3d") & part["policy"].isin(SPREADING)]
        for what, column, heavy in (
            ("heavier large jobs slow the small ones", "x", "large_kb"),
            ("heavier small jobs slow the large ones", "y", "small_kb"),
        ):
            held = []
            for _, mine in groups(spread, "pattern"):
                equal = mine.loc[mine["small_kb"] == mine["large_kb"], column].mean()
                heaviest = mine.loc[mine[heavy] == mine[heavy].max(), column].mean()
                held.append(bool(heaviest > equal))
            claims.append(
                says.everywhere(
                    f"{what} under the spreading policies (% of patterns)",
                    held,
                    "patterns",
                    note="heaviest against equal sizes, mean of these policies against Simple",
                )
            )
    return Analysis(claims_frame(claims), found.tables)


def _draw(analysis: Analysis, row_keys: list[str], title: Callable[..., str]) -> Figure:
    """Communication times over Simple's, a panel a value of the keys and a pattern."""
    dots = analysis.tables["dots"]
    routing = dots["routing"].iloc[0]

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        draw_dots(axis, part, "x", "y", "policy", looks=LOOKS)
        axis.axvline(1, color="0.8", lw=0.6, zorder=0)
        axis.axhline(1, color="0.8", lw=0.6, zorder=0)

    return panels(
        dots[dots["routing"] == routing],
        [*row_keys, "pattern"],
        draw,
        columns=len(first_seen(dots, "pattern")),
        size_in=(2.4, 2.1),
        xlabel=f"small jobs / Simple, {routing}",
        ylabel="large jobs / Simple",
        title=lambda *values: f"{title(*values[:-1])}\n{values[-1]}",
    )


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: alpha on 272 nodes, then larger machines; columns: patterns."""
    return _draw(
        analysis, ["n_nodes", "alpha"], lambda nodes, alpha: f"{nodes} nodes, alpha {alpha:g}"
    )


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """Rows: message sizes; columns: patterns."""
    return _draw(
        analysis,
        ["small_kb", "large_kb"],
        lambda small, large: f"small {small} KB, large {large} KB",
    )
