"""Slurm's accounting as ``sacct -P`` or ``sacct --json`` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil, inf, isnan
from pathlib import Path
from typing import Annotated

from netsim.errors import NetcosimError
from netsim.files import first_lines, read_lines
from netsim.hostlist import expand
from netsim.parameters import OneOf
from netsim.text_numbers import whole_number
from workloads.details import DEPENDENCY_KINDS
from workloads.importers import sacct_json
from workloads.importers.assemble import EARLIER_RUN, last_runs, workload_of
from workloads.importers.dates import LogClock, Zone, in_order, length_s
from workloads.importers.entry import Importer
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit, count_by
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.meanings import MEANINGS
from workloads.importers.shared_nodes import CoresPerNode, SharedNodes
from workloads.importers.tables import TableRow
from workloads.job import GPU, NODE, Workload
from workloads.swf_parse import short

NEEDED = ("jobid", "submit", "start")
"""Beside them End or Elapsed, and a column that has the nodes."""

_NODES = ("allocnodes", "nnodes", "reqnodes", "alloctres", "reqtres", "nodelist")
_NO_NODES = frozenset(("", "none assigned", "none", "(null)"))
_SEPARATORS = "|;\t,"
_TRES_NODES = re.compile(r"(?:^|,)node=([0-9]{1,12})(?![0-9])")
_FREE_TEXT = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir")
"""Columns in which users may have written the separator."""
_IN_COMMAND = re.compile(r"(?:--dependency[= ]|\s-d[= ]?)\s*([^\s]+)")
_NOT_BEGUN = ("PENDING", "CONFIGURING", "REVOKED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_REQUEUED = ("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD")
_RESIZING = "resizing"
_RUNS = (
    *("RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT"),
    *("POWER_UP_NODE", "UPDATE_DB", "EXPEDITING"),
)
_ENDED = (
    *("", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"),
    *("DEADLINE", "OUT_OF_MEMORY", "LAUNCH_FAILED", "RECONFIG_FAIL", "RESIZING"),
)
_GPUS = re.compile(r"(?:^|,)gres/gpu(:[^=,]*)?=([0-9]{1,9})(?![0-9.])")


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    return _above(head) is not None or sacct_json.looks_like(head)


def _above(head: Sequence[str]) -> int | None:
    """Return how many lines (messages, blank ones) are above the header; None: no header."""
    for k, line in enumerate(head[:10]):
        words = re.split(r"[|;\t,]", line.strip().lower())
        if "jobid" in words and "submit" in words:
            return k
    return None


def read_sacct(
    path: str | Path,
    *,
    timezone: Zone = "UTC",
    shared_nodes: SharedNodes = "refuse",
    cores_per_node: CoresPerNode = None,
    submitted: Annotated[
        str, "when a job comes into the queue", OneOf(("submit", "eligible"))
    ] = "submit",
    size_unit: SizeUnit = NODE,
    gpus_per_node: GpusPerNode = 8,
    bad_lines: BadLines = "refuse",
) -> Workload:
    """Read the output of ``sacct -P``, with any columns in any order, or of ``sacct --json``.

    Needed are JobID, Submit, Start, End or Elapsed, and the nodes (AllocNodes, NNodes, AllocTRES
    or NodeList). ``size_unit = "gpu"`` counts GPUs (gres/gpu), so that jobs may share servers.

    Steps are left out; components of a heterogeneous job are one job; of a requeued job the last
    run counts; a job that changed its size (RESIZING) has the nodes of its node-hours. Separators
    within columns of free text (JobName, Comment, SubmitLine, WorkDir) are part of them: a line is
    read so that its dates and its state are in their places.
    """
    parsed = ParsedLog(bad_lines=bad_lines)
    top = first_lines(path)
    is_json, above = sacct_json.looks_like(top), _above(top) or 0
    lines = iter(()) if is_json else read_lines(path)
    if above and not is_json:
        n_above = len(list(islice(lines, above)))
        parsed.notes.append(f"{n_above:,} lines above the header are not read")
    head = next(lines, "")
    header = ("", list(sacct_json.COLUMNS)) if is_json else _header(path, head)
    table = _SacctTable(header, LogClock(timezone), submitted == "eligible")
    if unknown := sorted(set(table.columns) - MEANINGS["sacct"].names):
        parsed.notes.append(f"columns that are not known and not read: {', '.join(unknown)}")
    parts: dict[str, list[LoggedJob]] = {}
    rows: Iterable[tuple[int, list[str] | str, str]] = (
        ((number, *found) for number, found in enumerate(sacct_json.json_cells(path), start=1))
        if is_json
        else _job_lines(enumerate(lines, start=2 + above), head.rstrip(), parsed)
    )
    for number, found, fault in rows:
        job = None
        where = f"{path}: job {number} of the list" if is_json else f"{path}:{number}"
        with parsed.reading(where):
            if isinstance(found, str):
                row = table.row_of(number, found.rstrip("\r"))
            else:
                row = table.row(number, found, fault)
            job = table.job(row, parsed)
        if job is not None:
            base, plus, _ = job.id.partition("+")
            if plus:
                parts.setdefault(base, []).append(job)
            else:
                parsed.jobs.append(job)
    _add_heterogeneous(parts, parsed)
    parsed.notes += table.notes()
    parsed.jobs = _resized(parsed)
    if size_unit == GPU:
        count_by(parsed, size_unit, gpus_per_node)
    return workload_of(parsed, path, shared=shared_nodes, cores_per_node=cores_per_node)


def _job_lines(
    lines: Iterable[tuple[int, str]], header: str, parsed: ParsedLog
) -> Iterator[tuple[int, str, str]]:
    """Yield the numbered lines that are neither empty nor the header again; none has a fault."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        if line.rstrip() == header:
            parsed.dropped["the header again"] += 1
        else:
            yield number, line, ""


