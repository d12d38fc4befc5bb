"""Jobs of Alibaba's PAI: the tables of cluster-trace-gpu-v2020 (Weng et al., NSDI'22)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Annotated

from netsim.parameters import Example
from workloads.importers.assemble import workload_of
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit, count_by
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.tables import TableRow, csv_rows
from workloads.job import NODE, Workload

TASKS = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
_STATUS = {"terminated": "completed"}


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one, with its header."""
    return bool(head) and head[0].lower().startswith(",".join(TASKS[:3]))


def read_pai(
    path: str | Path,
    *,
    job_table: Annotated[
        str | None,
        "pai_job_table.csv, which has users and submit times",
        Example("pai_job_table.csv"),
    ] = None,
    size_unit: SizeUnit = NODE,
    gpus_per_node: GpusPerNode = 8,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read pai_task_table.csv, with or without its header, plain or gzipped.

    A job runs from the first start of its tasks to their last end, on the GPUs of all their
    instances. Instances on a part of a GPU get it entirely; a note has their number. The type of
    GPU is the partition. Without ``job_table`` jobs are submitted when they start, and waits are
    not known. Tasks without a GPU (parameter servers) are left out, as are jobs without any, jobs
    that never began and jobs with a task that has no end; they are counted.
    """
    jobs: dict[str, LoggedJob] = {}
    parts, parsed = 0, ParsedLog(bad_lines=bad_lines)
    for row in csv_rows(path, TASKS):
        with parsed.reading():
            gpus = row.number("plan_gpu") / 100
            job = jobs.setdefault(row.text("job_name"), LoggedJob(row.text("job_name"), row.line))
            if gpus > 0:
                parts += _add_task(job, row, gpus)
    if job_table is not None:
        for row in csv_rows(job_table, JOBS):
            with parsed.reading():
                job = jobs.get(row.text("job_name")) or LoggedJob("", row.line)
                job.submit_s, job.user = row.number("start_time"), row.text("user")
                job.status = row.text("status").lower()
    for job in jobs.values():
        if job_table is None:
            job.submit_s = job.start_s
        job.status = _STATUS.get(job.status, job.status)
        if job.gpus and isnan(job.start_s):
            parsed.dropped["never began"] += 1
        elif job.gpus and isnan(job.end_s):
            parsed.dropped["running when the log was made"] += 1
        else:
            parsed.jobs.append(job)
    if parts:
        parsed.notes.append(f"{parts:,} tasks have parts of GPUs, and get them entirely")
    count_by(parsed, size_unit, gpus_per_node)
    return workload_of(parsed, path, waits=job_table is not None)


def _add_task(job: LoggedJob, row: TableRow, gpus: float) -> bool:
    """Add a task's GPUs and times to its job; return whether it has parts of GPUs."""
    start_s, end_s = row.number("start_time"), row.number("end_time")
    first = not job.gpus
    each = int(-(-gpus // 1))
    job.gpus += each * max(1, row.integer("inst_num"))
    job.partition = job.partition or row.text("gpu_type")
    if first or row.text("status").lower() != "terminated":
        job.status = row.text("status").lower()
    # a task that has not begun does not make the job begin later, one without an end is running
    job.start_s = start_s if first or isnan(job.start_s) else min(job.start_s, start_s)
    job.end_s = end_s if first or isnan(end_s) else max(job.end_s, end_s)
    return each != gpus
