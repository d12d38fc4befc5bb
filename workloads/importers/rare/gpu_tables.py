"""Jobs of GPU clusters in the tables that their operators and papers publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from workloads.importers.dates import Zone
from workloads.importers.entry import Importer
from workloads.importers.gpu_sizes import NODE, GpusPerNode, SizeUnit
from workloads.importers.mapped import mapped_rows, read_rows
from workloads.importers.tables import csv_rows
from workloads.job import Workload

_SLURM = {
    "job": "job_id",
    "user": "user",
    "nodes": "node_num",
    "gpus": "gpu_num",
    "status": "state",
    "submit": "submit_time",
    "start": "start_time",
    "end": "end_time",
}


def _reader(columns: Mapping[str, str]) -> Callable[..., Workload]:
    def read(
        path: str | Path,
        *,
        timezone: Zone = "UTC",
        size_unit: SizeUnit = NODE,
        gpus_per_node: GpusPerNode = 8,
    ) -> Workload:
        """Read a table of GPU jobs, plain or gzipped.

        Jobs without a GPU or a node, and jobs that never began, are left out and counted. Of jobs
        with the same number the last run counts. The logs have no walltimes, so requested times
        are run times; where they have no start, waits are not known.

        Raises
        ------
        NetcosimError
            As `workloads.importers.mapped.read_mapped_csv`.
        """
        rows = csv_rows(path)
        taken = mapped_rows(path, rows, [f"{name}={column}" for name, column in columns.items()])
        return read_rows(taken, path, timezone, "whole", size_unit, gpus_per_node)

    return read


def _table(name: str, description: str, columns: Mapping[str, str]) -> Importer:
    def looks_like(head: Sequence[str]) -> bool:
        """Return whether a file that begins with these lines has all columns."""
        found = {cell.strip() for cell in head[0].lower().split(",")} if head else set()
        return set(columns.values()) <= found

    return Importer(name, description, _reader(columns), looks_like)


TABLES = (
    _table(
        "acme",
        "GPU jobs of AcmeTrace (trace_seren.csv, trace_kalos.csv; Hu et al., NSDI'24)",
        {**_SLURM, "partition": "type"},
    ),
    _table(
        "helios",
        "GPU jobs of HeliosData (cluster_log.csv; Hu et al., SC'21), virtual clusters as accounts",
        {**_SLURM, "account": "vc"},
    ),
    _table(
        "kalos",
        "completed GPU jobs of Kalos: job_id, arrival_s, duration_s, nodes, gpus",
        {
            "job": "job_id",
            "submit": "arrival_s",
            "run": "duration_s",
            "nodes": "nodes",
            "gpus": "gpus",
        },
    ),
    _table(
        "lingjun",
        "GPU jobs of alibaba-lingjun-dataset-2023, models as patterns, submitted when they start",
        {
            "job": "job_id",
            "submit": "gmt_job_running",
            "end": "gmt_job_finished",
            "gpus": "total_gpu",
            "pattern": "model",
        },
    ),
    _table(
        "tiresias",
        "GPU jobs of Tiresias (60_job.csv; Gu et al., NSDI'19), models as patterns",
        {
            "job": "job_id",
            "submit": "submit_time",
            "run": "duration",
            "gpus": "num_gpu",
            "pattern": "model_name",
        },
    ),
)
