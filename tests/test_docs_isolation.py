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
    "isolation": "",
    "isolation-dragonfly": "spread",
    "isolation-loop": ("loop-", "cab"),
    "isolation-placement": "placement-",
    "isolation-shares": "shares",
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
    found = tables(PAGES[name])
    told = TOLD.findall(page(name))
    assert told
    stored = {digits: known(found, digits) for digits in range(4)}
    wrong = [t for t in told if t not in stored[len(t[0].partition(".")[2])]]
    assert wrong == []


def rows_of(text: str, *first: str) -> list[list[str]]:
    """Cells of the lines of tables whose first cells are these."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in cells if tuple(c.strip("`") for c in row[: len(first)]) == first]


def surface(name: str) -> pd.DataFrame:
    return pd.read_csv(DOCS / "isolation" / f"surface-{name}.csv")


def one(row: pd.Series, value: str, digits: int, low: str = "low", high: str = "high") -> str:
    return f"{row[value]:.{digits}f} ({row[low]:.{digits}f} .. {row[high]:.{digits}f})"


def cell_table(name: str) -> pd.DataFrame:
    return pd.read_csv(DOCS / "isolation" / f"cells-{name}.csv")


def gains_by_cell() -> pd.DataFrame:
    return cell_table("gain").set_index(["log", "placement", "drive"])


def test_every_cell_is_on_the_page() -> None:
    """A row a log and placement, a column a drive."""
    gain = gains_by_cell()
    assert (gain["stretches"] == 8).all()
    for log, placement in dict.fromkeys(key[:2] for key in gain.index):
        [told] = [r for r in rows_of(page("isolation"), log, placement) if len(r) == 4]
        cells = [
            one(gain.loc[(log, placement, drive)], "taken_off", 1)
            for drive in (1, 2)
            if (log, placement, drive) in gain.index
        ]
        assert told[2 : 2 + len(cells)] == cells


def test_no_break_even_as_logged_and_that_of_all_at_once() -> None:
    """On both logs Jigsaw costs no makespan with the arrivals of the log."""
    queue = cell_table("queue").set_index(["log", "metric"])
    at_once = surface("break-even").set_index(["log", "metric"])
    text = " ".join(page("isolation").split())
    for log in ("thunder", "atlas"):
        assert queue.loc[(log, "makespan"), "break_even"] == 0
        assert f"{one(at_once.loc[(log, 'makespan')], 'break_even', 1)} %" in text
        [told] = [r for r in rows_of(page("isolation"), log) if len(r) == 5]
        ratios = [f"{queue.loc[(log, m), 'ratio']:.4f}" for m in ("makespan", "turnaround")]
        needed = [f"{queue.loc[(log, m), 'break_even']:.1f}" for m in ("makespan", "turnaround")]
        assert told[1:] == [ratios[0], needed[0], ratios[1], needed[1]]


def test_the_cells_of_the_first_lines_are_stored() -> None:
    """The page calls neither gain significantly different from the need."""
    text = " ".join((ROOT / "docs" / "isolation.md").read_text(encoding="utf-8").split())
    gain = gains_by_cell()
    need = surface("break-even").set_index(["log", "metric"]).loc[("thunder", "makespan")]
    lowest, random = (gain.loc[("thunder", name, 1)] for name in ("baseline", "random"))
    for row, value in ((lowest, "taken_off"), (random, "taken_off"), (need, "break_even")):
        assert f"{row[value]:.1f} ({row['low']:.1f} .. {row['high']:.1f})" in text
    for row in (lowest, random):
        assert row["low"] < need["high"]
        assert need["low"] < row["high"]
    assert lowest["taken_off"] < need["break_even"] < random["taken_off"]


def test_break_evens_and_scenarios() -> None:
    for _, row in surface("break-even").iterrows():
        [told] = [r for r in rows_of(page("isolation"), row["log"], row["metric"]) if len(r) == 9]
        assert told[2] == one(row, "break_even", 1)
        assert told[3:] == [f"{row[k]:.1f}" for k in ("5%", "10%", "20%", "V1", "V2", "Random")]
