"""Bars against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.panels import grouped_bars
from experiments.figures.style import (
    INK,
    SOFT,
    check_columns,
    grid,
    literal,
    new_figure,
    policy_colours,
)
from experiments.frames import first_seen

if TYPE_CHECKING:
    import pandas as pd


def bars_against_baseline(
    frame: pd.DataFrame, *, baseline: str, colours: Mapping[str, str] | None = None
) -> Figure:
    """Groups of bars, one bar a policy, with the baseline as a line at 1.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``group`` (a pattern, a machine), ``policy``, ``ratio``, and ``low`` and ``high``,
        the ends of the error bars. Order is that of first appearance. Rows of the baseline
        itself are not drawn.
    baseline : str
        Name of the policy with ratio 1.
    colours : mapping, optional
        Of policies; by default in order of appearance.

    Raises
    ------
    NetcosimError
        A missing column, no rows.
    """
    check_columns(frame, ["group", "policy", "ratio", "low", "high"], "bars")
    shown = frame[frame["policy"] != baseline]
    groups = first_seen(frame, "group")
    n_policies = shown["policy"].nunique()
    wide = max(6.0, 1.2 + 0.32 * len(groups) * (n_policies + 1))
    figure, [axis] = new_figure(min(wide, 11.0), 4.4)
    if n_policies:
        grouped_bars(
            axis,
            shown,
            "group",
            "policy",
            "ratio",
            ends=("low", "high"),
            order=groups,
            colours=colours or policy_colours(first_seen(shown, "policy")),
            name=literal,
        )
    axis.axhline(1.0, color=INK, linewidth=1.0)
    axis.annotate(
        f"{literal(baseline)} = 1",
        (1.0, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )
    slanted = max(len(str(g)) for g in groups) * len(groups) > wide * 9
    axis.set_xticks(
        np.arange(len(groups)),
        [literal(g) for g in groups],
        rotation=30 if slanted else 0,
        ha="right" if slanted else "center",
    )
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, None)
    axis.set_ylabel("communication time, relative to the baseline", color=INK)
    grid(axis)
    figure.legend(
        loc="outside upper left",
        ncols=min(n_policies, 6),
        frameon=False,
        fontsize=9,
        alignment="left",
        labelcolor=INK,
    )
    axis.spines["bottom"].set_color(SOFT)
    return figure
