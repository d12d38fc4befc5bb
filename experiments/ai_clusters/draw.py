"""Drawing of the cells: what contention costs, by oversubscription and placement."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.ai_clusters.cells import CONTROL, TODAY, USUAL
from experiments.kit.frames import first_seen
from experiments.kit.papers import Analysis, Options
from netcosim.report.figures.style import colour, grid, marker, new_figure, shared_legend

VARIANTS = {
    "usual": "groups of at most 64 GPUs",
    "overlapped steps": "overlapped steps",
    "experts on 512 GPUs": "experts on up to 512 GPUs",
}


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a row a log and a panel a kind of traffic: cost over oversubscription, by placement."""
    table = analysis.tables["costs"]
    table = table[(table["log"] != CONTROL) & (table["load"] == USUAL["load"])]
    table = table[table["routing"] == USUAL["routing"]]
    logs = first_seen(table, "log")
    variants = [name for name in VARIANTS if name in set(table["variant"])]
    levels = sorted(set(table["oversubscription"]))
    size = (0.5 + 2.6 * max(2, len(variants)), 0.7 + 2.3 * len(logs), len(logs), len(variants))
    figure, axes = new_figure(*size, share=True)
    panels = [(log, variant) for log in logs for variant in variants]
    for axis, (log, variant) in zip(axes, panels, strict=True):
        axis.set_title(f"{log}: {VARIANTS[variant]}", fontsize=9)
        for k, (placement, name) in enumerate(TODAY.items()):
            part = table[(table["log"] == log) & (table["variant"] == variant)]
            part = part[part["placement"] == placement].sort_values("oversubscription")
            value = part["change_percent"].to_numpy()
            ends = np.abs(part[["change_percent_low", "change_percent_high"]].to_numpy().T - value)
            axis.errorbar(
                [levels.index(over) + 0.12 * (k - 1) for over in part["oversubscription"]],
                value,
                yerr=np.nan_to_num(ends),
                fmt=marker(k),
                color=colour(k),
                capsize=3,
                markersize=5,
                label=name,
            )
        axis.axhline(0, color="0.6", linewidth=0.8)
        axis.set_yscale("symlog", linthresh=1, linscale=0.5)
        axis.set_yticks([-1, 0, 1, 10, 100], ["-1", "0", "1", "10", "100"])
        axis.set_xticks(range(len(levels)), [f"{over}:1" for over in levels])
        axis.set_xlim(-0.5, len(levels) - 0.5)
        grid(axis)
    for axis in axes[:: len(variants)]:
        axis.set_ylabel("mean turnaround,\nchange by contention (%)", fontsize=8)
    for axis in axes[-len(variants) :]:
        axis.set_xlabel("oversubscription of the leaves", fontsize=8)
    shared_legend(figure, axes, 3)
    return figure
