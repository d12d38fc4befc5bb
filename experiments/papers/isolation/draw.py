"""Drawings of the verdict: measured boxes with the scenarios over them; queues beside Baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.figures.style import INK, SOFT, colour, grid, marker, new_figure
from experiments.papers.isolation.cases import AT_ZERO
from experiments.papers.isolation.shares import ASSUMED, MAIN_SHARE, class_name
from queuesim.snapshots import SIZE_CLASSES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.papers.paper import Analysis, Options

LINES = {
    "5%": (SOFT, ":"),
    "10%": (SOFT, "--"),
    "20%": (SOFT, "-"),
    "V1": ("#CC79A7", "-"),
    "V2": ("#CC79A7", "--"),
    "Random": ("#E69F00", "-."),
}
LIMITS = {"fattree": (-22, 34), "dragonfly": (-44, 26)}
ALWAYS = "all the time, window cut"


def draw_verdict(analysis: Analysis, options: Options) -> Figure:
    """A row a log, a column a way to measure; boxes by job size, the scenarios' means as lines."""
    boxes = analysis.tables["boxes"]
    boxes = boxes[boxes["share"] == MAIN_SHARE]
    logs = list(dict.fromkeys(boxes["log"]))
    network = str(boxes["network"].iloc[0])
    wanted = shown_cases(list(dict.fromkeys(boxes["case"])))
    policies = list(dict.fromkeys(boxes["policy"]))
    figure, axes = new_figure(
        0.6 + 3.4 * len(wanted), 0.9 + 2.3 * len(logs), len(logs), len(wanted), share=True
    )
    for i, log in enumerate(logs):
        for j, case in enumerate(wanted):
            axis = axes[i * len(wanted) + j]
            part = boxes[(boxes["log"] == log) & (boxes["case"] == case)]
            for k, policy in enumerate(policies):
                mine = part[part["policy"] == policy]
                _boxes(axis, mine, (k - (len(policies) - 1) / 2) * 0.26, colour(k), policy)
            _scenarios(axis, part)
            axis.axhline(0, color=INK, lw=0.8)
            often = case if "," in case else f"{case}, {ALWAYS}"
            axis.set_title(f"{log}: {often}", fontsize=8.5)
            axis.set_xlim(-0.6, len(SIZE_CLASSES) - 0.4)
            axis.set_ylim(*LIMITS[network])
            axis.set_xticks(
                range(len(SIZE_CLASSES)), [class_name(n) for n in range(len(SIZE_CLASSES))]
            )
            axis.tick_params(axis="x", labelsize=7.5)
            grid(axis)
            if j == 0:
                axis.set_ylabel(f"off the run time (%), f = {MAIN_SHARE}", fontsize=8.5)
            if i == len(logs) - 1:
                axis.set_xlabel("nodes of the job", fontsize=8.5)
    handles, names = axes[0].get_legend_handles_labels()
    unique = dict(zip(names, handles, strict=True))
    figure.legend(
        list(unique.values()),
        list(unique),
        loc="outside upper center",
        ncols=len(unique),
        frameon=False,
        fontsize=8,
        columnspacing=1.2,
        handlelength=1.8,
    )
    return figure


def shown_cases(cases: list[str]) -> list[str]:
    """At most three: communicating 30 % of the time, all the time, and the other routing."""
    live = [case for case in cases if "30%" in case]
    always = [case for case in cases if "," not in case]
    return [*live, *always][:3]


def _boxes(axis: Axes, part: pd.DataFrame, shift: float, face: str, label: str) -> None:
    stats = [
        {
            "med": row["q50"],
            "q1": row["q25"],
            "q3": row["q75"],
            "whislo": row["q5"],
            "whishi": row["q95"],
            "fliers": [],
        }
        for row in part.to_dict("records")
    ]
    if not stats:
        return
    positions = part["size_class"].to_numpy(dtype=float) + shift
    axis.bxp(
        stats,
        positions=positions.tolist(),
        widths=0.2,
        patch_artist=True,
        showfliers=False,
        boxprops={"facecolor": face, "edgecolor": face, "alpha": 0.55},
        medianprops={"color": INK, "linewidth": 1.1},
        whiskerprops={"color": face, "linewidth": 0.9},
        capprops={"color": face, "linewidth": 0.9},
        manage_ticks=False,
    )
    axis.plot([], [], color=face, lw=6, alpha=0.55, label=label)


def _scenarios(axis: Axes, part: pd.DataFrame) -> None:
    """The mean of each scenario over the jobs of each class, joined by a line."""
    first = part.drop_duplicates("size_class").sort_values("size_class")
    for name in ASSUMED:
        line, style = LINES[name]
        axis.plot(
            first["size_class"], first[name], color=line, ls=style, lw=1.2, label=name, zorder=3
        )


