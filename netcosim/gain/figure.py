"""Makespan and turnaround by gain, and where what was measured lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.style import SOFT, grid, new_figure, policy_colours
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT

if TYPE_CHECKING:
    import pandas as pd


def break_even_figure(curve: pd.DataFrame, metrics: pd.DataFrame, gains: pd.DataFrame) -> Figure:
    """A panel a metric.

    Parameters
    ----------
    curve : DataFrame
        Columns ``policy``, ``gain_percent`` and the metrics: ratios.
    metrics : DataFrame
        Columns ``policy``, ``metric``, ``ratio`` with its ends, ``chance``.
    gains : DataFrame
        Columns ``policy``, ``gain_percent`` with its ends.
    """
    policies = list(dict.fromkeys(curve["policy"]))
    # an end that is not known is None in a table
    metrics = metrics.astype({"ratio_low": float, "ratio_high": float, "chance": float})
    gains = gains.astype({"gain_percent_low": float, "gain_percent_high": float})
    colours = policy_colours(policies)
    figure, axes = new_figure(8.0, 3.6, 1, len(METRICS))
    for axis, (metric, word) in zip(axes, METRICS.items(), strict=True):
        axis.axhline(1.0, color=SOFT, linewidth=1.0)
        for percent in PAPERS_PERCENT:
            axis.axvline(percent, color=SOFT, linewidth=0.6, linestyle=":")
        for name in policies:
            mine = curve[curve["policy"] == name]
            paint, x = colours[name], mine["gain_percent"].to_numpy(float)
            slope, at_none = np.polyfit(x, mine[metric].to_numpy(float), 1)
            reach = np.array([0.0, max(x)])
            line = at_none + slope * reach
            row = metrics[(metrics["policy"] == name) & (metrics["metric"] == metric)].iloc[0]
            axis.plot(x, mine[metric], "o", color=paint, markersize=4, label=name)
            axis.plot(reach, line, "-", color=paint, linewidth=1.0)
            if np.isfinite(row["chance"]):
                axis.fill_between(
                    reach, line - row["chance"], line + row["chance"], color=paint, alpha=0.12
                )
            gain = gains[gains["policy"] == name].iloc[0]
            ends = [gain[f"gain_percent{end}"] for end in ("_low", "_high")]
            if all(np.isfinite(ends)):
                axis.axvspan(*ends, color=paint, alpha=0.15, linewidth=0)
                low, high = float(row["ratio_low"]), float(row["ratio_high"])
                if np.isfinite(low) and np.isfinite(high):
                    axis.vlines(gain["gain_percent"], low, high, color=paint, linewidth=2.0)
            axis.plot([gain["gain_percent"]], [row["ratio"]], "D", color=paint, markersize=6)
        axis.set_xlabel("less run time (%)")
        axis.set_title(f"{word} over the reference's")
        grid(axis)
    axes[0].legend(frameon=False, fontsize=8)
    return figure
