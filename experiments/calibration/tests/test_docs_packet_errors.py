"""The errors of the packet judgement in coupled.md are those of the stored jobs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.calibration.packet_errors import AIMS, analyse, errors
from experiments.kit.papers import Options

STUDY = Path(__file__).resolve().parents[1]


def test_the_page_has_the_stored_errors() -> None:
    """All networks, and the aims of all jobs."""
    jobs = pd.read_csv(STUDY / "tables" / "packet-errors.csv")
    found = analyse({"jobs": jobs}, Options())
    page = (STUDY / "coupled.md").read_text(encoding="utf-8")
    for row in found.tables["errors"].to_dict("records"):
        quantiles = ", ".join(f"{row[f'p{100 * q:g}']:.1f}" for q in AIMS)
        extra = "none" if pd.isna(row["extra"]) else f"{row['extra']:.2f}"
        name = f"{row['machine']} | {row['routing']} | {row['jobs']}"
        assert f"| {name} | {quantiles} | {row['mean']:+.1f} | {extra} |" in page
    assert found.claims["verdict"].tolist() == ["holds"] * 3


def test_a_row_by_hand() -> None:
    """1.05 over 1 and 1 over 4 / 3: errors of 5 and 25 %, 0.05 of a third of extra time."""
    jobs = pd.DataFrame({"judged": [1.05, 1.0], "long": [1.0, 4 / 3]})
    row = errors(jobs.assign(machine="a", routing="b")).iloc[0]
    assert row[["p50", "p90", "p99"]].tolist() == pytest.approx([15.0, 23.0, 24.8])
    assert (row["mean"], row["extra"]) == pytest.approx((-10.0, 0.15))
