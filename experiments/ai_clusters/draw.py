"""Drawing of the cells: where each purchase pays, over oversubscription and load."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.ai_clusters.cells import FIRST, STUDY
from netcosim.report.figures.phase_map import draw_phases, verdict_legend
from netcosim.report.figures.style import new_figure
from netcosim.reproduce.paper import Analysis, Options
from netcosim.runs.frames import first_seen

CONTROL = "philly"
TODAY = {"routing": "ecmp-1", "scheduler": "none", "variant": "usual"}
PANELS = (
    *((name, "random") for name in FIRST),
    *((name, "slurm-tree") for name in FIRST if name != "placement"),
)
"""Purchases, and the placement of today."""


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a row a log and a panel a purchase, from random servers and from few switches."""
    table = analysis.tables["purchases"]
    table = table[table["log"] != CONTROL]
    for name, level in TODAY.items():
        table = table[table[name] == level]
    table = table.assign(gain_percent=table["off_percent"], load=table["load"].astype(str))
    logs, loads = first_seen(table, "log"), sorted(set(table["load"]))
    levels = sorted(map(int, STUDY["oversubscription"]))
    figure, axes = new_figure(2.1 * len(PANELS), 0.5 + 2.0 * len(logs), len(logs), len(PANELS))
    for number, log in enumerate(logs):
        for column, (purchase, placement) in enumerate(PANELS):
            axis = axes[number * len(PANELS) + column]
            mine = table[
                (table["log"] == log)
                & (table["purchase"] == purchase)
                & (table["placement"] == placement)
            ]
            axis.set_title(f"{log}: buy {purchase},\n{placement} today", fontsize=8)
            draw_phases(axis, mine, levels, loads, ("oversubscription", "oversubscription"))
            axis.set_ylabel("" if column else "offered load", fontsize=8)
    verdict_legend(figure, "")
    return figure
