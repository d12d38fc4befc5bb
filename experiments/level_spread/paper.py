"""Zhang et al., "Level-Spread: A New Job Allocation Policy for Dragonfly Networks", IPDPS 2018.

Machines, links and patterns are those that the authors gave to SST. The paper names adaptive
routing ("ugal-l" here); its simulations may in fact have run with minimal routing. So its figures
have two readings, and are computed under both unless ``--routing`` chooses one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from experiments.kit.data import read_data
from experiments.kit.dragonfly_workloads.machine import machine_section, settings_of
from experiments.kit.dragonfly_workloads.measures import LEVEL_SPREAD
from experiments.kit.dragonfly_workloads.point import FUNCTION
from experiments.kit.dragonfly_workloads.points import (
    ROUTINGS,
    SMALL_FIRST,
    Case,
    How,
    all_to_all,
    fig2_points,
    mixed_points,
    random_case,
    workload_points,
)
from experiments.kit.dragonfly_workloads.workloads import PATTERNS, filling
from experiments.kit.papers import Options, Paper, PaperFigure, Point, Reading
from experiments.kit.sst import ONE_WAY_NS
from experiments.level_spread import fixed_workloads as fixed
from experiments.level_spread import random_workloads, slingshot, sst
from experiments.level_spread.times import JOKANOVICS, check

STUDY = read_data("level_spread")
READINGS = tuple(Reading(*reading) for reading in STUDY["readings"].items())
WITH_JOKANOVIC = (LEVEL_SPREAD, *JOKANOVICS)


def fig4_points(options: Options) -> list[Point]:
    """Return jobs of 16 and of 64 nodes at 90 %, each pattern, three global bandwidths."""
    sweep = STUDY["sweep"][options.scale]
    cases = [
        _filled(pattern, {nodes: 1}, {"alpha": alpha, "job_nodes": nodes}, alpha=alpha)
        for nodes in (16, 64)
        for alpha in sweep["fig4_alphas"]
        for pattern in sweep["fig4_patterns"]
    ]
    return workload_points(options, cases)


def link_points(options: Options, *, nodes: int) -> list[Point]:
    """Return Figs. 5 and 6: all-to-all jobs of one size, alpha 1, 272 nodes at 90 %."""
    case = _filled("all-to-all", {nodes: 1}, {"job_nodes": nodes})
    return workload_points(options, [case], How(link_statistics=True))


def fig7_points(options: Options) -> list[Point]:
    """Return n jobs of each size at 90 %, messages of 1 KB."""
    sweep = STUDY["sweep"][options.scale]
    cases = [
        _filled(pattern, {16: 1, 64: 1}, {"n_nodes": n_nodes, "alpha": alpha}, n_nodes, alpha)
        for n_nodes, alpha in sweep["fig7_cells"]
        for pattern in sweep["mixed_patterns"]
    ]
    return workload_points(options, cases)


def fig8_points(options: Options) -> list[Point]:
    """Return three jobs of each size on 272 nodes, messages of different sizes."""
    sweep = STUDY["sweep"][options.scale]
    cases = [
        _filled(pattern, {16: small, 64: large}, {"small_kb": small, "large_kb": large})
        for small, large in sweep["sizes_kb"]
        for pattern in sweep["mixed_patterns"]
    ]
    return workload_points(options, cases)


def _filled(
    pattern: str,
    sizes: Mapping[int, int],
    labels: Mapping[str, object],
    n_nodes: int = 272,
    alpha: float = 1.0,
) -> Case:
    """Return jobs of one pattern that fill a machine; those of the same sizes share their draws."""
    name = f"{min(sizes)} nodes" if len(sizes) == 1 else f"16+64 {n_nodes}"
    jobs = filling(n_nodes, pattern, sizes)
    return Case(jobs, name, {**labels, "pattern": pattern}, n_nodes, alpha)


def random_points(options: Options, *, how: How = SMALL_FIRST) -> list[Point]:
    """Return 1000 workloads with mixed patterns, placed one way."""
    return mixed_points(options, STUDY["sweep"][options.scale]["random_workloads"], how)


def single_points(options: Options) -> list[Point]:
    """Return 100 workloads a pattern, both types of jobs with this pattern."""
    n = STUDY["sweep"][options.scale]["workloads_of_a_pattern"]
    cases = [
        random_case(index, options.seed, (pattern,), pattern)
        for pattern in PATTERNS
        for index in range(n)
    ]
    return workload_points(options, cases, repetitions=1)


def sst_points(options: Options) -> list[Point]:
    """Return the table of all-to-alls, and lone messages on the network."""
    cases = all_to_all({"4 x 68": (4, 68), "17 x 16": (17, 16)})
    how = How(("simple",), ranks_per_node=1, mapping="in-order")
    routings = ("minimal", "valiant", "ugal-l")
    points = workload_points(options, cases, how, routings=routings, repetitions=1)
    alone = machine_section(272, 1.0, "minimal", settings_of(options))
    return points + [
        {"experiment": "level-spread one way", "machine": alone, "hops": hops, "bytes": size}
        for hops in range(len(ONE_WAY_NS))
        for size in (1000, 100_000)
    ]


def slingshot_points(options: Options) -> list[Point]:
    """Return a point for each arrangement, routing and policy; jobs fill 89 % of the machine."""
    shape, job = slingshot.QUICK if options.quick else slingshot.FULL
    return [
        {
            "experiment": "level-spread",
            "machine": slingshot.section(shape, arrangement, routing),
            "jobs": [job.config()],
            "draws": {"seed": options.seed},
            "labels": {"arrangement": arrangement, "routing": routing},
            **How((policy,), ranks_per_node=1)._asdict(),
        }
        for routing in options.routings or ROUTINGS[:1]
        for arrangement in slingshot.ARRANGEMENTS
        for policy in slingshot.POLICIES
    ]


LARGE_FIRST = partial(random_points, how=How(order="largest"))
JOKANOVIC = partial(random_points, how=How(WITH_JOKANOVIC))
JOKANOVIC_LARGE_FIRST = partial(random_points, how=How(WITH_JOKANOVIC, "largest"))
PARTS: dict[str, tuple[Any, ...]] = {
    "fig2": (fig2_points, fixed.fig2_analyse, fixed.fig2_draw),
    "fig4": (fig4_points, fixed.fig4_analyse, fixed.fig4_draw),
    "fig5": (partial(link_points, nodes=16), fixed.fig5_analyse, fixed.links_draw),
    "fig6": (partial(link_points, nodes=64), fixed.fig6_analyse, fixed.links_draw),
    "fig7": (fig7_points, fixed.fig7_analyse, fixed.fig7_draw),
    "fig8": (fig8_points, fixed.fig8_analyse, fixed.fig8_draw),
    "fig10": (random_points, random_workloads.fig10_analyse, random_workloads.draw),
    "fig11": (LARGE_FIRST, random_workloads.fig11_analyse, random_workloads.draw),
    "fig12": (JOKANOVIC, random_workloads.fig12_analyse, random_workloads.draw),
    "fig13": (JOKANOVIC_LARGE_FIRST, random_workloads.fig13_analyse, random_workloads.draw),
    "patterns": (single_points, random_workloads.single_analyse),
    "sst": (sst_points, sst.analyse),
    "slingshot": (slingshot_points, slingshot.analyse, slingshot.draw),
}
"""Of each figure: its points, its analysis, its drawing if it has one."""
FUNCTIONS = {"sst": sst.FUNCTION}
NOT_THE_PAPERS = ("sst", "slingshot")
"""Figures that are beside the paper's own: no reading of it."""
PAPER = Paper(
    name="level-spread",
    title=STUDY["title"],
    figures={
        name: replace(
            PaperFigure(name, title, FUNCTIONS.get(name, FUNCTION), *PARTS[name]),
            readings=() if name in NOT_THE_PAPERS else READINGS,
        )
        for name, title in STUDY["figures"].items()
    },
    check=check,
)
