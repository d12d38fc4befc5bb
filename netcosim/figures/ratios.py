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
    """A panel a quantity, a row a policy, a line at 1 where the reference is.

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
    height = 1.0 + 0.34 * len(policies)
    figure, axes = new_figure(1.4 + 2.4 * len(quantities), height, 1, len(quantities))
    for place, (axis, quantity) in enumerate(zip(axes, quantities, strict=True)):
        mine = frame[frame["quantity"] == quantity].set_index("policy")
        axis.axvline(1.0, color=SOFT, linewidth=1.0)
        for row, policy in enumerate(policies):
            if policy not in mine.index:
                continue
            ratio, low, high = (float(mine.at[policy, c]) for c in ("ratio", "low", "high"))
            if np.isfinite(low) and np.isfinite(high):
                axis.hlines(row, low, high, color=paints[policy], linewidth=2.4)
            axis.plot([ratio], [row], "o", color=paints[policy], markersize=7)
        axis.set_ylim(len(policies) - 0.4, -0.6)
        shown = [literal(policy) for policy in policies] if place == 0 else [""] * len(policies)
        axis.set_yticks(range(len(policies)), shown)
        axis.tick_params(axis="y", length=0)
        axis.locator_params(axis="x", nbins=5)
        low, high = axis.get_xlim()
        axis.set_xlim(min(low, 0.9), max(high, 1.1))
        axis.set_title(literal(quantity), fontsize=10)
        axis.set_xlabel(f"over {literal(reference, 30)}", color=INK)
        grid(axis, "x")
    return figure
