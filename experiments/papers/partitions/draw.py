"""Drawings of the partition paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.partitions.tables import choice_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#7f8c9b", "#1f77b4", "#2ca02c")
BW_LABEL = "normalized bisection bandwidth (links)"


def grouped_bars(
    ax: Axes,
    labels: Sequence[object],
    series: Sequence[tuple[str, Sequence[float]]],
    *,
    number: str | None = None,
    colours: Sequence[str] = COLOURS,
) -> None:
    """Bars side by side at each label; ``number`` formats a text above each bar."""
    width = 0.8 / len(series)
    x = np.arange(len(labels))
    for i, (name, values) in enumerate(series):
        offset = (i - (len(series) - 1) / 2) * width
        bars = ax.bar(x + offset, values, width, label=name, color=colours[i])
        if number:
            ax.bar_label(bars, fmt=number, fontsize=7, padding=1)
    ax.set_xticks(x, [str(label) for label in labels])
    ax.set_xlabel("midplanes")
    ax.margins(y=0.12)
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)


def _headed(figure: Figure, first: Axes, title: str) -> None:
    """A title, and below it the legend of all panels; neither over the other nor a panel."""
    handles, names = first.get_legend_handles_labels()
    height_in = figure.get_size_inches()[1]
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.6 / height_in))
    figure.suptitle(title, y=1 - 0.08 / height_in, va="top")
    figure.legend(
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, 1 - 0.32 / height_in),
        ncols=len(names),
        frameon=False,
        fontsize=9,
    )


def bisection_bars(
    partitions: pd.DataFrame, machine: str, choices: Sequence[tuple[str, str]], title: str
) -> Figure:
    """Figure 1: bisections of several choices for every size of the first."""
    import matplotlib.pyplot as plt

    columns = [(label, choice_rows(partitions, machine, choice)) for choice, label in choices]
    sizes = sorted(columns[0][1])
    figure, ax = plt.subplots(figsize=(10, 4))
    grouped_bars(
        ax, sizes, [(label, [rows[s][1] for s in sizes]) for label, rows in columns], number="%d"
    )
    ax.set_ylabel(BW_LABEL)
    ax.set_title(title)
    ax.legend()
    return figure


def bisection_lines(
    partitions: pd.DataFrame, lines: Sequence[tuple[str, str, str]], title: str
) -> Figure:
    """Figures 2 and 7: bisection over size; lines are (machine, choice, label)."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 4.5))
    for (machine, choice, label), marker, colour in zip(lines, "os^", COLOURS, strict=False):
        rows = choice_rows(partitions, machine, choice)
        sizes = sorted(rows)
        links = [rows[s][1] for s in sizes]
        ax.plot(sizes, links, marker=marker, color=colour, label=label, markersize=5)
    ax.set_xlabel("midplanes")
    ax.set_ylabel(BW_LABEL)
    ax.set_title(title)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend()
    return figure


def pairing_bars(table: pd.DataFrame, names: tuple[str, str], title: str) -> Figure:
    """Figures 3 and 4: one panel an engine, seconds for the counted rounds."""
    import matplotlib.pyplot as plt

    engines = [e for e in ("flow", "packet") if (table["engine"] == e).any()]
    figure, axes = plt.subplots(1, len(engines), figsize=(5 * len(engines), 4), squeeze=False)
    for ax, engine in zip(axes[0], engines, strict=True):
        part = table[table["engine"] == engine]
        scale, unit = (1.0, "s") if part["first_time_s"].max() > 0.1 else (1e3, "ms")
        series = [
            (name, (part[f"{side}_time_s"] * scale).tolist())
            for name, side in zip(names, ("first", "second"), strict=True)
        ]
        grouped_bars(ax, part["Midplanes"].tolist(), series)
        for x, (top, speedup) in enumerate(
            zip(part["first_time_s"] * scale, part["speedup"], strict=True)
        ):
            ax.text(x, top * 1.02, f"x{speedup:.2f}", ha="center", fontsize=8)
        what = "16 chunks of 0.1342 GB" if engine == "flow" else "scaled messages"
        ax.set_title(f"{engine} engine, {what}", fontsize=10)
        ax.set_ylabel(f"time of the counted rounds ({unit})")
    _headed(figure, axes[0][0], title)
    return figure


def multiplication_bars(totals: pd.DataFrame, title: str) -> Figure:
    """Figures 5 and 6: one panel a task mapping and order of the breadth-first steps."""
    import matplotlib.pyplot as plt

    firsts = list(dict.fromkeys(totals["first_groups"]))
    mappings = list(dict.fromkeys(totals["mapping"]))
    figure, axes = plt.subplots(
        len(firsts),
        len(mappings),
        figsize=(4 * len(mappings), 3.2 * len(firsts)),
        squeeze=False,
        sharey=True,
    )
    for i, first in enumerate(firsts):
        for j, mapping in enumerate(mappings):
            ax = axes[i][j]
            part = totals[(totals["first_groups"] == first) & (totals["mapping"] == mapping)]
            part = part.sort_values("Midplanes")
            current, proposed = (part[f"{c}_s"] * 1e3 for c in ("current", "proposed"))
            grouped_bars(
                ax,
                part["Midplanes"].tolist(),
                [("current", current.tolist()), ("proposed", proposed.tolist())],
            )
            highest = np.maximum(current, proposed)
            for x, (top, factor) in enumerate(zip(highest, part["factor"], strict=True)):
                ax.text(x, top, f"x{factor:.2f}", ha="center", va="bottom", fontsize=8)
            ax.set_title(f"ranks {mapping}, first groups {first}", fontsize=9)
            if j == 0:
                ax.set_ylabel("communication (ms)")
    _headed(figure, axes[0][0], title)
    return figure


def queue_bars(means: pd.DataFrame, policies: Sequence[str], title: str) -> Figure:
    """Mean turnaround and wait of every policy, one panel each, bars by share of bound jobs."""
    import matplotlib.pyplot as plt

    shares = sorted(set(means["bound_jobs"]))
    panels = (
        ("bound_run_s", "run time of bound jobs (h)"),
        ("mean_wait_s", "wait of all jobs (h)"),
        ("mean_turnaround_s", "turnaround of all jobs (h)"),
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 4))
    for ax, (metric, label) in zip(axes, panels, strict=True):
        series = []
        for share in shares:
            if share == 0 and metric.startswith("bound"):
                continue
            by_policy = means[means["bound_jobs"] == share].set_index("policy")[metric]
            series.append((f"{share:.0%} of jobs bound", [by_policy[p] / 3600 for p in policies]))
        colours = COLOURS[len(COLOURS) - len(series) :]
        grouped_bars(ax, policies, series, number="%.1f", colours=colours)
        ax.set_xlabel("")
        ax.tick_params(axis="x", rotation=15)
        ax.set_ylabel(label)
    axes[-1].legend(fontsize=8, loc="lower right")
    figure.suptitle(title)
    figure.tight_layout()
    return figure
