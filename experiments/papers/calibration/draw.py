"""Figures of the calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.papers.calibration.cases import (
    BOOKSIM,
    NETWORKS,
    TRAFFICS,
    limit_of,
)
from experiments.papers.paper import Analysis, Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499")
MARKERS = ("o", "s", "^", "D")
COLUMNS = 3
MOST_CYCLES = 3000
SHORT = {"uniform-random": "uniform"}


def _title(network: str, traffic: str) -> str:
    assert traffic in TRAFFICS
    return f"{NETWORKS[network].title}, {SHORT.get(traffic, traffic)}"


def draw_curves(analysis: Analysis, options: Options) -> Figure:
    """Small multiples: a panel a network and traffic, latency above, accepted load below."""
    import matplotlib.pyplot as plt

    load = analysis.tables["load"]
    panels = list(dict.fromkeys(zip(load["network"], load["traffic"], strict=True)))
    bands = -(-len(panels) // COLUMNS)
    columns = min(COLUMNS, len(panels))
    figure, axes = plt.subplots(
        2 * bands,
        columns,
        figsize=(4.6 * columns, 6.4 * bands),
        squeeze=False,
        layout="constrained",
    )
    for ax in axes.flat:
        ax.set_visible(False)
    for i, (network, traffic) in enumerate(panels):
        band, column = divmod(i, COLUMNS)
        above, below = axes[2 * band, column], axes[2 * band + 1, column]
        above.set_visible(True)
        below.set_visible(True)
        curves = load[(load["network"] == network) & (load["traffic"] == traffic)]
        _panel(above, below, curves, network, traffic)
    return figure


def _panel(above: Any, below: Any, curves: pd.DataFrame, network: str, traffic: str) -> None:
    from experiments.papers.calibration.measure import stable

    ends = curves["load"].min() * 0.8, 1.1
    marks: dict[float, list[str]] = {}
    for place, routing in enumerate(NETWORKS[network].routings):
        curve = curves[curves["routing"] == routing].sort_values("load")
        if not len(curve):
            continue
        look: dict[str, Any] = {
            "color": COLOURS[place],
            "marker": MARKERS[place],
            "markersize": 4,
            "linewidth": 1.4,
        }
        limit = limit_of(network, routing, traffic)
        steady = curve[stable(curve)]
        above.plot(steady["offered"], steady["latency_mean_cycles"], label=routing, **look)
        above.plot(
            steady["offered"],
            steady["latency_p99_cycles"],
            **{**look, "marker": "", "linewidth": 0.9, "linestyle": ":"},
        )
        label = f"{routing} ({limit.text})"
        below.plot(curve["offered"], curve["accepted"], label=label, **look)
        marks.setdefault(limit.quoted, []).append(COLOURS[place])
        printed = BOOKSIM.get((network, routing)) if traffic == "uniform-random" else None
        if printed:
            above.plot(
                list(printed),
                list(printed.values()),
                "k+",
                markersize=9,
                label="BookSim2",
                zorder=5,
            )
    for at, colours in marks.items():
        for ax in (above, below):  # a limit of several routings is black
            colour = colours[0] if len(colours) == 1 else "0.3"
            ax.axvline(at, color=colour, linestyle="--", linewidth=1.0, alpha=0.8, zorder=1)
    below.plot(ends, ends, color="0.6", linewidth=0.8, zorder=0)
    above.set_yscale("log")
    above.set_ylim(10, MOST_CYCLES)
    above.set_ylabel("latency (cycles)\nmean; dotted: 99th percentile")
    above.set_title(_title(network, traffic), fontsize=11)
    below.set_ylabel("accepted load")
    below.set_xlabel("offered load (of injection bandwidth)")
    if traffic == "adversarial":
        for ax in (above, below):
            ax.set_xscale("log")
            _plain_ticks(ax.xaxis)
        below.set_yscale("log")
        below.set_ylim(*ends)
        _plain_ticks(below.yaxis)
    else:
        below.set_ylim(0, 1.05)
    for ax in (above, below):
        ax.set_xlim(ends if traffic == "adversarial" else (0, 1.05))
        ax.grid(alpha=0.25)
    above.legend(fontsize=8, loc="upper left")
    below.legend(fontsize=8, loc="upper left", framealpha=0.85)


def _plain_ticks(axis: Any) -> None:
    """0.02, 0.1, ... instead of powers on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def draw_buffers(analysis: Analysis, options: Options) -> Figure:
    """Accepted load against buffer size, a line a case."""
    import matplotlib.pyplot as plt

    load = analysis.tables["load"]
    figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    cases = load.groupby(["network", "traffic", "routing"], sort=False)
    for i, (key, curve) in enumerate(cases):
        network, traffic, routing = (str(part) for part in key)
        curve = curve.sort_values("buffer_packets")
        ax.plot(
            curve["buffer_packets"],
            curve["accepted"],
            marker="osD^vP"[i % 6],
            color=f"C{i}",
            label=f"{_title(network, traffic)} at {curve['load'].iloc[0]:g}, {routing}",
        )
        used = curve[curve["buffer_packets"] == NETWORKS[network].buffer_packets]
        ax.plot(
            used["buffer_packets"],
            used["accepted"],
            "o",
            markersize=13,
            markerfacecolor="none",
            markeredgecolor=f"C{i}",
        )
    ax.plot([], [], "o", markersize=12, color="0.5", markerfacecolor="none", label="in the curves")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("input buffer of a channel (packets)")
    ax.set_ylabel("accepted load (of injection bandwidth)")
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure
