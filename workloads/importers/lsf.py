"""LSF's accounting (``lsb.acct``): a JOB_FINISH record a job, fields by position."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from netsim.files import read_lines
from netsim.hostlist import compress
from netsim.text_numbers import number_of
from workloads.importers.assemble import workload_of
from workloads.importers.entry import Importer
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit, count_by
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.importers.tables import TableRow
from workloads.job import GPU, NODE, Workload
from workloads.swf_parse import short

LONGEST_LINE = 4 * 2**20
"""A record names a host once a slot."""

_FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s"]\S*))(?=\s|$)')
_HOSTS = re.compile(r"(?:([0-9]{1,6})\*)?(.+)")
_GPUS = re.compile(r"ngpus_physical=([0-9]{1,6})")
_BEFORE = (
    *("eventTime", "jobId", "userId", "options", "numProcessors", "submitTime", "beginTime"),
    *("termTime", "startTime", "userName", "queue", "resReq", "dependCond", "preExecCmd"),
    *("fromHost", "cwd", "inFile", "outFile", "errFile", "jobFile"),
)
_BETWEEN = ("jStatus", "hostFactor", "jobName", "command")
_N_USAGE = 19
_AFTER = (
    *("mailUser", "projectName", "exitStatus", "maxNumProcessors", "loginShell", "timeEvent"),
    *("idx", "maxRMem", "maxRSwap", "inFileSpool", "commandSpool", "rsvId", "sla", "exceptMask"),
    *("additionalInfo", "exitInfo", "warningAction", "warningTimePeriod", "chargedSAAP"),
    *("licenseProject", "app", "postExecCmd", "runtimeEstimation", "jobGroupName"),
    *("requeueEvalues", "options2", "resizeNotifyCmd", "lastResizeTime", "rsvId2"),
    "jobDescription",
)
"""Versions before 10.1 end earlier."""
_LAST = ("options3", "runLimit", "avgMem", "effectiveResReq")
_RUN_LIMIT, _KILLED = 5, (8, 9, 14, 15)
"""``exitInfo``: ended at the run limit; by the owner or an administrator."""
_EXIT, _DONE = 32, 64


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    return bool(head) and re.match(r'\s*"[A-Z0-9_]+" "[0-9.]+" [0-9]{9,}\s', head[0]) is not None


def read_lsf(
    path: str | Path,
    *,
    shared_nodes: SharedNodes = "refuse",
    cores_per_node: CoresPerNode = None,
    size_unit: SizeUnit = NODE,
    gpus_per_node: GpusPerNode = 8,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read lsb.acct, also with hosts shortened to "8*n1" (SHORT_EVENTFILE).

    Taken are jobId and idx, submitTime, startTime, eventTime (the end), execHosts (each host is a
    node, a name a slot), jStatus and exitInfo, userName, projectName, queue, and of version 10.1
    runLimit and the GPUs of effectiveResReq. Other records, and jobs that never began, are left
    out and counted.
    """
    parsed = ParsedLog(bad_lines=bad_lines)
    for number, line in enumerate(read_lines(path, longest=LONGEST_LINE), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        with parsed.reading(f"{path}:{number}"):
            words = _words(line.rstrip("\r"))
            if words[0] != "JOB_FINISH":
                parsed.dropped[f"record {short(words[0])}"] += 1
            elif (job := _job(_named(words), number)) is None:
                parsed.dropped["never began"] += 1
            else:
                parsed.jobs.append(job)
    if size_unit == GPU:
        count_by(parsed, size_unit, gpus_per_node)
    return workload_of(parsed, path, shared=shared_nodes, cores_per_node=cores_per_node)


def _words(line: str) -> list[str]:
    """Return the fields of a record; a quotation mark within quotes is written twice."""
    words, at, end = [], 0, len(line.rstrip())
    while at < end:
        match = _FIELD.match(line, at)
        if match is None:
            raise ValueError(f"{short(line[at:].strip())!r}; a field is quoted or has no blank")
        words.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end()
    return words


def _named(words: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Return the fields of a JOB_FINISH record by name."""
    rest = list(reversed(words[2:]))

    def take(count: int) -> list[str]:
        if count > len(rest):
            raise ValueError(f"{len(words)} fields; the record is cut")
        return [rest.pop() for _ in range(count)]

    fields: dict[str, str | Sequence[str]] = dict(zip(_BEFORE, take(len(_BEFORE)), strict=True))
    fields["askedHosts"] = take(_count("numAskedHosts", take(1)[0]))
    fields["execHosts"] = take(_count("numExHosts", take(1)[0]))
    fields |= zip(_BETWEEN, take(len(_BETWEEN)), strict=True)
    take(_N_USAGE)
    fields |= zip(_AFTER, take(min(len(_AFTER), len(rest))), strict=False)
    if rest:
        take(2 * _count("submitEXT", take(1)[0]))
    if rest:
        take(5 * _count("numHostRusage", take(1)[0]))
        fields |= zip(_LAST, take(min(len(_LAST), len(rest))), strict=False)
    return fields


def _count(name: str, text: str) -> int:
    value = number_of(text)
    if value is None or not (0 <= value <= 10**7 and value == int(value)):
        raise ValueError(f"{name} is {short(text)!r}; a number of fields is needed")
    return int(value)


def _job(fields: dict[str, str | Sequence[str]], number: int) -> LoggedJob | None:
    """Return the job of a record; None if it never began."""
    row = TableRow.of(number, {k: v for k, v in fields.items() if isinstance(v, str)})
    start_s, status = row.number("startTime"), row.integer("jStatus")
    if not status & (_EXIT | _DONE):
        raise row.wrong("jStatus", f"{_EXIT} (EXIT) and {_DONE} (DONE) are known")
    hosts: dict[str, int] = {}
    for word in fields["execHosts"]:
        match = _HOSTS.fullmatch(word)
        if match is None:
            raise ValueError("an empty name in execHosts")
        hosts[match[2]] = hosts.get(match[2], 0) + int(match[1] or 1)
    if not start_s > 0 or not hosts:
        return None
    ended = row.integer("exitInfo")
    failed = "timeout" if ended == _RUN_LIMIT else "cancelled" if ended in _KILLED else "failed"
    gpus = _GPUS.search(row.text("effectiveResReq"))
    index = row.integer("idx")
    return LoggedJob(
        id=f"{row.integer('jobId')}_{index}" if index > 0 else str(row.integer("jobId")),
        line=number,
        submit_s=row.number("submitTime"),
        start_s=start_s,
        end_s=row.number("eventTime"),
        limit_s=row.number("runLimit", least=-1e300),
        nodes=len(hosts),
        cpus=sum(hosts.values()),
        gpus=int(gpus[1]) * len(hosts) if gpus else 0,
        hosts=compress(list(hosts)),
        status="completed" if status & _DONE else failed,
        user=row.text("userName"),
        account="" if row.text("projectName") == "default" else row.text("projectName"),
        partition=row.text("queue"),
    )


IMPORTER = Importer("lsf", "LSF's accounting (lsb.acct)", read_lsf, looks_like)
