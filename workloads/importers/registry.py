"""Importers: which logs of schedulers can be read, and how a file is known for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.errors import unknown_name
from netsim.parameters import checked
from netsim.plugin_entries import given_by
from netsim.registry import Registry
from workloads.importers import mapped, pbs, sacct
from workloads.importers.entry import Importer
from workloads.job import Workload

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
        Importer("csv", "any table in CSV, with a map of its columns", mapped.read_mapped_csv),
        Importer(
            "parquet",
            "any table in Parquet, with a map of its columns (needs pyarrow)",
            mapped.read_mapped_parquet,
        ),
    ),
    optional=("workloads.importers.rare.plugin",),
)


def import_log(kind: str, path: str | Path, parameters: Mapping[str, Any]) -> Workload:
    """Return the jobs of a file.

    Raises
    ------
    NetcosimError
        An unknown kind, a parameter that it does not take, and what its reader refuses.
    """
    if kind not in IMPORTERS:
        raise unknown_name("importer", kind, IMPORTERS)
    read = IMPORTERS[kind].read
    jobs = read(path, **checked(f"importer {kind}", read, parameters))
    return given_by(IMPORTERS[kind], jobs, Workload)
