"""The pages on isolation say what the stored tables hold: every number with an interval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    "isolation": "surface-",
    "isolation-dragonfly": "spread",
    "isolation-loop": ("loop-", "cab"),
    "isolation-placement": "placement-",
    "isolation-shares": "shares",
    "isolation-steps": "steps-",
}
"""Pages, and how the names of their tables begin; the main page has those of all."""
NUMBER = r"-?\d+(?:\.\d+)?"
TOLD = re.compile(rf"({NUMBER}) \(({NUMBER}) \.\. ({NUMBER})\)")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def tables(begins: str | tuple[str, ...]) -> list[pd.DataFrame]:
    found = [
        pd.read_csv(p) for p in (DOCS / "isolation").glob("*.csv") if p.stem.startswith(begins)
    ]
    assert found
    return found


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


@pytest.mark.parametrize("name", PAGES)
def test_every_interval_is_stored(name: str) -> None:
    found = tables(("",) if name == "isolation" else PAGES[name])
    told = TOLD.findall(page(name))
    assert len(told) > 5
    stored = {digits: known(found, digits) for digits in range(4)}
    wrong = [t for t in told if t not in stored[len(t[0].partition(".")[2])]]
    assert wrong == []