def draw_queues(analysis: Analysis, options: Options) -> Figure:
    """A row a log, fat-tree beside dragonfly: turnaround (or makespan) over the reference's."""
    runs = analysis.tables["queues"]
    runs = runs[runs["run_times"] != "as logged"]
    logs = list(dict.fromkeys(runs["log"]))
    columns = [("mean_turnaround_s_ratio", "turnaround"), ("makespan_s_ratio", "makespan")]
    fat = runs[runs["network"] == "fattree"]
    kinds = list(dict.fromkeys(fat["run_times"]))
    scenarios = [k for k in kinds if k in ("none", *ASSUMED)]
    measured = [k for k in kinds if k not in scenarios and not k.endswith(" end")]
    order = [*scenarios, *measured]
    policies = list(dict.fromkeys(fat["policy"]))
    figure, axes = new_figure(9.2, 0.9 + 2.5 * len(logs), len(logs), 2)
    for i, log in enumerate(logs):
        for j, (column, word) in enumerate(columns):
            axis = axes[2 * i + j]
            if log not in AT_ZERO and column.startswith("makespan"):
                # the last arrival sets the makespan: nothing to show
                axis.set_axis_off()
                continue
            for k, policy in enumerate(policies):
                mine = fat[(fat["log"] == log) & (fat["policy"] == policy)]
                values = mine.set_index("run_times")[column].reindex(order)
                y = np.arange(len(order)) + (k - (len(policies) - 1) / 2) * 0.2
                axis.plot(values, y, ls="", marker=marker(k), ms=4.5, color=colour(k), label=policy)
                for label, at in zip(order, y, strict=True):
                    ends = mine.loc[mine["run_times"].str.startswith(f"{label}, "), column]
                    if label in measured and len(ends):
                        axis.plot([ends.min(), ends.max()], [at, at], color=colour(k), lw=1.4)
            axis.axvline(1, color=INK, lw=0.8)
            low, high = axis.get_xlim()
            axis.set_xlim(min(low, 0.95), max(high, 1.05))
            axis.axhline(len(scenarios) - 0.5, color=SOFT, lw=0.8, ls=":")
            axis.set_ylim(len(order) - 0.4, -0.6)
            axis.set_yticks(range(len(order)), order if j == 0 else [""] * len(order))
            axis.tick_params(axis="y", labelsize=7)
            arrivals = "all arrive at 0" if log in AT_ZERO else "logged arrivals"
            axis.set_title(f"{log} ({arrivals}): {word} / Baseline's", fontsize=9)
            grid(axis, "both")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_sensitivity(analysis: Analysis, options: Options) -> Figure:
    """A panel a log and share of the time: bars by whose nodes the reference has, over all jobs."""
    table = analysis.tables["off"]
    table = table[table["nodes"] == "all"]
    kinds = list(dict.fromkeys(zip(table["log"], table["duty"], strict=True)))
    policies = list(dict.fromkeys(table["policy"]))
    figure, axes = new_figure(1.0 + 4.2 * len(kinds), 3.6, 1, len(kinds))
    for axis, (log, duty) in zip(axes, kinds, strict=True):
        part = table[(table["log"] == log) & (table["duty"] == duty)]
        ways = list(
            dict.fromkeys(zip(part["order"], part["ranks_per_node"], part["length"], strict=True))
        )
        for k, policy in enumerate(policies):
            mine = part[part["policy"] == policy].set_index(["order", "ranks_per_node", "length"])
            mine = mine.loc[ways]
            x = np.arange(len(ways)) + (k - (len(policies) - 1) / 2) * 0.27
            off = mine["taken_off"].to_numpy(dtype=float)
            error = np.vstack([off - mine["low"], mine["high"] - off])
            axis.bar(x, off, 0.25, color=colour(k), label=policy, alpha=0.75)
            axis.errorbar(x, off, error, ls="", color=INK, lw=0.9, capsize=1.5)
        names = [
            "\n".join(
                [order]
                + ([f"{ranks} ranks"] if ranks > 1 else [])
                + ([f"{length} x as long"] if length > 1 else [])
            )
            for order, ranks, length in ways
        ]
        axis.set_xticks(range(len(ways)), names, fontsize=7)
        often = f"{duty:.0%} of the time" if duty < 1 else ALWAYS
        axis.set_title(f"{log}: {often}", fontsize=9)
        grid(axis)
    axes[0].set_ylabel(f"off the run time (%), f = {MAIN_SHARE}", fontsize=8.5)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    return figure
