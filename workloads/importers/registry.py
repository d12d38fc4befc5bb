"""Importers: which logs of schedulers can be read, and how a file is known for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netsim.errors import need_name
from netsim.parameters import checked
from netsim.plugin_entries import given_by
from netsim.registry import Registry
from workloads.job import Workload

if TYPE_CHECKING:
    from workloads.importers.entry import Importer


IMPORTERS: Registry[Importer] = Registry(
    "workloads.importers.registry:IMPORTERS",
    "importer",
    "workloads.importers.entry:Importer",
    (
        "workloads.importers.sacct:IMPORTER",
        "workloads.importers.pbs:IMPORTER",
        "workloads.importers.lsf:IMPORTER",
        "workloads.importers.sge:IMPORTER",
        "workloads.importers.mapped:IMPORTERS",
    ),
    optional=("workloads.importers.rare.plugin",),
)


def import_log(kind: str, path: str | Path, parameters: Mapping[str, Any]) -> Workload:
    """Return the jobs of a file."""
    need_name("importer", kind, IMPORTERS)
    read = IMPORTERS[kind].read
    jobs = read(path, **checked(f"importer {kind}", read, parameters))
    return given_by(IMPORTERS[kind], jobs, Workload)
