"""Accounting records of PBS Professional, OpenPBS and Torque: ``date;type;id;key=value ...``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from netsim.files import read_lines
from netsim.hostlist import compress
from netsim.text_numbers import whole_number
from workloads.details import DEPENDENCY_KINDS
from workloads.importers.assemble import EARLIER_RUN, workload_of
from workloads.importers.entry import Importer
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.importers.tables import TableRow
from workloads.job import Workload
from workloads.swf_parse import short

LONGEST_LINE = 4 * 2**20
"""A record names every node of its job twice or more, each with its cores."""

_RECORD = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2};[A-Za-z]{1,2};")
_PAIR = re.compile(r"""([A-Za-z_][\w.]*)=("[^"]*"|'[^']*'|\S*)""")
_ID = re.compile(r"([0-9]+)(?:\[([0-9]*)\])?(?:\..*)?")
_TERMINATED = (271, 265, -29, -28)
"""Ended by a signal: SIGTERM, SIGKILL, or by the server for its walltime."""
_NO_PROJECT = "_pbs_project_default"


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    return bool(head) and _RECORD.match(head[0]) is not None


def read_pbs(
    path: str | Path,
    *,
    shared_nodes: SharedNodes = "refuse",
    cores_per_node: CoresPerNode = None,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read accounting records; the E record of a job (its end) has all its data.

    Taken are ctime or qtime, start, end, Resource_List.nodect (else select, nodes or the nodes of
    exec_vnode and exec_host), Resource_List.walltime, queue, project or account, user, depend and
    Exit_status. Several files of a machine may be put into one, one after the other.
    """
    parsed = ParsedLog(bad_lines=bad_lines)
    unfinished: dict[str, str] = {}
    for number, line in enumerate(read_lines(path, longest=LONGEST_LINE), start=1):
        if not line.strip():
            continue
        kind = ""
        with parsed.reading(f"{path}:{number}"):
            kind, id, pairs = _record(line)
            if kind == "E":
                parsed.jobs.append(_job(id, TableRow.of(number, pairs)))
        if kind == "R":
            parsed.dropped[EARLIER_RUN] += 1
        elif kind and kind in "SQDA":
            unfinished[id] = {"S": "running when the log was made"}.get(kind, "never began")
    ended = {job.id for job in parsed.jobs}
    for id, reason in unfinished.items():
        if id not in ended and "[]" not in id:
            parsed.dropped[reason] += 1
    parsed.jobs = [job for job in parsed.jobs if "[]" not in job.id]
    return workload_of(parsed, path, shared=shared_nodes, cores_per_node=cores_per_node)


def _record(line: str) -> tuple[str, str, dict[str, str]]:
    """Return the type, job and values of a line."""
    parts = line.rstrip("\r").split(";", 3)
    if len(parts) != 4 or not _RECORD.match(line):
        raise ValueError(f"{short(line)!r} is no accounting record (date;type;id;key=value ...)")
    kind, name, text = parts[1].upper(), parts[2].strip(), parts[3]
    if kind not in "ESRQDA":
        return kind, name, {}
    match = _ID.fullmatch(name)
    if match is None:
        raise ValueError(f"job {short(name)!r}; a number is needed")
    id = match[1] if match[2] is None else f"{match[1]}[{match[2]}]"
    return kind, id, {key: value.strip("\"'") for key, value in _PAIR.findall(text)}


def _job(id: str, row: TableRow) -> LoggedJob:
    """Return the job of an E record."""
    hosts = hosts_of(row.text("exec_vnode") or row.text("exec_host"))
    # pbs_resources(7B): a time is whole seconds or hours:minutes:seconds
    limit_s = row.length_s("Resource_List.walltime")
    start_s, end_s = row.number("start"), row.number("end")
    status = ""
    if row.text("Exit_status"):
        code = int(row.number("Exit_status", least=-1e9))
        over = limit_s <= end_s - start_s + 1
        ended = "timeout" if over else "cancelled"
        status = "completed" if code == 0 else ended if code in _TERMINATED else "failed"
    project = row.text("project")
    return LoggedJob(
        id=id,
        line=row.line,
        submit_s=row.number("ctime" if "ctime" in row.at else "qtime"),
        start_s=start_s,
        end_s=end_s,
        limit_s=limit_s,
        nodes=_nodes(row, hosts),
        cpus=row.integer("Resource_List.ncpus"),
        hosts=compress(hosts),
        status=status,
        user=row.text("user"),
        account=row.text("account")
        or ("" if project == _NO_PROJECT else project)
        or row.text("group"),
        partition=row.text("queue"),
        waits_for=_waits_for(row.text("depend")),
    )


def hosts_of(text: str) -> list[str]:
    """Return the nodes of ``(n1:ncpus=8+n2:ncpus=8)`` or ``n1/0*8+n2/0-7``, each once.

    ``n1[0]`` is a vnode of the host n1, as sites have one a NUMA domain or board.
    """
    names = (re.split(r"[/:*[]", part.strip("()"), maxsplit=1)[0] for part in text.split("+"))
    return list(dict.fromkeys(name for name in names if name))


def _nodes(row: TableRow, hosts: list[str]) -> int:
    """Return the number of nodes: allocated ones, else requested ones."""
    if hosts:
        return len(hosts)
    for key in ("Resource_List.nodect", "unique_node_count"):
        nodes = whole_number(row.text(key))
        if nodes is not None:
            return nodes
    requested = row.text("Resource_List.select") or row.text("Resource_List.nodes")
    chunks = [part.split(":", 1)[0] for part in requested.split("+") if part]
    return sum(1 if (n := whole_number(chunk)) is None else n for chunk in chunks)


def _waits_for(text: str) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for part in filter(None, text.split(",")):
        kind, *jobs = part.split(":")
        if kind in DEPENDENCY_KINDS:
            matches = [_ID.fullmatch(job.split("@")[0]) for job in jobs]
            pairs += [
                (kind, f[1] if not f[2] else f"{f[1]}[{f[2]}]") for f in matches if f is not None
            ]
    return tuple(pairs)


IMPORTER = Importer(
    "pbs",
    "accounting records of PBS Professional, OpenPBS and Torque",
    read_pbs,
    looks_like,
)