def _add_heterogeneous(parts: Mapping[str, list[LoggedJob]], parsed: ParsedLog) -> None:
    """Add the jobs of several components, each as one job."""
    for base, components in parts.items():
        parsed.jobs.append(_one_of(base, last_runs(components, parsed.dropped)))
    if parts:
        count = sum(map(len, parts.values()))
        parsed.notes.append(
            f"{len(parts):,} heterogeneous jobs, whose {count:,} components are taken together"
        )


def _shares(count: int, columns: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to share so many separators among columns of free text."""
    if columns == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for rest in _shares(count - first, columns - 1):
            yield (first, *rest)


def _header(path: str | Path, line: str) -> tuple[str, list[str]]:
    """Return the separator and the columns, in lower case."""
    separator = next((c for c in _SEPARATORS if c in line), "|")
    columns = [word.strip().lower() for word in line.strip().split(separator)]
    # --parsable ends each line with a separator, --parsable2 does not
    while columns and not columns[-1]:
        columns.pop()
    missing = [name for name in NEEDED if name not in columns]
    if "end" not in columns and "elapsed" not in columns and "elapsedraw" not in columns:
        missing.append("end")
    if not any(name in columns for name in _NODES):
        missing.append("nnodes")
    if missing:
        raise NetcosimError(
            f"{path}:1: no column {', '.join(missing)} in {short(line.strip())!r}; make the file "
            "with sacct -a -P -o JobID,JobIDRaw,User,Account,Partition,QOS,State,Submit,Eligible,"
            "Start,End,Elapsed,Timelimit,NNodes,AllocCPUS,NodeList,Priority,SubmitLine"
        )
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise NetcosimError(f"{path}:1: column {twice[0]} occurs twice")
    return separator, columns


class _SacctTable:
    """Turns lines into jobs."""

    def __init__(self, header: tuple[str, list[str]], clock: LogClock, eligible: bool) -> None:
        self.separator, self.columns = header
        self.clock = clock
        self.eligible = eligible
        self.at = {name: k for k, name in enumerate(self.columns)}
        self.free_text = [k for k, name in enumerate(self.columns) if name in _FREE_TEXT]
        self.n_shifted = self.n_held = self.n_other_kinds = 0

    def row(self, number: int, cells: list[str], fault: str = "") -> TableRow:
        """Return the row of these cells."""
        return TableRow("", number, self.at, cells, fault=fault, missing=("",))

    def job(self, row: TableRow, parsed: ParsedLog) -> LoggedJob | None:
        """Return the job of a line; None for a line that is counted."""
        id, word = row.text("jobid"), _state(row)
        if "." in id:
            parsed.dropped["step of a job"] += 1
            return None
        if not re.fullmatch(r"[0-9]+([_+].*)?", id):
            raise ValueError(f"JobID is {short(id)!r}; a number is needed")
        if "[" in id or word in _NOT_BEGUN:
            parsed.dropped["waiting when the log was made"] += 1
            return None
        if word in _RUNS:
            parsed.dropped["running when the log was made"] += 1
            return None
        if word in _REQUEUED:
            ended = not isnan(row.date("end", self.clock)[0])
            parsed.dropped[EARLIER_RUN if ended else "waiting when the log was made"] += 1
            return None
        if word not in _ENDED:
            raise ValueError(f"State is {short(word)!r}; {', '.join(_ENDED[1:])} are known")
        hosts = _hosts(row)
        submit_s, start_s, end_s = self._times(row)
        if isnan(start_s) or (not hosts and "nodelist" in self.at and not end_s > start_s):
            reason = "cancelled before it began" if word == "CANCELLED" else "never began"
            parsed.dropped[reason] += 1
            return None
        raw = row.text("jobidraw")
        return LoggedJob(
            id=id,
            line=row.line,
            number=whole_number(raw) if "+" not in id else None,
            submit_s=submit_s,
            start_s=start_s,
            end_s=end_s,
            limit_s=_limit_s(row),
            # Elapsed leaves out the time in which the job was suspended
            suspended_s=_suspended_s(row) or max(0.0, end_s - start_s - (_elapsed_s(row) or inf)),
            nodes=_nodes(row, hosts),
            gpus=_gpus(row),
            cpus=_count(row, "alloccpus" if "alloccpus" in self.at else "ncpus"),
            hosts=hosts,
            status=word.lower(),
            user=row.text("user"),
            account=row.text("account"),
            partition=row.text("partition"),
            qos=row.text("qos"),
            priority=row.number("priority"),
            waits_for=self._waits_for(row),
            pattern=row.text("pattern"),
            communication_fraction=row.number("communication_fraction", most=1),
            bytes_per_node_s=row.number("bytes_per_node_s"),
        )

    def row_of(self, number: int, line: str) -> TableRow:
        """Return the row of a line, its cells of free text put together again."""
        cells = line.split(self.separator)
        n = len(self.columns)
        if len(cells) == n + 1 and not cells[-1].strip():
            cells.pop()  # --parsable
        more = len(cells) - n
        # few ways to share them among several columns: lines that are not sound try all
        most = {0: 0, 1: len(cells), 2: 20}.get(len(self.free_text), 4)
        if 0 < more <= most:
            for extra in _shares(more, len(self.free_text)):
                joined, at = [], 0
                for k in range(n):
                    count = extra[self.free_text.index(k)] if k in self.free_text else 0
                    joined.append(self.separator.join(cells[at : at + count + 1]))
                    at += count + 1
                row = self.row(number, joined)
                if len(extra) == 1 or self._fits(row):
                    return row
        if len(cells) != n:
            raise NetcosimError(f"{len(cells)} fields; the header has {n}")
        return self.row(number, cells)

    def _fits(self, row: TableRow) -> bool:
        """Return whether cells are where the header has them, by the dates and the state."""
        try:
            for name in ("submit", "start", "end", "eligible"):
                row.date(name, self.clock)
        except NetcosimError:
            return False
        return _state(row) in (*_ENDED, *_RUNS, *_NOT_BEGUN, *_REQUEUED)

    def _times(self, row: TableRow) -> tuple[float, float, float]:
        """Return submit, start and end in Unix time."""
        submit, start, end = (row.date(name, self.clock) for name in ("submit", "start", "end"))
        if self.eligible:
            later = row.date("eligible", self.clock)
            self.n_held += later[0] > submit[0]
            submit = submit if isnan(later[0]) else later
        elapsed_s = _elapsed_s(row)
        if isnan(end[0]):
            end = start[0] + elapsed_s, start[1] + elapsed_s
        submit_s, start_s, end_s = in_order(submit, start, end, elapsed_s)
        off_s = end_s - start_s - elapsed_s - _suspended_s(row)
        if abs(abs(off_s) - 3600) <= 1:
            # dates without their zone, and the clocks were changed while the job ran
            self.n_shifted += 1
            end_s = start_s + elapsed_s
        return submit_s, start_s, end_s

    def _waits_for(self, row: TableRow) -> tuple[tuple[str, str], ...]:
        """Return dependencies from their column, or from the command that submitted the job."""
        text = row.text("dependency")
        if not text and "submitline" in self.at:
            command = _IN_COMMAND.search(row.text("submitline"))
            text = command[1].strip("\"'") if command else ""
        if not text or text.lower() in ("(null)", "none"):
            return ()
        if "?" in text:
            # any one of several: not a property of all of them
            self.n_other_kinds += 1
            return ()
        pairs: list[tuple[str, str]] = []
        for part in text.split(","):
            kind, *jobs = re.sub(r"\([^)]*\)", "", part).strip().split(":")
            kind = kind.lower()
            kind, jobs = ("afterany", [kind]) if kind.isdigit() else (kind, jobs)
            if kind not in DEPENDENCY_KINDS:
                self.n_other_kinds += 1
                continue
            pairs += [(kind, re.sub(r"(_\*|\+[0-9]*)$", "", job)) for job in jobs if job]
        return tuple(pairs)

    def notes(self) -> list[str]:
        """Return the notes on the times."""
        notes = []
        if self.n_shifted:
            notes.append(
                f"{self.n_shifted:,} jobs ran while the clocks were changed: their run time is "
                "that of Elapsed; timezone sets all dates right"
            )
        if self.n_held:
            notes.append(f"{self.n_held:,} jobs come when they were eligible, after their submit")
        if self.n_other_kinds:
            notes.append(
                f"{self.n_other_kinds:,} dependencies of other kinds than "
                f"{', '.join(DEPENDENCY_KINDS)} are left out"
            )
        return notes


def _state(row: TableRow) -> str:
    """Return the state without what follows it: "CANCELLED by 1000", "CANCELLED+"."""
    return (row.text("state").upper().split() or [""])[0].rstrip("+")


def _hosts(row: TableRow) -> str:
    hosts = row.text("nodelist")
    return "" if hosts.lower() in _NO_NODES else hosts


def _elapsed_s(row: TableRow) -> float:
    seconds = whole_number(row.text("elapsedraw"))
    return _length_s(row, "elapsed") if seconds is None else float(seconds)


def _limit_s(row: TableRow) -> float:
    minutes = whole_number(row.text("timelimitraw"))
    return _length_s(row, "timelimit") if minutes is None else 60.0 * minutes


def _suspended_s(row: TableRow) -> float:
    seconds = whole_number(row.text("suspended"))
    length = _length_s(row, "suspended") if seconds is None else float(seconds)
    return 0.0 if isnan(length) else length


def _length_s(row: TableRow, name: str) -> float:
    try:
        return length_s(row.text(name))
    except ValueError:
        raise row.wrong(name, "days-hours:minutes:seconds are needed") from None


def _gpus(row: TableRow) -> int:
    """Return the number of GPUs: that of all kinds, else the sum of those of each."""
    for name in _NODES[3:5]:
        counts = {kind: int(n) for kind, n in _GPUS.findall(row.text(name))}
        if counts:
            return counts.get("", 0) or sum(counts.values())
    return 0


def _count(row: TableRow, name: str) -> int:
    """Return an integer, 0 for none; 4K is 4096, as some versions print."""
    thousands = re.fullmatch(r"([0-9]{1,12})[kK]", row.text(name))
    return 1024 * int(thousands[1]) if thousands else row.integer(name)


def _nodes(row: TableRow, hosts: str) -> int:
    for name in _NODES[:3]:
        if nodes := _count(row, name):
            return nodes
    for name in _NODES[3:5]:
        if match := _TRES_NODES.search(row.text(name)):
            return int(match[1])
    return len(dict.fromkeys(expand(hosts)))


def _resized(parsed: ParsedLog) -> list[LoggedJob]:
    """Return the jobs, records of one that changed its size as one.

    It runs from its first start to its last end on as many nodes, rounded up, as give its
    node-hours; its node list is not kept. A last record that is RESIZING still runs.
    """
    records: dict[str, list[LoggedJob]] = {}
    for job in parsed.jobs:
        records.setdefault(job.id, []).append(job)
    jobs, n_resized = [], 0
    for runs in records.values():
        k = 0
        while k < len(runs):
            first = k
            while k < len(runs) and runs[k].status == _RESIZING:
                k += 1
            if k == len(runs):
                parsed.dropped["running when the log was made"] += 1
            elif k == first:
                jobs.append(runs[k])
            else:
                jobs.append(_whole(runs[first : k + 1]))
                n_resized += 1
            k += 1
    if n_resized:
        parsed.notes.append(
            f"{n_resized:,} jobs changed their number of nodes while they ran; each has the nodes "
            "of its node-hours, rounded up"
        )
    return jobs


def _whole(records: Sequence[LoggedJob]) -> LoggedJob:
    first, last = records[0], records[-1]
    node_s = sum(job.nodes * (job.end_s - job.start_s) for job in records)
    run_s = last.end_s - first.start_s
    nodes = ceil(node_s / run_s) if run_s > 0 else last.nodes
    return replace(last, submit_s=first.submit_s, start_s=first.start_s, nodes=nodes, hosts="")


def _one_of(id: str, components: Sequence[LoggedJob]) -> LoggedJob:
    """Return the job whose components start together, each on nodes of its own."""
    hosts = ",".join(job.hosts for job in components)
    return replace(
        components[0],
        id=id,
        submit_s=min(job.submit_s for job in components),
        start_s=min(job.start_s for job in components),
        end_s=max(job.end_s for job in components),
        nodes=sum(job.nodes for job in components),
        cpus=sum(job.cpus for job in components),
        hosts=hosts if all(job.hosts for job in components) else "",
    )


IMPORTER = Importer(
    "sacct",
    "Slurm's accounting, as sacct -P (any columns in any order) or sacct --json prints it",
    read_sacct,
    looks_like,
)
