"""Calibration of the packet model: load-latency curves beside closed forms and BookSim2.

Not one paper but the textbook's checks (Dally and Towles, "Principles and Practices of
Interconnection Networks"; Kim et al., ISCA 2008): where each routing saturates, what a lone
message takes, what short buffers cost. A cycle is the time of one flit on a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.papers.calibration.cases import (
    BOOKSIM,
    BUFFER_STUDY,
    BUFFERS,
    CURVES,
    NETWORKS,
    limit_of,
    loads_of,
)
from experiments.papers.calibration.draw import draw_buffers, draw_curves
from experiments.papers.calibration.easy import EASY_FIGURE
from experiments.papers.calibration.flow_levels import FLOW_FIGURE
from experiments.papers.calibration.measure import stable
from experiments.papers.calibration.point import FUNCTION, load_point, lone_point
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Analysis, Options, Paper, PaperFigure, Point
from netsim.errors import NetcosimError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

NOISE = 0.03
"""A count of random arrivals in a window may be so far above a ceiling."""

BOOKSIM_TOLERANCE = 0.25

Frames = Mapping[str, "pd.DataFrame"]


def check(options: Options) -> None:
    """NetcosimError for a routing, measure or setting that the calibration does not know."""
    known = sorted({name for network in NETWORKS.values() for name in network.routings})
    for name in options.routings:
        if name not in known:
            raise unknown_name("routing of the calibration", name, known)
    if options.measure:
        raise NetcosimError(f"measure = {options.measure!r}; the calibration has none to choose")
    for key in options.settings:
        if key != "logs":
            raise NetcosimError(f"setting {key!r}; the calibration has none")
    logs_folder(options)


def _routings(network: str, options: Options) -> tuple[str, ...]:
    own = NETWORKS[network].routings
    return tuple(name for name in own if not options.routings or name in options.routings)


def curve_points(options: Options) -> list[Point]:
    """Every load of every curve, and lone messages on every network."""
    points: list[Point] = []
    for network, traffic in CURVES[options.scale]:
        for routing in _routings(network, options):
            points.append(lone_point(network, routing, options))
            points += [
                load_point(network, routing, traffic, load, options)
                for load in loads_of(network, routing, traffic)
            ]
    return points


def buffer_points(options: Options) -> list[Point]:
    """Buffers of one packet and up, at loads near or above saturation."""
    return [
        load_point(network, routing, traffic, load, options, buffer_packets=size)
        for network, routing, traffic, load in BUFFER_STUDY
        if routing in _routings(network, options)
        for size in BUFFERS
    ]


def saturation_table(load: pd.DataFrame) -> pd.DataFrame:
    """One row a curve: its limit, and where it saturates.

    ``peak_accepted`` is the largest accepted load of the curve, ``stable_to`` the largest load
    up to which all is accepted, ``accepted_at_full_load`` what is left when every node offers
    all that its link can carry.
    """
    import pandas as pd

    rows = []
    for key, curve in load.groupby(["network", "traffic", "routing"], sort=False):
        network, traffic, routing = (str(part) for part in key)
        curve = curve.sort_values("load")
        limit, good = limit_of(network, routing, traffic), stable(curve)
        lasting = curve["load"][good.cummin()]
        peak = float(curve["accepted"].max())
        holds = limit.floor <= peak <= limit.ceiling * (1 + NOISE)
        rows.append({
            "network": network,
            "traffic": traffic,
            "routing": routing,
            "ceiling": limit.ceiling,
            "floor": limit.floor,
            "peak_accepted": peak,
            "stable_to": float(lasting.max()) if len(lasting) else 0.0,
            "accepted_at_full_load": float(curve["accepted"].iloc[-1]),
            "verdict": "holds" if holds else "differs",
            "rule": limit.rule,
        })  # fmt: skip
    return pd.DataFrame(rows)


def booksim_table(load: pd.DataFrame) -> pd.DataFrame:
    """Mean latency beside BookSim2's where both have the load."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for (network, routing), printed in BOOKSIM.items():
        mine = load[
            (load["network"] == network)
            & (load["routing"] == routing)
            & (load["traffic"] == "uniform-random")
        ]
        for at, cycles in printed.items():
            found = mine[mine["load"] == at]
            if len(found):
                ours = float(found["latency_mean_cycles"].iloc[0])
                rows.append({
                    "network": network, "routing": routing, "load": at,
                    "booksim_cycles": cycles, "ours_cycles": ours, "ratio": ours / cycles,
                })  # fmt: skip
    return pd.DataFrame(rows)


