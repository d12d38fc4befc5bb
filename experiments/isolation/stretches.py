"""Stretches of logs, and configs whose jobs communicate as all cells have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cosim.parameters import PLACED
from experiments.kit.data import read_data
from experiments.kit.fat_tree_logs import ATLAS, KTH, LINK_BPS, THUNDER, fat_tree
from experiments.kit.log_study import offered_load_of, study_content
from experiments.kit.logs import PaperLog, present
from experiments.kit.papers import Options
from experiments.kit.study_mix import study_mix
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.draws import Draws
from workloads.job import Workload

STRETCHES, QUICK_STRETCHES = 8, 4
STRETCH_JOBS = 4000
"""A log has so many stretches, of so many jobs each, evenly over it."""
LLM = PaperLog(
    "llm-jobs",
    fat_tree(12, pods=9),
    {"synthetic": {"n_jobs": STRETCH_JOBS, "cluster": "kalos"}, "all_at_zero": True},
)
"""Generated jobs of a cluster that trains large language models, on a machine as large."""
LOGS = (KTH, THUNDER, ATLAS, LLM)
SMALL = PaperLog(
    "synth-small",
    fat_tree(4),
    {"synthetic": {"n_jobs": 60, "mean_nodes": 4, "load": 0.9}, "all_at_zero": True},
)
"""The jobs of a quick look."""
INSTANTS, INSTANTS_LARGE = 8, 4
"""At which packets are simulated, of each stretch; on a large machine many jobs run at once."""
LARGE = (THUNDER.name, ATLAS.name)
LARGEST = 64
"""Ranks of an all-to-all; larger jobs have sub-a2a instead."""
STUDY = read_data("isolation")["cells"]
[AT_ONCE] = STUDY["usual"]["load"]


@dataclass(frozen=True)
class CellStudy:
    """Cells of a kind of network: what they vary, on which logs, and what is compared."""

    name: str
    """Identifies its points in a store."""
    family: str
    logs: tuple[PaperLog, ...]
    small: PaperLog
    """The jobs of a quick look."""
    policies: tuple[str, ...]
    """That are compared with the placement before, where a design names no others."""
    live_policies: tuple[str, ...]
    """That are compared in queues with contention, too."""
    content: Mapping[str, Any]
    """Designs, levels and settings, as in ``[cells]`` of ``paper.toml``."""


FAT_TREES = CellStudy(
    "isolation-cells", "fattree", LOGS, SMALL, ("ta", "laas", "jigsaw"), ("jigsaw",), STUDY
)


@dataclass(frozen=True)
class Stretch:
    """Part of a log: its number, sections of configs, and its jobs as they were submitted."""

    number: int
    machine: dict[str, Any]
    workload: dict[str, Any]
    jobs: Workload
    n_nodes: int

    def at_load(self, load: str) -> dict[str, Any]:
        """Return the workload's section with arrivals at this offered load, or all at once.

        The latter also where jobs of an instant are placed anew.
        """
        if load == AT_ONCE or load in PLACED:
            return {**self.workload, "all_at_zero": True}
        factor = offered_load_of(self.jobs, self.n_nodes) / float(load)
        return {**self.workload, "all_at_zero": False, "arrival_factor": factor}


def stretches_of(
    study: CellStudy, options: Options, draw: int = 0
) -> Iterator[tuple[str, list[Stretch]]]:
    """Yield the stretches of each available log; with ``--scale quick`` of synthetic jobs.

    Each begins where its part of the log does; with ``draw`` above 0 where it is drawn in it.
    """
    if options.quick:
        found = [(study.small, study.small.sections(None) or {})]
    else:
        found = present(study.logs, options)
    for log, sections in found:
        complete, n_nodes = _jobs(study, sections, options.seed)
        rng, stretches = np.random.default_rng([options.seed, draw]), []
        for number in range(QUICK_STRETCHES if options.quick else STRETCHES):
            workload = _workload(sections["workload"], complete, number, rng if draw else None)
            jobs, _ = _jobs(study, {**sections, "workload": workload}, options.seed)
            stretches.append(Stretch(number, sections["machine"], workload, jobs, n_nodes))
        yield log.name, stretches


def _workload(
    section: Mapping[str, Any],
    complete: Workload,
    number: int,
    drawn: np.random.Generator | None,
) -> dict[str, Any]:
    """Return the section of a stretch of a log; synthetic jobs are drawn anew."""
    if "log" not in section:
        made = dict(section["synthetic"])
        # as many jobs more draw others
        return {**section, "synthetic": {**made, "n_jobs": made["n_jobs"] + number}}
    first = number * len(complete) // STRETCHES
    if drawn is not None:
        # so that the last one is as long as the others
        first = int((number + drawn.random()) * (len(complete) - STRETCH_JOBS) / STRETCHES)
    begin = float(complete.submit_s[first])
    return {**section, "start_s": begin, "first_jobs": STRETCH_JOBS}


def _jobs(study: CellStudy, sections: Mapping[str, Any], seed: int) -> tuple[Workload, int]:
    """Return the jobs as they were submitted, and the nodes of their machine."""
    queue = {"policies": study.content["usual"]["placement"][:1], "run_time_model": "as-logged"}
    content = {key: sections[key] for key in ("machine", "workload")} | {"queue": queue}
    config = checked_config(content | {"run": {"seed": seed, "snapshots": 0}})
    source = replace(config.workload.source(), all_at_zero=False)
    n_nodes = build_machine(config.machine).topology.n_nodes
    return source.jobs(n_nodes, Draws(config.resolved()).rng("workload")), n_nodes


def _machine(section: Mapping[str, Any], drive: float) -> dict[str, Any]:
    """Return a tree by its levels, with nodes that drive a part of a link; others as they are."""
    if "radix" not in section:
        return dict(section)
    half = section["radix"] // 2
    return {
        "family": "fattree",
        "m1": half,
        "m2": half,
        "m3": section.get("pods", section["radix"]),
        "node_bandwidth_Bps": round(drive * LINK_BPS),
        "level1_bandwidth_Bps": LINK_BPS,
        "level2_bandwidth_Bps": LINK_BPS,
    }


def cell_content(
    study: CellStudy,
    log: str,
    stretch: Stretch,
    cell: Mapping[str, Any],
    policies: tuple[str, ...],
    seed: int,
) -> dict[str, Any]:
    """Return the config of a cell on a stretch: packets of jobs in loops at some instants.

    The cell's ``load`` may be one of `cosim.parameters.PLACED`; the placement before is the first
    of the policies.
    """
    mix = study_mix(None, study.content["node_bytes"])
    # of all ranks with all others there are too many messages sooner than elsewhere: of few bytes
    mix[0]["nodes"][1] = LARGEST
    mix[-1]["nodes"][0] = LARGEST + 1
    for entry in mix:
        # one factor for all weights changes the draws and nothing else
        entry["weight"] = round(0.125 * (1 + stretch.number), 6)
    network, load = study.content["networks"][cell["network"]], cell["load"]
    return study_content(
        {
            "machine": _machine(stretch.machine, float(cell["drive"])),
            "workload": stretch.at_load(load),
        },
        study.family,
        [cell["placement"], *policies],
        snapshots=INSTANTS_LARGE if log in LARGE else INSTANTS,
        seed=seed,
        changes={
            "machine.routing": network["routing"],
            "machine.packet": study.content["packet"],
            "communication.mix": mix,
            "communication.ranks_per_node": 1,
            "communication.task_mapping": network["mapping"],
            "communication.fraction": {
                "distribution": "uniform",
                "mean": cell["share"],
                "spread": 0.0,
                "size_correlation": 0.0,
            },
            "run.steady": study.content["steady"],
            **({"run.placed": load} if load in PLACED else {}),
        },
    )
