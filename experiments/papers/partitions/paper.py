"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention: tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.inputs import input_file
from experiments.papers.paper import Analysis, Options, Paper, PaperFigure, Point
from experiments.papers.partitions import draw
from experiments.papers.partitions.multiplication import analyse_multiplication, analyse_scaling
from experiments.papers.partitions.pairing import analyse_juqueen, analyse_mira
from experiments.papers.partitions.point import MAPPINGS, MODULE
from experiments.papers.partitions.printed import PRINTED, TABLE_3, TABLE_4, Multiplication
from experiments.papers.partitions.queue import MODULE as QUEUE_MODULE
from experiments.papers.partitions.queue import POLICIES, analyse_queue
from experiments.papers.partitions.tables import analyse_table
from netsim.errors import NetcosimError, unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NAME = "partitions"
ROUTINGS = ("dimension-order", "minimal-adaptive")
CHUNK_BYTES = 134_200_000
CHUNKS = 16
MIRA_SIZES = (4, 8, 16, 24)
JUQUEEN_SIZES = (4, 6, 8, 12, 16, 24)
PACKET_MESSAGE_BYTES = 16_384
FIRST_GROUPS = ("far", "near")
SETTINGS = ("log",)
"""log: the file of Mira's job log, for "queue"."""

MIRA_CHOICES = ("mira-current", "mira-proposed")
JUQUEEN_CHOICES = ("worst", "best")


def _bisection_points(*pairs: tuple[str, str]) -> Callable[[Options], list[Point]]:
    """Points of machines and choices."""

    def points(options: Options) -> list[Point]:
        return [{"what": "bisections", "machine": m, "choice": c} for m, c in pairs]

    return points


def _pairing_points(
    machine: str, choices: Sequence[str], sizes: Sequence[int], options: Options
) -> list[Point]:
    """Both engines: the paper's messages as flows, scaled messages as packets.

    Packets go minimal-adaptive by default, as large messages do on Blue Gene/Q. Quick: packets
    on up to 8 midplanes and for fewer rounds.
    """
    points: list[Point] = []
    flow = {
        "engine": "flow",
        "message_bytes": CHUNK_BYTES,
        "chunks": CHUNKS,
        "rounds": 26,
        "warmup_rounds": 4,
    }
    packet = {
        "engine": "packet",
        "message_bytes": PACKET_MESSAGE_BYTES,
        "chunks": 1,
        "rounds": 6 if options.quick else 26,
        "warmup_rounds": 2 if options.quick else 4,
        "packet_bytes": 2048,
        "buffer_bytes": 65536,
    }
    for setting, default in ((flow, "dimension-order"), (packet, "minimal-adaptive")):
        for size in sizes:
            if options.quick and setting is packet and size > 8:
                continue
            for choice in choices:
                points.append(
                    {
                        "what": "pairing",
                        "machine": machine,
                        "choice": choice,
                        "midplanes": size,
                        "routing": options.routings[0] if options.routings else default,
                        **setting,
                    }
                )
    return points


def _multiplication_points(rows: Sequence[Multiplication], options: Options) -> list[Point]:
    """Every task mapping and order of steps; quick: blocks and random, far groups first."""
    mappings = ("blocks", "random") if options.quick else MAPPINGS
    firsts = FIRST_GROUPS[:1] if options.quick else FIRST_GROUPS
    return [
        {
            "what": "multiplication",
            "machine": "mira",
            "choice": choice,
            "midplanes": row.midplanes,
            "ranks": row.ranks,
            "matrix_dim": row.matrix_dim,
            "mapping": mapping,
            "first_groups": first,
            "routing": options.routings[0] if options.routings else "dimension-order",
            "seed": options.seed,
        }
        for row in rows
        if not (options.quick and row.midplanes > 8)
        for mapping in mappings
        for first in firsts
        for choice in MIRA_CHOICES
    ]


def _queue_points(options: Options) -> list[Point]:
    """Months of Mira's log (setting "log") or made ones, three shares of bound jobs, WFP.

    Without bound jobs geometry acts on packing alone.
    """
    months = range(1 if options.quick else 5)
    path = options.settings.get("log", "")
    log = input_file(path) if path else ""
    return [
        {
            "what": "queue",
            "policy": policy,
            "log": log,
            "month": month,
            "bound_jobs": share,
            "communication": 0.3,
            "order": "wfp",
            "made_jobs": 300 if options.quick else 1500,
            "seed": options.seed,
        }
        for month in months
        for share in (0.0, 0.25, 0.5)
        for policy in POLICIES
    ]


def _table(name: str, points: Callable[[Options], list[Point]]) -> PaperFigure:
    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        return analyse_table(name, frames["partitions"])

    return PaperFigure(
        name=name,
        description=PRINTED[name].caption,
        function=f"{MODULE}:bisections",
        points=points,
        analyse=analyse,
    )


def _bisection_figure(
    name: str,
    description: str,
    table: str,
    points: Callable[[Options], list[Point]],
    drawing: Callable[[pd.DataFrame], Figure],
) -> PaperFigure:
    """A figure of bisections, judged by the table that holds its numbers."""

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        found = analyse_table(table, frames["partitions"])
        return Analysis(found.claims, {**found.tables, "partitions": frames["partitions"]})

    return PaperFigure(
        name=name,
        description=description,
        function=f"{MODULE}:bisections",
        points=points,
        analyse=analyse,
        draw=lambda analysis, options: drawing(analysis.tables["partitions"]),
    )


