"""Jobs of Flux as ``flux jobs -a --json`` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from workloads.importers.assemble import workload_of
from workloads.importers.json_jobs import json_jobs, need_list
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.importers.tables import TableRow
from workloads.job import Workload

_STATUS = {
    "canceled": "cancelled",
    "1": "completed",
    "2": "failed",
    "4": "cancelled",
    "8": "timeout",
}
"""By the names of ``flux jobs`` and the bits of ``flux job list``; other names stay."""


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    text = "".join(head)
    return text.lstrip()[:1] in ("{", "[") and '"t_submit"' in text


def read_flux(
    path: str | Path,
    *,
    shared_nodes: SharedNodes = "refuse",
    cores_per_node: CoresPerNode = None,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read what ``flux jobs -a --json`` printed: one object with "jobs", or an object a line.

    Taken are id, t_submit, t_run, t_cleanup (else t_inactive), duration (the limit), nnodes,
    ncores, nodelist, queue, bank, username (else userid), priority, result, and dependencies of
    the kinds that are known (``after-start:ID`` is after, ``after-success`` is afterok,
    ``after-failure`` is afternotok, ``after-finish`` is afterany).
    """
    parsed = ParsedLog(bad_lines=bad_lines)
    for number, entry in enumerate(json_jobs(path), start=1):
        with parsed.reading(f"{path}: job {number} of the list"):
            row = _row(number, entry)
            _add(row, tuple(_waits_for(entry.get("dependencies"))), parsed)
    return workload_of(parsed, path, shared=shared_nodes, cores_per_node=cores_per_node)


_KINDS = {
    "after-start": "after",
    "after-success": "afterok",
    "after-finish": "afterany",
    "after-failure": "afternotok",
    "after": "after",
    "afterok": "afterok",
    "afterany": "afterany",
    "afternotok": "afternotok",
}


def _row(number: int, entry: Any) -> TableRow:
    """Return the values of a job's object as a row."""
    if not isinstance(entry, Mapping) or "id" not in entry:
        raise NetcosimError('it has no "id"')
    return TableRow.of(number, {k: str(v) for k, v in entry.items() if v is not None})


def _add(row: TableRow, waits_for: tuple[tuple[str, str], ...], parsed: ParsedLog) -> None:
    """Add a job, or count why it is left out."""
    # a time of 0 is one that has not come
    cleanup_s = row.number("t_cleanup")
    end_s = cleanup_s if cleanup_s > 0 else row.number("t_inactive") or nan
    start_s = row.number("t_run") or nan
    result = row.text("result").lower()
    status = _STATUS.get(result, result)
    if not start_s > 0:
        cancelled = status == "cancelled"
        parsed.dropped["cancelled before it began" if cancelled else "never began"] += 1
        return
    if not end_s > 0:
        parsed.dropped["running when the log was made"] += 1
        return
    parsed.jobs.append(
        LoggedJob(
            id=row.text("id"),
            line=row.line,
            submit_s=row.number("t_submit") or nan,
            start_s=start_s,
            end_s=end_s,
            # 0 means no limit
            limit_s=row.number("duration") or nan,
            nodes=row.integer("nnodes"),
            cpus=row.integer("ncores"),
            hosts=row.text("nodelist"),
            status=status,
            user=row.text("username") or row.text("userid"),
            account=row.text("bank") or row.text("project"),
            partition=row.text("queue"),
            priority=max(row.number("priority", least=-1e300), 0.0),
            waits_for=waits_for,
        )
    )


def _waits_for(listed: object) -> Iterator[tuple[str, str]]:
    for dependency in [listed] if isinstance(listed, str) else need_list("dependencies", listed):
        kind, _, job = str(dependency).partition(":")
        kind = kind.partition("=")[0]
        if kind in _KINDS and job:
            yield _KINDS[kind], job.partition("=")[2] or job
