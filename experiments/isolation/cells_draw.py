"""Drawing of the cells: what each queue needs by load, and where isolation pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.isolation.cells import BY_NODE, FACTORS, USUAL
from experiments.isolation.phase_figure import draw_phases, verdict_legend
from experiments.isolation.stretches import AT_ONCE
from experiments.kit.frames import first_seen
from experiments.kit.papers import Analysis, Options
from netcosim.report.figures.style import SOFT, colour, grid, new_figure

CELL = ["log", *FACTORS, "policy"]
POLICY, WALLTIMES = "jigsaw", "logged"
"""What is drawn; the tables have all."""
DRAWN = {"kth-sp2": (BY_NODE, "turnaround")}
"""Metrics of a log; of others that of work alone, so that the figure fits a page."""
CAB_PERCENT = 7.4
"""Measured on Cab: 1.08 times as long among others (Pollard et al., SC'18, Fig. 1)."""
MARKED = {5.0: "5 %", CAB_PERCENT: "Cab", 10.0: "10 %", 20.0: "20 %"}
MOST_PERCENT = 21.0


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a row for each log and metric: the gain needed, and the cells by load and network.

    Logs without arrivals over which the load varies are in the tables.
    """
    chosen = {"policy": POLICY, "walltimes": WALLTIMES}
    gain, needed = (_where(analysis.tables[name], chosen) for name in ("gain", "queue"))
    phases = _where(analysis.tables["phases"], chosen).merge(gain, on=CELL)
    phases["gain_percent"] = phases["by_node"].where(phases["metric"] == BY_NODE, phases["by_job"])
    by_load = set(phases[phases["load"] != AT_ONCE]["log"])
    rows = [
        (log, metric)
        for log in first_seen(phases, "log")
        if log in by_load
        for metric in DRAWN.get(log, (BY_NODE,))
    ]
    placements = USUAL["placement"]
    phases = phases.sort_values(["network", "load", "drive"], ascending=[False, True, True])
    phases["load"] = _conditions(phases)
    levels = first_seen(phases, "load")
    shares = sorted(set(phases["share"]))
    wide = 1 + len(placements)
    figure, axes = new_figure(8.0, 0.4 + 2.3 * len(rows), len(rows), wide)
    for number, (log, metric) in enumerate(rows):
        first, *panels = axes[number * wide : (number + 1) * wide]
        here = {"log": log, "metric": metric}
        _needs(first, _where(needed, here))
        first.set_title(f"{log}: gain that\n{metric} needs (%)", fontsize=9)
        for placement, axis in zip(placements, panels, strict=True):
            mine = _where(phases, {**here, "placement": placement})
            draw_phases(axis, mine, shares, levels)
            axis.set_title(f"{log}: {metric},\n{placement} before", fontsize=9)
    verdict_legend(figure)
    return figure


def _conditions(phases: pd.DataFrame) -> pd.Series:
    """Return each row's network, its load unless all jobs are there at once, and a drive not 1."""
    load = phases["load"].map(lambda level: "" if level == AT_ONCE else f", load {level}")
    drive = phases["drive"].astype(str).map(lambda level: "" if level == "1" else f", {level}x")
    return phases["network"] + load + drive


def _where(table: pd.DataFrame, levels: Mapping[str, Any]) -> pd.DataFrame:
    """Return rows with these levels, of the columns that the table has."""
    for name, level in levels.items():
        if name in table:
            table = table[table[name] == level]
    return table


def _needs(axis: Axes, needed: pd.DataFrame) -> None:
    """Draw the break-even along the load, the papers' assumptions and Cab's result as lines."""
    loads = [*sorted(set(needed["load"]) - {AT_ONCE}), AT_ONCE]
    rows = needed.set_index("load").reindex(loads)
    x = np.arange(len(loads))
    axis.plot(x, rows["needed"], color=colour(0), marker="o", ms=3)
    ends = rows[["needed_low", "needed_high"]].astype(float).to_numpy().T
    axis.fill_between(x, *ends, color=colour(0), alpha=0.15, linewidth=0)
    for percent, name in MARKED.items():
        axis.axhline(percent, color=SOFT, lw=0.7, ls=":")
        axis.annotate(name, (0, percent), fontsize=7, color=SOFT, va="bottom")
    axis.set_ylim(-1, MOST_PERCENT)
    axis.set_xticks(x, [*loads[:-1], "full"], fontsize=7)
    axis.tick_params(axis="y", labelsize=7)
    axis.set_xlabel("offered load", fontsize=8)
    grid(axis)
