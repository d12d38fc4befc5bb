"""Accounting files of Grid Engine (SGE, UGE): a line a job, fields between colons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import nan
from pathlib import Path

from netsim.errors import NetcosimError
from netsim.files import read_lines
from netsim.text_numbers import whole_number
from workloads.importers.assemble import EARLIER_RUN, workload_of
from workloads.importers.dates import length_s
from workloads.importers.entry import Importer
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.importers.tables import TableRow
from workloads.job import Workload

FIELDS = (
    *("qname", "hostname", "group", "owner", "job_name", "job_number", "account", "priority"),
    *("submission_time", "start_time", "end_time", "failed", "exit_status", "ru_wallclock"),
    *("ru_utime", "ru_stime", "ru_maxrss", "ru_ixrss", "ru_ismrss", "ru_idrss", "ru_isrss"),
    *("ru_minflt", "ru_majflt", "ru_nswap", "ru_inblock", "ru_oublock", "ru_msgsnd", "ru_msgrcv"),
    *("ru_nsignals", "ru_nvcsw", "ru_nivcsw", "project", "department", "granted_pe", "slots"),
    *("task_number", "cpu", "mem", "io", "category", "iow", "pe_taskid", "maxvmem"),
)
"""By position; later versions add more, which are not read."""
_NEEDED = 36  # up to task_number
_NUMBERS = (
    *("submission_time", "start_time", "end_time", "failed", "exit_status"),
    *("slots", "task_number"),
)
_MILLISECONDS = 1e11
_LIMIT = re.compile(r"(?:^|[ ,])h_rt=([0-9]+(?::[0-9]{2}:[0-9]{2})?)(?=[ ,:]|$)")
_RESCHEDULED, _LIMIT_REACHED, _BEFORE_JOB = (24, 25), 37, range(1, 21)


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    rows = [line.split(":") for line in head if line and not line.startswith("#")]
    return bool(rows) and len(rows[0]) >= _NEEDED and all(rows[0][k].isdigit() for k in (5, 8, 11))


def read_sge(
    path: str | Path,
    *,
    cores_per_node: CoresPerNode = None,
    shared_nodes: SharedNodes = "refuse",
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read an accounting file; ``cores_per_node`` makes nodes of slots.

    Taken are job_number and task_number, submission_time, start_time, end_time (seconds, or
    milliseconds as UGE writes them), slots, h_rt of the category, failed and exit_status, owner,
    project and qname. Of a parallel job the file names the first host only. Records of a job's
    slave tasks, jobs that never began and runs that were rescheduled are left out and counted.
    """
    parsed = ParsedLog(bad_lines=bad_lines)
    for number, line in enumerate(read_lines(path), start=1):
        if len(line.strip()) <= 1 or line.startswith("#"):
            continue
        with parsed.reading(f"{path}:{number}"):
            _add(line.rstrip("\r").split(":"), number, cores_per_node, parsed)
    most = max((job.cpus for job in parsed.jobs), default=0)
    if cores_per_node is None and most > 1:
        raise NetcosimError(
            f"{path}: jobs have up to {most:,} slots, and the file does not state how many a node "
            "has; give cores_per_node (netcosim trace import sge FILE --cores-per-node N)"
        )
    return workload_of(parsed, path, shared=shared_nodes, cores_per_node=cores_per_node)


def _add(cells: Sequence[str], number: int, cores_per_node: int | None, parsed: ParsedLog) -> None:
    """Add the job of a line, or count why it is left out."""
    if len(cells) < _NEEDED:
        raise ValueError(f"{len(cells)} fields; an accounting record has {_NEEDED} or more")
    row = TableRow.of(number, dict(zip(FIELDS, cells, strict=False)))
    for name in _NUMBERS:
        if not row.text(name):
            raise row.wrong(name, "a number is needed")

    def time_s(name: str) -> float:
        known = row.number(name)
        return known / 1000 if known > _MILLISECONDS else known or nan

    slots, failed, task = (row.integer(name) for name in ("slots", "failed", "task_number"))
    job = whole_number(row.text("job_number"))
    if job is None:
        raise row.wrong("job_number", "a whole number is needed")
    start_s, end_s = time_s("start_time"), time_s("end_time")
    # a limit in the category may be written with colons
    category = FIELDS.index("category")
    limit = _LIMIT.search(":".join(cells[category:]))
    at = FIELDS.index("pe_taskid") + (0 if limit is None else limit[1].count(":"))
    if at < len(cells) and cells[at] not in ("NONE", ""):
        parsed.dropped["slave task of a parallel job"] += 1
        return
    if failed in _RESCHEDULED:
        parsed.dropped[EARLIER_RUN] += 1
        return
    if not start_s > 0 or failed in _BEFORE_JOB:
        parsed.dropped["never began"] += 1
        return
    limit_s = nan
    if limit is not None:
        limit_s = float(limit[1]) if limit[1].isdigit() else length_s(limit[1])
    ended = row.number("exit_status")
    status = "timeout" if failed == _LIMIT_REACHED else "failed" if failed or ended else "completed"
    parsed.jobs.append(
        LoggedJob(
            id=f"{job}_{task}" if task > 0 else str(job),
            line=number,
            submit_s=time_s("submission_time"),
            start_s=start_s,
            end_s=end_s,
            limit_s=limit_s,
            nodes=-(-slots // (cores_per_node or 1)),
            cpus=slots,
            status=status,
            user=row.text("owner"),
            account="" if row.text("project") == "NONE" else row.text("project"),
            partition=row.text("qname"),
        )
    )


IMPORTER = Importer("sge", "accounting files of Grid Engine (SGE, UGE)", read_sge, looks_like)
