"""Jobs of Flux as ``flux jobs -a --json`` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from workloads.importers.assemble import workload_of
from workloads.importers.json_jobs import json_jobs
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.job import Workload
from workloads.swf_parse import short

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
        with parsed.reading():
            _Entry(path, number, entry).add_to(parsed)
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


class _Entry:
    """One job's object."""

    def __init__(self, path: str | Path, number: int, entry: Any) -> None:
        if not isinstance(entry, Mapping) or "id" not in entry:
            raise NetcosimError(f'{path}: job {number} of the list has no "id"')
        self.path, self.number, self.entry = path, number, entry

    def _value(self, key: str) -> float:
        value = self.entry.get(key)
        if value is None or value == "":
            return nan
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
            given = short(repr(value))
            raise NetcosimError(
                f"{self.path}: job {self.number} of the list: {key} is {given}; a number is needed"
            )
        return float(value)

    def _text(self, *keys: str) -> str:
        values = (self.entry.get(key) for key in keys)
        return next((str(value) for value in values if value not in (None, "")), "")

    def add_to(self, parsed: ParsedLog) -> None:
        """Add the job, or count why it is left out."""
        # a time of 0 is one that has not come
        submit_s, start_s, end_s = (
            self._value(key) or nan
            for key in (
                "t_submit",
                "t_run",
                "t_cleanup" if self._value("t_cleanup") > 0 else "t_inactive",
            )
        )
        result = self._text("result").lower()
        status = _STATUS.get(result, result)
        if not start_s > 0:
            cancelled = status == "cancelled"
            parsed.dropped["cancelled before it began" if cancelled else "never began"] += 1
            return
        if not end_s > 0:
            parsed.dropped["running when the log was made"] += 1
            return
        nodes = self._value("nnodes")
        cores = self._value("ncores")
        parsed.jobs.append(
            LoggedJob(
                id=self._text("id"),
                line=self.number,
                submit_s=submit_s,
                start_s=start_s,
                end_s=end_s,
                # 0 means no limit
                limit_s=self._value("duration") or nan,
                nodes=int(nodes) if nodes >= 1 else 0,
                cpus=int(cores) if cores >= 1 else 0,
                hosts=self._text("nodelist"),
                status=status,
                user=self._text("username", "userid"),
                account=self._text("bank", "project"),
                partition=self._text("queue"),
                priority=max(self._value("priority"), 0.0),
                waits_for=tuple(self._waits_for()),
            )
        )

    def _waits_for(self) -> Iterator[tuple[str, str]]:
        listed = self.entry.get("dependencies") or []
        for dependency in [listed] if isinstance(listed, str) else listed:
            kind, _, job = str(dependency).partition(":")
            kind = kind.partition("=")[0]
            if kind in _KINDS and job:
                yield _KINDS[kind], job.partition("=")[2] or job
