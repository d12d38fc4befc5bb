"""What is played: machines with workloads, cut into stretches of equally many jobs.

A machine with a workload is a cell. Its jobs are cut into stretches, "weeks": those in front are
for training, those behind are held out. Each is played from an empty machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netsim.errors import NetcosimError, need_name
from workloads.job import Workload
from workloads.transform import from_zero, select

STUDY = tomllib.loads(files("experiments.learning").joinpath("cells.toml").read_text("utf-8"))
SEED = 1
"""Of the jobs."""
MAX_HELD_OUT = 10_000
"""Weeks; two hundred years of a log."""


@dataclass(frozen=True)
class Machine:
    """A machine, and the placement rules that are played on it, the compact one first."""

    section: Mapping[str, Any]
    """Of a config."""
    n_nodes: int
    rules: Sequence[str]


MACHINES = {name: Machine(**machine) for name, machine in STUDY["machines"].items()}


@dataclass(frozen=True)
class Jobs:
    """A workload of the benchmark."""

    description: str
    week: int
    """Jobs of a stretch."""
    synthetic: Mapping[str, Any]
    """``[workload.synthetic]``."""
    mean_share: float
    """Mean size over the machine's nodes."""
    fraction: Sequence[float]
    """Least and greatest communication fraction."""
    machines: Sequence[str]
    """Where contention costs enough to be found: see experiments/learning/README.md."""
    burst: int = 1
    """So many jobs come at once; 1: each by itself."""


WORKLOADS = {name: Jobs(**jobs) for name, jobs in STUDY["workloads"].items()}
PATTERNS: list[dict[str, Any]] = STUDY["patterns"]
NETWORK, NO_NETWORK = "coupled-flow", "as-logged"


@dataclass(frozen=True)
class Scale:
    """How much is played."""

    training: int
    held_out: int
    """training, held_out: Weeks."""
    part: float
    """Of a week's jobs."""
    generations: int
    pairs: int
    batch: int
    """generations, pairs, batch: Of the evolution; ``batch`` training weeks a generation."""
    evaluations: int
    """Of the clairvoyant search, each week."""
    searched: int
    """It searches every so many held-out weeks."""
    steps: int
    """Of a trained MaskablePPO."""
    machines: Sequence[str] = tuple(MACHINES)
    workloads: Sequence[str] = tuple(WORKLOADS)


SCALES = {name: Scale(**scale) for name, scale in STUDY["scales"].items()}


@dataclass(frozen=True)
class Cell:
    """A machine with a workload."""

    machine: str
    workload: str
    config: Config
    training: int
    held_out: int
    """training, held_out: Weeks."""
    week: int
    """Jobs of a week."""
    burst: int


def cell(machine: str, name: str, workload: Jobs, scale: Scale) -> Cell:
    """Build the cell of a machine with a workload of any name."""
    where, week = MACHINES[machine], max(round(workload.week * scale.part), 2)
    weeks = scale.training + scale.held_out
    synthetic = {
        # jobs larger than the machine are left out
        "n_jobs": round(weeks * week * 1.05) + 10,
        "requested_factor": [1.0, 4.0],
        "mean_nodes": where.n_nodes * workload.mean_share,
        **workload.synthetic,
    }
    sent = {"communication_fraction": list(workload.fraction)}
    content = {
        "machine": dict(where.section),
        "workload": {"larger_jobs": "drop", "synthetic": synthetic},
        "queue": {
            "policies": list(where.rules),
            "run_time_model": NETWORK,
            NETWORK: {"baseline": "own-nodes"},
        },
        "communication": {"mix": [{**one, **sent} for one in PATTERNS]},
        "run": {"snapshots": 0, "seed": SEED},
    }
    config = checked_config(content)
    return Cell(machine, name, config, scale.training, scale.held_out, week, workload.burst)


def weeks_of(jobs: Workload, n_weeks: int, n_jobs: int, burst: int = 1) -> list[Workload]:
    """Return stretches of equally many jobs, evenly over all jobs, each from time 0.

    So many jobs of a burst, one after the other, come with the first of them.
    """
    every = len(jobs) // n_weeks
    if every < n_jobs:
        raise NetcosimError(
            f"{jobs.name}: {len(jobs):,} jobs are fewer than {n_weeks} weeks of {n_jobs}"
        )
    cut = []
    for week in range(n_weeks):
        some = from_zero(select(jobs, np.arange(week * every, week * every + n_jobs)))
        if burst > 1:
            first = np.arange(n_jobs) // burst * burst
            some = replace(some, submit_s=some.submit_s[first])
        cut.append(some)
    return cut


def chosen(
    scale: str,
    machines: Sequence[str] = (),
    workloads: Sequence[str] = (),
    held_out: int | None = None,
) -> list[Cell]:
    """Return the cells of a scale, or the requested machines, workloads and held-out weeks."""
    need_name("scale", scale, SCALES)
    for kind, names, known in (
        ("machine of the benchmark", machines, MACHINES),
        ("workload of the benchmark", workloads, WORKLOADS),
    ):
        for name in names:
            need_name(kind, name, known)
    how = SCALES[scale]
    if held_out is not None:
        if not 1 <= held_out <= MAX_HELD_OUT:
            raise NetcosimError(f"--held-out {held_out}; must be 1 to {MAX_HELD_OUT:,}")
        how = replace(how, held_out=held_out)
    names = workloads or how.workloads
    cells = [
        cell(machine, name, WORKLOADS[name], how)
        for name in names
        for machine in machines or how.machines
        if machine in WORKLOADS[name].machines
    ]
    if not cells:
        found = "; ".join(f"{name}: {', '.join(WORKLOADS[name].machines)}" for name in names)
        raise NetcosimError(f"no such cell; machines of the workloads: {found}")
    return cells
