"""Executors by name, and how a command opens one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pkgutil import resolve_name
from typing import NamedTuple

from netcosim.executors.mpi import world
from netcosim.executors.workers import Workers, check_jobs
from netsim.errors import NetcosimError, need_name


class ExecutorEntry(NamedTuple):
    """One way to compute tasks; its functions are imported when it is named."""

    description: str
    opener: str
    """``"module:function"`` of (argument, jobs): yields the workers while a block runs, None to MPI
    ranks other than 0."""
    checker: str = ""
    """Of (argument): raises NetcosimError for what may not follow the name and a colon. Without it
    nothing may."""


EXECUTORS = {
    "processes": ExecutorEntry(
        "--jobs local processes (default)", "netcosim.executors.workers:local_processes"
    ),
    "mpi": ExecutorEntry(
        "the other ranks under mpiexec or srun (default there)", "netcosim.executors.mpi:ranks"
    ),
    "dask": ExecutorEntry(
        "workers of the scheduler dask:tcp://HOST:PORT or dask:FILE.json, or --jobs local ones",
        "netcosim.executors.dask_client:open_client",
        "netcosim.executors.dask_client:check_address",
    ),
    "slurm": ExecutorEntry(
        "jobs of some points each, slurm:KEY=VALUE,... with keys of docs/sweeps.md",
        "netcosim.executors.slurm_jobs:open_jobs",
        "netcosim.executors.slurm_jobs:slurm_options",
    ),
}


def executor_entry(text: str) -> tuple[ExecutorEntry, str]:
    """Return what ``--executor NAME`` or ``NAME:ARGUMENT`` means."""
    name, _, argument = text.partition(":")
    need_name("executor", name, EXECUTORS)
    entry = EXECUTORS[name]
    if argument and not entry.checker:
        raise NetcosimError(f"--executor {text}: {name} has no argument")
    if entry.checker:
        resolve_name(entry.checker)(argument)
    return entry, argument


def open_workers(text: str, jobs: int) -> AbstractContextManager[Workers | None]:
    """Open the workers that ``--executor`` names, with ``--jobs`` for local ones.

    An empty text means the other ranks where an MPI launcher has started several, else local
    processes. Yields None to MPI ranks other than 0, which have served rank 0 by then.
    """
    check_jobs(jobs)
    ranks = world() is not None
    entry, argument = executor_entry(text or ("mpi" if ranks else "processes"))
    if ranks and entry is not EXECUTORS["mpi"]:
        raise NetcosimError(
            f"--executor {text}: an MPI launcher started several ranks, which would all do the "
            "same; start one process"
        )
    workers: AbstractContextManager[Workers | None] = resolve_name(entry.opener)(argument, jobs)
    return workers