def analyse_curves(frames: Frames, options: Options) -> Analysis:
    """Limits and verdicts of every curve, lone messages, BookSim2's latencies."""
    load = frames["load"]
    lone = frames["lone"].drop_duplicates().reset_index(drop=True)
    saturation, booksim = saturation_table(load), booksim_table(load)
    claims = [
        Claim(
            claim=f"{row['network']} {row['traffic']}: throughput",
            where=row["rule"],
            condition=row["routing"],
            expected=limit_of(row["network"], row["routing"], row["traffic"]).quoted,
            ours=row["peak_accepted"],
            holds=row["verdict"] == "holds",
            rule=f"largest accepted load in {row['floor']:.3f} .. {row['ceiling']:.3f}",
        )
        for row in saturation.to_dict("records")
    ]
    claims += [
        Claim(
            claim=f"{row['network']}: cycles of a lone message",
            where="wires + routers + serialisation",
            condition=row["routing"],
            expected=row["expected_cycles"],
            ours=row["latency_cycles"],
            holds=row["worst_ps"] == 0,
            rule="equal to the picosecond",
        )
        for row in lone.to_dict("records")
    ]
    claims += [
        Claim(
            claim=f"{row['network']} uniform-random at {row['load']:g}: cycles of a packet",
            where="BookSim2",
            condition=row["routing"],
            expected=row["booksim_cycles"],
            ours=row["ours_cycles"],
            holds=abs(row["ratio"] - 1) <= BOOKSIM_TOLERANCE,
            rule=f"within {BOOKSIM_TOLERANCE:.0%}: the same shape",
        )
        for row in booksim.to_dict("records")
    ]
    return Analysis(
        claims=claims_frame(claims),
        tables={"load": load, "saturation": saturation, "lone": lone, "booksim": booksim},
    )


def analyse_buffers(frames: Frames, options: Options) -> Analysis:
    """Accepted load by buffer size; ample buffers must do what the calibration asks for."""
    load = frames["load"]
    claims = []
    for key, curve in load.groupby(["network", "traffic", "routing"], sort=False):
        network, traffic, routing = (str(part) for part in key)
        by_size = curve.set_index("buffer_packets")["accepted"]
        offered = float(curve["offered"].max())
        enough = int(by_size.index[by_size >= 0.98 * by_size.max()].min())
        claims.append(
            Claim(
                claim=f"{network} {traffic} at {curve['load'].iloc[0]:g}: buffers in use are ample",
                where="98 % of the best of the sizes",
                condition=routing,
                expected=float(NETWORKS[network].buffer_packets),
                ours=float(enough),
                holds=enough <= NETWORKS[network].buffer_packets,
                rule=f"packets a channel for 98 % of {by_size.max():.3f} ({offered:.3f} offered)",
            )
        )
    return Analysis(claims=claims_frame(claims), tables={"load": load})


CURVES_FIGURE = PaperFigure(
    name="curves",
    description="latency and accepted load against offered load, with closed-form limits",
    function=FUNCTION,
    points=curve_points,
    analyse=analyse_curves,
    draw=draw_curves,
)
BUFFERS_FIGURE = PaperFigure(
    name="buffers",
    description="accepted load against the size of the input buffers",
    function=FUNCTION,
    points=buffer_points,
    analyse=analyse_buffers,
    draw=draw_buffers,
)
PAPER = Paper(
    name="calibration",
    title="Calibration: saturation, zero-load latency, buffers; flow level; EASY as published",
    figures={
        figure.name: figure for figure in (CURVES_FIGURE, BUFFERS_FIGURE, FLOW_FIGURE, EASY_FIGURE)
    },
    check=check,
    default="all",
)
