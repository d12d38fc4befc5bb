"""What is played: three machines, five workloads, cut into stretches of equally many jobs.

A machine with a workload is a cell. Its jobs are cut into stretches, "weeks": those in front are
for training, those behind are held out. Each is played from an empty machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from experiments.config import Config
from experiments.config_load import config_from
from experiments.papers.kit.logs import FILES, first_existing, folder_of_logs
from netsim.errors import NetcosimError, need_name
from netsim.inputs import input_file
from workloads.job import Workload
from workloads.registry import known_log
from workloads.transform import from_zero, select

STUDY = tomllib.loads(files("netcosim.bench_rl").joinpath("cells.toml").read_text("utf-8"))
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
    synthetic: Mapping[str, Any] = field(default_factory=dict)
    """``[workload.synthetic]``; empty for a log."""
    mean_share: float = 0.0
    """Mean size over the machine's nodes; 0: the generator's own."""
    burst: int = 1
    """So many jobs come at once; 1: each by itself."""
    log: str = ""
    """A log of `experiments.papers.kit.logs.FILES`; empty: the jobs are made."""
    nodes: float = 0.0
    """Of the log's machine, which are scaled to this one."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """More of ``[workload]``."""

    def section(self, machine_nodes: int, n_jobs: int, folder: Path | None) -> dict[str, Any]:
        """Return ``[workload]`` on a machine.

        Raises
        ------
        NetcosimError
            Its log is not there.
        """
        content: dict[str, Any] = {"larger_jobs": "drop", **self.keys}
        if not self.log:
            made = {"n_jobs": n_jobs, "requested_factor": [1.0, 4.0], **self.synthetic}
            if self.mean_share:
                made["mean_nodes"] = machine_nodes * self.mean_share
            return {**content, "synthetic": made}
        path = self.path(folder)
        if path is None:
            raise NetcosimError(self.missing_line)
        return {
            **content,
            "log": input_file(path),
            "known_log": self.log,
            "size_factor": machine_nodes / self.nodes,
        }

    def path(self, folder: Path | None) -> Path | None:
        """Return the log's file, if it is in the folder."""
        return first_existing(folder, FILES[self.log]) if self.log else None

    @property
    def missing_line(self) -> str:
        """One line for the user who lacks the log."""
        wanted = " or ".join(FILES[self.log])
        return f"put {wanted} into the logs folder; {known_log(self.log).source}"


WORKLOADS = {name: Jobs(**jobs) for name, jobs in STUDY["workloads"].items()}
COMMUNICATION: dict[str, Any] = STUDY["communication"]
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


def cell(machine: str, workload: str, scale: Scale, folder: Path | None, seed: int) -> Cell:
    """Build a cell.

    Raises
    ------
    NetcosimError
        Its log is not there.
    """
    where, what = MACHINES[machine], WORKLOADS[workload]
    week = max(round(what.week * scale.part), 2)
    weeks = scale.training + scale.held_out
    # synthetic jobs larger than the machine or max_nodes are left out
    n_jobs = round(weeks * week * 1.05) + 10
    content = {
        "machine": dict(where.section),
        "workload": what.section(where.n_nodes, n_jobs, folder),
        "queue": {"policies": list(where.rules), "run_time_model": NETWORK},
        "communication": COMMUNICATION,
        "run": {"snapshots": 0, "seed": seed},
    }
    config = config_from(content)
    return Cell(machine, workload, config, scale.training, scale.held_out, week, what.burst)


def weeks_of(jobs: Workload, n_weeks: int, n_jobs: int, burst: int = 1) -> list[Workload]:
    """Return stretches of equally many jobs, evenly over all jobs, each from time 0.

    Parameters
    ----------
    burst : int
        So many jobs one after the other come with the first of them.

    Raises
    ------
    NetcosimError
        Fewer jobs than that.
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
    machines: Sequence[str],
    workloads: Sequence[str],
    logs: str,
    seed: int,
    held_out: int | None = None,
) -> tuple[list[Cell], list[str]]:
    """Return the cells of a scale, or those of them that are requested, and what was left out.

    Parameters
    ----------
    scale : str
        A name of `SCALES`.
    machines, workloads : sequence of str
        Instead of the scale's.
    logs : str
        Folder with logs; empty: that of the environment.
    held_out : int, optional
        Weeks that are held out, instead of the scale's.

    Raises
    ------
    NetcosimError
        Unknown names, no such folder, a requested log that is missing.
    """
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
    folder = folder_of_logs(logs)
    notes, there = [], []
    for name in workloads or how.workloads:
        work = WORKLOADS[name]
        if work.log and work.path(folder) is None:
            if workloads:
                raise NetcosimError(f"workload {name}: {work.missing_line}")
            notes.append(f"left out: {name}; {work.missing_line}")
        else:
            there.append(name)
    cells = [cell(m, w, how, folder, seed) for w in there for m in machines or how.machines]
    return cells, notes
