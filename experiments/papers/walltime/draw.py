"""Drawings of the walltime-aware allocation paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import colour, grid, new_figure
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options
from experiments.papers.walltime.point import CLASSES, SHOWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def gain_bars(analysis: Analysis, options: Options) -> Figure:
    """Figs. 6 to 8: gains by month, one panel a case and order, intervals from the days."""
    table = analysis.tables["gains"]
    panels = list(groups(table, "case", "order"))
    figure, axes = new_figure(7.0, 2.6 * len(panels), rows=len(panels))
    for axis, ((case, order), part) in zip(axes, panels, strict=True):
        months = [*dict.fromkeys(part["month"])]
        schemes = [*dict.fromkeys(part["scheme"])]
        width = 0.8 / len(schemes)
        for i, scheme in enumerate(schemes):
            mine = part[part["scheme"] == scheme].set_index("month").reindex(months)
            x = np.arange(len(months)) + (i - (len(schemes) - 1) / 2) * width
            gain = 100 * mine["gain"].to_numpy(dtype=float)
            ends = 100 * mine[["low", "high"]].to_numpy(dtype=float).T
            axis.bar(x, gain, width * 0.92, label=scheme, color=colour(i))
            axis.vlines(x, ends[0], ends[1], color="0.25", linewidth=0.8)
        axis.axhline(0, color="0.4", linewidth=0.8)
        axis.set_xticks(range(len(months)), months)
        axis.set_ylabel("relative gain (%)")
        axis.set_title(f"{case}, {order.upper()}", fontsize=9)
        grid(axis)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False, fontsize=9)
    return figure


def gain_distribution(analysis: Analysis, options: Options) -> Figure:
    """Fig. 9: share of cases with more than a gain, a curve a metric."""
    table = analysis.tables["gains"]
    panels = list(groups(table, "case"))
    figure, axes = new_figure(4.2 * len(panels), 3.4, columns=len(panels))
    for axis, ((case,), part) in zip(axes, panels, strict=True):
        for i, ((metric,), rows) in enumerate(groups(part, "metric")):
            gains = np.sort(100 * rows["gain"].to_numpy(dtype=float))
            share = 1 - np.arange(len(gains)) / len(gains)
            axis.step(gains, 100 * share, where="pre", label=metric, color=colour(i))
        axis.axvline(0, color="0.4", linewidth=0.8)
        axis.set_xlabel("relative gain of at least (%)")
        axis.set_ylabel("share of cases (%)")
        axis.set_title(str(case), fontsize=9)
        grid(axis)
        axis.legend(fontsize=8, frameon=False)
    return figure


def class_curves(analysis: Analysis, options: Options) -> Figure:
    """Figs. 10 to 13: cumulative distributions by size class, Combo solid, Base dashed."""
    table = analysis.tables["quantiles"]
    panels = list(groups(table, "case"))
    figure, axes = new_figure(4.6 * len(panels), 3.6, columns=len(panels))
    for axis, ((case,), part) in zip(axes, panels, strict=True):
        waits = (part["metric"] == "wait_min").any()
        for i, name in enumerate(CLASSES):
            for scheme, style in zip(SHOWN, ("--", "-"), strict=True):
                mine = part[(part["class"] == name) & (part["scheme"] == scheme)]
                axis.plot(
                    mine["value"],
                    mine["share"],
                    style,
                    color=colour(i),
                    label=f"{name} {scheme}",
                    linewidth=1.2,
                )
        axis.set_xlabel("wait (minutes)" if waits else "bounded slowdown")
        if waits:
            axis.set_xlim(0, max(300.0, float(part[part["share"] <= 0.95]["value"].max())))
        else:
            axis.set_xscale("log")
        axis.set_ylabel("fraction of jobs")
        axis.set_title(f"{case}, {part['month'].iloc[0]}", fontsize=9)
        grid(axis)
        axis.legend(fontsize=7, frameon=False)
    return figure
