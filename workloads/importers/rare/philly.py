"""Jobs of Microsoft's Philly clusters: cluster_job_log (Jeon et al., ATC'19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from workloads.importers.assemble import workload_of
from workloads.importers.dates import LogClock, Zone
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit, count_by
from workloads.importers.json_jobs import json_jobs
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.job import NODE, Workload
from workloads.swf_parse import short

_STATUS = {"pass": "completed", "killed": "cancelled"}


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    text = "".join(head)
    return text.lstrip()[:1] == "[" and '"attempts"' in text and '"submitted_time"' in text


def read_philly(
    path: str | Path,
    *,
    timezone: Zone = "UTC",
    size_unit: SizeUnit = NODE,
    gpus_per_node: GpusPerNode = 8,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read a list of jobs in JSON, plain or gzipped.

    As in the notebook of the trace, a job runs from the start of its first attempt to the end of
    its last one, on the GPUs of its first; a note counts the jobs with several attempts. The
    virtual cluster is the account. Jobs without an attempt, and those whose first start or last
    end is missing, are left out and counted.
    """
    clock, parsed, several = LogClock(timezone), ParsedLog(bad_lines=bad_lines), 0
    for number, entry in enumerate(json_jobs(path), start=1):
        job = None
        with parsed.reading(f"{path}: job {number} of the list"):
            try:
                job, attempts = _job(entry, number, clock)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise NetcosimError(
                    f"{type(error).__name__} {short(str(error))!r}; jobid, submitted_time and "
                    "attempts with start_time, end_time and detail are needed"
                ) from None
        if job is None:
            continue
        if not attempts:
            parsed.dropped["never began"] += 1
        elif isnan(job.start_s):
            parsed.dropped["no start in the log"] += 1
        elif isnan(job.end_s):
            parsed.dropped["running when the log was made"] += 1
        else:
            parsed.jobs.append(job)
            several += attempts > 1
    if several:
        parsed.notes.append(
            f"{several:,} jobs have several attempts; they run from the first start to the last end"
        )
    count_by(parsed, size_unit, gpus_per_node)
    return workload_of(parsed, path)


def _job(entry: Mapping[str, Any], number: int, clock: LogClock) -> tuple[LoggedJob, int]:
    """Return a job and the number of its attempts."""
    attempts = entry["attempts"]
    servers = attempts[0]["detail"] if attempts else []
    status = str(entry.get("status") or "").lower()

    def date(value: object) -> float:
        return clock.both(str(value or ""))[0]

    job = LoggedJob(
        id=str(entry["jobid"]),
        line=number,
        submit_s=date(entry["submitted_time"]),
        start_s=date(attempts[0]["start_time"]) if attempts else nan,
        end_s=date(attempts[-1]["end_time"]) if attempts else nan,
        nodes=len(servers),
        gpus=sum(len(server["gpus"]) for server in servers),
        status=_STATUS.get(status, status),
        user=str(entry.get("user") or ""),
        account=str(entry.get("vc") or ""),
    )
    return job, len(attempts)
