"""Where curves of latency and accepted load bend: limits, lone messages, BookSim2, buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.frames import cells, groups, lookup
from experiments.kit.load_latency import keeps_up
from experiments.kit.load_networks import NETWORKS, limit_of
from experiments.kit.panels import panels
from experiments.kit.papers import Analysis, Options
from netcosim.report.figures.style import SOFT, colour, grid, marker, new_figure, shared_legend

BOOKSIM = read_printed("calibration")["booksim"]
NOISE = 0.03
"""A count of random arrivals in a window may be so far above a ceiling."""
BOOKSIM_TOLERANCE = 0.25
CURVE = ("network", "traffic", "routing")
LATENCY, ACCEPTED = "latency (cycles), dotted: 99th percentile", "accepted load"
MOST_CYCLES = 3000
SHORT = {"uniform-random": "uniform", "uniform": "uniform with the sender"}
OFFERED = "offered load (of injection bandwidth)"

Frames = Mapping[str, "pd.DataFrame"]


def stable(curve: pd.DataFrame) -> pd.Series[bool]:
    """Return which points accept all offered load."""
    found: pd.Series[bool] = keeps_up(curve["offered"], curve["accepted"], curve["unfinished"])
    return found


def saturation_table(load: pd.DataFrame) -> pd.DataFrame:
    """Return one row a curve: its limit, and where it saturates.

    ``peak_accepted`` is the largest accepted load of the curve, ``stable_to`` the largest load
    up to which all is accepted, ``accepted_at_full_load`` what is left when every node offers
    all that its link can carry.
    """
    rows = []
    for key, curve in cells(load, *CURVE):
        curve = curve.sort_values("load")
        limit, good = limit_of(**key), stable(curve)
        lasting = curve["load"][good.cummin()]
        peak = float(curve["accepted"].max())
        holds = limit.floor <= peak <= limit.ceiling * (1 + NOISE)
        rows.append(
            {
                **key,
                "ceiling": limit.ceiling,
                "floor": limit.floor,
                "peak_accepted": peak,
                "stable_to": float(lasting.max()) if len(lasting) else 0.0,
                "accepted_at_full_load": float(curve["accepted"].iloc[-1]),
                "verdict": "holds" if holds else "differs",
                "rule": limit.rule,
            }
        )
    return pd.DataFrame(rows)


def booksim_table(load: pd.DataFrame) -> pd.DataFrame:
    """Return mean latencies next to BookSim2's where both have the load."""
    uniform = load[load["traffic"] == "uniform"]
    latency = lookup(uniform, ["network", "routing", "load"], "latency_mean_cycles")
    rows = [
        {
            "network": network,
            "routing": routing,
            "load": at,
            "booksim_cycles": cycles,
            "ours_cycles": latency[network, routing, at],
            "ratio": latency[network, routing, at] / cycles,
        }
        for network, routings in BOOKSIM.items()
        for routing, published in routings.items()
        for at, cycles in published
        if (network, routing, at) in latency
    ]
    return pd.DataFrame(rows)


def analyse_curves(frames: Frames, options: Options) -> Analysis:
    """Return limits and verdicts of every curve, lone messages, and BookSim2's latencies."""
    load = frames["load"]
    lone = frames["lone"].drop_duplicates().reset_index(drop=True)
    saturation, booksim = saturation_table(load), booksim_table(load)
    claims = [
        ClaimBuilder(row["rule"], row["routing"]).holds(
            f"{row['network']} {row['traffic']}: throughput",
            row["verdict"] == "holds",
            f"largest accepted load in {row['floor']:.3f} .. {row['ceiling']:.3f}",
            row["peak_accepted"],
            expected=limit_of(row["network"], row["routing"], row["traffic"]).quoted,
        )
        for row in saturation.to_dict("records")
    ]
    claims += [
        ClaimBuilder("wires + routers + serialisation", row["routing"]).holds(
            f"{row['network']}: cycles of a lone message",
            row["worst_ps"] == 0,
            "equal to the picosecond",
            row["latency_cycles"],
            expected=row["expected_cycles"],
        )
        for row in lone.to_dict("records")
    ]
    claims += [
        ClaimBuilder("BookSim2", row["routing"]).holds(
            f"{row['network']} uniform at {row['load']:g}: cycles of a packet",
            abs(row["ratio"] - 1) <= BOOKSIM_TOLERANCE,
            f"within {BOOKSIM_TOLERANCE:.0%}: the same shape",
            row["ours_cycles"],
            expected=row["booksim_cycles"],
        )
        for row in booksim.to_dict("records")
    ]
    tables = {"load": load, "saturation": saturation, "lone": lone, "booksim": booksim}
    return Analysis(claims_frame(claims), tables)


