"""The Standard Workload Format: header and table of numbers, no meaning yet."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.text_numbers import number_of
from workloads.job import MAX_TIME_S

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""Names of the 18 fields of a line, field 1 first."""

INTEGER_FIELDS = (1, 5, 8, 11, 12, 13)
"""Fields that are read as whole numbers."""

TIME_FIELDS = (2, 3, 4, 9)
"""Fields that are read as times in seconds."""


MAX_INTEGER = {field: 2**53 if field == 1 else 2**31 - 1 for field in INTEGER_FIELDS}
"""Largest whole number by field: job numbers as exact as floats are, others 32 bits."""

NOT_SOUND = "a line that is not sound"
"""Reason under which lines that ``bad_lines = "drop"`` leaves out are counted."""
NO_LOG = (
    " (a job log is SWF, a table that begins with job,nodes,arrival_s,run_s, or a scheduler's: "
    "netcosim list importers)"
)
"""Message for a file whose first line is not a job."""

_HEADER_NUMBER = re.compile(r"\d{1,3}(,\d{3})+(?!\d)|\d+", re.ASCII)
_HEADER_DIGITS = 15
_BLOCK_LINES = 65_536


@dataclass(frozen=True)
class SwfHeader:
    """Values in the header comments of a log; None where missing."""

    computer: str | None
    max_nodes: int | None
    max_procs: int | None
    unix_start_time: int | None
    lines: tuple[str, ...]
    """All comment lines before the first job, without the semicolon."""


def parse_header(lines: Iterable[str]) -> tuple[SwfHeader, Iterator[str]]:
    """Return the header of a log, read from its lines up to the first job; and all the lines again.

    An invalid number or 0 counts as not given.
    """
    rest = iter(lines)
    taken, comments = [], []
    for line in rest:
        taken.append(line)
        stripped = line.strip()
        if stripped and not stripped.startswith(";"):
            break
        if stripped:
            comments.append(stripped[1:].strip())
    fields: dict[str, str] = {}
    for line in comments:
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip().lower(), value.strip())

    def number(key: str) -> int | None:
        match = _HEADER_NUMBER.match(fields.get(key, ""))
        digits = match.group().replace(",", "") if match else ""
        return int(digits) or None if 0 < len(digits) <= _HEADER_DIGITS else None

    header = SwfHeader(
        computer=fields.get("computer"),
        max_nodes=number("maxnodes"),
        max_procs=number("maxprocs"),
        unix_start_time=number("unixstarttime"),
        lines=tuple(comments),
    )
    return header, chain(taken, rest)


def short(text: str) -> str:
    """Return a text of a file as an error shows it, cut where it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def parse_rows_slowly(
    lines: Iterable[str],
    path: str | Path,
    *,
    first: int = 1,
    dropped: dict[str, int] | None = None,
) -> NDArray[np.float64]:
    """Parse line by line to (n, 18) float64: the definition, and what locates a mistake.

    ``first`` is the number of the first line. ``dropped`` counts broken lines, which are an error
    without it.
    """
    rows: list[list[float]] = []
    for line_number, line in enumerate(lines, start=first):
        words = line.partition(";")[0].split()
        if not words:
            continue
        try:
            rows.append(_row(words))
        except ValueError as error:
            if dropped is None:
                begun = rows or first > 1 or len(words) == len(FIELDS)
                end = "" if begun else NO_LOG
                raise NetcosimError(f"{path}:{line_number}: {error}{end}") from None
            dropped[NOT_SOUND] = dropped.get(NOT_SOUND, 0) + 1
    return np.array(rows, dtype=np.float64).reshape(-1, len(FIELDS))


def _row(words: list[str]) -> list[float]:
    """Return the numbers of a line."""
    if len(words) != len(FIELDS):
        raise ValueError(f"{len(words)} fields; a job line has {len(FIELDS)}")
    row = []
    for field, (word, name) in enumerate(zip(words, FIELDS, strict=True), start=1):
        value = number_of(word)
        needed = _needed(field, value)
        if value is None or needed is not None:
            raise ValueError(f"field {field} ({name}) is {short(word)!r}; {needed}")
        row.append(value)
    return row


def _needed(field: int, value: float | None) -> str | None:
    """Return the requirement of a field that a value violates; None if it is valid."""
    if value is None:
        return "a number is needed"
    if field in TIME_FIELDS and abs(value) > MAX_TIME_S:
        return f"times go up to {MAX_TIME_S:g} s"
    if field in INTEGER_FIELDS and not abs(value) <= MAX_INTEGER[field]:
        return f"a whole number up to {MAX_INTEGER[field]} is needed"
    if field in INTEGER_FIELDS and value != int(value):
        return "a whole number is needed"
    return None if np.isfinite(value) else "a finite number is needed"


def parse_rows(
    lines: Iterable[str], path: str | Path, dropped: dict[str, int] | None = None
) -> NDArray[np.float64]:
    """Parse to (n, 18) float64, equal to `parse_rows_slowly`, but fast."""
    rest = iter(lines)
    blocks, first = [], 1
    # A block at a time: a mistake makes one block slow, not the whole log.
    while block := list(islice(rest, _BLOCK_LINES)):
        rows = _rows_fast(block)
        if rows is None:
            rows = parse_rows_slowly(block, path, first=first, dropped=dropped)
        blocks.append(rows)
        first += len(block)
    return np.concatenate(blocks) if blocks else np.empty((0, len(FIELDS)))


def _rows_fast(block: list[str]) -> NDArray[np.float64] | None:
    """Return the rows of some lines; None where anything is not as it must be."""
    lines = [line for line in block if line and not line.startswith(";")]
    if not lines:
        return np.empty((0, len(FIELDS)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "input contained no data": the slow path reports it
            rows = np.loadtxt(lines, dtype=np.float64, comments=";", ndmin=2)
    except ValueError:
        return None
    if rows.shape[1] != len(FIELDS) or not np.isfinite(rows).all():
        return None
    if (np.abs(rows[:, [f - 1 for f in TIME_FIELDS]]) > MAX_TIME_S).any():
        return None
    integers = rows[:, [f - 1 for f in INTEGER_FIELDS]]
    if (integers != np.trunc(integers)).any() or (np.abs(integers) > [*MAX_INTEGER.values()]).any():
        return None
    return rows
