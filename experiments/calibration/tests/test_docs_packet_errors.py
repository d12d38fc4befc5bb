"""The errors of the packet judgement in coupled.md are those of the stored jobs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.calibration.tables.packet_errors import TABLE, page_row, page_rows

PAGE = Path(__file__).resolve().parents[1] / "coupled.md"


def test_the_page_has_the_stored_errors() -> None:
    """All networks and the aim of all jobs: median 1 %, 90th percentile 3.5 %, 99th 10 %."""
    jobs = pd.read_csv(TABLE)
    assert page_rows(jobs) in PAGE.read_text(encoding="utf-8")
    error = (jobs["judged"] / jobs["long"] - 1).abs()
    for share, most in ((0.5, 0.01), (0.9, 0.035), (0.99, 0.1)):
        assert error.quantile(share) <= most


def test_a_row_by_hand() -> None:
    """1.05 over 1 and 1 over 4 / 3: errors of 5 and 25 %, 0.05 of a third of extra time."""
    jobs = pd.DataFrame({"judged": [1.05, 1.0], "long": [1.0, 4 / 3]})
    assert page_row("a | b", jobs) == "| a | b | 2 | 15.0, 23.0, 24.8 | -10.0 | 0.15 |\n"
