"""Drawing of the reference placements: hops by job size, and the gain against each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import INK, SOFT, colour, grid, marker, new_figure, shared_legend
from experiments.frames import first_seen, groups
from experiments.papers.paper import Analysis, Options


def draw(analysis: Analysis, options: Options) -> Figure:
    """Hops over sizes, a panel a log; beneath, the reduction by Jigsaw by placement and case."""
    hops, gain = analysis.tables["hops"], analysis.tables["gain"]
    logs, policies = first_seen(hops, "log"), first_seen(hops, "policy")
    wide = max(2, len(logs))
    figure, axes = new_figure(4.0 * wide, 6.4, 2, wide)
    for axis, (log,) in zip(axes, ((log,) for log in logs), strict=False):
        _hops(axis, hops[(hops["log"] == log) & (hops["nodes"] != "2+")], policies)
        axis.set_title(log, fontsize=9)
    axes[0].set_ylabel("average pairwise hops (quartiles)", fontsize=8)
    cases = list(groups(gain, "drive", "io", "io_bytes"))
    _gain(axes[wide], cases[0][1], policies)
    axes[wide].set_title("what Jigsaw takes off, by placement", fontsize=9)
    axes[wide].set_ylabel("off the run time (%)", fontsize=8)
    _cases(axes[wide + 1], gain, policies)
    axes[wide + 1].set_title("against baseline and random nodes, by case", fontsize=9)
    for axis in (*axes[len(logs) : wide], *axes[wide + 2 :]):
        axis.set_visible(False)
    shared_legend(figure, axes[:1])
    return figure


def _hops(axis: Axes, part: pd.DataFrame, policies: list[str]) -> None:
    names = first_seen(part, "nodes")
    order = sorted(names, key=lambda name: int(name.lstrip(">").split("-")[0]))
    at = {name: k for k, name in enumerate(order)}
    for k, policy in enumerate(policies):
        mine = part[part["policy"] == policy]
        x = mine["nodes"].map(at).to_numpy() + 0.11 * (k - (len(policies) - 1) / 2)
        axis.vlines(x, mine["q25"], mine["q75"], color=colour(k), lw=1.5)
        axis.plot(x, mine["q50"], ls="", marker=marker(k), ms=4, color=colour(k), label=policy)
    least = part.drop_duplicates("nodes")
    place = least["nodes"].map(at).to_numpy()
    axis.hlines(least["least"], place - 0.42, place + 0.42, color=INK, ls=":", label="least")
    axis.set_xticks(range(len(order)), order, fontsize=7)
    axis.set_xlabel("nodes of the job", fontsize=8)
    axis.set_ylim(-0.1, 4.1)
    grid(axis)


def _bars(axis: Axes, x: np.ndarray, rows: pd.DataFrame, ink: str, shape: str, name: str) -> None:
    axis.plot(x, rows["taken_off"], ls="", marker=shape, ms=5, color=ink, label=name)
    low, high = (rows[f"taken_off_{end}"].astype(float) for end in ("low", "high"))
    axis.vlines(x, low, high, color=ink, lw=1.4)


def _gain(axis: Axes, rows: pd.DataFrame, policies: list[str]) -> None:
    for k, policy in enumerate(policies):
        mine = rows[rows["policy"] == policy]
        _bars(axis, np.full(len(mine), k), mine, colour(k), marker(k), policy)
    axis.set_xticks(range(len(policies)), policies, fontsize=6.5, rotation=20)
    axis.axhline(0, color=SOFT, lw=0.8)
    grid(axis)


def _cases(axis: Axes, gain: pd.DataFrame, policies: list[str]) -> None:
    names = []
    for place, ((drive, io, io_bytes), part) in enumerate(groups(gain, "drive", "io", "io_bytes")):
        tick = f"I/O {100 * io:g} %\n{io_bytes / 1024:g} KiB" if io else f"drive {drive:g}"
        names.append(tick)
        for step, policy in ((-0.1, "baseline"), (0.1, "random")):
            mine, k = part[part["policy"] == policy], policies.index(policy)
            _bars(axis, np.full(len(mine), place + step), mine, colour(k), marker(k), policy)
    axis.set_xticks(range(len(names)), names, fontsize=7)
    axis.axhline(0, color=SOFT, lw=0.8)
    grid(axis)
