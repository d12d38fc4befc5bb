"""The figures of the judge's page, drawn from its tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from experiments.kit.panels import Heights, MarkStyle, curves, dots, grouped_bars, panels
from netcosim.report.effect import COMMUNICATION
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf
from netcosim.report.figures.style import INK, SOFT, grid, marker, new_figure

Colours = Mapping[str, str]
"""Of policies, the same in every figure."""

MOST_DOTS = 3000
CHANGE = "node_hours_change"
_JITTER = 0.08


def waits_drawing(jobs: pd.DataFrame, reference: str, colours: Colours) -> Drawing:
    """Return logged against simulated waits: the shares of jobs, and job by job."""
    known = jobs[(jobs["policy"] == reference) & jobs["logged_wait_s"].notna()]
    logged, wait = (known[c].to_numpy(dtype=float) / 60 for c in ("logged_wait_s", "wait_s"))
    names, paints = ("in the log", f"simulated, {reference}"), (SOFT, colours[reference])
    shares = partial(
        cdf,
        samples=dict(zip(names, (logged, wait), strict=True)),
        xlabel="wait (minutes; 0.1 and less at the left)",
        of="jobs with at most this wait",
        log=True,
        least=0.1,
        colours=dict(zip(names, paints, strict=True)),
    )

    def by_job(axis: Axes) -> None:
        some = np.unique(np.linspace(0, len(logged) - 1, MOST_DOTS).astype(int))
        x, y = np.maximum(logged[some], 0.1), np.maximum(wait[some], 0.1)
        axis.scatter(x, y, s=7, alpha=0.35, color=paints[1], linewidths=0, rasterized=True)
        most = 1.3 * max(float(x.max()), float(y.max()), 1.0)
        axis.plot([0.1, most], [0.1, most], color=INK, linewidth=0.9)
        axis.set(xscale="log", yscale="log")
        axis.set(xlabel="wait in the log (minutes)", ylabel="simulated wait (minutes)")

    return Drawing(
        "waits",
        "Waits in the log and simulated",
        [
            Panel(shares, "all jobs"),
            Panel(by_job, "each job, on the line where it waits as logged"),
        ],
        size_in=(4.7, 4.2),
        legend=False,
        lines="both",
    )


def communication_figure(rows: pd.DataFrame, reference: str, colours: Colours) -> Figure:
    """Draw communication over the reference's by size class, a panel a pattern."""
    shown = rows[rows["nodes"] != "all"].copy()
    ends = ("communication_ratio_low", "communication_ratio_high")
    for column in ends:
        shown[column] = shown[column].astype(float)
    sizes = [s for s in dict.fromkeys(rows["nodes"]) if s != "all"]
    return panels(
        shown,
        "pattern",
        lambda axis, part: grouped_bars(
            axis,
            part,
            "nodes",
            "policy",
            Heights("communication_ratio", ends, scale=100, zero=1.0),
            order=sizes,
            colours=colours,
        ),
        columns=2,
        size_in=(4.8, 2.5),
        ylabel=COMMUNICATION.label(reference),
        xlabel="nodes of the job",
        title=lambda pattern: "all patterns" if pattern == "all" else str(pattern),
        share=True,
    )


def changes_figure(gains: pd.DataFrame, colours: Colours) -> Figure:
    """Draw shares of jobs that gain and that lose turnaround, by size class."""
    rows = gains[(gains["pattern"] == "all") & (gains["nodes"] != "all")]
    gain = rows.assign(side="gain", share=rows["gain_percent"])
    lose = rows.assign(side="lose", share=-rows["lose_percent"])
    return panels(
        pd.concat([gain, lose]),
        "policy",
        lambda axis, part: grouped_bars(
            axis,
            part,
            "nodes",
            "side",
            Heights("share"),
            colours={"gain": colours[part["policy"].iloc[0]], "lose": SOFT},
        ),
        columns=2,
        size_in=(4.8, 2.3),
        ylabel="jobs that gain (up), lose (down), %",
        xlabel="nodes of the job",
        share=True,
        legend=False,
    )


def score_figure(placements: pd.DataFrame, reference: str, colours: Colours) -> Figure:
    """Draw switches against times: changes within jobs, and slowdown over all placements."""
    rng = np.random.default_rng(0)

    def spread(values: pd.Series[float]) -> np.ndarray:
        """Spread whole numbers a little, so that equal ones can be seen."""
        drawn = rng.uniform(1 - _JITTER, 1 + _JITTER, len(values))
        return np.asarray(values.to_numpy(dtype=float) * drawn)

    figure, [left, right] = new_figure(9.5, 4.4, 1, 2)
    other = placements[placements["policy"] != reference].copy()
    other["switches_ratio"] = spread(other["switches"] / other["reference_switches"])
    styles = {name: MarkStyle(paint, marker(i)) for i, (name, paint) in enumerate(colours.items())}
    dots(
        left,
        other,
        "switches_ratio",
        "communication_ratio",
        "policy",
        styles=styles,
        size=12,
        alpha=0.5,
    )
    left.axhline(1.0, color=SOFT, linewidth=0.9)
    left.axvline(1.0, color=SOFT, linewidth=0.9)
    left.set_xlabel(f"switches over those under {reference}")
    left.set_ylabel(f"communication over that under {reference}")
    shown = placements.assign(over=spread(placements["switches_over_least"]))
    dots(right, shown, "over", "slowdown", "pattern", size=12, alpha=0.5)
    right.set_xlabel("switches over the fewest possible")
    right.set_ylabel("communication over the best alone")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_yscale("log")
        _plain_ticks(axis.xaxis, *axis.get_xlim())
        _plain_ticks(axis.yaxis, *axis.get_ylim())
        grid(axis, "both")
        axis.legend(frameon=False, fontsize=8)
    return figure


def _plain_ticks(side: Axis, low: float, high: float) -> None:
    """Write plain numbers on a logarithmic axis."""
    ticks = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)
    shown = [tick for tick in ticks if low <= tick <= high]
    side.set_ticks(shown, [f"{tick:g}" for tick in shown])
    side.set_ticks([], minor=True)


def fraction_figure(rows: pd.DataFrame, label: str, colours: Colours) -> Figure:
    """Draw the change of node-hours at each communication fraction, with intervals."""
    shown = rows.sort_values("communication_fraction", kind="stable")
    figure, [axis] = new_figure(7.0, 3.6)
    shown = shown.assign(percent=100 * shown["communication_fraction"].astype(float))
    styles = {name: (paint, "-") for name, paint in colours.items()}
    curves(axis, shown, "percent", f"{CHANGE}_percent", "policy", marked=True, styles=styles)
    for policy in dict.fromkeys(shown["policy"]):
        of_policy = shown[shown["policy"] == policy]
        low, high = (of_policy[f"{CHANGE}_{end}_percent"].astype(float) for end in ("low", "high"))
        axis.vlines(of_policy["percent"], low, high, color=colours[policy], linewidth=0.9)
    axis.axhline(0.0, color=INK, linewidth=0.8)
    axis.set_xlabel("share of their run time that jobs communicate (%)")
    axis.set_ylabel(label)
    axis.legend(frameon=False, fontsize=9)
    grid(axis)
    return figure
