"""The factors of isolation on fat-trees, and the points of their designs.

Every factor is a key of a config or a few that go together (`_changes`); what it is between and
what all points hold fixed is set only here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cosim.isolation.design import Design, Factor
from experiments.config_load import config_from
from experiments.config_machine import build_machine
from experiments.papers.isolation.base import WINDOW, study_content, study_point
from experiments.papers.isolation.scenario_fit import percent_off
from experiments.papers.jigsaw.logs import (
    ATLAS,
    KTH,
    LINK_BPS,
    THETA,
    THUNDER,
    fat_tree,
)
from experiments.papers.kit.data import read_data
from experiments.papers.kit.logs import PaperLog, present
from experiments.papers.kit.routers import ROUTERS
from experiments.papers.paper import Options, Point
from experiments.run_context import run_context
from workloads.job import Workload
from workloads.shares.study_mix import study_mix
from workloads.transform import select

NAME = "isolation-surface"
STRETCHES = 8
STRETCH_JOBS = 4000
"""A point takes one of so many stretches of its log, of so many jobs each, evenly over the log."""
GPU = PaperLog(
    "made-like-kalos",
    fat_tree(12, pods=9),
    {"synthetic": {"cluster": "kalos", "n_jobs": STRETCH_JOBS, "load": 0.9}},
    quick=None,
)
"""Synthetic jobs with the published sizes and run times of a GPU cluster of 302 nodes, on 324."""
SMALL_TREE = fat_tree(8)
SCALED = {THUNDER.name: 1 / 8, ATLAS.name: 1 / 8, THETA.name: 1 / 32}
"""Logs whose jobs are so much smaller, on a tree of 128 nodes: a tenth of the cost, so that a point
has many instants. `OWN_SIZE` has two of them on their own machines, to judge by."""
LOGS = (KTH, GPU, THUNDER, ATLAS, THETA)
OWN_SIZE = (KTH, GPU, THUNDER, ATLAS)
SMALL = PaperLog(
    "synth-small",
    fat_tree(4),
    {"synthetic": {"n_jobs": 60, "mean_nodes": 4, "load": 0.9}, "all_at_zero": True},
)
REFERENCE = "baseline"
AT_ZERO = ("thunder", "atlas", SMALL.name)
"""Logs whose jobs all arrive at 0: their makespan is the queue's, not the last arrival's."""
INSTANTS = (8, 2, 4)
"""Of so many instants of a large machine the one measured: from the third on, of four."""
SEVERAL = 8
"""Instants a point on a small machine, where few jobs run at once: all of so many."""
SEVERAL_LARGE = {"atlas": 2}
"""On a large one."""
LARGEST = 64
"""Ranks of an all-to-all; larger jobs have sub-a2a instead."""
STUDY = read_data("isolation")["surface"]
COLLECTIVES: list[str] = STUDY["collectives"]
FACTORS = [
    Factor(
        name,
        factor.get("low", 0.0),
        factor.get("high", 1.0),
        log=factor.get("log", False),
        is_integer=factor.get("whole", False),
        levels=tuple(factor.get("levels", ())),
    )
    for name, factor in STUDY["factors"].items()
]
PLACEMENTS = FACTORS[0].levels
USUAL: dict[str, object] = {
    name: factor["usual"] for name, factor in STUDY["factors"].items() if "usual" in factor
}
"""What `experiments.papers.isolation.base` holds fixed."""
CHANCE = Factor("chance", levels=tuple(map(str, range(STRETCHES))))
"""Other draws, stretch and instant: its effect is the size of sampling variation."""
QUICK: list[str] = STUDY["quick"]
MORRIS, FILLING, OWN = "morris", "filling", "own size"


def logs(options: Options, *, scaled: bool = True) -> list[tuple[PaperLog, dict[str, Any]]]:
    """Logs that are there with their sections; with ``--scale quick`` synthetic jobs.

    Parameters
    ----------
    options : Options
    scaled : bool
        Whether the jobs of large machines are `SCALED` on a small tree.
    """
    if options.quick:
        return [(SMALL, SMALL.sections(None) or {})]
    found = present(LOGS, options)
    if not scaled:
        return found
    return [
        (log, _smaller(sections, SCALED[log.name]) if log.name in SCALED else sections)
        for log, sections in found
    ]


def _smaller(sections: Mapping[str, Any], factor: float) -> dict[str, Any]:
    workload = {**sections["workload"], "size_factor": factor}
    return {"machine": SMALL_TREE, "workload": workload}


def design(name: str, options: Options) -> Design:
    """A design of ``paper.toml``: all vary the draws; Morris on one log, the others the log.

    The draws are a factor like the others, so that its stretches are balanced over all of them.
    """
    factors = [f for f in FACTORS if not options.quick or f.name in QUICK]
    there = [log.name for log, _ in logs(options)]
    names = tuple(n for n in there if name == FILLING or n in [log.name for log in OWN_SIZE])
    if name != MORRIS:
        factors = [f for f in factors if f.name not in STUDY["screened_out"]]
        factors += [Factor("log", levels=names)] if len(names) > 1 else []
    factors.append(CHANCE)
    method, *samples = STUDY["designs"][name]
    return Design(method, samples[options.quick], options.seed, factors)


def middle(factor: Factor) -> object:
    """What a factor is where a design does not vary it."""
    return factor.levels[0] if factor.levels else factor.value(0.5)


def _machine(section: Mapping[str, Any], drive: float) -> dict[str, Any]:
    """The tree by its levels, with nodes that drive a part of a link."""
    half = section["radix"] // 2
    links = dict.fromkeys(("level1_bandwidth_Bps", "level2_bandwidth_Bps"), LINK_BPS)
    pods = section.get("pods", section["radix"])
    node = round(drive * LINK_BPS)
    return {
        "family": "fattree",
        "m1": half,
        "m2": half,
        "m3": pods,
        "node_bandwidth_Bps": node,
    } | links


def content(
    sections: Mapping[str, Any], v: Mapping[str, Any], seed: int, *, large: bool = False
) -> dict[str, Any]:
    """A config at values of the factors; a large machine has few instants."""
    mix = study_mix(None, v["node_bytes"], v["ranks"])
    # of all ranks with all others there are too many messages sooner than elsewhere: of few bytes
    mix[0]["nodes"][1] = LARGEST // v["ranks"]
    mix[-1]["nodes"][0] = LARGEST // v["ranks"] + 1
    of_kind = [entry["pattern"] in COLLECTIVES for entry in mix]
    part = {True: v["collectives"] / 3, False: (1 - v["collectives"]) / 5}
    chance = int(v["chance"])
    for entry, collective in zip(mix, of_kind, strict=True):
        # one factor for all weights changes the draws and nothing else
        entry["weight"] = round(part[collective] * (1 + chance), 6)
    router = ROUTERS[v["router"].replace(" ", "-")]
    few = SEVERAL_LARGE.get(v["log"]) if large else SEVERAL
    number, begin, those = INSTANTS
    return study_content(
        {
            "machine": _machine(sections["machine"], float(v["drive"])),
            "workload": stretch_workload(sections, chance),
        },
        "fattree",
        [v["placement"], "jigsaw"],
        snapshots=few or number,
        seed=seed,
        changes={
            **({} if few else {"run.only_snapshot": begin + chance % those}),
            "machine.routing": v["routing"],
            "machine.packet": {"buffer_bytes": v["buffer_bytes"], **router},
            "communication.mix": mix,
            "communication.ranks_per_node": v["ranks"],
            "communication.task_mapping": v["mapping"],
            "communication.fraction": {
                "distribution": "uniform",
                "mean": v["share"],
                "spread": round(v["share"] * v["share_spread"], 4),
                "size_correlation": v["size_correlation"],
            },
            "run.steady": {
                "phases": v["phases"],
                "noise": v["noise"],
                "precision": 0.05,
                "least_iterations": 8,
                "most_iterations": 8,
            },
        },
    )


def stretch_workload(sections: Mapping[str, Any], chance: int) -> dict[str, Any]:
    """The section of a stretch of a log; made jobs are drawn otherwise."""
    workload = dict(sections["workload"])
    if "log" not in workload:
        made = dict(workload["synthetic"])
        # as many jobs more draw others
        return {**workload, "synthetic": {**made, "n_jobs": made["n_jobs"] + chance}}
    submit = sections["submit_s"]
    begin = float(submit[chance * len(submit) // STRETCHES])
    return {**workload, "start_s": begin, "first_jobs": STRETCH_JOBS}


def points(options: Options) -> list[Point]:
    """Morris on the first log, the filling design over all, two logs on their own machines."""
    found = []
    for name in STUDY["designs"]:
        scaled = name != OWN
        if options.quick and not scaled:
            continue
        known = {log.name: with_submits(sections) for log, sections in logs(options, scaled=scaled)}
        chosen = design(name, options)
        for row, place in enumerate(chosen.places()):
            v: dict[str, Any] = {f.name: middle(f) for f in FACTORS}
            v |= {"log": next(iter(known))}
            for factor, at in zip(chosen.factors, place.tolist(), strict=True):
                v[factor.name] = factor.label(at) if factor.levels else factor.value(at)
            if scaled or v["log"] in SCALED:
                config = content(known[v["log"]], v, options.seed, large=not scaled)
                found.append(study_point(NAME, config, {"design": name, "row": row, **v}))
    return found


def with_submits(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a log, and when its jobs were submitted, on its own clock."""
    if "log" not in sections["workload"]:
        return dict(sections)
    return {**sections, "submit_s": jobs_of(sections).submit_s}


