"""The table on neighbours' parts in coupled.md is what was stored."""

from __future__ import annotations

import csv
from pathlib import Path

STUDY = Path(__file__).resolve().parents[1]


def test_the_page_shows_the_stored_table() -> None:
    page = (STUDY / "coupled.md").read_text(encoding="utf-8")
    with (STUDY / "tables" / "neighbours.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    times = []
    for row in rows:
        first, chance = float(row["first_is_first"]), float(row["by_chance"])
        times.append(first / chance)
        line = (
            f"| {row['machine']} | {row['policy']} | {row['jobs']} "
            f"| {float(row['rank_correlation']):.2f} | {100 * first:.0f} % "
            f"| {100 * chance:.0f} % | {float(row['sum_of_gains']):.2f} |"
        )
        assert line in page
        # the page of a run says "a third to two thirds"
        assert 1 / 3 <= first <= 2 / 3
    # "five to nine times better than chance"
    assert (round(min(times)), round(max(times))) == (5, 9)
