"""Jobs of GPU clusters as AcmeTrace publishes them: trace_seren.csv and trace_kalos.csv.

Hu et al., "Characterization of large language model development in the datacenter", NSDI'24;
https://github.com/InternLM/AcmeTrace. Nodes are servers of eight GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Annotated

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from workloads.importers.assemble import workload_of
from workloads.importers.dates import LogClock
from workloads.importers.logged import Found, LoggedJob
from workloads.importers.tables import TableRow, csv_rows
from workloads.job import Workload

NEEDED = ("job_id", "node_num", "gpu_num", "state", "submit_time", "start_time", "end_time")
GPUS = 8
"""Of a server of Seren and of Kalos."""
SHARES = ("whole", "drop")
CPU_ONLY = ("drop", "keep")


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    names = {name.strip() for name in head[0].lower().split(",")} if head else set()
    return set(NEEDED) <= names


def read_acme(
    path: str | Path,
    *,
    timezone: Annotated[str, "zone of dates that bring none"] = "UTC",
    part_nodes: Annotated[
        str,
        "jobs with fewer GPUs than their servers have share them: whole, or drop",
        OneOf(SHARES),
    ] = "whole",
    cpu_only: Annotated[str, "jobs without a GPU", OneOf(CPU_ONLY)] = "drop",
) -> Workload:
    """Read a table of jobs of AcmeTrace, plain or gzipped.

    Taken are job_id, user, node_num, type (as the partition), state, and the three times, whose
    offsets from UTC count. Jobs without a GPU run beside others on a server's processors and are
    left out, unless ``cpu_only`` keeps them; jobs of no server never ran. A job on part of a server
    has it for itself here, where it shared it: a note has their number. The log has no
    walltimes, so requested times are run times.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a header without a column that is needed, a line (named
        ``file:line``) with another number of fields, a date or number that is none; and what
        `workloads.importers.assemble.workload_of` refuses.
    """
    rows = csv_rows(path)
    missing = [name for name in NEEDED if name not in rows.columns]
    if missing:
        raise NetcosimError(f"{path}:1: no column {', '.join(missing)}")
    clock, found, parts = LogClock(timezone), Found(), 0
    for row in rows:
        gpus, nodes = row.number("gpu_num"), row.integer("node_num")
        if not gpus > 0 and cpu_only == "drop":
            found.dropped["no GPU: on processors beside others"] += 1
            continue
        if nodes == 0:
            found.dropped["no node"] += 1
            continue
        job = _job(row, clock, nodes)
        if isnan(job.start_s):
            found.dropped["never began"] += 1
            continue
        if 0 < gpus < GPUS * nodes:
            if part_nodes == "drop":
                found.dropped["part of a node"] += 1
                continue
            parts += 1
        found.jobs.append(job)
    if parts:
        found.notes.append(
            f"{parts:,} jobs have fewer than {GPUS} GPUs on a node and shared it; here each has "
            "exclusive nodes"
        )
    return workload_of(found, path, shared="whole")


def _job(row: TableRow, clock: LogClock, nodes: int) -> LoggedJob:
    return LoggedJob(
        id=row.text("job_id"),
        line=row.line,
        submit_s=row.date("submit_time", clock)[0],
        start_s=row.date("start_time", clock)[0],
        end_s=row.date("end_time", clock)[0],
        nodes=nodes,
        status=row.text("state").lower(),
        user=row.text("user"),
        partition=row.text("type"),
    )