_MIRA_POINTS = _bisection_points(("mira", "mira-current"), ("mira", "best"))
_JUQUEEN_POINTS = _bisection_points(("juqueen", "worst"), ("juqueen", "best"))
_THREE = ("juqueen", "juqueen-54", "juqueen-48")
_THREE_POINTS = _bisection_points(*((machine, "best") for machine in _THREE))

_FIGURES = (
    _table("table1", _MIRA_POINTS),
    _table("table2", _JUQUEEN_POINTS),
    _table("table5", _THREE_POINTS),
    _table("table6", _MIRA_POINTS),
    _table("table7", _JUQUEEN_POINTS),
    _bisection_figure(
        "fig1",
        "Mira: bisection of current and proposed partitions",
        "table6",
        _MIRA_POINTS,
        lambda partitions: draw.bisection_bars(
            partitions,
            "mira",
            (("mira-current", "current"), ("best", "proposed")),
            "Mira: current and proposed partitions",
        ),
    ),
    _bisection_figure(
        "fig2",
        "JUQUEEN: bisection of best and worst partitions",
        "table7",
        _JUQUEEN_POINTS,
        lambda partitions: draw.bisection_lines(
            partitions,
            (("juqueen", "worst", "worst case"), ("juqueen", "best", "best case")),
            "JUQUEEN: best and worst partitions",
        ),
    ),
    PaperFigure(
        name="fig3",
        description="Mira: bisection pairing, current against proposed partitions",
        function=f"{MODULE}:pairing",
        points=lambda options: _pairing_points("mira", MIRA_CHOICES, MIRA_SIZES, options),
        analyse=lambda frames, options: analyse_mira(frames["pairing"]),
        draw=lambda analysis, options: draw.pairing_bars(
            analysis.tables["pairing"], ("current", "proposed"), "Mira: bisection pairing"
        ),
    ),
    PaperFigure(
        name="fig4",
        description="JUQUEEN: bisection pairing, worst against best partitions",
        function=f"{MODULE}:pairing",
        points=lambda options: _pairing_points("juqueen", JUQUEEN_CHOICES, JUQUEEN_SIZES, options),
        analyse=lambda frames, options: analyse_juqueen(frames["pairing"]),
        draw=lambda analysis, options: draw.pairing_bars(
            analysis.tables["pairing"], ("worst case", "best case"), "JUQUEEN: bisection pairing"
        ),
    ),
    PaperFigure(
        name="fig5",
        description="Mira: Strassen-Winograd communication, current against proposed",
        function=f"{MODULE}:multiplication",
        points=lambda options: _multiplication_points(TABLE_3, options),
        analyse=lambda frames, options: analyse_multiplication(frames["multiplication"]),
        draw=lambda analysis, options: draw.multiplication_bars(
            analysis.tables["totals"], "Mira: Strassen-Winograd communication"
        ),
    ),
    PaperFigure(
        name="fig6",
        description="Mira: strong scaling of Strassen-Winograd communication",
        function=f"{MODULE}:multiplication",
        points=lambda options: _multiplication_points(TABLE_4, options),
        analyse=lambda frames, options: analyse_scaling(frames["multiplication"]),
        draw=lambda analysis, options: draw.multiplication_bars(
            analysis.tables["totals"], "Mira: strong scaling, matrix dimension 9408"
        ),
    ),
    _bisection_figure(
        "fig7",
        "bisection of JUQUEEN, JUQUEEN-54 and JUQUEEN-48, best partitions",
        "table5",
        _THREE_POINTS,
        lambda partitions: draw.bisection_lines(
            partitions,
            tuple((machine, "best", machine.upper()) for machine in _THREE),
            "Best partitions of JUQUEEN and of two smaller machines",
        ),
    ),
    PaperFigure(
        name="queue",
        description="not in the paper: its proposed scheduler, in Mira's queue (--set log=FILE)",
        function=f"{QUEUE_MODULE}:queue",
        points=_queue_points,
        analyse=lambda frames, options: analyse_queue(frames["queue"]),
        draw=lambda analysis, options: draw.queue_bars(
            analysis.tables["means"], POLICIES, "Mira: policies, contention-bound jobs known"
        ),
    ),
)


def _check(options: Options) -> None:
    for routing in options.routings:
        if routing not in ROUTINGS:
            raise unknown_name(f"routing for {NAME}", routing, ROUTINGS)
    if len(options.routings) > 1:
        raise NetcosimError(f"{NAME}: {len(options.routings)} routings; one at a time is allowed")
    if options.measure:
        raise NetcosimError(f"{NAME}: measure = {options.measure!r}; this paper has no choice")
    for key in options.settings:
        if key not in SETTINGS:
            raise unknown_name(f"setting of {NAME}", key, SETTINGS)


PAPER = Paper(
    name=NAME,
    title="Oltchik and Schwartz, Network Partitioning and Avoidable Contention",
    figures={figure.name: figure for figure in _FIGURES},
    check=_check,
)
