"""The study of network schedulers: stored tables computed again, and its page."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.kit.papers import Options
from experiments.network_schedulers import packets
from experiments.network_schedulers.optimum import SHARES

STUDY = Path(__file__).resolve().parents[1]
CASES: dict[str, Any] = packets.STUDY["cases"]


def rows(name: str) -> list[dict[str, str]]:
    with (STUDY / "tables" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def again(name: str) -> list[Any]:
    [point] = [one for one in packets.points(Options()) if one["case"] == name]
    return list(packets.run_point(point)["jobs"])


@pytest.mark.parametrize("name", SHARES)
def test_shares_of_the_optimum_are_those_of_the_table(name):
    """The first cases, computed again; the mean of all is near what Crux prints."""
    row = next(one for one in rows("network-schedulers.csv") if one["item"] == name)
    found = [SHARES[name](case) for case in range(1 if "paths" in name else 3)]
    assert float(row["min"]) - 5e-5 <= min(found) <= max(found) <= 1 + 1e-9
    assert float(row["mean"]) > 0.95
    if row["printed"]:
        assert abs(float(row["mean"]) - float(row["printed"])) < 0.02


def test_the_fluid_model_is_within_its_error_of_packets():
    """The stored comparison: iterations among others within 5 %, mostly within 2.5 %."""
    found = rows("network-schedulers-packets.csv")
    errors = np.abs([float(row["error"]) for row in found])
    assert {row["case"] for row in found} == set(CASES)
    assert errors.max() < 0.05
    assert np.median(errors) < 0.025
    for row in found:
        assert float(row["isolated_fluid_ms"]) == pytest.approx(
            float(row["isolated_packets_ms"]), rel=0.02
        )


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in CASES if "GPT" not in name])
def test_packets_again(name):
    stored = [row for row in rows("network-schedulers-packets.csv") if row["case"] == name]
    for row, found in zip(stored, again(name), strict=True):
        assert float(row["packets_ms"]) == pytest.approx(found["packets_ms"], abs=1e-4)
        assert float(row["fluid_ms"]) == pytest.approx(found["fluid_ms"], abs=1e-4)


@pytest.mark.full
def test_figures_on_small_cases(reproduced):
    """Shares are at most one, and isolated jobs are the least that a queue can cost."""
    tables = {}
    for name in ("optimum", "queue"):
        tables |= reproduced("network-schedulers", name).analysis.tables
    stored = rows("network-schedulers.csv")
    assert list(tables["optimum"]["item"]) == [row["item"] for row in stored]
    shares = tables["optimum"].iloc[: len(SHARES)]
    assert shares["cases"].tolist() == [1] * len(SHARES)
    assert shares["mean"].between(0.6, 1 + 1e-9).all()
    assert tables["queue"]["gpu_time_ratio"].min() >= 1
    assert list(tables["queue"]) == list(rows("network-schedulers-queue.csv")[0])


@pytest.mark.slow
def test_gpt_beside_bert_again():
    name = next(iter(CASES))
    stored = rows("network-schedulers-packets.csv")
    for row, found in zip(stored, again(name), strict=False):
        assert float(row["packets_ms"]) == pytest.approx(found["packets_ms"], abs=1e-4)


def test_in_a_queue_paths_gain_more_than_priorities():
    """The order of priorities on hashed paths differs between the two queues, as the page says."""
    short, long = (
        {
            (row["scheduler"], row["routing"]): float(row["gpu_time_ratio"])
            for row in rows("network-schedulers-queue.csv")
            if row["jobs"] == n_jobs
        }
        for n_jobs in ("500", "5000")
    )
    for found in (short, long):
        assert found["crux", "pinned"] < found["none", "pinned"] < 1.1 < found["none", "ecmp"]
        assert found["crux", "spray"] <= found["none", "spray"] < 1.02
        assert found["none", "ecmp"] < found["cassini", "ecmp"]
    assert short["crux", "ecmp"] < short["none", "ecmp"]
    assert long["none", "ecmp"] < long["crux", "ecmp"]


def test_the_pages_tables_are_those_that_are_stored():
    page = (STUDY / "README.md").read_text(encoding="utf-8")
    for row in rows("network-schedulers.csv"):
        assert f"| {row['cases']} | {100 * float(row['mean']):.1f} % |" in page, row["item"]
    errors = rows("network-schedulers-packets.csv")
    assert f"at most {100 * max(abs(float(row['error'])) for row in errors):.1f} %" in page
    for case in CASES:
        mine = [row for row in errors if row["case"] == case]
        for level in ("fluid_ms", "packets_ms"):
            assert f"| {', '.join(f'{float(row[level]):.2f}' for row in mine)} |" in page, case
    for row in rows("network-schedulers-queue.csv"):
        longer = 100 * (float(row["gpu_time_ratio"]) - 1)
        slowed = 100 * float(row["jobs_slowed"])
        start = f"| `{row['scheduler']}` | `{row['routing']}` | "
        assert f"{start}{longer:.1f} % | {slowed:.1f} % | {row['stretch_max']} |" in page
