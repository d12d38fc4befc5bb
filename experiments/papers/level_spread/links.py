"""Figs. 5 and 6 of the Level-Spread paper: packets and stalls on local and global links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import cells, groups, lookup
from experiments.papers.kit.panels import boxes as draw_boxes
from experiments.papers.kit.panels import panels
from experiments.papers.level_spread.point import LINK_KINDS
from experiments.papers.level_spread.times import COMPACT, WIDE, pick
from experiments.papers.paper import Analysis, Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTITIES = {"packets": "packets", "stall_us": "stall time (us)", "stalls": "stalls"}
DRAWN = ("packets", "stall_us")
"""SST counts the time for which a port is stalled, so that is drawn."""
VARIATION = "coefficient_of_variation"
FIVE = ("min", "q25", "median", "q75", "max")
RULE = "the largest is at most the others' least, not all 0; ours: ratio of means"


def boxes(links: pd.DataFrame) -> pd.DataFrame:
    """Five numbers and the mean over all links of all repetitions, by policy, link, quantity."""
    import pandas as pd

    rows: list[dict[str, object]] = []
    for cell, part in cells(links, ["routing", "policy", "link_kind"]):
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
"""Quantity, its column, the same in words, policies (by `CALLED`) with less of it, with more."""


def analyse(frames: Mapping[str, pd.DataFrame], options: Options, *, where: str) -> Analysis:
    """Whether every policy of one group has at most what any of the other has, and not all 0.

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
                ours = float(np.mean(low) / np.mean(high)) if some else None
                good = some and max(low) <= min(high)
                told = f"{kind} links, {what}: {less} below {more}"
                claims.append(Says(where, routing).holds(told, good, RULE, ours))
    return Analysis(claims_frame(claims), {"boxes": table})


fig5_analyse = partial(analyse, where="Fig. 5, VI-A")
fig6_analyse = partial(analyse, where="Fig. 6, VI-A")


def draw(analysis: Analysis, options: Options) -> Figure:
    """Boxes from 25 to 75 %, a line at the median, whiskers to the extremes."""
    (routing,), table = next(groups(analysis.tables["boxes"], "routing"))

    def five(axis: Axes, part: pd.DataFrame) -> None:
        draw_boxes(axis, part, "policy", "link_kind", quantiles=FIVE)
        axis.tick_params(axis="x", rotation=45)
        axis.set_ylim(bottom=0)

    return panels(
        table[table["quantity"].isin(DRAWN)].sort_values(["quantity", "link_kind"], kind="stable"),
        ["quantity", "link_kind"],
        five,
        columns=len(LINK_KINDS),
        size_in=(4.5, 2.6),
        title=lambda quantity, kind: f"{kind} links, {routing}: {QUANTITIES[quantity]}",
        legend=False,
    )
