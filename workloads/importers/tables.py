"""Rows of tables and of scheduler logs, cell by cell, with mistakes named by file and line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite, nan
from pathlib import Path

from netsim.errors import NetcosimError
from netsim.files import read_lines
from netsim.text_numbers import csv_cells, number_of
from workloads.importers.dates import NO_LIMIT, LogClock, length_s
from workloads.swf_parse import short

_NONE = frozenset(("", "null", "none", "nan", "na", "n/a", "unknown"))
_SEPARATORS = ",;\t|"


@dataclass
class TableRow:
    """A row: cells by column, as text; a column that is not there is empty."""

    where: str
    """Begins errors: file and line; empty where the reader adds them (`ParsedLog.reading`)."""
    line: int
    at: Mapping[str, int]
    """Columns by name."""
    cells: Sequence[str]
    names: Sequence[str] = ()
    """Of the columns in the file, for errors; empty: as in ``at``."""
    fault: str = ""
    """What is wrong with the row, raised when it is read."""
    missing: Collection[str] = _NONE
    """Words for a missing value."""

    @classmethod
    def of(cls, line: int, cells: Mapping[str, str]) -> TableRow:
        """Build from cells by column."""
        at = {name: k for k, name in enumerate(cells)}
        return cls("", line, at, list(cells.values()), missing=("",))

    def text(self, column: str) -> str:
        """Return a cell; empty for a missing value or a word for one."""
        if self.fault:
            raise self._error(self.fault)
        k = self.at.get(column)
        text = "" if k is None else self.cells[k].strip()
        return "" if text.lower() in self.missing else text

    def number(self, column: str, *, least: float = 0.0, most: float = 1e300) -> float:
        """Return a number in its bounds; nan for an empty cell."""
        text = self.text(column)
        value = number_of(text) if text else nan
        if value is None or (text and not (isfinite(value) and least <= value <= most)):
            bounds = "" if most >= 1e300 else f" from {least:g} to {most:g}"
            raise self.wrong(column, f"a number{bounds} is needed")
        return value

    def integer(self, column: str) -> int:
        """Return an integer from 0 on; 0 for an empty cell."""
        value = number_of(self.text(column) or "0")
        if value is None or not 0 <= value <= 2**53 or value != int(value):
            raise self.wrong(column, "a whole number is needed")
        return int(value)

    def date(self, column: str, clock: LogClock) -> tuple[float, float]:
        """Return a date, or a number on any clock, as `LogClock.both` has it."""
        text = self.text(column)
        number = number_of(text) if text else nan
        if number is not None:
            return number, number
        try:
            return clock.both(text)
        except ValueError:
            raise self.wrong(column, "a date is needed") from None

    def length_s(self, column: str) -> float:
        """Return a length in seconds, given so or as days-hours:minutes:seconds; nan for none."""
        text = self.text(column)
        try:
            if ":" not in text and text.lower() not in NO_LIMIT:
                return self.number(column)
            return length_s(text)
        except ValueError:
            raise self.wrong(column, "seconds or hours:minutes:seconds are needed") from None

    def wrong(self, column: str, needed: str) -> NetcosimError:
        """Return the error of a cell."""
        name = self.names[self.at[column]] if self.names and column in self.at else column
        return self._error(f"{name} is {short(self.text(column))!r}; {needed}")

    def _error(self, problem: str) -> NetcosimError:
        return NetcosimError(f"{self.where}: {problem}" if self.where else problem)


@dataclass
class TableRows:
    """A table in a file."""

    path: str | Path
    columns: dict[str, int]
    """Positions by name, in lower case."""
    lines: Iterator[tuple[int, list[str]]]
    """Numbers of lines, and their cells."""

    def __iter__(self) -> Iterator[TableRow]:
        for line, cells in self.lines:
            if not cells:
                continue
            fault = ""
            if len(cells) != len(self.columns):
                fault = f"{len(cells)} fields; the header has {len(self.columns)}"
            yield TableRow(f"{self.path}:{line}", line, self.columns, cells, fault=fault)


def csv_rows(path: str | Path, usual: Sequence[str] = ()) -> TableRows:
    """Return the rows of a table in CSV; its separator is taken from the header.

    A file whose first line does not begin with the first of the usual columns has these, and no
    header.
    """
    lines, comments = read_lines(path), 0
    head = next(lines, "").rstrip("\r")
    while head.startswith("#"):
        head, comments = next(lines, "").rstrip("\r"), comments + 1
    if usual and head and not head.lower().startswith(usual[0]):
        lines, head, comments = chain([head], lines), ",".join(usual), comments - 1
    counts = {c: head.count(c) for c in _SEPARATORS}
    separator = max(counts, key=lambda c: counts[c])
    _, first = next(csv_cells(path, [head], comments, separator), (0, []))
    names = [name.strip().lower() for name in first]
    if not any(names):
        raise NetcosimError(f"{path}:{comments + 1}: no header with the names of the columns")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise NetcosimError(f"{path}:{comments + 1}: column {short(twice[0])!r} occurs twice")

    cells = csv_cells(path, lines, comments + 1, separator)
    return TableRows(path, {name: k for k, name in enumerate(names)}, cells)


def parquet_rows(path: str | Path) -> TableRows:
    """Return the rows of a table in Parquet, every value as text."""
    from netsim.files import check_file

    check_file(path)
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise NetcosimError(
            f"{path}: Parquet needs pyarrow, which is not installed; pip install "
            '"netcosim[parquet]" brings it'
        ) from None
    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise NetcosimError(f"{path}: not a table in Parquet: {reason[:120]}") from None
    names = [name.lower() for name in table.column_names]
    columns = [[_as_text(value) for value in column.to_pylist()] for column in table.columns]
    rows = ((k, list(cells)) for k, cells in enumerate(zip(*columns, strict=True), start=1))
    return TableRows(path, {name: k for k, name in enumerate(names)}, rows)


def _as_text(value: object) -> str:
    """Return a value as a cell of a CSV file has it; dates in Unix time, lists as host lists."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    as_length = getattr(value, "total_seconds", None)
    if as_length is not None:
        return repr(as_length())
    when = getattr(value, "isoformat", None)
    return str(when()) if when is not None else str(value)
