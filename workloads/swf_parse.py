"""The Standard Workload Format: header and table of numbers, no meaning yet."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError

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

WHOLE_FIELDS = (1, 5, 8, 11, 12, 13)
"""Fields that are read as whole numbers."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class SwfHeader:
    """What the comments at the head of a log say; None where they do not.

    Attributes
    ----------
    computer : str or None
    max_nodes, max_procs, unix_start_time : int or None
    lines : tuple of str
        All comment lines before the first job, without the semicolon.
    """

    computer: str | None
    max_nodes: int | None
    max_procs: int | None
    unix_start_time: int | None
    lines: tuple[str, ...]


def parse_header(text: str) -> SwfHeader:
    """The header of a log's text. A number that is none counts as not given."""
    lines = []
    for line in io.StringIO(text):
        stripped = line.strip()
        if stripped and not stripped.startswith(";"):
            break
        if stripped:
            lines.append(stripped[1:].strip())
    found: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip().lower(), value.strip())

    def number(key: str) -> int | None:
        match = re.match(r"\d+", found.get(key, ""))
        return int(match.group()) if match else None

    return SwfHeader(
        computer=found.get("computer"),
        max_nodes=number("maxnodes"),
        max_procs=number("maxprocs"),
        unix_start_time=number("unixstarttime"),
        lines=tuple(lines),
    )


def parse_rows_slowly(text: str, path: str | Path) -> NDArray[np.float64]:
    """(n, 18) float64, line by line: the definition, and the one that finds the mistake.

    Raises
    ------
    NetcosimError
        ``file:line`` and what is wrong there: the number of fields, text where a number
        is needed, a fraction where a whole number is needed.
    """
    rows = []
    for line_number, line in enumerate(text.split("\n"), start=1):
        words = line.partition(";")[0].split()
        if not words:
            continue
        if len(words) != len(FIELDS):
            raise NetcosimError(
                f"{path}:{line_number}: {len(words)} fields; a job line has {len(FIELDS)}"
            )
        for field, (word, name) in enumerate(zip(words, FIELDS, strict=True), start=1):
            if not _NUMBER.fullmatch(word):
                raise NetcosimError(
                    f"{path}:{line_number}: field {field} ({name}) is {word!r}; a number is needed"
                )
            value = float(word)
            if not np.isfinite(value) or (field in WHOLE_FIELDS and value != int(value)):
                raise NetcosimError(
                    f"{path}:{line_number}: field {field} ({name}) is {word!r}; "
                    "a whole number is needed"
                )
        rows.append([float(word) for word in words])
    return np.array(rows, dtype=np.float64).reshape(-1, len(FIELDS))


def parse_rows(text: str, path: str | Path) -> NDArray[np.float64]:
    """(n, 18) float64: the same as `parse_rows_slowly`, fast.

    Raises
    ------
    NetcosimError
        As `parse_rows_slowly`.
    """
    lines = [line for line in text.split("\n") if line and not line.startswith(";")]
    if not lines:
        return parse_rows_slowly(text, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "input contained no data": the slow way says it
            rows = np.loadtxt(lines, dtype=np.float64, comments=";", ndmin=2)
    except ValueError:
        return parse_rows_slowly(text, path)
    if rows.shape[1] != len(FIELDS) or not np.isfinite(rows).all():
        return parse_rows_slowly(text, path)
    whole = rows[:, [f - 1 for f in WHOLE_FIELDS]]
    if np.any(whole != np.trunc(whole)):
        return parse_rows_slowly(text, path)
    return rows