def jobs_of(sections: Mapping[str, Any]) -> Workload:
    """The jobs as they were submitted."""
    queue = {"policies": [REFERENCE], "run_time_model": "as-logged"}
    config = config_from({key: sections[key] for key in ("machine", "workload")} | {"queue": queue})
    source = replace(config.workload.source(), all_at_zero=False)
    return source.jobs(build_machine(config.machine).topology.n_nodes, np.random.default_rng(0))


# The queue's answer

PARTS = 4
SCENARIOS_RUN = ("none", "10%", "20%")


def queue_points(frames: Mapping[str, Any], options: Options) -> list[Point]:
    """Each log and each quarter of its jobs: Baseline, and Jigsaw with jobs so much faster.

    Column ``off``: the scenario's reduction of the run time of the jobs of more than one node, by
    node-hours, as for measured reductions; ``off SCENARIO``: each of the papers' scenarios.
    """
    found = []
    runs = [(REFERENCE, "none"), *(("jigsaw", name) for name in SCENARIOS_RUN)]
    for log, sections in logs(options, scaled=False):
        if log.name == THETA.name:
            continue  # no gain is known on its own machine
        for part, workload, off in quarters(sections, options):
            for policy, scenario in runs:
                queue_keys = {"policies": [policy], "window": WINDOW, "scenario": scenario}
                content = {
                    "machine": sections["machine"],
                    "workload": workload,
                    "queue": queue_keys | {"run_time_model": "assumed"},
                    "run": {"seed": options.seed, "snapshots": 0, "observables": ["runs"]},
                }
                labels = {"log": log.name, "part": part, "scenario": scenario, "off": off[scenario]}
                labels |= {f"off {name}": percent for name, percent in off.items()}
                found.append(study_point(f"{NAME}-queue", content, labels))
    return found


