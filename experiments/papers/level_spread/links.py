"""Figs. 5 and 6 of the Level-Spread paper: packets and stalls on local and global links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.level_spread import common
from experiments.papers.level_spread.machine import network_config, networks
from experiments.papers.level_spread.point import FUNCTION, LINK_KINDS, make_point
from experiments.papers.level_spread.workloads import homogeneous
from experiments.papers.paper import Analysis, Options, PaperFigure, Point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

QUANTITIES = {"packets": "packets", "stall_us": "stall time (us)", "stalls": "stalls"}
DRAWN = ("packets", "stall_us")
"""SST counts the time for which a port is stalled, so that is drawn."""

RULE = "the largest is at most the others' least, not all 0; ours: ratio of means"


def _points(options: Options, nodes: int) -> list[Point]:
    return [
        make_point(
            n_nodes=272,
            alpha=1.0,
            network=network_config(network),
            jobs=[t.config() for t in homogeneous(272, nodes, "all-to-all")],
            policies=common.POLICIES,
            draws={"seed": options.seed, "workload": f"{nodes} nodes", "repetition": repetition},
            labels={"routing": network.routing, "job_nodes": nodes, "repetition": repetition},
            link_statistics=True,
        )
        for network in networks(options, ("ugal-l",))
        for repetition in range(common.repetitions(options))
    ]


def fig5_points(options: Options) -> list[Point]:
    """16-node all-to-all jobs, alpha 1, 272 nodes at 90 %."""
    return _points(options, 16)


def fig6_points(options: Options) -> list[Point]:
    """64-node all-to-all jobs, alpha 1, 272 nodes at 90 %."""
    return _points(options, 64)


def boxes(links: pd.DataFrame) -> pd.DataFrame:
    """Five numbers and the mean over all links of all repetitions, by policy, link, quantity."""
    import pandas as pd

    rows: list[dict[str, object]] = []
    for cell, part in common.cells(links, ["routing", "policy", "link_kind"]):
        for quantity in QUANTITIES:
            values = np.concatenate([np.asarray(v, dtype=float) for v in part[quantity]])
            low, q1, median, q3, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
            rows.append(
                {
                    **cell,
                    "quantity": quantity,
                    "min": low,
                    "q25": q1,
                    "median": median,
                    "q75": q3,
                    "max": high,
                    "mean": values.mean(),
                    "coefficient_of_variation": values.std() / values.mean()
                    if values.any()
                    else 0.0,
                }
            )
    return pd.DataFrame(rows)


def _values(table: pd.DataFrame, kind: str, quantity: str, column: str) -> dict[str, float]:
    mine = table[(table["link_kind"] == kind) & (table["quantity"] == quantity)]
    return common.ratios_by_policy(mine, column)


def _claim(
    what: str, where: str, routing: str, low: list[float], high: list[float], rule: str
) -> Claim:
    """Holds if every value of ``low`` is at most the least of ``high``, and not all are 0.

    Ours: ratio of means.
    """
    some = bool(np.mean(high))
    ours = float(np.mean(low) / np.mean(high)) if some else None
    return Claim(what, where, some and max(low) <= min(high), rule, routing, None, ours)


def fig5_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Grouping policies and Level-Spread put fewer packets and stalls on links."""
    table = boxes(frames["links"])
    claims = []
    compact = (*common.GROUPING, common.LEVEL_SPREAD)
    for cell, part in common.cells(table, ["routing"]):
        for kind in LINK_KINDS:
            for quantity, name in (("packets", "packets"), ("stall_us", "stall time")):
                mean = _values(part, kind, quantity, "mean")
                claims.append(
                    _claim(
                        f"{kind} links, mean {name}: grouping and Level-Spread below spreading",
                        "Fig. 5, VI-A",
                        cell["routing"],
                        common.pick(mean, compact),
                        common.pick(mean, common.SPREADING),
                        RULE,
                    )
                )
    return Analysis(claims_frame(claims), {"boxes": table})


def fig6_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Spreading puts more packets on the median link, varies less and stalls less."""
    table = boxes(frames["links"])
    claims = []
    wide = (*common.SPREADING, common.LEVEL_SPREAD)
    for cell, part in common.cells(table, ["routing"]):
        for kind in LINK_KINDS:
            median = _values(part, kind, "packets", "median")
            claims.append(
                _claim(
                    f"{kind} links, median packets: grouping below spreading and Level-Spread",
                    "Fig. 6, VI-A",
                    cell["routing"],
                    common.pick(median, common.GROUPING),
                    common.pick(median, wide),
                    RULE,
                )
            )
            for quantity, column, name in (
                ("packets", "coefficient_of_variation", "variation of packets (sd / mean)"),
                ("stall_us", "mean", "mean stall time"),
            ):
                values = _values(part, kind, quantity, column)
                claims.append(
                    _claim(
                        f"{kind} links, {name}: spreading and Level-Spread below grouping",
                        "Fig. 6, VI-A",
                        cell["routing"],
                        common.pick(values, wide),
                        common.pick(values, common.GROUPING),
                        RULE,
                    )
                )
    return Analysis(claims_frame(claims), {"boxes": table})


def draw(analysis: Analysis, options: Options) -> Figure:
    """Boxes from 25 to 75 %, a line at the median, whiskers to the extremes."""
    table = analysis.tables["boxes"]
    table = table[table["routing"] == table["routing"].iloc[0]]
    drawing, axes = common.panels(len(DRAWN), len(LINK_KINDS), 9, 5.4)
    for r, quantity in enumerate(DRAWN):
        for c, kind in enumerate(reversed(LINK_KINDS)):
            panel = axes[r][c]
            mine = table[(table["quantity"] == quantity) & (table["link_kind"] == kind)]
            mine = mine.set_index("policy")
            order = [p for p in common.POLICIES if p in mine.index]
            panel.bxp(
                [
                    {
                        "whislo": mine.loc[p, "min"],
                        "q1": mine.loc[p, "q25"],
                        "med": mine.loc[p, "median"],
                        "q3": mine.loc[p, "q75"],
                        "whishi": mine.loc[p, "max"],
                        "label": p,
                    }
                    for p in order
                ],
                showfliers=False,
                patch_artist=True,
                boxprops={"facecolor": "#a6d96a"},
                medianprops={"color": "black"},
            )
            panel.tick_params(axis="x", rotation=45, labelsize=7)
            panel.set_title(f"{kind} links", fontsize=9)
            panel.set_ylabel(QUANTITIES[quantity], fontsize=8)
            panel.set_ylim(bottom=0)
    drawing.suptitle(f"all-to-all, {table['routing'].iloc[0]}", fontsize=10)
    drawing.tight_layout()
    return drawing


FIG5 = PaperFigure(
    "fig5",
    "packets and stalls on links, 16-node all-to-all jobs",
    FUNCTION,
    fig5_points,
    fig5_analyse,
    draw,
)
FIG6 = PaperFigure(
    "fig6",
    "packets and stalls on links, 64-node all-to-all jobs",
    FUNCTION,
    fig6_points,
    fig6_analyse,
    draw,
)
