"""Intervals as cells of a table: NAME, NAME_low and NAME_high, None where an end is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queuesim.statistics import Interval, known_ends

Ends = tuple[float, float | None, float | None]
"""An estimate and the ends of its interval, None where they are not known."""
ENDS = ("", "_low", "_high")


def interval_columns(name: str, found: Interval, unit: str = "") -> dict[str, float | None]:
    """Return the cells of an interval; the unit ends each column's name."""
    values = (found.value, *known_ends(found))
    return {f"{name}{end}{unit}": value for end, value in zip(ENDS, values, strict=True)}


def interval_cells(row: Mapping[str, Any], name: str) -> Ends:
    """Return the cells of `interval_columns` from a row of a table."""
    value, low, high = (row[f"{name}{end}"] for end in ENDS)
    return value, low, high
