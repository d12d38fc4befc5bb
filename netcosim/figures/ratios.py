"""Policies against a reference: a dot each, with its interval where there is one."""

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
from experiments.frames import first_seen

if TYPE_CHECKING:
    import pandas as pd


def ratio_dots(
    frame: pd.DataFrame, *, reference: str, colours: Mapping[str, str] | None = None
) -> Figure:
    """Rows of policies under each quantity, a line at 1 where the reference is.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``quantity``, ``policy``, ``ratio``, ``low``, ``high`` (nan: no interval), in the
        order in which they are shown.
    reference : str
        What the ratios are relative to.
    colours : mapping, optional
        Of policies; by default in order of appearance.

    Raises
    ------
    NetcosimError
        A missing column, no rows.
    """
    check_columns(frame, ["quantity", "policy", "ratio", "low", "high"], "ratios")
    quantities, policies = first_seen(frame, "quantity"), first_seen(frame, "policy")
    paints = colours or policy_colours(policies)
    n_rows = len(quantities) * (len(policies) + 1)
    figure, [axis] = new_figure(4.9, 0.8 + 0.25 * n_rows)
    axis.axvline(1.0, color=SOFT, linewidth=1.0)
    ticks, names = [], []
    for place, quantity in enumerate(quantities):
        head = place * (len(policies) + 1)
        ticks.append(head)
        names.append(literal(quantity))
        mine = frame[frame["quantity"] == quantity].set_index("policy")
        for row, policy in enumerate(policies, head + 1):
            ticks.append(row)
            names.append(literal(policy))
            if policy not in mine.index:
                continue
            ratio, low, high = (float(mine.at[policy, c]) for c in ("ratio", "low", "high"))
            if np.isfinite(low) and np.isfinite(high):
                axis.hlines(row, low, high, color=paints[policy], linewidth=2.4)
            axis.plot([ratio], [row], "o", color=paints[policy], markersize=7)
    axis.set_ylim(n_rows - 0.4, -0.6)
    axis.set_yticks(ticks, names)
    for place, label in enumerate(axis.get_yticklabels()):
        label.set_fontweight("normal" if place % (len(policies) + 1) else "bold")
    axis.tick_params(axis="y", length=0)
    ends = frame[["ratio", "low", "high"]].to_numpy(dtype=float)
    least, most = min(0.95, float(np.nanmin(ends))), max(1.05, float(np.nanmax(ends)))
    axis.set_xlim(least - 0.06 * (most - least), most + 0.06 * (most - least))
    axis.set_xlabel(f"over {literal(reference)}", color=INK)
    grid(axis, "x")
    return figure
