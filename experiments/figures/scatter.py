"""Small against large jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.style import INK, SOFT, check_columns, colour, new_figure

if TYPE_CHECKING:
    import pandas as pd


def small_against_large(
    frame: pd.DataFrame,
    *,
    policy: str,
    value: str = "communication time",
    title: str = "",
) -> Figure:
    """What a policy changes for small and for large jobs, a panel for each policy it meets.

    A point is one workload. Left of zero small jobs gain, below zero large jobs do; each
    quadrant is marked with its share of the points. Points on an axis count for the side of no
    gain.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``against`` (the other policy), ``small_percent`` and ``large_percent``: change in
        percent, negative is better.
    policy : str
        The policy whose change it is.
    value : str
        What changed.
    title : str

    Raises
    ------
    NetcosimError
        A missing column, no rows.
    """
    check_columns(frame, ["against", "small_percent", "large_percent"], "scatter")
    others = list(dict.fromkeys(frame["against"]))
    columns = min(len(others), 4)
    rows = -(-len(others) // columns)
    figure, axes = new_figure(
        4.8 if columns == 1 else 2.7 * columns + 0.6,
        4.9 if columns == 1 else 2.9 * rows + 0.6,
        rows,
        columns,
        share=True,
    )
    both = frame[["small_percent", "large_percent"]].to_numpy(dtype=float)
    reach = float(np.nanmax(np.abs(both))) * 1.12 or 1.0
    for place, axis in enumerate(axes):
        if place >= len(others):
            axis.set_visible(False)
            continue
        mine = frame[frame["against"] == others[place]]
        x = mine["small_percent"].to_numpy(dtype=float)
        y = mine["large_percent"].to_numpy(dtype=float)
        axis.axhline(0, color=SOFT, linewidth=0.8)
        axis.axvline(0, color=SOFT, linewidth=0.8)
        axis.scatter(x, y, s=9, color=colour(0), alpha=min(0.8, 60 / len(x) + 0.25), linewidths=0)
        for right in (False, True):
            for top in (False, True):
                share = np.mean(((x >= 0) == right) & ((y >= 0) == top))
                axis.text(
                    0.97 if right else 0.03,
                    0.97 if top else 0.03,
                    f"{100 * share:.0f} %",
                    transform=axis.transAxes,
                    ha="right" if right else "left",
                    va="top" if top else "bottom",
                    fontsize=10,
                    fontweight="bold",
                    color=INK,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
                )
        axis.set_xlim(-reach, reach)
        axis.set_ylim(-reach, reach)
        axis.set_box_aspect(1)
        axis.set_title(f"against {others[place]}", fontsize=10, loc="left")
    figure.supxlabel(f"small jobs: change of {value} (%)", fontsize=10)
    figure.supylabel(f"large jobs: change of {value} (%)", fontsize=10)
    figure.suptitle(title or f"{policy}: down and left is better", x=0.01, ha="left", fontsize=11)
    return figure
