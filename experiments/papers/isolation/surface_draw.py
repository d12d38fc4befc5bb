"""Drawing of the surface: percent off along the share, and from where isolation pays."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import INK, SOFT, colour, grid, new_figure, shared_legend
from experiments.papers.paper import Analysis, Options

SHOWN = ("baseline", "slurm-tree", "random")
"""Placements that are drawn; the tables have all."""
SCENARIOS = (("5%", "10%", "20%"), ("V1", "V2", "Random"))
"""Names at the right, at the left."""
PERCENT = (-1.5, 21.5)
"""Of the upper panels."""
WIDEST = 10.0
"""Half of a break-even's interval, beyond which nothing is drawn against it."""


def draw(analysis: Analysis, options: Options) -> Figure:
    """Above: percent off along the share. Below: the share from which isolation pays."""
    curves, crossings, needed = (
        analysis.tables[name] for name in ("curves", "crossings", "break-even")
    )
    logs = list(dict.fromkeys(needed["log"]))
    figure, axes = new_figure(3.1 * len(logs), 6.2, 2, len(logs))
    for above, below, log in zip(axes, axes[len(logs) :], logs, strict=False):
        row = needed[needed["log"] == log].iloc[0]
        of_log = crossings[crossings["log"] == log]
        _gains(above, curves[(curves["log"] == log) & (curves["drive"] == "1")], of_log, row)
        target = of_log[of_log["target"] == f"break-even {row['metric']}"]
        _from_where(below, target, row, float(curves["share"].max()))
    shared_legend(figure, axes)
    return figure


def _known(row: pd.Series) -> bool:
    return bool(row["high"] - row["low"] <= 2 * WIDEST)


def _gains(axis: Axes, mine: pd.DataFrame, of_log: pd.DataFrame, row: pd.Series) -> None:
    for k, placement in enumerate(SHOWN):
        line = mine[mine["placement"] == placement]
        axis.plot(line["share"], line["taken_off"], color=colour(k), label=placement)
        axis.fill_between(line["share"], line["low"], line["high"], color=colour(k), alpha=0.18)
    for names, side in zip(SCENARIOS, ("right", "left"), strict=True):
        for name in names:
            at = float(of_log.loc[of_log["target"] == name, "taken_off"].iloc[0])
            end = mine["share"].max() if side == "right" else mine["share"].min()
            axis.axhline(at, color=SOFT, lw=0.7, ls=":")
            axis.annotate(name, (end, at), fontsize=6, color=SOFT, va="bottom", ha=side)
    axis.axhline(row["break_even"], color=INK, lw=1.1, label="break-even")
    if _known(row):
        axis.axhspan(row["low"], row["high"], color=INK, alpha=0.12)
    axis.set_ylim(*PERCENT)
    axis.set_title(f"{row['log']}: break-even of the {row['metric']}", fontsize=9)
    axis.set_xlabel("mean share of communication", fontsize=8)
    axis.set_ylabel("off the run time (%)", fontsize=8)
    grid(axis)


def _from_where(axis: Axes, target: pd.DataFrame, row: pd.Series, top: float) -> None:
    if _known(row):
        for k, placement in enumerate(SHOWN):
            line = target[target["placement"] == placement]
            drive = line["drive"].astype(float)
            ends = [line[end].clip(upper=1.2 * top) for end in ("share", "low", "high")]
            axis.plot(drive, ends[0], color=colour(k), marker="o", ms=3)
            axis.fill_between(drive, ends[1], ends[2], color=colour(k), alpha=0.18)
        axis.axhline(top, color=SOFT, lw=0.7, ls=":")
    else:
        words = "cannot be told:\nthe break-even's interval\nis wider than the panel above"
        axis.text(0.5, 0.5, words, transform=axis.transAxes, ha="center", fontsize=8, color=SOFT)
    axis.set_ylim(0, 1.1 * top)
    axis.set_title(f"{row['log']}: pays above", fontsize=9)
    axis.set_xlabel("drive: what a node sends over a link's bandwidth", fontsize=8)
    axis.set_ylabel("mean share of communication", fontsize=8)
    grid(axis)