def quarters(
    sections: Mapping[str, Any], options: Options
) -> Iterator[tuple[str, Mapping[str, Any], dict[str, float]]]:
    """The entire log and its quarters, as many jobs each; the reduction by scenario in each.

    Of synthetic jobs other draws, as many as quarters.
    """
    whole = dict(sections["workload"])
    if "log" not in whole:
        for part, workload in (
            ("all", whole),
            *((f"draw {i}", stretch_workload(sections, i)) for i in range(1, PARTS + 1)),
        ):
            content = {**sections, "workload": workload, "queue": {"policies": [REFERENCE]}}
            jobs = run_context(config_from(content)).queues.jobs
            yield part, workload, percent_off(jobs.n_nodes, jobs.run_time_s)
        return
    jobs = jobs_of(sections)
    yield "all", whole, percent_off(jobs.n_nodes, jobs.run_time_s)
    ends = [float(jobs.submit_s[len(jobs) * i // PARTS]) for i in range(PARTS)]
    ends.append(float(jobs.submit_s[-1]) + 1)
    for i, (begin, end) in enumerate(itertools.pairwise(ends)):
        mine = select(jobs, (jobs.submit_s >= begin) & (jobs.submit_s < end))
        off = percent_off(mine.n_nodes, mine.run_time_s)
        yield f"quarter {i + 1}", {**whole, "start_s": begin, "end_s": end}, off
