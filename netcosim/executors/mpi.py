"""MPI ranks: whether this process is one of several, found without an MPI library; the others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netcosim.executors.workers import Workers, not_installed
from netsim.errors import NetcosimError
from netsim.text_numbers import whole_number

# Set by the launchers: MPICH and Intel MPI (hydra), PMIx (Open MPI 5), Open MPI, MVAPICH,
# Slurm's srun.
_RANK_VARIABLES = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
)
_SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")


def launched_rank() -> int:
    """Return this process's rank from the launcher's environment; 0 outside of MPI."""
    return _first_number(_RANK_VARIABLES, 0)


def launched_by_mpi() -> bool:
    """Return whether a launcher started this process together with others.

    Under a batch job of one task, or outside of any launcher, no MPI library is needed. A
    launcher that sets a rank and no size (PMIx alone) counts as MPI.
    """
    if not any(name in os.environ for name in _RANK_VARIABLES):
        return False
    return _first_number(_SIZE_VARIABLES, 2) > 1


def world() -> Any | None:
    """Return MPI.COMM_WORLD if several ranks run together, None otherwise."""
    if not launched_by_mpi():
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        # Inside a batch allocation a single process sees Slurm's variables too.
        if "SLURM_PROCID" in os.environ and "SLURM_STEP_ID" not in os.environ:
            return None
        if isinstance(error, ModuleNotFoundError):
            raise not_installed("mpi") from None
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NetcosimError(
            f"started by an MPI launcher, but mpi4py finds no MPI library ({first}); "
            "install one (pip install mpich) or load the cluster's MPI module"
        ) from None
    return MPI.COMM_WORLD if MPI.COMM_WORLD.Get_size() > 1 else None


def _first_number(names: tuple[str, ...], otherwise: int) -> int:
    for name in names:
        number = whole_number(os.environ.get(name, ""))
        if number is not None:
            return number
    return otherwise


@contextmanager
def ranks(argument: str, jobs: int) -> Iterator[Workers | None]:
    """Yield the other ranks to rank 0; None to them, which have served it by then."""
    comm = world()
    if comm is None:
        raise NetcosimError("--executor mpi: start it with mpiexec -n N or srun, N at least 2")
    from mpi4py.futures import MPICommExecutor

    pool: Any = MPICommExecutor(comm, root=0)
    with pool as executor:
        count = comm.Get_size() - 1
        yield None if executor is None else Workers(count, executor, ahead=3 * count)
