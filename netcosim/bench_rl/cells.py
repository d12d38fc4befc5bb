"""What is played: three machines, five workloads, cut into stretches of equally many jobs.

A machine with a workload is a cell. Its jobs are cut into stretches, "weeks": those in front are
for training, those behind are held out. Each is played from an empty machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.config import Config
from experiments.config_load import config_from
from experiments.papers.kit.logs import FILES, first_existing, folder_of_logs
from netsim.errors import NetcosimError, unknown_name
from netsim.inputs import input_file
from workloads.job import Workload
from workloads.registry import known_log
from workloads.transform import from_zero, select

MAX_HELD_OUT = 10_000
"""Weeks; two hundred years of a log."""


@dataclass(frozen=True)
class Machine:
    """A machine, and the placement rules that are played on it, the compact one first.

    Attributes
    ----------
    section : mapping
        Of a config.
    n_nodes : int
    rules : tuple of str
    """

    section: Mapping[str, Any]
    n_nodes: int
    rules: tuple[str, ...]


MACHINES = {
    "fattree-128": Machine(
        {"family": "fattree", "radix": 8},
        128,
        ("slurm-tree", "flux-locality", "baseline", "random"),
    ),
    "dragonfly-272": Machine(
        {"preset": "dragonfly-272"}, 272, ("rdg", "simple", "level-spread", "rdn")
    ),
    "torus-128": Machine(
        {"family": "torus", "dims": [8, 4, 4]},
        128,
        ("flux-locality", "slurm-linear", "baseline", "random"),
    ),
}


@dataclass(frozen=True)
class Jobs:
    """A workload of the benchmark.

    Attributes
    ----------
    description : str
    week : int
        Jobs of a stretch.
    synthetic : mapping
        ``[workload.synthetic]``; empty for a log.
    mean_share : float
        Mean size over the machine's nodes; 0: the generator's own.
    burst : int
        So many jobs come at once; 1: each by itself.
    log : str
        A log of `experiments.papers.kit.logs.FILES`; empty: the jobs are made.
    nodes : float
        Of the log's machine, which are scaled to this one.
    keys : mapping
        More of ``[workload]``.
    """

    description: str
    week: int
    synthetic: Mapping[str, Any] = field(default_factory=dict)
    mean_share: float = 0.0
    burst: int = 1
    log: str = ""
    nodes: float = 0.0
    keys: Mapping[str, Any] = field(default_factory=dict)

    def section(self, machine_nodes: int, n_jobs: int, folder: Path | None) -> dict[str, Any]:
        """``[workload]`` on a machine.

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
        """The log's file, if it is in the folder."""
        return first_existing(folder, FILES[self.log]) if self.log else None

    @property
    def missing_line(self) -> str:
        """One line for the user who lacks the log."""
        wanted = " or ".join(FILES[self.log])
        return f"put {wanted} into the logs folder; {known_log(self.log).source}"


_RUN_TIMES = {"median_run_time": "20 min", "run_time_range": ["1 min", "12 h"]}
WORKLOADS = {
    "steady": Jobs(
        "made: exponential sizes of a tenth of the machine, log-normal run times, Poisson arrivals",
        120,
        {"load": 1.0, **_RUN_TIMES},
        mean_share=1 / 10,
    ),
    "bursty": Jobs(
        "made: as steady with sizes of a sixteenth, 40 jobs at once",
        120,
        {"load": 1.0, **_RUN_TIMES},
        mean_share=1 / 16,
        burst=40,
    ),
    "gpu": Jobs(
        "made: the published sizes and run times of the GPU cluster Kalos up to 64 nodes, at an "
        "eightfold load",
        200,
        {"cluster": "kalos", "load": 8.0},
        keys={"max_nodes": 64},
    ),
    "kth-sp2": Jobs(
        "log of KTH-SP2, sizes scaled to the machine, arrivals in 0.8 of the time",
        150,
        log="kth-sp2",
        nodes=100,
        keys={"arrival_factor": 0.8},
    ),
    "thunder": Jobs(
        "log of Thunder, sizes scaled so that half of Thunder is the machine, arrivals in 0.4 of "
        "the time, jobs of a minute or more",
        250,
        log="thunder",
        nodes=512,
        keys={"arrival_factor": 0.4, "min_run_time": "60 s"},
    ),
}

COMMUNICATION = {
    "mix": [
        {"pattern": name, "node_bytes": "64 KiB", "communication_fraction": [0.1, 0.7]}
        for name in ("all-to-all", "halo3d", "pairs")
    ]
}
"""What jobs send: one of three patterns, in a tenth to seven tenths of their isolated run time."""
NETWORK, NO_NETWORK = "coupled-flow", "as-logged"


@dataclass(frozen=True)
class Scale:
    """How much is played.

    Attributes
    ----------
    training, held_out : int
        Weeks.
    part : float
        Of a week's jobs.
    generations, pairs, batch : int
        Of the evolution; ``batch`` training weeks a generation.
    steps : int
        Of a trained MaskablePPO.
    machines, workloads : tuple of str
    """

    training: int
    held_out: int
    part: float
    generations: int
    pairs: int
    batch: int
    steps: int
    machines: tuple[str, ...] = tuple(MACHINES)
    workloads: tuple[str, ...] = tuple(WORKLOADS)


SCALES = {
    "full": Scale(4, 8, 1.0, 16, 6, 2, 60_000),
    "quick": Scale(2, 4, 0.25, 2, 2, 2, 600, ("fattree-128",), ("bursty",)),
}


@dataclass(frozen=True)
class Cell:
    """A machine with a workload.

    Attributes
    ----------
    machine, workload : str
    config : Config
    training, held_out : int
        Weeks.
    week : int
        Jobs of a week.
    burst : int
    """

    machine: str
    workload: str
    config: Config
    training: int
    held_out: int
    week: int
    burst: int


def cell(machine: str, workload: str, scale: Scale, folder: Path | None, seed: int) -> Cell:
    """A cell.

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
    """Stretches of equally many jobs, evenly over all jobs, each from time 0.

    Parameters
    ----------
    jobs : Workload
    n_weeks, n_jobs : int
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
    """The cells of a scale, or those of them that are requested, and what was left out.

    Parameters
    ----------
    scale : str
        A name of `SCALES`.
    machines, workloads : sequence of str
        Instead of the scale's.
    logs : str
        Folder with logs; empty: that of the environment.
    seed : int
    held_out : int, optional
        Weeks that are held out, instead of the scale's.

    Raises
    ------
    NetcosimError
        Unknown names, no such folder, a requested log that is missing.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    for kind, names, known in (
        ("machine of the benchmark", machines, MACHINES),
        ("workload of the benchmark", workloads, WORKLOADS),
    ):
        for name in names:
            if name not in known:
                raise unknown_name(kind, name, known)
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
