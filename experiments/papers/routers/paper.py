"""Which conclusions about placement hang on the router: those of other papers, router by router.

The points are those of the Level-Spread, side-by-side and isolation figures with the keys of
`experiments.papers.kit.routers.ROUTERS` in their packets' section, and nothing else changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain

from experiments.papers.interference import point as loops
from experiments.papers.interference.cases import CAB_SMALL, OBLIVIOUS, make_point, scaled
from experiments.papers.isolation.cases import SMALL_LOG, asked_for, machines
from experiments.papers.isolation.point import MEASURE, measure_points
from experiments.papers.jigsaw.logs import THUNDER
from experiments.papers.kit.logs import logs_folder, needed
from experiments.papers.kit.routers import ROUTERS
from experiments.papers.level_spread.paper import fig2_points, mixed_points
from experiments.papers.level_spread.point import FUNCTION
from experiments.papers.paper import Options, Paper, PaperFigure, Point, check_known
from experiments.papers.routers import figures
from experiments.papers.routers.figures import VERDICT
from experiments.points import replaced

DRAGONFLY: tuple[tuple[str, dict[str, str]], ...] = (
    ("minimal", {}),
    ("ugal-l", {}),
    ("ugal-l", {"ugal_compares": "output-queue"}),
    ("valiant", {}),
)
"""Routings, and settings of the Level-Spread room."""
FAT_TREE = ("d-mod-k", "adaptive")
N_RANDOM, N_LOOPS, N_SNAPSHOTS = (40, 3), (4, 2), (4, 2)
"""Random workloads, workloads side by side, snapshots of the verdict: in full, and quick."""
POLICIES = {"dragonfly": ("rdn", "rdg", "level-spread"), "fattree": ()}
CAB = replace(CAB_SMALL, radix=18, largest=32, ranks_per_node=8)
"""Half of Cab's radix: 324 nodes."""
DAYS = 20.0


def in_turn(each: Iterable[list[Point]]) -> list[Point]:
    """The first point of each list, the second of each, ...: what is cut short is cut alike."""
    return list(chain.from_iterable(zip(*each, strict=True)))


def level_spread_points(options: Options) -> list[Point]:
    """Fig. 2 and the first of Fig. 10's workloads, each under every routing and router in turn."""
    each = []
    for routing, own in DRAGONFLY:
        for router in ROUTERS if routing in (options.routings or dict(DRAGONFLY)) else ():
            mine = replace(options, routings=(routing,), settings={"router": router, **own})
            each.append(fig2_points(mine) + mixed_points(mine, n=N_RANDOM[options.quick]))
    return in_turn(each)


def interference_points(options: Options) -> list[Point]:
    """Workloads of a small Cab, isolated and in two oblivious placements."""
    return [
        make_point(replace(case, routing=routing, router=router), placement, workload, options)
        for workload in range(N_LOOPS[options.quick])
        for case in scaled((CAB,), options)
        for routing in FAT_TREE
        if routing in (options.routings or FAT_TREE)
        for router in ROUTERS
        for placement in ("ta", *OBLIVIOUS)
    ]


def isolation_points(options: Options) -> list[Point]:
    """Snapshots of the schedule of Thunder's first days, on a dragonfly and on a fat-tree."""
    points, n = [], N_SNAPSHOTS[options.quick]
    if not options.quick:
        needed((THUNDER,), options)
    for network, known in VERDICT.items():
        for machine in machines(network, options):
            if machine.log == THUNDER.name:
                first = replaced(machine.sections, {"workload.days": DAYS})
                machine = replace(machine, sections=first)
            elif machine.log != SMALL_LOG:
                continue
            points += in_turn(
                measure_points(machine, case, options.seed, n, POLICIES[network])
                for case in asked_for(known, options)
            )
    return points


def check(options: Options) -> None:
    """Raise NetcosimError for a routing or setting that is not varied here."""
    check_known(options, "routers", (*dict(DRAGONFLY), *FAT_TREE), ("logs",))
    logs_folder(options)


PARTS = {
    "level-spread": (FUNCTION, level_spread_points, figures.level_spread),
    "interference": (loops.FUNCTION, interference_points, figures.interference),
    "isolation": (MEASURE, isolation_points, figures.isolation),
}
"""Of each figure: its point function, its points, what is averaged."""
TITLE = "conclusions of {} with an ideal router and with crossbars of speed-up 1, 1.5, 2, unlimited"
PAPER = Paper(
    name="routers",
    title="Conclusions about placement, router by router",
    figures={
        name: PaperFigure(
            name,
            TITLE.format(name),
            function,
            points,
            partial(figures.analyse, samples=samples),
            figures.draw,
        )
        for name, (function, points, samples) in PARTS.items()
    },
    check=check,
)
