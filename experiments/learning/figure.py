"""How players do on weeks that were held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.learning.clairvoyant import CLAIRVOYANT
from experiments.learning.play import PPO
from experiments.learning.points import AGENT, BLIND, NO_CONTENTION, ORDER_ALONE
from netcosim.report.figures.style import SOFT, colour, grid, marker, new_figure, shared_legend

if TYPE_CHECKING:
    import pandas as pd

SHOWN = (
    *(AGENT, f"{AGENT}, {ORDER_ALONE}", BLIND, f"{BLIND}, {ORDER_ALONE}"),
    *(PPO, NO_CONTENTION, CLAIRVOYANT),
)
WIDE = 10
"""Where a player has more than so many times the best hand rule's score, ratios go by logarithm."""


def held_out_figure(differences: pd.DataFrame, metric: str) -> Figure:
    """Draw a panel a machine: ratio to the best hand rule on held-out weeks, 95 % intervals."""
    machines = list(dict.fromkeys(differences["machine"]))
    workloads = list(dict.fromkeys(differences["workload"]))
    players = [name for name in SHOWN if name in set(differences["player"])]
    high = 0.3 * len(workloads) * len(players) * 0.55 + 1.4
    figure, axes = new_figure(3.6 * len(machines), max(high, 2.6), 1, len(machines))
    step = 0.8 / max(len(players), 1)
    for axis, machine in zip(axes, machines, strict=True):
        axis.axvline(1.0, color=SOFT, linewidth=1.0)
        for i, player in enumerate(players):
            mine = differences[
                (differences["machine"] == machine) & (differences["player"] == player)
            ]
            y = [
                workloads.index(name) + (i - (len(players) - 1) / 2) * step
                for name in mine["workload"]
            ]
            axis.hlines(y, mine["ratio_low"], mine["ratio_high"], color=colour(i), linewidth=1.4)
            axis.plot(
                mine["ratio"], y, marker(i), color=colour(i), markersize=4, ls="", label=player
            )
        axis.set_yticks(np.arange(len(workloads)), workloads)
        axis.set_ylim(len(workloads) - 0.5, -0.5)
        axis.set_title(machine)
        axis.set_xlabel(f"{metric} over the best hand rule's")
        if differences.loc[differences["machine"] == machine, "ratio"].max() > WIDE:
            axis.set_xscale("log")
        grid(axis, "x")
    shared_legend(figure, axes, 3)
    return figure
