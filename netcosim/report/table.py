"""A table as HTML: numbers to the right, the unit in the head."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from netcosim.report.effect import joined_ends
from netcosim.report.templates import part
from netcosim.runs.store import Rows
from netsim.units import time_scale, title_and_unit

if TYPE_CHECKING:
    import pandas as pd

    Table = pd.DataFrame | Rows

_MINUS, _DASH, _FIXED = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NO-BREAK SPACE}"
PLAIN = str.maketrans({_MINUS: "-", _DASH: "-", "∞": "inf", _FIXED: " "})
"""Letters of any terminal."""

DIGITS = 3
"""Significant digits of numbers of a table that are not whole."""
SHORT_S = 0.1
"""Times below this are in ms, us or ns."""
_LONG = ((86400.0, "d", 2 * 86400.0), (3600.0, "h", 7200.0), (60.0, "min", 120.0))


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with at most ``digits`` significant ones, thousands apart."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not math.isfinite(value):
        return _DASH if math.isnan(value) else ("∞" if value > 0 else f"{_MINUS}∞")
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", _MINUS)
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        text = f"{value:.{digits - 1}e}"
    else:
        places = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{value:,.{places}f}"
    return text.replace("-", _MINUS)


class _Cell(NamedTuple):
    """A cell: its text, its class, the value to sort by where the text is not it, its link."""

    text: str
    kind: str = ""
    value: float | None = None
    link: str = ""


class _Column(NamedTuple):
    """A column: title, unit, whether it has numbers, and its cells."""

    title: str
    unit: str
    number: bool
    cells: list[_Cell]


MOST_COLUMNS = 8
LINK = "link"
"""A column with where the first column's cells lead to, or empty texts; not shown itself."""


def columns_of(table: Table) -> dict[str, list[Any]]:
    """Return the values of each column of a data frame or of rows, without pandas for rows."""
    if not isinstance(table, Sequence):
        return {str(name): table[name].tolist() for name in table.columns}
    names = dict.fromkeys(name for row in table for name in row)
    return {name: [row.get(name) for row in table] for name in names}


def table_html(table: Table) -> Markup:
    """Return the table as HTML; a data frame's index is left out.

    Times have the unit in which they read well, an interval is in the column of its value, and of
    more than `MOST_COLUMNS` the others are in a second table that is folded.
    """
    values = columns_of(table)
    links = values.pop(LINK, None)
    columns = list(_columns(values))
    if links is not None:
        cells = zip(columns[0].cells, links, strict=True)
        columns[0].cells[:] = [cell._replace(link=str(link)) for cell, link in cells]
    shown = _shown(columns)
    if len(columns) == len(shown):
        return _table(columns)
    return _table(shown) + part("folded", f"All {len(columns)} columns", _table(columns))


def shown_texts(table: Table) -> list[list[str]]:
    """Return heads, then the cells of each row, of the columns that are not folded, as texts."""
    columns = _shown(list(_columns(columns_of(table))))
    heads = [f"{c.title} ({c.unit})" if c.unit else c.title for c in columns]
    rows = zip(*(column.cells for column in columns), strict=True)
    return [heads, *([cell.text for cell in row] for row in rows)]


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return rows as lines, the first columns to the left, without columns that have no text."""
    columns = [
        [cell.ljust(width) if number < left else cell.rjust(width) for cell in column]
        for number, column in enumerate(zip(*rows, strict=True))
        if (width := max(map(len, column)))
    ]
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _shown(columns: Sequence[_Column]) -> list[_Column]:
    """Return at most `MOST_COLUMNS`; what is the same in all rows is the first to go."""
    if len(columns) <= MOST_COLUMNS:
        return list(columns)
    several = len(columns[0].cells) > 1
    varying = sorted(columns[1:], key=lambda c: several and len({*c.cells}) == 1)
    kept = {id(column) for column in varying[: MOST_COLUMNS - 1]}
    return [columns[0], *(column for column in columns[1:] if id(column) in kept)]


def _table(columns: Sequence[_Column]) -> Markup:
    rows = zip(*(column.cells for column in columns), strict=True)
    return part("table", [column[:3] for column in columns], list(rows))


def _is_number(values: Iterable[Any]) -> bool:
    """Return whether a column has numbers, and nothing else but gaps."""
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(v, Real) and not isinstance(v, bool) for v in given)


def _columns(table: Mapping[str, list[Any]]) -> Iterator[_Column]:
    ends = {name: _ends_of(name, table) for name in table}
    inside = {end for pair in ends.values() for end in pair}
    for name, values in table.items():
        if name in inside:
            continue
        title, unit = title_and_unit(name)
        number = _is_number(values)
        if number:
            values = [math.nan if value is None else value for value in values]
        factor = 1.0
        if number and unit == "s":
            factor, unit = _readable_time(values)
        cells = [_cell(factor * v if number else v, number) for v in values]
        if ends[name]:
            pairs = zip(*(table[end] for end in ends[name]), strict=True)
            cells = [
                cell._replace(
                    text=cell.text + _interval(low, high, factor),
                    value=None if v is None or math.isnan(v) else factor * v,
                )
                for cell, (low, high), v in zip(cells, pairs, values, strict=True)
            ]
        yield _Column(title, unit, number, cells)


def _ends_of(name: str, table: Mapping[str, object]) -> tuple[str, ...]:
    """Return the columns with the ends of a column's interval, if it has them."""
    stem, _, unit = name.rpartition("_")
    pairs = ((f"{name}_low", f"{name}_high"), (f"{stem}_low_{unit}", f"{stem}_high_{unit}"))
    for pair in pairs:
        if set(pair) <= set(table):
            return pair
    return ()


def _interval(low: float | None, high: float | None, factor: float) -> str:
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    ends = (format_number(factor * end, DIGITS) for end in (low, high))
    return f" ({joined_ends(*ends).replace(' ', _FIXED)})"


def _readable_time(values: Iterable[float]) -> tuple[float, str]:
    """Return factor and unit of a column of seconds, by the largest of them."""
    longest_s = max((abs(value) for value in values if not math.isnan(value)), default=0.0)
    if not 0 < longest_s < math.inf:
        return 1.0, "s"
    if longest_s < SHORT_S:
        return time_scale(longest_s)
    return next(((1 / s, unit) for s, unit, least in _LONG if longest_s >= least), (1.0, "s"))


def _cell(value: Any, number: bool) -> _Cell:
    if number:
        exact = float(value)
        rounded = math.isfinite(exact) and not exact.is_integer()
        return _Cell(format_number(exact, DIGITS), "number", exact if rounded else None)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _Cell(_DASH)
    if isinstance(value, (int, float)):
        return _Cell(format_number(value, DIGITS))
    text = str(value)
    is_text = isinstance(value, str) and len(value) > 24 and " " in value
    return _Cell(text, "words" if is_text else "")
