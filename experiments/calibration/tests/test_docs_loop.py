"""coupled.md on whole logs: its numbers are those of the stored tables."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

STUDY = Path(__file__).resolve().parents[1]
TABLES, PAGE = STUDY / "tables", STUDY / "coupled.md"


def test_the_page_on_whole_logs_has_the_numbers_of_its_file() -> None:
    """The budget of the config is one whose error was measured, and is within what was wanted."""
    config = tomllib.loads((TABLES / "thunder-live.toml").read_text())
    tolerance = config["queue"]["coupled-packets"]["tolerance"]
    rows = list(csv.DictReader((TABLES / "loop-errors.csv").read_text().splitlines()))
    [row] = [row for row in rows if float(row["tolerance"]) == tolerance]
    assert int(row["held_out_slowdowns"]) >= 2000
    for mean in ("mean", "mean_by_time"):
        assert abs(float(row[f"held_out_{mean}"])) <= 0.01
    assert float(row["held_out_p90"]) <= 0.10
    page = PAGE.read_text(encoding="utf-8")
    for row in rows:
        name = "flows alone" if float(row["tolerance"]) > 1 else f"{float(row['tolerance']):g}"
        cells = [name]
        for part in ("chosen", "held_out"):
            error = {
                key: 100 * float(row[f"{part}_{key}"])
                for key in ("mean", "mean_by_time", "slowest", "p90")
            }
            means = ", ".join(f"{error[key]:+.1f}" for key in ("mean", "mean_by_time", "slowest"))
            cells += [row[f"{part}_judged"], means, f"{error['p90']:.1f}"]
        assert f"| {' | '.join(cells)} |" in page


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
