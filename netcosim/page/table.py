"""A data frame as an HTML table: numbers to the right, the unit in the head."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from netcosim.page.glossary import marked

if TYPE_CHECKING:
    import pandas as pd

_MINUS, _DASH = "\N{MINUS SIGN}", "\N{EN DASH}"

_UNITS = {
    "_s": "s",
    "_ms": "ms",
    "_us": "us",
    "_ns": "ns",
    "_min": "min",
    "_h": "h",
    "_d": "d",
    "_bytes": "bytes",
    "_Bps": "B/s",
    "_GBps": "GB/s",
    "_percent": "%",
}


def head_of(column: str) -> tuple[str, str]:
    """Title and unit of a column: ``mean_wait_s`` is "mean wait" in "s"."""
    column = column.removeprefix("n_")
    for suffix, unit in _UNITS.items():
        if column.endswith(suffix) and len(column) > len(suffix):
            return column[: -len(suffix)].replace("_", " "), unit
    return column.replace("_", " "), ""


def format_number(value: float, digits: int = 4) -> str:
    """A number as a reader wants it: at most ``digits`` significant ones, thousands apart."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not math.isfinite(value):
        return _DASH if math.isnan(value) else ("∞" if value > 0 else f"{_MINUS}∞")
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", _MINUS)
    size = abs(value)
    if size >= 10 ** (digits + 2) or size < 1e-4:
        text = f"{value:.{digits - 1}e}"
    else:
        places = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{value:,.{places}f}"
    return text.replace("-", _MINUS)


def table_html(frame: pd.DataFrame, digits: int = 4) -> str:
    """The table; its index is left out.

    Parameters
    ----------
    frame : pandas.DataFrame
    digits : int
        Significant digits of numbers that are not whole.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numeric = [is_numeric_dtype(frame[c]) and not is_bool_dtype(frame[c]) for c in frame.columns]
    head = []
    for column, number in zip(frame.columns, numeric, strict=True):
        title, unit = head_of(str(column))
        shown = f'<span class="unit">{html.escape(unit)}</span>' if unit else ""
        head.append(f'<th scope="col"{_class(number)}><span>{marked(title)}</span>{shown}</th>')
    rows = []
    for values in frame.itertuples(index=False, name=None):
        cells = [
            f"<td{_kind(value, number)}>{_cell(value, number, digits)}</td>"
            for value, number in zip(values, numeric, strict=True)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{"".join(head)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _class(number: bool) -> str:
    return ' class="number"' if number else ""


def _kind(value: object, number: bool) -> str:
    """A cell's class, and the value that it is sorted by where its text is rounded."""
    if not number:
        return (
            ' class="words"' if isinstance(value, str) and len(value) > 24 and " " in value else ""
        )
    whole = float(value).is_integer() or not math.isfinite(value)  # type: ignore[arg-type]
    return ' class="number"' + ("" if whole else f' data-value="{float(value)!r}"')  # type: ignore[arg-type]


def _cell(value: object, number: bool, digits: int) -> str:
    if number:
        return format_number(float(value), digits)  # type: ignore[arg-type]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _DASH
    if isinstance(value, (int, float)):
        return format_number(value, digits)
    return html.escape(str(value))
