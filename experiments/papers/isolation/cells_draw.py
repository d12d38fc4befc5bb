"""Drawing of the cells: what each queue needs by load, and where isolation pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.phase_map import draw_phases, verdict_legend
from experiments.figures.style import SOFT, colour, grid, new_figure
from experiments.frames import first_seen
from experiments.papers.isolation.cells import FACTORS, METRICS, STUDY, USUAL
from experiments.papers.paper import Analysis, Options

CELL = ["log", *FACTORS, "policy"]
POLICY, METRIC, WALLTIMES = "jigsaw", "turnaround", "logged"
"""What is drawn; the tables have all."""
CAB_PERCENT = 7.4
"""Measured on Cab: 1.08 times as long among others (Pollard et al., SC'18, Fig. 1)."""
MARKED = {5.0: "5 %", CAB_PERCENT: "Cab", 10.0: "10 %", 20.0: "20 %"}
MOST_PERCENT = 21.0


def draw(analysis: Analysis, options: Options) -> Figure:
    """A row a log: at the left the gain that is needed, then a panel for each placement before."""
    phases, needed = analysis.tables["phases"], analysis.tables["queue"]
    usual = {name: USUAL[name] for name in ("network", "drive")}
    usual |= {"policy": POLICY, "metric": METRIC, "walltimes": WALLTIMES}
    gains = _where(analysis.tables["gain"], usual).rename(columns={"by_job": "gain_percent"})
    mine = _where(phases, usual).merge(gains[[*CELL, "gain_percent"]], on=CELL)
    logs, placements = first_seen(mine, "log"), first_seen(mine, "placement")
    wide = 1 + len(placements)
    figure, axes = new_figure(2.3 * wide, 0.5 + 2.3 * len(logs), len(logs), wide)
    for row, log in enumerate(logs):
        first, *panels = axes[row * wide : (row + 1) * wide]
        _needs(first, needed[(needed["log"] == log) & (needed["policy"] == POLICY)], log)
        for axis, placement in zip(panels, placements, strict=True):
            here = {"log": log, "placement": placement}
            draw_phases(axis, _where(mine, here))
            axis.set_title(f"{log}, {placement} before", fontsize=8)
    verdict_legend(figure)
    return figure


def _where(table: pd.DataFrame, levels: Mapping[str, Any]) -> pd.DataFrame:
    """Rows with these levels, of the columns that the table has."""
    for name, level in levels.items():
        if name in table:
            table = table[table[name] == level]
    return table


def _needs(axis: Axes, needed: pd.DataFrame, log: str) -> None:
    """The break-even along the load; what papers assumed and what Cab measured are lines."""
    loads = [*map(str, STUDY["loads"]), str(USUAL["load"])]
    mine = needed[needed["walltimes"] == WALLTIMES]
    for k, metric in enumerate(METRICS):
        rows = mine[mine["metric"] == metric].set_index("load").reindex(loads)
        x = np.arange(len(loads))
        axis.plot(x, rows["needed"], color=colour(k), marker="o", ms=3, label=metric)
        ends = rows[["needed_low", "needed_high"]].astype(float).to_numpy().T
        axis.fill_between(x, *ends, color=colour(k), alpha=0.15, linewidth=0)
    for percent, name in MARKED.items():
        axis.axhline(percent, color=SOFT, lw=0.7, ls=":")
        axis.annotate(name, (0, percent), fontsize=6, color=SOFT, va="bottom")
    axis.set_ylim(-1, MOST_PERCENT)
    axis.set_xticks(range(len(loads)), [*loads[:-1], "full"], fontsize=7)
    axis.set_title(f"{log}: gain needed (%)", fontsize=8)
    axis.set_xlabel("offered load", fontsize=8)
    axis.legend(frameon=False, fontsize=6)
    grid(axis)
