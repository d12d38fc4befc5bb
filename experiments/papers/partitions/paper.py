"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention: tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from experiments.inputs import input_file
from experiments.papers.paper import Analysis, Options, Paper, PaperFigure, Point
from experiments.papers.partitions.bisections import (
    COLUMNS,
    analyse_table,
    best_and_worst,
    current_and_proposed,
    three_machines,
)
from experiments.papers.partitions.multiplication import (
    analyse_multiplication,
    analyse_scaling,
    multiplication_bars,
)
from experiments.papers.partitions.pairing import (
    analyse_juqueen,
    analyse_mira,
    juqueen_bars,
    mira_bars,
)
from experiments.papers.partitions.point import MAPPINGS, MODULE
from experiments.papers.partitions.printed import PRINTED, TABLE_3, TABLE_4, Multiplication
from experiments.papers.partitions.queue import MODULE as QUEUE_MODULE
from experiments.papers.partitions.queue import POLICIES, analyse_queue, queue_bars
from netsim.errors import NetcosimError, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "partitions"
ROUTINGS = ("dimension-order", "minimal-adaptive")
FLOW = {
    "engine": "flow",
    "message_bytes": 134_200_000,
    "chunks": 16,
    "rounds": 26,
    "warmup_rounds": 4,
}
"""The paper's messages."""
PACKET = {
    "engine": "packet",
    "message_bytes": 16_384,
    "chunks": 1,
    "rounds": 26,
    "warmup_rounds": 4,
    "packet_bytes": 2048,
    "buffer_bytes": 65536,
}
"""Scaled messages."""
QUICK_PACKET = {**PACKET, "rounds": 6, "warmup_rounds": 2}
MIRA_SIZES = (4, 8, 16, 24)
JUQUEEN_SIZES = (4, 6, 8, 12, 16, 24)
FIRST_GROUPS = ("far", "near")
SETTINGS = ("log",)
"""log: the file of Mira's job log, for "queue"."""

MIRA_CHOICES = ("mira-current", "mira-proposed")
JUQUEEN_CHOICES = ("worst", "best")

Points = Callable[[Options], list[Point]]


def _routing(options: Options, default: str) -> str:
    return options.routings[0] if options.routings else default


def _pairing_points(machine: str, choices: Sequence[str], sizes: Sequence[int]) -> Points:
    """Both engines: the paper's messages as flows, scaled messages as packets.

    Packets go minimal-adaptive by default, as large messages do on Blue Gene/Q. Quick: packets
    on up to 8 midplanes and for fewer rounds.
    """

    def points(options: Options) -> list[Point]:
        small = [size for size in sizes if size <= 8]
        return [
            {
                "what": "pairing",
                "machine": machine,
                "choice": choice,
                "midplanes": size,
                "routing": _routing(options, routing),
                **setting,
            }
            for setting, among, routing in (
                (FLOW, sizes, "dimension-order"),
                (QUICK_PACKET, small, "minimal-adaptive")
                if options.quick
                else (PACKET, sizes, "minimal-adaptive"),
            )
            for size in among
            for choice in choices
        ]

    return points


def _multiplication_points(rows: Sequence[Multiplication]) -> Points:
    """Every task mapping and order of steps; quick: blocks and random, far groups first."""

    def points(options: Options) -> list[Point]:
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
                "routing": _routing(options, "dimension-order"),
                "seed": options.seed,
            }
            for row in rows
            if not (options.quick and row.midplanes > 8)
            for mapping in (("blocks", "random") if options.quick else MAPPINGS)
            for first in (FIRST_GROUPS[:1] if options.quick else FIRST_GROUPS)
            for choice in MIRA_CHOICES
        ]

    return points


def _queue_points(options: Options) -> list[Point]:
    """Months of Mira's log (setting "log") or made ones, three shares of bound jobs, WFP.

    Without bound jobs geometry acts on packing alone.
    """
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
        for month in range(1 if options.quick else 5)
        for share in (0.0, 0.25, 0.5)
        for policy in POLICIES
    ]


def _bisections(
    name: str,
    table: str,
    description: str = "",
    draw: Callable[[Analysis, Options], Figure] | None = None,
) -> PaperFigure:
    """A table, or a figure of bisections, judged by the table that holds its numbers."""

    def points(options: Options) -> list[Point]:
        return [{"what": "bisections", "machine": m, "choice": c} for m, c in COLUMNS[table]]

    description = description or PRINTED[table].caption
    function = f"{MODULE}:bisections"
    return PaperFigure(name, description, function, points, analyse_table(table), draw)


_FIGURES = (
    *(_bisections(name, name) for name in COLUMNS),
    _bisections(
        "fig1",
        "table6",
        "Mira: bisection of current and proposed partitions",
        current_and_proposed,
    ),
    _bisections(
        "fig2",
        "table7",
        "JUQUEEN: bisection of best and worst partitions",
        best_and_worst,
    ),
    PaperFigure(
        "fig3",
        "Mira: bisection pairing, current against proposed partitions",
        f"{MODULE}:pairing",
        _pairing_points("mira", MIRA_CHOICES, MIRA_SIZES),
        analyse_mira,
        mira_bars,
    ),
    PaperFigure(
        "fig4",
        "JUQUEEN: bisection pairing, worst against best partitions",
        f"{MODULE}:pairing",
        _pairing_points("juqueen", JUQUEEN_CHOICES, JUQUEEN_SIZES),
        analyse_juqueen,
        juqueen_bars,
    ),
    PaperFigure(
        "fig5",
        "Mira: Strassen-Winograd communication, current against proposed",
        f"{MODULE}:multiplication",
        _multiplication_points(TABLE_3),
        analyse_multiplication,
        multiplication_bars,
    ),
    PaperFigure(
        "fig6",
        "Mira: strong scaling of Strassen-Winograd communication, matrix dimension 9408",
        f"{MODULE}:multiplication",
        _multiplication_points(TABLE_4),
        analyse_scaling,
        multiplication_bars,
    ),
    _bisections(
        "fig7",
        "table5",
        "bisection of JUQUEEN, JUQUEEN-54 and JUQUEEN-48, best partitions",
        three_machines,
    ),
    PaperFigure(
        "queue",
        "not in the paper: its proposed scheduler, in Mira's queue (--set log=FILE)",
        f"{QUEUE_MODULE}:queue",
        _queue_points,
        analyse_queue,
        queue_bars,
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
