"""Calibration of the packet model: load-latency curves beside closed forms and BookSim2.

Not one paper but the textbook's checks (Dally and Towles, "Principles and Practices of
Interconnection Networks"; Kim et al., ISCA 2008): where each routing saturates, what a lone
message takes, what short buffers cost. A cycle is the time of one flit on a link.
"""

from __future__ import annotations

from typing import Any

from experiments.calibration import (
    batch_means,
    easy,
    flow_levels,
    neighbours,
    packet_errors,
    three_ways,
    whole_schedules,
)
from experiments.calibration.load_curves import (
    analyse_buffers,
    analyse_curves,
    draw_buffers,
    draw_curves,
)
from experiments.calibration.point import FUNCTION, load_point, lone_point
from experiments.kit.data import read_data
from experiments.kit.load_networks import NETWORKS, limit_of
from experiments.kit.paper_folder import checker, folder_paper
from experiments.kit.papers import Options, Point

STUDY = read_data("calibration")
ROUTINGS = sorted({name for network in NETWORKS.values() for name in network.routings})


def _routings(network: str, options: Options) -> tuple[str, ...]:
    own = NETWORKS[network].routings
    return tuple(name for name in own if not options.routings or name in options.routings)


def loads_of(network: str, routing: str, traffic: str) -> tuple[float, ...]:
    """Return the offered loads of one curve, ascending."""
    if traffic == "adversarial":
        limit = limit_of(network, "minimal", traffic).ceiling
        low = tuple(round(share * limit, 6) for share in STUDY["loads"]["direct"])
        if routing == "minimal":
            return tuple(sorted({*low, 0.3, 1.0}))
        return tuple(sorted({low[1], low[3], *STUDY["loads"][traffic]}))
    return tuple(STUDY["loads"]["valiant" if routing == "valiant" else traffic])


def curve_points(options: Options) -> list[Point]:
    """Return every load of every curve, and lone messages on every network."""
    points: list[Point] = []
    for network, traffic in STUDY["curves"][options.scale]:
        for routing in _routings(network, options):
            points.append(lone_point(network, routing, options))
            points += [
                load_point(network, routing, traffic, load, options)
                for load in loads_of(network, routing, traffic)
            ]
    return points


def buffer_points(options: Options) -> list[Point]:
    """Return points with buffers of one packet and up, at loads near or above saturation."""
    return [
        load_point(network, routing, traffic, load, options, buffer_packets=size)
        for network, routing, traffic, load in STUDY["buffers"]["cases"]
        if routing in _routings(network, options)
        for size in STUDY["buffers"]["packets"]
    ]


PARTS: dict[str, tuple[Any, ...]] = {
    "curves": (FUNCTION, curve_points, analyse_curves, draw_curves),
    "buffers": (FUNCTION, buffer_points, analyse_buffers, draw_buffers),
    "flow": (flow_levels.FUNCTION, flow_levels.points, flow_levels.analyse, flow_levels.draw),
    "whole-schedules": (
        whole_schedules.FUNCTION,
        whole_schedules.points,
        whole_schedules.analyse,
    ),
    "three-ways": (three_ways.FUNCTION, three_ways.points, three_ways.analyse),
    "packet-errors": (packet_errors.FUNCTION, packet_errors.points, packet_errors.analyse),
    "neighbours": (neighbours.FUNCTION, neighbours.points, neighbours.analyse),
    "batch-means": (batch_means.FUNCTION, batch_means.points, batch_means.analyse),
    "easy": (easy.FUNCTION, easy.points, easy.analyse),
}
"""Of each figure: its point function and points, its analysis, its drawing if it has one."""
CHECK = checker("the calibration", ("logs",), ROUTINGS)
PAPER = folder_paper("calibration", PARTS, CHECK, default="all")
