"""Policies compared: bars and dots against a reference, waits by the size of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from netcosim.report.figures.lines import time_unit
from netcosim.report.figures.style import (
    INK,
    SOFT,
    check_columns,
    grid,
    literal,
    marker,
    name_ticks,
    new_figure,
    policy_colours,
    shared_legend,
)
from netcosim.runs.frames import first_seen
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    import pandas as pd

SIZES = ((1, "1"), (8, "2-8"), (32, "9-32"), (128, "33-128"), (512, "129-512"), (2048, "513-2048"))
"""Most nodes of each class, and its name; larger ones are one more."""
MORE = "more"


def bars_against_baseline(
    frame: pd.DataFrame, *, baseline: str, colours: Mapping[str, str] | None = None
) -> Figure:
    """Draw groups of bars, one bar a policy, with the baseline as a line at 1.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns ``group`` (a pattern, a machine), ``policy``, ``ratio``, and ``low`` and ``high``,
        the ends of the error bars. Order is that of first appearance. Rows of the baseline
        itself are not drawn.
    baseline : str
        Name of the policy with ratio 1.
    colours : mapping, optional
        Of policies; by default in order of appearance.

    Raises
    ------
    NetcosimError
        A missing column, no rows.
    """
    from netcosim.report.figures.panels import grouped_bars

    check_columns(frame, ["group", "policy", "ratio", "low", "high"], "bars")
    shown = frame[frame["policy"] != baseline]
    groups = first_seen(frame, "group")
    n_policies = shown["policy"].nunique()
    wide = max(6.0, 1.2 + 0.32 * len(groups) * (n_policies + 1))
    figure, [axis] = new_figure(min(wide, 11.0), 4.4)
    if n_policies:
        grouped_bars(
            axis,
            shown,
            "group",
            "policy",
            "ratio",
            ends=("low", "high"),
            order=groups,
            colours=colours or policy_colours(first_seen(shown, "policy")),
            name=literal,
        )
    axis.axhline(1.0, color=INK, linewidth=1.0)
    axis.annotate(
        f"{literal(baseline)} = 1",
        (1.0, 1.0),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
    )
    slanted = max(len(str(g)) for g in groups) * len(groups) > wide * 9
    name_ticks(axis, range(len(groups)), map(literal, groups), slanted=slanted)
    axis.tick_params(axis="x", length=0)
    axis.set(ylim=(0, None), ylabel="communication time, relative to the baseline")
    grid(axis)
    figure.legend(
        loc="outside upper left",
        ncols=min(n_policies, 6),
        frameon=False,
        fontsize=9,
        alignment="left",
        labelcolor=INK,
    )
    axis.spines["bottom"].set_color(SOFT)
    return figure


Ratio = tuple[str, str, float, float, float]
"""Quantity, policy, its ratio to the reference, and the ends of the interval; nan: none."""


def ratio_dots(
    ratios: Sequence[Ratio], *, reference: str, colours: Mapping[str, str] | None = None
) -> Figure:
    """Draw rows of policies under each quantity, with a line at 1 for the reference.

    Parameters
    ----------
    ratios : sequence of Ratio
        At least one, in the order in which they are shown.
    reference : str
        What the ratios are relative to.
    colours : mapping, optional
        Of policies; by default in order of appearance.
    """
    quantities, policies, *_ = (list(dict.fromkeys(column)) for column in zip(*ratios, strict=True))
    paints = colours or policy_colours(policies)
    names = [name for quantity in quantities for name in (quantity, *policies)]
    rows = {pair: i for i, pair in enumerate((q, p) for q in quantities for p in ("", *policies))}
    figure, [axis] = new_figure(4.9, 0.8 + 0.25 * len(names))
    axis.axvline(1.0, color=SOFT, linewidth=1.0)
    for quantity, policy, ratio, low, high in ratios:
        row, paint = rows[quantity, policy], paints[policy]
        if np.isfinite(low) and np.isfinite(high):
            axis.hlines(row, low, high, color=paint, linewidth=2.4)
        axis.plot([ratio], [row], "o", color=paint, markersize=7)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), map(literal, names))
    for label in axis.get_yticklabels()[:: len(policies) + 1]:
        label.set_fontweight("bold")
    axis.tick_params(axis="y", length=0)
    ends = np.array([one[2:] for one in ratios])
    least, most = min(0.95, float(np.nanmin(ends))), max(1.05, float(np.nanmax(ends)))
    room = 0.06 * (most - least)
    axis.set(xlim=(least - room, most + room), xlabel=f"over {literal(reference)}")
    grid(axis, "x")
    return figure


def waits_by_size(
    n_nodes: ArrayLike,
    wait_s: Mapping[str, ArrayLike],
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Draw mean waits by size class, a mark a policy; a line from median to 90th percentile.

    Parameters
    ----------
    n_nodes : (n,) int
        That jobs ask for.
    wait_s : mapping of str to (n,) float64
        By policy; nan for jobs that never ran.
    colours : mapping, optional
        Of policies; by default in their order.

    Raises
    ------
    NetcosimError
        No jobs.
    """
    nodes = np.asarray(n_nodes)
    paints = colours or policy_colours(list(wait_s))
    waits = {name: np.asarray(values, dtype=float) for name, values in wait_s.items()}
    size = np.searchsorted([most for most, _ in SIZES], nodes)
    names = [name for _, name in SIZES] + [MORE]
    used = [int(i) for i in np.unique(size)]
    if not used:
        raise NetcosimError("waits by size: there is nothing to draw")
    high = [np.nanquantile(v, 0.9) for v in waits.values() if np.isfinite(v).any()]
    unit_s, unit = time_unit(4 * max([1.0, *map(float, high)]))
    figure, [axis] = new_figure(4.9, 3.6)
    step = 0.8 / max(1, len(waits))
    for i, (name, values) in enumerate(waits.items()):
        for place, group in enumerate(used):
            mine = values[(size == group) & np.isfinite(values)] / unit_s
            if not len(mine):
                continue
            at = place + (i - (len(waits) - 1) / 2) * step
            middle, most = np.quantile(mine, [0.5, 0.9])
            axis.vlines(at, middle, most, color=paints[name], linewidth=1.6)
            label = literal(name)
            axis.plot([at], [mine.mean()], marker(i), ls="", color=paints[name], label=label)
    counts = np.bincount(size, minlength=len(names))
    axis.set_xticks(range(len(used)), [f"{names[i]}\n{counts[i]:,}" for i in used])
    axis.tick_params(axis="x", length=0)
    axis.set(
        xlim=(-0.6, len(used) - 0.4),
        ylim=(0, None),
        xlabel="nodes of the job, and how many jobs there are",
        ylabel=f"wait ({unit})",
    )
    grid(axis)
    shared_legend(figure, [axis])
    return figure
