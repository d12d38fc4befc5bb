"""Jobs as a comma-separated table with a header line: netcosim's own format of a job log."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.files import read_lines, write_text
from netsim.hostlist import compress, expand
from netsim.text_numbers import csv_cells, need_whole, number_of
from workloads.dependencies import dependency_text, parse_dependency, refuse_cycles
from workloads.details import Dependencies, JobDetails, Labels, NodeLists
from workloads.job import MAX_TIME_S, Workload, limit_notes, limits_of
from workloads.swf_parse import MAX_INTEGER, short

NEEDED = ("job", "nodes", "arrival_s", "run_s")
KNOWN_OF_JOBS = ("requested_s", "user", "project", "wait_s")
WORDS = ("partition", "account", "qos", "pattern", "status")
NUMBERS = ("priority", "think_s", "communication_fraction", "bytes_per_node_s")
LISTS = ("node_list", "dependency")
OPTIONAL = (*KNOWN_OF_JOBS, *WORDS[:3], *LISTS, *NUMBERS, *WORDS[3:])
"""Columns that may follow; an empty cell of one behind wait_s means that the value is not known."""

_MOST = 2**31 - 1
_INTEGER = {"job": MAX_INTEGER[1], "nodes": _MOST, "user": _MOST, "project": _MOST}
_LEFT_OUT = re.compile(r"#\s*LeftOut:\s*([0-9]{1,12})\s+(.*)", re.IGNORECASE)
_NOTE = re.compile(r"#\s*Note:\s*(.*)", re.IGNORECASE)
_EPOCH = re.compile(r"#\s*UnixStartTime:\s*(-?[0-9]{1,12}(?:\.[0-9]+)?)\s*", re.IGNORECASE)


def read_csv(path: str | Path) -> Workload:
    """Read a table with the columns job, nodes, arrival_s, run_s, plain or gzipped.

    Further columns must be in `OPTIONAL`; others are refused, since a misspelt one would go
    unnoticed. A job whose requested time is missing or inf has no limit. Node lists are host lists
    (`netsim.hostlist`), dependencies are written "afterok:12:13,after:9". Lines above the header
    that begin with # are comments; of them ``# UnixStartTime: N`` gives the Unix time of time 0,
    ``# LeftOut: N reason`` and ``# Note: text`` what an importer has counted.
    """
    table = _read_table(path)
    number = {c: table.numbers(c) for c in (*NEEDED, *KNOWN_OF_JOBS, *NUMBERS) if c in table.at}
    n = len(table.lines)
    if n == 0:
        raise NetcosimError(f"{path}: the table has no jobs")
    order = np.argsort(number["arrival_s"], kind="stable")
    details = _details(table, number).take(order)
    number = {c: v[order] for c, v in number.items()}
    walltime_s = limits_of(number.get("requested_s", np.full(n, -1.0)))
    wait = number.get("wait_s", np.full(n, -1.0))
    workload = Workload(
        name=Path(path).name,
        job_id=number["job"].astype(np.int64),
        submit_s=number["arrival_s"],
        run_time_s=number["run_s"],
        n_nodes=number["nodes"].astype(np.int32),
        requested_s=walltime_s,
        user=number.get("user", np.full(n, -1.0)).astype(np.int32),
        project=number.get("project", np.full(n, -1.0)).astype(np.int32),
        wait_s=np.where(wait < 0, np.nan, wait),
        notes=tuple(dict.fromkeys((*table.notes, *limit_notes(walltime_s)))),
        dropped=table.dropped,
        start_unix_s=table.start_unix_s,
        details=details,
    )
    if details.dependency is not None:
        table.refuse_twice(number["job"])
        refuse_cycles(workload, path)
    return workload


def write_csv(workload: Workload, path: str | Path) -> None:
    """Write a workload as `read_csv` reads it: the same jobs, times, details, counts and notes."""
    details = workload.details
    n = len(workload)
    wait_s = np.where(np.isnan(workload.wait_s), -1.0, workload.wait_s)
    columns: dict[str, Iterable[str]] = {
        "job": map(str, workload.job_id.tolist()),
        "nodes": map(str, workload.n_nodes.tolist()),
        "arrival_s": map(_shown, workload.submit_s.tolist()),
        "run_s": map(_shown, workload.run_time_s.tolist()),
        "requested_s": map(_shown, workload.requested_s.tolist()),
        "user": map(str, workload.user.tolist()),
        "project": map(str, workload.project.tolist()),
        "wait_s": map(_shown, wait_s.tolist()),
    }
    for column in OPTIONAL:
        values = getattr(details, column, None)
        if isinstance(values, Labels):
            columns[column] = [values[k] or "" for k in range(n)]
        elif isinstance(values, NodeLists):
            names = values.names
            columns[column] = [compress([names[i] for i in values[k]]) for k in range(n)]
        elif isinstance(values, Dependencies):
            columns[column] = [dependency_text(values[k]) for k in range(n)]
        elif values is not None:
            columns[column] = ["" if np.isnan(v) else _shown(v) for v in values.tolist()]
    text = io.StringIO()
    if workload.start_unix_s is not None:
        text.write(f"# UnixStartTime: {_shown(workload.start_unix_s)}\n")
    for reason, count in workload.dropped.items():
        text.write(f"# LeftOut: {count} {reason}\n")
    for note in workload.notes:
        text.write(f"# Note: {' '.join(note.split())}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(path, text.getvalue())


def _shown(value: float) -> str:
    """Format a number in full, an integer without its fraction."""
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(value)


@dataclass(frozen=True)
class _CsvTable:
    """The cells of a table, line by line."""

    path: str | Path
    at: dict[str, int]
    """Columns by name."""
    lines: list[int]
    """Numbers of the lines that have jobs."""
    columns: Sequence[Sequence[str]]
    start_unix_s: float | None
    dropped: dict[str, int]
    notes: tuple[str, ...]

    def cells(self, column: str) -> Sequence[str]:
        """Return a column as text."""
        return self.columns[self.at[column]] if self.columns else ()

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column as numbers within its bounds; nan for an empty cell where one may be."""
        cells = self.cells(column)
        if column == "requested_s":
            cells = ["-1" if cell.strip().lower() in ("", "inf") else cell for cell in cells]
        # what is no number becomes nan
        values = np.array([number_of(cell) for cell in cells], dtype=np.float64)
        wrong = np.isnan(values)
        if column in NUMBERS:
            wrong &= np.array([bool(cell.strip()) for cell in cells], dtype=np.bool_)
        for bad, needed in [(wrong, "a number is needed"), *_bounds(column, values)]:
            if bad.any():
                raise self.wrong(int(np.argmax(bad)), column, needed)
        return values

    def parsed(self, column: str, parse: Callable[[str], Any]) -> list[Any]:
        """Return the values of a column; equal texts are parsed once."""
        known: dict[str, Any] = {}
        values = []
        for k, cell in enumerate(self.cells(column)):
            if cell not in known:
                try:
                    known[cell] = parse(cell)
                except NetcosimError as error:
                    where = f"{self.path}:{self.lines[k]}: field {self.at[column] + 1} ({column})"
                    raise NetcosimError(f"{where}: {error}") from None
            values.append(known[cell])
        return values

    def refuse_twice(self, job: NDArray[np.float64]) -> None:
        """Check that no job that others wait for is listed twice."""
        numbers, counts = np.unique(job, return_counts=True)
        if (counts > 1).any():
            number = int(numbers[np.argmax(counts > 1)])
            where = [k for k, cell in enumerate(self.cells("job")) if number_of(cell) == number]
            raise NetcosimError(
                f"{self.path}:{self.lines[where[1]]}: job {number} is listed twice (line "
                f"{self.lines[where[0]]} has it), and jobs here wait for others by number"
            )

    def wrong(self, row: int, column: str, needed: str) -> NetcosimError:
        """Return the error of a cell."""
        cell = self.cells(column)[row]
        return NetcosimError(
            f"{self.path}:{self.lines[row]}: field {self.at[column] + 1} ({column}) is "
            f"{short(cell)!r}; {needed}"
        )


