"""Importers: which logs of schedulers can be read, and how a file is known for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from netsim.errors import unknown_name
from netsim.parameters import Parameter, checked, parameters_of
from netsim.registry import Registry
from workloads.importers import acme, cobalt, flux, mapped, pbs, sacct
from workloads.job import Workload


def _never(head: Sequence[str]) -> bool:
    """Nothing in a file says that it is of this kind."""
    return False


@dataclass(frozen=True)
class Importer:
    """An entry of `IMPORTERS`.

    Attributes
    ----------
    name, description : str
    read : callable
        ``read(path, **parameters)``: the jobs of a file; declares its parameters.
    looks_like : callable
        ``looks_like(lines)``: whether a file that begins with these lines can be read as it is,
        without being told its kind.
    """

    registered_in: ClassVar[str] = "workloads.importers.registry:IMPORTERS"

    name: str
    description: str
    read: Callable[..., Workload]
    looks_like: Callable[[Sequence[str]], bool] = _never

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What ``read`` takes beside the path."""
        return parameters_of(self.read)


IMPORTERS: Registry[Importer] = Registry(
    Importer.registered_in,
    "importer",
    Importer,
    (
        Importer(
            "sacct",
            "Slurm's accounting, as sacct -P prints it, with any columns in any order",
            sacct.read_sacct,
            sacct.looks_like,
        ),
        Importer(
            "pbs",
            "accounting records of PBS Professional, OpenPBS and Torque",
            pbs.read_pbs,
            pbs.looks_like,
        ),
        Importer(
            "cobalt",
            "Cobalt's jobs as the ALCF publishes them (CSV with COBALT_JOBID)",
            cobalt.read_cobalt,
            cobalt.looks_like,
        ),
        Importer(
            "flux",
            "Flux's jobs, as flux jobs -a --json prints them",
            flux.read_flux,
            flux.looks_like,
        ),
        Importer(
            "acme",
            "jobs of GPU clusters as AcmeTrace publishes them (trace_seren.csv, trace_kalos.csv)",
            acme.read_acme,
            acme.looks_like,
        ),
        Importer("csv", "any table in CSV, with a map of its columns", mapped.read_mapped_csv),
        Importer(
            "parquet",
            "any table in Parquet, with a map of its columns (needs pyarrow)",
            mapped.read_mapped_parquet,
        ),
    ),
)


def import_log(kind: str, path: str | Path, parameters: Mapping[str, Any]) -> Workload:
    """The jobs of a file.

    Raises
    ------
    NetcosimError
        An unknown kind, a parameter that it does not take, and what its reader refuses.
    """
    if kind not in IMPORTERS:
        raise unknown_name("importer", kind, IMPORTERS)
    read = IMPORTERS[kind].read
    return read(path, **checked(f"importer {kind}", read, parameters))
