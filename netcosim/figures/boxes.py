"""Box plots of what the links carried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.style import (
    INK,
    SOFT,
    check_columns,
    grid,
    literal,
    new_figure,
    policy_colours,
)
from netsim.units import time_scale

if TYPE_CHECKING:
    import pandas as pd


def link_boxes(
    frame: pd.DataFrame,
    *,
    values: tuple[tuple[str, str], ...] = (
        ("packets", "packets on a link"),
        ("stall_s", "stalled time of a link"),
    ),
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Boxes by policy, a column of panels for each kind of link, a row for each value.

    Boxes span the quartiles, whiskers the 1st to the 99th percentile, the point is the mean.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a link: columns ``policy``, ``kind`` and those named in ``values``.
    values : tuple of (column, label)
        A column in seconds (``..._s``) is drawn in the unit that fits, told in the label.
    colours : mapping, optional
        Of policies; by default in order of appearance.

    Raises
    ------
    NetcosimError
        A missing column, no rows.
    """
    check_columns(frame, ["policy", "kind", *(column for column, _ in values)], "link boxes")
    kinds, policies = list(dict.fromkeys(frame["kind"])), list(dict.fromkeys(frame["policy"]))
    paints = colours or policy_colours(policies)
    height = 0.9 + len(values) * (0.75 + 0.27 * len(policies))
    figure, axes = new_figure(max(6.5, 2.9 * len(kinds) + 1.2), height, len(values), len(kinds))
    for row, (column, label) in enumerate(values):
        factor, unit = 1.0, ""
        if column.endswith("_s"):
            factor, unit = time_scale(float(np.nanmax(frame[column].to_numpy(dtype=float))))
        for place, kind in enumerate(kinds):
            axis = axes[row * len(kinds) + place]
            mine = frame[frame["kind"] == kind]
            data = [
                mine.loc[mine["policy"] == policy, column].to_numpy(dtype=float) * factor
                for policy in policies
            ]
            drawn = axis.boxplot(
                [d if len(d) else np.array([np.nan]) for d in data],
                orientation="horizontal",
                widths=0.62,
                whis=(1, 99),
                showfliers=False,
                showmeans=True,
                patch_artist=True,
                medianprops={"color": "white", "linewidth": 1.6},
                meanprops={
                    "marker": "o",
                    "markersize": 3.5,
                    "markerfacecolor": "white",
                    "markeredgecolor": INK,
                },
                whiskerprops={"color": INK, "linewidth": 0.9},
                capprops={"color": INK, "linewidth": 0.9},
                boxprops={"linewidth": 1.5},
            )
            for i, box in enumerate(drawn["boxes"]):
                box.set(facecolor=paints[policies[i]], edgecolor=paints[policies[i]])
                # A box whose quartiles are equal has no inside: its median shows it.
                if len(data[i]) and np.ptp(np.quantile(data[i], [0.25, 0.75])) == 0:
                    drawn["medians"][i].set(color=paints[policies[i]], linewidth=3.0)
            axis.invert_yaxis()
            if not any(np.any(d > 0) for d in data):
                axis.set_xlim(0, 1)
                axis.text(0.5, 0.5, "all 0", transform=axis.transAxes, ha="center", color=SOFT)
            names = [literal(p) for p in policies] if place == 0 else [""] * len(policies)
            axis.set_yticks(np.arange(1, len(policies) + 1), names)
            axis.tick_params(axis="y", length=0)
            axis.set_xlim(0, None)
            axis.locator_params(axis="x", nbins=5)
            axis.set_xlabel(f"{label} ({unit})" if unit else label)
            if row == 0:
                axis.set_title(f"{kind} links", fontsize=10, loc="left")
            grid(axis, "x")
    return figure
