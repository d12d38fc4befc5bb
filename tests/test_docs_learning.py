"""The page on learning has the stored speeds."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "learning.md"


def test_the_speeds_are_those_that_are_stored() -> None:
    """The ranges of the page are those of the table."""
    text = PAGE.read_text(encoding="utf-8")
    stored = PAGE.parents[1] / "experiments" / "learning" / "tables" / "speed.csv"
    with stored.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["actions"] in ("first", "chance")]
    assert {row["machine"] for row in rows} == {"dragonfly-272", "dragonfly-1056", "fattree-1024"}
    for contention, digits in (("as-logged", -3), ("coupled-flow", -2)):
        speeds = [int(row["steps_per_s"]) for row in rows if row["contention"] == contention]
        assert f"{round(min(speeds), digits):,} to {round(max(speeds), digits):,}" in text
    resets = [float(row["reset_ms"]) for row in rows]
    assert f"{min(resets)} to {max(resets)} ms" in text
