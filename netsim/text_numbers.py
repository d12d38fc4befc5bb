"""Numbers in text that other programs or people wrote, and the rows of their tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from netsim.errors import NetcosimError, unknown_name

MAX_DIGITS = 18
"""More may not fit into 64 bits."""
MAX_WHOLE = 10**MAX_DIGITS - 1

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def whole_number(text: str, low: int = 0, high: int = MAX_WHOLE) -> int | None:
    """Return the whole number that a text is; None if it is none from ``low`` to ``high``.

    Only ASCII digits count: no sign, space or underscore, and at most `MAX_DIGITS` of them.

    Examples
    --------
    >>> whole_number("064"), whole_number("7", low=8), whole_number("2²"), whole_number("1_0")
    (64, None, None, None)
    """
    # Invariant: int() gets neither a superscript, which isdigit() accepts, nor thousands of digits.
    if len(text) > MAX_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if low <= number <= high else None


def need_whole(where: str, what: str, text: str, low: int = 0, high: int = MAX_WHOLE) -> int:
    """Return the whole number that a text is; ``where``, as ``file:line``, begins messages."""
    number = whole_number(text, low, high)
    if number is None:
        most = "" if high == MAX_WHOLE else f" to {high:,}"
        limits = f" from {low:,}{most}" if most or low else ""
        raise NetcosimError(f"{where}: {what} = {text[:40]!r}; a whole number{limits} is needed")
    return number


def number_of(word: str) -> float | None:
    """Return the number that a word is, as logs and tables write numbers; None if it is none."""
    word = word.strip()
    return float(word) if _NUMBER.fullmatch(word) else None


def csv_cells(
    path: str | Path,
    lines: Iterable[str],
    before: int = 0,
    separator: str = ",",
    *,
    strict: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row's last line in the file, and the cells of the row.

    ``before``: lines of the file before these. ``strict``: refuse quotes that are not closed.
    """
    reader = csv.reader(lines, delimiter=separator, strict=strict)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            where = f"{path}:{reader.line_num + before}"
            raise NetcosimError(f"{where}: not valid CSV: {error}") from None
        if cells is None:
            return
        yield reader.line_num + before, cells


def csv_records(
    path: str | Path, text: str, needed: Sequence[str], allowed: Sequence[str] | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield ``file:line`` and the cells by column of each row of a table.

    The first row is the head; it has all ``needed`` columns, no name twice, and no others than the
    ``allowed`` ones if these are given. Spreadsheets add columns without a name: there may be any
    number. Rows without text and rows that begin with # are left out.
    """
    head: list[str] = []
    for line, row in csv_cells(path, io.StringIO(text, newline=""), strict=True):
        where, cells = f"{path}:{line}", [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if not head:
            head = cells
            _check_head(where, head, needed, allowed)
        elif len(cells) != len(head):
            raise NetcosimError(f"{where}: {len(cells)} cells; the head has {len(head)}")
        else:
            yield where, dict(zip(head, cells, strict=True))
    if not head:
        raise NetcosimError(f"{path}: empty; it needs a head, {','.join(needed)}")


def _check_head(
    where: str, head: Sequence[str], needed: Sequence[str], allowed: Sequence[str] | None
) -> None:
    for name in head:
        if allowed is not None and name not in allowed:
            raise NetcosimError(f"{where}: {unknown_name('column', name, allowed)}")
    for name in (*needed, *filter(None, head)):
        found = head.count(name)
        if found == 0:
            raise NetcosimError(f"{where}: no column {name!r}; the head is {','.join(head)[:80]!r}")
        if found > 1:
            raise NetcosimError(
                f"{where}: column {name!r} occurs {found} times in the header; once is allowed"
            )
