"""Pollard et al., section V-B: jobs in isolated partitions against jobs that share links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.kit.data import read_data
from experiments.kit.fattree_workloads.cases import (
    CAB,
    CAB_PART,
    CAB_SMALL,
    OBLIVIOUS,
    SIMULATED,
    Case,
    make_point,
    scaled,
)
from experiments.kit.fattree_workloads.point import FUNCTION
from experiments.kit.papers import Options, PaperFigure, Point
from experiments.pollard.interference import speedups, why

N_WORKLOADS = {SIMULATED.name: 15, CAB.name: 6, CAB_SMALL.name: 6, CAB_PART.name: 6}
"""The paper simulates 15; it does not state how many ran on Cab."""
N_WHY = {SIMULATED.name: 1, CAB_SMALL.name: 2}


def case_points(cases: Sequence[Case], options: Options) -> list[Point]:
    """Return every case under TA and under each reading of topology-oblivious, by workload."""
    n_workloads = {case.name: 2 if options.quick else N_WORKLOADS[case.name] for case in cases}
    return [
        make_point(case, placement, workload, options)
        for workload in range(max(n_workloads.values()))
        for case in scaled(cases, options)
        for placement in ("ta", *OBLIVIOUS)
        if workload < n_workloads[case.name]
    ]


def why_points(options: Options) -> list[Point]:
    """Return every variant of two cases, under TA and in its placement, by workload."""
    n_workloads = {name: 1 if options.quick else n for name, n in N_WHY.items()}
    return [
        make_point(changed, placement, workload, options, alone=alone)
        for workload in range(max(n_workloads.values()))
        for case in scaled(why.CASES, options)
        if workload < n_workloads[case.name]
        for _, changed, oblivious, alone in why.chosen(case)
        for placement in ("ta", oblivious)
    ]


SPEEDUPS = (speedups.analyse, speedups.draw)
FIGURES: dict[str, tuple[Any, ...]] = {
    "10648": (partial(case_points, (SIMULATED,)), *SPEEDUPS),
    "cab": (partial(case_points, (CAB, CAB_SMALL, CAB_PART)), *SPEEDUPS),
    "why": (why_points, why.analyse, why.draw),
}
"""Of each figure: its points, its analysis, its drawing. Cab's 1296 nodes have two ranges of sizes,
and 30 % communication."""
INTERFERENCE = tuple(
    PaperFigure(f"interference-{name}", title, FUNCTION, *FIGURES[name])
    for name, title in read_data("pollard/interference")["figures"].items()
)
"""The figures of jobs side by side."""