def analyse_buffers(frames: Frames, options: Options) -> Analysis:
    """Return accepted load by buffer size; ample buffers must meet the calibration's condition."""
    load = frames["load"]
    claims = []
    for (network, traffic, routing), curve in groups(load, *CURVE):
        by_size = curve.set_index("buffer_packets")["accepted"]
        enough = int(by_size.index[by_size >= 0.98 * by_size.max()].min())
        used, offered = NETWORKS[network].buffer_packets, float(curve["offered"].max())
        claims.append(
            ClaimBuilder("98 % of the best of the sizes", routing).holds(
                f"{network} {traffic} at {curve['load'].iloc[0]:g}: buffers in use are ample",
                enough <= used,
                f"packets a channel for 98 % of {by_size.max():.3f} ({offered:.3f} offered)",
                float(enough),
                expected=float(used),
            )
        )
    return Analysis(claims_frame(claims), {"load": load})


def _title(network: str, traffic: str) -> str:
    return f"{NETWORKS[network].title}, {SHORT.get(traffic, traffic)}"


def draw_curves(analysis: Analysis, options: Options) -> Figure:
    """Draw a row a network and traffic: latency on the left, accepted load on the right."""
    twice = [
        part.assign(shown=shown)
        for _, part in groups(analysis.tables["load"], "network", "traffic")
        for shown in (LATENCY, ACCEPTED)
    ]
    return panels(
        pd.concat(twice),
        ["network", "traffic", "shown"],
        _curves,
        columns=2,
        size_in=(5.2, 3.2),
        xlabel=OFFERED,
        title=lambda network, traffic, shown: f"{_title(network, traffic)}: {shown}",
        legend=False,
    )


def _curves(axis: Axes, part: pd.DataFrame) -> None:
    network, traffic, shown = part[["network", "traffic", "shown"]].iloc[0]
    limits: dict[float, list[str]] = {}
    for i, routing in enumerate(NETWORKS[network].routings):
        curve = part[part["routing"] == routing].sort_values("load")
        if not len(curve):
            continue
        look: dict[str, Any] = {"color": colour(i), "marker": marker(i), "ms": 4, "lw": 1.4}
        limit = limit_of(network, routing, traffic)
        limits.setdefault(limit.quoted, []).append(colour(i))
        if shown == ACCEPTED:
            label = f"{routing} ({limit.text})"
            axis.plot(curve["offered"], curve["accepted"], label=label, **look)
            continue
        steady = curve[stable(curve)]
        axis.plot(steady["offered"], steady["latency_mean_cycles"], label=routing, **look)
        axis.plot(steady["offered"], steady["latency_p99_cycles"], ":", color=colour(i), lw=0.9)
        published = BOOKSIM.get(network, {}).get(routing) if traffic == "uniform" else None
        if published:
            axis.plot(*zip(*published, strict=True), "k+", ms=9, label="BookSim2", zorder=5)
    for at, colours in limits.items():  # a limit of several routings is grey
        axis.axvline(at, color=colours[0] if len(colours) == 1 else SOFT, ls="--", lw=1.0, zorder=1)
    ends = part["load"].min() * 0.8, 1.1
    wide = traffic == "adversarial"
    if wide:
        axis.set_xscale("log")
        _plain_ticks(axis.xaxis)
    axis.set_xlim(ends if wide else (0, 1.05))
    if shown == LATENCY:
        axis.set(yscale="log", ylim=(10, MOST_CYCLES))
    else:
        axis.plot(ends, ends, color="0.6", lw=0.8, zorder=0)
        axis.set(yscale="log" if wide else "linear", ylim=ends if wide else (0, 1.05))
        if wide:
            _plain_ticks(axis.yaxis)
    axis.legend(fontsize=7, loc="upper left", framealpha=0.85)


def _plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with 0.02, 0.1, ... instead of powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def draw_buffers(analysis: Analysis, options: Options) -> Figure:
    """Draw accepted load against buffer size, a line a case; a ring at the curves' size."""
    figure, [axis] = new_figure(8.0, 5.4)
    ring: dict[str, Any] = {"marker": "o", "ms": 13, "mfc": "none", "ls": ""}
    cases = groups(analysis.tables["load"], *CURVE)
    for i, ((network, traffic, routing), curve) in enumerate(cases):
        curve = curve.sort_values("buffer_packets")
        sizes, accepted = curve["buffer_packets"], curve["accepted"]
        label = f"{_title(network, traffic)} at {curve['load'].iloc[0]:g}, {routing}"
        axis.plot(sizes, accepted, marker=marker(i), color=colour(i), label=label)
        used = sizes == NETWORKS[network].buffer_packets
        axis.plot(sizes[used], accepted[used], color=colour(i), **ring)
    axis.plot([], [], color=SOFT, label="in the curves", **ring)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set(ylim=(0, 1.05), xlabel="input buffer of a channel (packets)")
    axis.set_ylabel(f"{ACCEPTED} (of injection bandwidth)")
    grid(axis, "both")
    shared_legend(figure, [axis], 2)
    return figure
