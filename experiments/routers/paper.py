"""Which conclusions about placement depend on the router: those of other papers, router by router.

The points are those of the Level-Spread, side-by-side and isolation figures with the keys of
`experiments.kit.routers.ROUTERS` in their packets' section, and nothing else changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain

from experiments.kit.dragonfly_workloads.point import FUNCTION
from experiments.kit.dragonfly_workloads.points import fig2_points, mixed_points
from experiments.kit.fat_tree_logs import ISOLATING, THUNDER, fat_tree
from experiments.kit.fattree_workloads import point as loops
from experiments.kit.fattree_workloads.cases import CAB_SMALL, OBLIVIOUS, make_point, scaled
from experiments.kit.log_study import study_content, study_point
from experiments.kit.logs import needed
from experiments.kit.paper_folder import checker
from experiments.kit.papers import Options, Paper, PaperFigure, Point
from experiments.kit.points import MEASURED
from experiments.kit.routers import ROUTERS
from experiments.kit.study_mix import study_mix
from experiments.routers import figures

DRAGONFLY: tuple[tuple[str, dict[str, str]], ...] = (
    ("minimal", {}),
    ("ugal-l", {}),
    ("ugal-l", {"ugal_compares": "output-queue"}),
    ("valiant", {}),
)
"""Routings, and settings of the Level-Spread room."""
FAT_TREE = ("d-mod-k", "adaptive")
N_RANDOM, N_LOOPS, N_SNAPSHOTS = (40, 3), (4, 2), (6, 2)
"""Random workloads, workloads side by side, instants of isolated jobs: in full, and quick."""
REFERENCE = "random"
NODE_BYTES = 64 * 1024
CAB = replace(CAB_SMALL, radix=18, largest=32, ranks_per_node=8)
"""Half of Cab's radix: 324 nodes."""
DAYS = 20.0


def in_turn(each: Iterable[list[Point]]) -> list[Point]:
    """Interleave lists of points, so that an interrupted run has cut all of them alike."""
    return list(chain.from_iterable(zip(*each, strict=True)))


def level_spread_points(options: Options) -> list[Point]:
    """Return Fig. 2 and the first of Fig. 10's workloads, under each routing and router."""
    each = []
    for routing, own in DRAGONFLY:
        for router in ROUTERS if routing in (options.routings or dict(DRAGONFLY)) else ():
            mine = replace(options, routings=(routing,), settings={"router": router, **own})
            each.append(fig2_points(mine) + mixed_points(mine, N_RANDOM[options.quick]))
    return in_turn(each)


def interference_points(options: Options) -> list[Point]:
    """Return workloads of a small Cab, isolated and in two oblivious placements."""
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
    """Return isolated jobs of Thunder's first days against random nodes, all jobs in loops."""
    if options.quick:
        jobs = {"synthetic": {"n_jobs": 60, "mean_nodes": 8}, "all_at_zero": True}
        sections = {"machine": fat_tree(8), "workload": {**jobs, "larger_jobs": "drop"}}
    else:
        [(_, sections)] = needed((THUNDER,), options)
        sections["workload"] |= {"days": DAYS}
    return [
        study_point(
            "routers-isolation",
            study_content(
                sections,
                "fattree",
                (REFERENCE, *ISOLATING),
                snapshots=N_SNAPSHOTS[options.quick],
                seed=options.seed,
                changes={
                    "machine.routing": routing,
                    "machine.packet": packet,
                    "communication.mix": study_mix(node_bytes=NODE_BYTES),
                    "run.steady": {"noise": 0.0, "least_iterations": 8, "most_iterations": 8},
                },
            ),
            {"routing": routing, "router": router},
        )
        for routing in (options.routings or FAT_TREE[:1])
        for router, packet in ROUTERS.items()
    ]


PARTS = {
    "level-spread": (FUNCTION, level_spread_points, figures.level_spread),
    "interference": (loops.FUNCTION, interference_points, figures.interference),
    "isolation": (MEASURED, isolation_points, figures.isolation),
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
    check=checker("routers", ("logs",), (*dict(DRAGONFLY), *FAT_TREE)),
)
