"""How agents learn, and how players do on weeks that were held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.panels import panel_grid
from experiments.figures.style import SOFT, colour, grid, marker, new_figure, shared_legend
from netcosim.bench_rl.play import PPO
from netcosim.bench_rl.points import AGENT, BLIND, ORDER_ALONE, RANDOM

if TYPE_CHECKING:
    import pandas as pd

SHOWN = (AGENT, f"{AGENT}, {ORDER_ALONE}", BLIND, f"{BLIND}, {ORDER_ALONE}", PPO, RANDOM)
WIDE = 10
"""Where a player has more than so many times the best hand rule's score, ratios go by logarithm."""


def learning_figure(curve: pd.DataFrame, scores: pd.DataFrame, best: pd.DataFrame) -> Figure:
    """Draw a panel a cell: score by generation over that of the best hand rule.

    Parameters
    ----------
    curve : DataFrame
        Of `netcosim.bench_rl.points`.
    scores, best : DataFrame
        Of `netcosim.bench_rl.tables`: `scores`, `differences`.
    """
    cells = list(dict.fromkeys(zip(curve["machine"], curve["workload"], strict=True)))
    figure, axes = panel_grid(len(cells), 3, (3.4, 2.4), top_in=0.6)
    for axis, (machine, workload) in zip(axes, cells, strict=True):
        hand = best[(best["machine"] == machine) & (best["workload"] == workload)].iloc[0]
        there = scores[(scores["machine"] == machine) & (scores["workload"] == workload)]
        trained = there.set_index("player")["training"][hand["best_hand"]]
        axis.axhline(1.0, color=SOFT, linewidth=1.0)
        mine = curve[(curve["machine"] == machine) & (curve["workload"] == workload)]
        for i, (player, of_it) in enumerate(mine.groupby("player", sort=False)):
            paint = colour(i)
            if player == AGENT:
                axis.plot(
                    of_it["generation"],
                    of_it["training"] / trained,
                    "-",
                    color=paint,
                    linewidth=1.2,
                    label=f"{player}: training weeks",
                )
            seen = of_it[of_it["held_out"].notna()]
            axis.plot(
                seen["generation"],
                seen["held_out"].astype(float) / hand["best_hand_score"],
                marker(i),
                linestyle="--",
                color=paint,
                markersize=4,
                linewidth=0.8,
                label=f"{player}: held-out weeks",
            )
        axis.set_title(f"{machine}, {workload}", fontsize=9)
        grid(axis)
    for axis in axes[-3:]:
        axis.set_xlabel("generation")
    shared_legend(figure, axes)
    return figure


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
