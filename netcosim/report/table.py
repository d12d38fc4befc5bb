"""A data frame as an HTML table: numbers to the right, the unit in the head."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from netcosim.report.templates import part
from netsim.units import title_and_unit

if TYPE_CHECKING:
    import pandas as pd

_MINUS, _DASH = "\N{MINUS SIGN}", "\N{EN DASH}"


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


class _Cell(NamedTuple):
    """A cell: its text, its class, and the value to sort by where the text is rounded."""

    text: str
    kind: str = ""
    value: float | None = None


def table_html(frame: pd.DataFrame, digits: int = 4) -> Markup:
    """The table; its index is left out.

    Parameters
    ----------
    frame : pandas.DataFrame
    digits : int
        Significant digits of numbers that are not whole.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numeric = [is_numeric_dtype(frame[c]) and not is_bool_dtype(frame[c]) for c in frame.columns]
    heads = [(*title_and_unit(str(c)), n) for c, n in zip(frame.columns, numeric, strict=True)]
    rows = [
        [_cell(value, number, digits) for value, number in zip(values, numeric, strict=True)]
        for values in frame.itertuples(index=False, name=None)
    ]
    return part("table", heads, rows)


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
