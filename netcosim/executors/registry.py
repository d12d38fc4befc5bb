"""Executors by name, and how a command opens one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from netcosim.executors.mpi import world
from netcosim.executors.processes import check_jobs, local_processes
from netcosim.executors.workers import ExecutorEntry, Workers
from netsim.errors import NetcosimError, need_name


@contextmanager
def _mpi(argument: str, jobs: int) -> Iterator[Workers | None]:
    comm = world()
    if comm is None:
        raise NetcosimError("--executor mpi: start it with mpiexec -n N or srun, N at least 2")
    from mpi4py.futures import MPICommExecutor

    # the other ranks have served rank 0 by the time that they get None
    ranks: Any = MPICommExecutor(comm, root=0)
    with ranks as executor:
        n_workers = comm.Get_size() - 1
        yield None if executor is None else Workers(n_workers, executor, ahead=3 * n_workers)


def _dask(argument: str, jobs: int) -> AbstractContextManager[Workers | None]:
    from netcosim.executors.dask_client import open_client

    return open_client(argument, jobs)


def _check_dask(argument: str) -> None:
    from netcosim.executors.dask_client import check_address

    check_address(argument)


def _slurm(argument: str, jobs: int) -> AbstractContextManager[Workers | None]:
    from netcosim.executors.slurm_jobs import open_jobs

    return open_jobs(argument, jobs)


def _check_slurm(argument: str) -> None:
    from netcosim.executors.slurm_jobs import slurm_options

    slurm_options(argument)


EXECUTORS = {
    entry.name: entry
    for entry in (
        ExecutorEntry("processes", "--jobs local processes (default)", local_processes),
        ExecutorEntry("mpi", "the other ranks under mpiexec or srun (default there)", _mpi),
        ExecutorEntry(
            "dask",
            "workers of the scheduler dask:tcp://HOST:PORT or dask:FILE.json, or --jobs local ones",
            _dask,
            _check_dask,
        ),
        ExecutorEntry(
            "slurm",
            "jobs of some points each, slurm:KEY=VALUE,... with keys of docs/sweeps.md",
            _slurm,
            _check_slurm,
        ),
    )
}


def executor_entry(text: str) -> tuple[ExecutorEntry, str]:
    """Return what ``--executor NAME`` or ``NAME:ARGUMENT`` means."""
    name, _, argument = text.partition(":")
    need_name("executor", name, EXECUTORS)
    entry = EXECUTORS[name]
    if argument and entry.check is None:
        raise NetcosimError(f"--executor {text}: {name} has no argument")
    if entry.check is not None:
        entry.check(argument)
    return entry, argument


def open_workers(text: str, jobs: int) -> AbstractContextManager[Workers | None]:
    """Open the workers that ``--executor`` names, with ``--jobs`` for local ones.

    An empty text means the other ranks where an MPI launcher has started several, else local
    processes. Yields None to MPI ranks other than 0, which have served rank 0 by then.
    """
    check_jobs(jobs)
    ranks = world() is not None
    entry, argument = executor_entry(text or ("mpi" if ranks else "processes"))
    if ranks and entry.name != "mpi":
        raise NetcosimError(
            f"--executor {text}: an MPI launcher started several ranks, which would all do the "
            "same; start one process"
        )
    return entry.open(argument, jobs)
