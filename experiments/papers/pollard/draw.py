"""Drawings of the topology-aware paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.papers.fattree.point import BIN_NAMES
from experiments.papers.paper import Analysis, Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTILES = ("least", "q25", "median", "q75", "most")


def fig7_draw(analysis: Analysis, options: Options) -> Figure:
    """Boxes of the hops by job size, one panel a log; the least possible as a mark."""
    from experiments.figures.style import INK, colour, grid, new_figure, shared_legend

    table = analysis.tables["hops"]
    logs, policies = _first_seen(table, "log"), _first_seen(table, "policy")
    figure, axes = new_figure(7.5, 0.8 + 2.3 * len(logs), len(logs), 1)
    for axis, log in zip(axes, logs, strict=True):
        here = table[table["log"] == log]
        order = [b for b in BIN_NAMES if b in set(here["bin"])]
        for i, policy in enumerate(policies):
            for row in here[here["policy"] == policy].to_dict("records"):
                x = order.index(str(row["bin"])) + 0.36 * (i - (len(policies) - 1) / 2)
                values = [float(row[f"hops_{q}"]) for q in QUANTILES]
                _box(axis, x, values, colour(i), policy)
        ideal = here.drop_duplicates("bin").set_index("bin")["hops_ideal"].reindex(order)
        for at, value in enumerate(ideal):
            axis.hlines(
                value, at - 0.45, at + 0.45, color=INK, ls=":", label="least possible (median)"
            )
        axis.set_xticks(range(len(order)), order)
        axis.set_xlim(-0.6, len(order) - 0.4)
        axis.set_xlabel("nodes of the job", fontsize=8)
        axis.set_ylabel("average pairwise hops", fontsize=8)
        axis.set_title(log, fontsize=9)
        grid(axis)
    shared_legend(figure, axes)
    return figure


def fig8_draw(analysis: Analysis, options: Options) -> Figure:
    """Boxes of the utilisation every minute: Baseline, then TA by scenario."""
    from experiments.figures.style import colour, grid, new_figure, shared_legend

    table = analysis.tables["minutes"]
    logs = _first_seen(table, "log")
    columns = 2 if len(logs) > 1 else 1
    rows = -(-len(logs) // columns)
    figure, axes = new_figure(4.6 * columns, 0.8 + 2.3 * rows, rows, columns)
    for axis, log in zip(axes, logs, strict=False):
        here = table[table["log"] == log]
        names = []
        for at, row in enumerate(here.to_dict("records")):
            baseline = row["policy"] == "baseline"
            names.append("baseline" if baseline else f"TA {row['scenario']}".replace(" none", ""))
            values = [100 * float(row[q]) for q in QUANTILES]
            _box(axis, at, values, colour(0 if baseline else 1), "baseline" if baseline else "TA")
        axis.set_xticks(range(len(names)), names, fontsize=7.5)
        axis.set_ylim(0, 104)
        axis.set_ylabel("utilisation every minute (%)", fontsize=8)
        axis.set_title(log, fontsize=9)
        grid(axis)
    for axis in axes[len(logs) :]:
        axis.set_visible(False)
    shared_legend(figure, axes)
    return figure


def fig9_draw(analysis: Analysis, options: Options) -> Figure:
    """Makespan above Baseline's, a group a log, a bar a scenario."""
    import numpy as np

    from experiments.figures.style import INK, colour, grid, new_figure

    table = analysis.tables["makespan"]
    logs, scenarios = _first_seen(table, "log"), _first_seen(table, "scenario")
    figure, [axis] = new_figure(max(6.0, 1.0 + 1.5 * len(logs)), 3.6)
    width = 0.8 / len(scenarios)
    for i, scenario in enumerate(scenarios):
        mine = table[table["scenario"] == scenario].set_index("log")["makespan_s_ratio"]
        x = np.arange(len(logs)) + (i - (len(scenarios) - 1) / 2) * width
        heights = 100 * (mine.reindex(logs).to_numpy(dtype=float) - 1)
        axis.bar(x, heights, width * 0.9, color=colour(i), label=f"TA {scenario}")
    axis.axhline(0, color=INK, lw=0.8)
    axis.set_xticks(range(len(logs)), [log.replace(" on ", "\non ") for log in logs])
    axis.set_ylabel("makespan above Baseline's (%)")
    grid(axis)
    figure.legend(loc="outside upper left", ncols=len(scenarios), frameon=False, fontsize=9)
    return figure


def fig10_draw(analysis: Analysis, options: Options) -> Figure:
    """Mean waits by job size, one bar a scenario, one panel a log."""
    import numpy as np

    from experiments.figures.style import colour, grid, new_figure, shared_legend

    table = analysis.tables["waits"]
    logs = _first_seen(table, "log")
    cases = list(dict.fromkeys(zip(table["policy"], table["scenario"], strict=True)))
    figure, axes = new_figure(8.0, 0.8 + 2.3 * len(logs), len(logs), 1)
    width = 0.8 / len(cases)
    for axis, log in zip(axes, logs, strict=True):
        here = table[table["log"] == log]
        order = [b for b in (*BIN_NAMES, "all") if b in set(here["bin"])]
        for i, (policy, scenario) in enumerate(cases):
            mine = here[(here["policy"] == policy) & (here["scenario"] == scenario)]
            hours = mine.set_index("bin")["mean_wait_s"].reindex(order).to_numpy(dtype=float) / 3600
            x = np.arange(len(order)) + (i - (len(cases) - 1) / 2) * width
            name = "baseline" if policy == "baseline" else f"TA {scenario}"
            axis.bar(x, hours, width * 0.9, color=colour(i), label=name)
        axis.set_xticks(range(len(order)), order)
        axis.set_xlim(-0.6, len(order) - 0.4)
        axis.set_xlabel("nodes of the job", fontsize=8)
        axis.set_ylabel("mean wait (h)", fontsize=8)
        axis.set_title(log, fontsize=9)
        grid(axis)
    shared_legend(figure, axes)
    return figure


def _first_seen(table: pd.DataFrame, column: str) -> list[str]:
    """A column's values in the order in which they come first."""
    return list(dict.fromkeys(table[column]))


def _box(axis: Axes, x: float, values: Sequence[float], colour: str, label: str) -> None:
    """Quartiles as a box, the median as a line, whiskers to the ends."""
    from experiments.figures.style import INK

    low, q25, median, q75, high = values
    axis.vlines(x, low, high, color=colour, lw=1)
    axis.bar(x, q75 - q25, 0.3, bottom=q25, color=colour, alpha=0.6, label=label)
    axis.hlines(median, x - 0.15, x + 0.15, color=INK, lw=1.2)
