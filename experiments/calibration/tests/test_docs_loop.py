"""coupled.md on whole logs: its numbers are those of the stored tables."""

from __future__ import annotations

import csv
from pathlib import Path

STUDY = Path(__file__).resolve().parents[1]
TABLES, PAGE = STUDY / "tables", STUDY / "coupled.md"


def test_the_page_has_the_live_queues_that_are_stored() -> None:
    """The table of Thunder is that of its file."""
    page = PAGE.read_text(encoding="utf-8")
    table = page[page.index("| run times, whole log |") :]
    stored = (TABLES / "thunder-live.csv").read_text().splitlines()
    found: dict[str, list[str]] = {}
    for row in csv.DictReader(stored):
        cell = f"{float(row['turnaround']):.3f}, {float(row['makespan']):.3f}"
        found.setdefault(row["run_times"], []).append(cell)
    assert list(found) == ["as-logged", "coupled-packets"]
    for name, cells in found.items():
        line = next(x for x in table.splitlines() if x.startswith(f"| `{name}`"))
        assert [cell.strip() for cell in line.split("|")[2:-1]] == cells


def test_the_page_has_the_errors_of_the_live_log() -> None:
    """What was simulated and audited on Thunder, and the run times beside the measured ones."""
    stored = (TABLES / "thunder-live-errors.csv").read_text().splitlines()
    found = {row["quantity"]: float(row["value"]) for row in csv.DictReader(stored)}
    percent = {name: 100 * value for name, value in found.items()}
    longer = {name: percent[name] - 100 for name in ("run_time", "node_hours", "steady")}
    low, high = (longer["steady"] + k * percent["steady_half_width"] for k in (-1, 1))
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for sentence in (
        f"{found['simulations']:,.0f} packet simulations of {found['simulated_jobs']:,.0f} jobs",
        f"an audit of {found['audited_jobs']:,.0f} slowdowns. The mean error of these is "
        f"{percent['kept_mean']:.1f} %, its 90th percentile {percent['kept_p90']:.1f} %, and",
        f"slow most are {-percent['kept_slowest']:.1f} % too fast",
        f"run {longer['run_time']:.1f} % longer than isolated on average, "
        f"{longer['node_hours']:.1f} % by node-hours",
        f"{longer['steady']:.1f} % by node-hours (95 % interval {low:.1f} to {high:.1f})",
    ):
        assert sentence in page
