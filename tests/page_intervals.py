"""Intervals that a page prints, and those of stored tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

NUMBER = r"-?\d+(?:\.\d+)?"
TOLD = re.compile(rf"({NUMBER}) \(({NUMBER}) \.\. ({NUMBER})\)")


def intervals(table: pd.DataFrame) -> Iterator[tuple[float, float, float]]:
    """Values with their ends: columns ``x``, ``x_low`` and ``x_high``, or any with these alone."""
    for column in table.columns:
        if not column.endswith("low"):
            continue
        high, base = column[:-3] + "high", column[:-3].rstrip("_")
        values = [base] if base in table else [c for c in table if not c.endswith(("low", "high"))]
        for value in values:
            if table[value].dtype.kind in "fi":
                yield from table[[value, column, high]].dropna().itertuples(index=False, name=None)


def known(found: list[pd.DataFrame], digits: int) -> set[tuple[str, ...]]:
    return {
        tuple(f"{v * scale:.{digits}f}" for v in row)
        for table in found
        for row in intervals(table)
        for scale in (1, 100)
    }