def _bounds(column: str, values: NDArray[np.float64]) -> list[tuple[NDArray[np.bool_], str]]:
    """Return the forbidden values of a column, and the allowed ones."""
    checks = []
    if column in _INTEGER:
        most = _INTEGER[column]
        bad = (np.abs(values) > most) | (values != np.trunc(values))
        checks.append((bad, f"a whole number up to {most} is needed"))
    if column.endswith("_s") and column != "bytes_per_node_s":
        checks.append((np.abs(values) > MAX_TIME_S, f"times go up to {MAX_TIME_S:g} s"))
    if column in ("nodes", "run_s"):
        checks.append(((values < 1 if column == "nodes" else values <= 0), "it must be above 0"))
    if column in ("arrival_s", "think_s", "bytes_per_node_s"):
        checks.append((values < 0, "it must be at least 0"))
    if column == "communication_fraction":
        checks.append(((values < 0) | (values > 1), "it must be from 0 to 1"))
    if column in NUMBERS:
        checks.append((np.isinf(values), "a finite number is needed"))
    return checks


def _read_table(path: str | Path) -> _CsvTable:
    """Return all cells of a file; its header is one that this format has."""
    lines, comments, start_unix_s = read_lines(path), 0, None
    dropped: dict[str, int] = {}
    notes: list[str] = []
    head = next(lines, "")
    while head.startswith("#"):
        comment = head.rstrip("\r")
        if match := _EPOCH.fullmatch(comment):
            start_unix_s = float(match[1])
        elif match := _LEFT_OUT.fullmatch(comment):
            dropped[match[2]] = dropped.get(match[2], 0) + int(match[1])
        elif match := _NOTE.fullmatch(comment):
            notes.append(match[1])
        comments += 1
        head = next(lines, "")
    rows = csv_cells(path, chain([head], lines), comments)
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    missing = [c for c in NEEDED if c not in header]
    strange = [c for c in header if c not in NEEDED + OPTIONAL]
    if missing or strange or len(set(header)) != len(header):
        raise NetcosimError(
            f"{path}:{comments + 1}: the columns are {short(', '.join(header)) or 'none'}; "
            f"{', '.join(NEEDED)} are needed, {', '.join(OPTIONAL)} may follow"
        )
    numbers, found_rows = [], []
    for line, cells in rows:
        if not cells:
            continue
        if len(cells) != len(header):
            raise NetcosimError(f"{path}:{line}: {len(cells)} fields; the header has {len(header)}")
        numbers.append(line)
        found_rows.append(cells)
    columns = list(zip(*found_rows, strict=True))
    at = {c: k for k, c in enumerate(header)}
    return _CsvTable(path, at, numbers, columns, start_unix_s, dropped, tuple(notes))


def _details(table: _CsvTable, number: dict[str, NDArray[np.float64]]) -> JobDetails:
    """Return the optional columns, in the order of the file."""
    columns: dict[str, Any] = {c: number[c] for c in NUMBERS if c in number}
    for column in WORDS:
        if column in table.at:
            columns[column] = Labels.of(cell.strip() for cell in table.cells(column))
    if "node_list" in table.at:
        columns["node_list"] = NodeLists.of(table.parsed("node_list", expand))
    if "dependency" in table.at:
        columns["dependency"] = Dependencies.of(table.parsed("dependency", _dependency))
    return JobDetails(**columns)


def _dependency(text: str) -> list[tuple[str, int]]:
    pairs = parse_dependency(text)
    return [(kind, need_whole("dependency", "job", job, 0, MAX_INTEGER[1])) for kind, job in pairs]
