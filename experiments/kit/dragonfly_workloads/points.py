"""Points of workloads on a dragonfly: those of two sizes and random ones, under policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from experiments.kit.dragonfly_workloads.machine import compared, machine_section, settings_of
from experiments.kit.dragonfly_workloads.measures import POLICIES
from experiments.kit.dragonfly_workloads.workloads import PATTERNS, JobType, random_workload
from experiments.kit.papers import Options, Point

ROUTINGS = ("ugal-l", "minimal")
REPETITIONS = {"full": 10, "quick": 5}
"""By scale."""
FIG2_WORKLOADS = {"17 x 16 nodes": (17, 16), "4 x 68 nodes": (4, 68)}
FIG2_POLICIES = ("rdg", "rdn")
"""FIG2_WORKLOADS, FIG2_POLICIES: Of the Level-Spread paper's Fig. 2."""


class Case(NamedTuple):
    """Jobs on a machine."""

    jobs: Sequence[JobType]
    """Small before large."""
    workload: str
    """Cases of one name share their draws."""
    labels: Mapping[str, object]
    """Columns of their rows, beside routing and repetition."""
    n_nodes: int = 272
    alpha: float = 1.0
    """n_nodes, alpha: See `experiments.kit.dragonfly_workloads.machine.machine_section`."""


class How(NamedTuple):
    """What a point's jobs have in common; see `dragonfly_workloads.point.run_workload`."""

    policies: Sequence[str] = POLICIES
    order: str = "smallest"
    ranks_per_node: int = 2
    mapping: str = "random"
    link_statistics: bool = False


SMALL_FIRST = How()


def workload_points(
    options: Options,
    cases: Sequence[Case],
    how: How = SMALL_FIRST,
    *,
    routings: tuple[str, ...] = ROUTINGS,
    repetitions: int | None = None,
) -> list[Point]:
    """Return a point for each routing, case and repetition."""
    if repetitions is None:
        repetitions = REPETITIONS[options.scale]
    settings = settings_of(options)
    return [
        {
            "experiment": "level-spread",
            "machine": machine_section(case.n_nodes, case.alpha, routing, settings),
            "jobs": [job.config(settings["broadcast"]) for job in case.jobs],
            "draws": {"seed": options.seed, "workload": case.workload, "repetition": repetition},
            "labels": {**network, **case.labels, "repetition": repetition},
            **how._asdict(),
        }
        for routing in options.routings or routings
        for name in (", ".join([routing, *compared(routing, settings).values()]),)
        for network in ({"routing": name, "router": settings["router"]},)
        for case in cases
        for repetition in range(repetitions)
    ]


def all_to_all(workloads: Mapping[str, tuple[int, int]]) -> list[Case]:
    """Return cases of jobs of one size, by name: how many, of how many nodes."""
    return [
        Case([JobType(n, nodes, "all-to-all")], label, {"workload": label})
        for label, (n, nodes) in workloads.items()
    ]


def fig2_points(options: Options) -> list[Point]:
    """Return both workloads on the full machine of 272 nodes; the pattern is all-to-all."""
    cases = all_to_all(FIG2_WORKLOADS)
    how = How(FIG2_POLICIES)
    return workload_points(options, cases, how)


def random_case(index: int, seed: int, patterns: Sequence[str], label: str) -> Case:
    small, large = random_workload(index, seed, patterns=patterns)
    labels: dict[str, object] = {"set": label, "workload": index}
    for kind, job in (("small", small), ("large", large)):
        labels |= {f"{kind}_nodes": job.n_nodes, f"n_{kind}": job.n_jobs}
        labels[f"{kind}_pattern"] = job.pattern
    return Case((small, large), f"random {index}", labels)


def mixed_points(options: Options, n: int, how: How = SMALL_FIRST) -> list[Point]:
    """Return n random workloads with mixed patterns; small jobs placed first, or large ones."""
    cases = [random_case(index, options.seed, PATTERNS, "") for index in range(n)]
    return workload_points(options, cases, how, repetitions=1)
