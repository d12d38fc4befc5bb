"""Cobalt's jobs as the ALCF publishes them: one table a machine and year (DIM_JOB_COMPOSITE)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from netsim.errors import NetcosimError
from netsim.hostlist import expand
from workloads.importers.assemble import workload_of
from workloads.importers.dates import LogClock
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import SharedNodes
from workloads.importers.tables import TableRow, csv_rows
from workloads.job import Workload

NEEDED = (
    "cobalt_jobid",
    "queued_timestamp",
    "start_timestamp",
    "end_timestamp",
    "nodes_used",
)
_NUMBERS = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    return bool(head) and "COBALT_JOBID" in head[0].upper()


def read_cobalt(
    path: str | Path,
    *,
    timezone: Annotated[str, "zone of the dates"] = "UTC",
    shared_nodes: SharedNodes = "refuse",
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read a table of ALCF Public Data, plain or gzipped.

    Nodes are NODES_USED; LOCATION is kept where it is a list of node numbers (Theta), not where it
    names a partition (Mira, Cetus). The user and the project are the published pseudonyms.
    """
    rows = csv_rows(path)
    missing = [name.upper() for name in NEEDED if name not in rows.columns]
    if missing:
        raise NetcosimError(f"{path}:1: no column {', '.join(missing)}")
    clock, parsed = LogClock(timezone), ParsedLog(bad_lines=bad_lines)
    for row in rows:
        with parsed.reading():
            parsed.jobs.append(_job(row, clock))
    return workload_of(parsed, path, shared=shared_nodes)


def _job(row: TableRow, clock: LogClock) -> LoggedJob:
    place = row.text("location")
    hosts = f"[{place}]" if _NUMBERS.fullmatch(place) else ""
    status = {"": "", "0": "completed"}.get(row.text("exit_status").removesuffix(".0"), "failed")
    nodes = row.integer("nodes_used")
    if hosts and len(expand(hosts)) != nodes:
        hosts = ""
    return LoggedJob(
        id=row.text("cobalt_jobid").removesuffix(".0"),
        line=row.line,
        submit_s=row.date("queued_timestamp", clock)[0],
        start_s=row.date("start_timestamp", clock)[0],
        end_s=row.date("end_timestamp", clock)[0],
        limit_s=row.number("walltime_seconds"),
        nodes=nodes,
        hosts=hosts,
        status=status,
        user=row.text("username_genid"),
        account=row.text("project_name_genid"),
        partition=row.text("queue_name"),
    )
