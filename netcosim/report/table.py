"""A data frame as an HTML table: numbers to the right, the unit in the head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from netcosim.report.templates import part
from netsim.units import time_scale, title_and_unit

if TYPE_CHECKING:
    import pandas as pd

_MINUS, _DASH = "\N{MINUS SIGN}", "\N{EN DASH}"

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


def table_html(frame: pd.DataFrame, digits: int = 3) -> Markup:
    """Return the table as HTML; its index is left out.

    Times have the unit in which they read well, an interval is in the column of its value, and of
    more than `MOST_COLUMNS` the others are in a second table that is folded.

    Parameters
    ----------
    digits : int
        Significant digits of numbers that are not whole.
    """
    columns = list(_columns(frame.drop(columns=LINK, errors="ignore"), digits))
    if LINK in frame.columns:
        cells = zip(columns[0].cells, frame[LINK], strict=True)
        columns[0].cells[:] = [cell._replace(link=str(link)) for cell, link in cells]
    shown = _shown(columns)
    if len(columns) == len(shown):
        return _table(columns)
    return _table(shown) + part("folded", [f"All {len(columns)} columns"], [_table(columns)])


def shown_texts(frame: pd.DataFrame, digits: int = 3) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of the columns that are not folded, as texts."""
    columns = _shown(list(_columns(frame, digits)))
    heads = [f"{c.title} ({c.unit})" if c.unit else c.title for c in columns]
    return heads, [
        [cell.text for cell in row] for row in zip(*(c.cells for c in columns), strict=True)
    ]


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


def _columns(frame: pd.DataFrame, digits: int) -> Iterator[_Column]:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    ends = {str(name): _ends_of(str(name), frame) for name in frame.columns}
    inside = {end for pair in ends.values() for end in pair}
    for name in map(str, frame.columns):
        if name in inside:
            continue
        values, (title, unit) = frame[name], title_and_unit(name)
        number = is_numeric_dtype(values) and not is_bool_dtype(values)
        factor = 1.0
        if number and unit == "s":
            factor, unit = readable_time(values)
        cells = [_cell(factor * v if number else v, number, digits) for v in values.tolist()]
        if ends[name]:
            pairs = zip(*(frame[end].tolist() for end in ends[name]), strict=True)
            cells = [
                cell._replace(
                    text=cell.text + _interval(low, high, factor, digits),
                    value=None if v is None or math.isnan(v) else factor * v,
                )
                for cell, (low, high), v in zip(cells, pairs, values.tolist(), strict=True)
            ]
        yield _Column(title, unit, number, cells)


def _ends_of(name: str, frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns with the ends of a column's interval, if it has them."""
    stem, _, unit = name.rpartition("_")
    pairs = ((f"{name}_low", f"{name}_high"), (f"{stem}_low_{unit}", f"{stem}_high_{unit}"))
    for pair in pairs:
        if set(pair) <= set(map(str, frame.columns)):
            return pair
    return ()


def _interval(low: float | None, high: float | None, factor: float, digits: int) -> str:
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    ends = (format_number(factor * end, min(digits, 3)) for end in (low, high))
    return f" ({' to '.join(ends)})"


def readable_time(values: pd.Series[float]) -> tuple[float, str]:
    """Return factor and unit of a column of seconds, by the largest of them."""
    longest_s = float(values.abs().max())
    if not 0 < longest_s < math.inf:
        return 1.0, "s"
    if longest_s < SHORT_S:
        return time_scale(longest_s)
    return next(((1 / s, unit) for s, unit, least in _LONG if longest_s >= least), (1.0, "s"))


def _cell(value: Any, number: bool, digits: int) -> _Cell:
    if number:
        exact = float(value)
        rounded = math.isfinite(exact) and not exact.is_integer()
        return _Cell(format_number(exact, digits), "number", exact if rounded else None)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _Cell(_DASH)
    if isinstance(value, (int, float)):
        return _Cell(format_number(value, digits))
    text = str(value)
    is_text = isinstance(value, str) and len(value) > 24 and " " in value
    return _Cell(text, "words" if is_text else "")
