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
from experiments.papers.isolation.cells import BY_NODE, FACTORS, USUAL
from experiments.papers.isolation.stretches import AT_ONCE
from experiments.papers.paper import Analysis, Options

CELL = ["log", *FACTORS, "policy"]
POLICY, WALLTIMES = "jigsaw", "logged"
"""What is drawn; the tables have all."""
DRAWN = ("makespan", "turnaround")
CAB_PERCENT = 7.4
"""Measured on Cab: 1.08 times as long among others (Pollard et al., SC'18, Fig. 1)."""
MARKED = {5.0: "5 %", CAB_PERCENT: "Cab", 10.0: "10 %", 20.0: "20 %"}
MOST_PERCENT = 21.0


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a row for each log and metric: the gain needed, and the cells by load and network.

    Logs without arrivals over which the load varies are in the tables.
    """
    chosen = {"policy": POLICY, "walltimes": WALLTIMES}
    usual = {name: USUAL[name][0] for name in ("network", "drive")}
    gain, needed = (_where(analysis.tables[name], chosen) for name in ("gain", "queue"))
    phases = _where(analysis.tables["phases"], chosen).merge(gain, on=CELL)
    phases["gain_percent"] = phases["by_node"].where(phases["metric"] == BY_NODE, phases["by_job"])
    phases["drive"] = phases["drive"].astype(str)
    by_load = _where(phases, usual)
    logs = [
        log
        for log in first_seen(phases, "log")
        if (by_load[by_load["log"] == log]["load"] != AT_ONCE).any()
    ]
    rows = [(log, metric) for log in logs for metric in DRAWN]
    placements = [name for name in first_seen(phases, "placement") if name in USUAL["placement"]]
    shares, loads = (sorted(set(by_load[name])) for name in ("share", "load"))
    at_once = _where(phases, {"load": AT_ONCE})
    at_once = at_once.assign(load=at_once["network"] + ", " + at_once["drive"])
    networks = first_seen(at_once.sort_values(["network", "drive"], ascending=False), "load")
    wide = 1 + 2 * len(placements)
    figure, axes = new_figure(2.1 * wide, 0.5 + 2.0 * len(rows), len(rows), wide)
    for number, (log, metric) in enumerate(rows):
        first, *panels = axes[number * wide : (number + 1) * wide]
        here = {"log": log, "metric": metric}
        _needs(first, _where(needed, here))
        first.set_title(f"{log}: gain that the\n{metric} needs (%)", fontsize=8)
        for place, axis in enumerate(panels):
            there = {**here, "placement": placements[place // 2]}
            title = f"{log}: {metric},\n{there['placement']} before"
            if place % 2:
                draw_phases(axis, _where(at_once, there), shares, networks)
                axis.set_title(f"{title}, full", fontsize=8)
                axis.set_ylabel("network, drive", fontsize=8)
            else:
                draw_phases(axis, _where(by_load, there), shares, loads)
                axis.set_title(title, fontsize=8)
    verdict_legend(figure)
    return figure


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
        axis.annotate(name, (0, percent), fontsize=6, color=SOFT, va="bottom")
    axis.set_ylim(-1, MOST_PERCENT)
    axis.set_xticks(x, [*loads[:-1], "full"], fontsize=7)
    axis.tick_params(axis="y", labelsize=7)
    axis.set_xlabel("offered load", fontsize=8)
    grid(axis)
