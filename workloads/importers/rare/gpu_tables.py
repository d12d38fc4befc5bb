"""Jobs of GPU clusters in the tables of ``gpu_tables.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from workloads.importers.dates import Zone
from workloads.importers.entry import Importer
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit
from workloads.importers.logged import BadLines
from workloads.importers.mapped import mapped_rows, read_rows
from workloads.importers.tables import csv_rows
from workloads.job import NODE, Workload


def _reader(columns: Mapping[str, str]) -> Callable[..., Workload]:
    def read(
        path: str | Path,
        *,
        timezone: Zone = "UTC",
        size_unit: SizeUnit = NODE,
        gpus_per_node: GpusPerNode = 8,
        bad_lines: BadLines = "refuse",
    ) -> Workload:
        """Read a table of GPU jobs, plain or gzipped.

        Jobs without a GPU or a node, and jobs that never began, are left out and counted. Of jobs
        with the same number the last run counts. The logs have no walltimes; where they have no
        start, waits are not known.
        """
        rows = csv_rows(path)
        taken = mapped_rows(path, rows, [f"{name}={column}" for name, column in columns.items()])
        return read_rows(taken, path, timezone, "whole", size_unit, gpus_per_node, bad_lines)

    return read


def _table(name: str, description: str, columns: Mapping[str, str]) -> Importer:
    def looks_like(head: Sequence[str]) -> bool:
        """Return whether a file that begins with these lines has all columns."""
        cells = {cell.strip() for cell in head[0].lower().split(",")} if head else set()
        return set(columns.values()) <= cells

    return Importer(name, description, _reader(columns), looks_like)


_TEXT = files("workloads.importers.rare").joinpath("gpu_tables.toml").read_text("utf-8")
TABLES = tuple(_table(name, **table) for name, table in tomllib.loads(_TEXT).items())
