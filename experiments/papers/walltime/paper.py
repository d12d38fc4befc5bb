"""Tang et al., "Reducing Fragmentation on Torus-Connected Supercomputers", IPDPS 2011.

Intrepid's log of 2009 by month on Intrepid's menu; where it is not at hand, Mira 2018 on Mira's
menu and on Intrepid stands in. Two orders, six schemes; Cobalt's drains and windows.
"""

from __future__ import annotations

from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Options, Paper, PaperFigure, check_no_packets
from experiments.papers.walltime.classes import class_analyse, class_points
from experiments.papers.walltime.draw import class_curves, gain_bars, gain_distribution
from experiments.papers.walltime.gains import (
    COUNTED,
    fig9_analyse,
    gains_analyse,
    levels_analyse,
    points_of,
    table2_analyse,
)
from experiments.papers.walltime.logs import CASES
from experiments.papers.walltime.point import MODULE, SCHEMES
from netsim.errors import unknown_name

SETTINGS = ("logs", "case")
POINT = f"{MODULE}:run_month"


def check(options: Options) -> None:
    """Raise NetcosimError for what the paper does not have."""
    check_no_packets(options, SETTINGS)
    case = options.settings.get("case", "")
    if case and case not in CASES:
        raise unknown_name("case", case, CASES)
    logs_folder(options)


def _gains(figure: str, metric: str, description: str) -> PaperFigure:
    return PaperFigure(
        f"fig{figure}",
        description,
        POINT,
        points_of(*SCHEMES),
        gains_analyse(metric, figure),
        gain_bars,
    )


def _classes(figure: str, metric: str, order: str, description: str) -> PaperFigure:
    return PaperFigure(
        f"fig{figure}",
        description,
        POINT,
        class_points(order),
        class_analyse(metric, order, figure),
        class_curves,
    )


_FIGURES = (
    PaperFigure(
        "table2",
        "Base by month: loss of capacity, wait, slowdown",
        POINT,
        points_of("Base"),
        table2_analyse,
    ),
    PaperFigure(
        "levels",
        "all orders, schemes and months with intervals",
        POINT,
        points_of(*SCHEMES),
        levels_analyse,
    ),
    _gains("6", "loss_of_capacity", "relative gains in loss of capacity"),
    _gains("7", "wait_min", "relative gains in average wait"),
    _gains("8", "bounded_slowdown", "relative gains in average bounded slowdown"),
    PaperFigure(
        "fig9",
        "how often schemes gain, over all months and orders",
        POINT,
        points_of("Base", *COUNTED),
        fig9_analyse,
        gain_distribution,
    ),
    _classes("10", "wait_min", "fcfs", "waits by job size, FCFS"),
    _classes("11", "bounded_slowdown", "fcfs", "slowdowns by job size, FCFS"),
    _classes("12", "wait_min", "wfp", "waits by job size, WFP"),
    _classes("13", "bounded_slowdown", "wfp", "slowdowns by job size, WFP"),
)

PAPER = Paper(
    name="walltime",
    title="Reducing Fragmentation on Torus-Connected Supercomputers",
    figures={figure.name: figure for figure in _FIGURES},
    check=check,
)
