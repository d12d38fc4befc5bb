"""Why the demo's best policy is not the headline paper's: the numbers of the page, measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.config_load import config_from
from experiments.cosim import run_cosim
from experiments.cosim_result import CosimResult
from netcosim.demo_config import demo_config_text
from netsim.topologies.registry import preset

PAGES = Path(__file__).resolve().parents[1]
FAQ = (PAGES / "docs" / "faq.md").read_text(encoding="utf-8")
POLICIES = ("rdn", "rdg", "simple", "level-spread")


def told(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def step(number: int) -> Mapping[str, Any]:
    """The demo's config with the first so many changes of the page's table."""
    config = tomllib.loads(demo_config_text(None, None, POLICIES, 1))
    if number >= 1:
        config["workload"]["all_at_zero"] = True
        del config["workload"]["synthetic"]["requested_factor"]
        config["workload"]["synthetic"]["run_time_range"] = ["1 h", "1 h"]
        config["queue"] |= {"backfill": "none", "run_time_model": "as-logged"}
        config["run"]["snapshots"] = 24
    if number >= 2:
        for entry in config["communication"]["mix"]:
            entry["message_bytes"] = "1 KB"
    if number >= 3:
        config["machine"]["routing"] = "minimal"
    return config


@pytest.fixture(scope="module")
def results() -> list[CosimResult]:
    return [run_cosim(config_from(step(number))) for number in range(4)]


def test_the_table_is_what_comes_out(results: list[CosimResult]) -> None:
    """The demo's order turns round when all three things are as in the paper."""
    rows = re.findall(r"^\| .+ \| ([\d.]+) \| ([\d.]+) \|$", FAQ, re.M)
    found = [
        (f"{result.ratios['simple'].ratio:.2f}", f"{result.ratios['level-spread'].ratio:.2f}")
        for result in results
    ]
    assert found == rows


def groups_of_small_jobs(result: CosimResult, policy: str) -> tuple[float, float]:
    """Jobs that one group would hold: the share on several groups, and groups a job."""
    schedule = result.schedules[policy]
    shape = preset("dragonfly-272").shape
    a_group = shape.a * shape.p
    spans = [
        len(np.unique(schedule.placements.placement(job, int(name)).nodes // a_group))
        for job, name in enumerate(schedule.workload.job_id)
        if schedule.workload.n_nodes[job] <= a_group
    ]
    return float(np.mean(np.array(spans) > 1)), float(np.mean(spans))


def test_holes_scatter_small_jobs(results: list[CosimResult]) -> None:
    without_a_group, spread = groups_of_small_jobs(results[0], "level-spread")
    _, simple = groups_of_small_jobs(results[0], "simple")
    on_empty, _ = groups_of_small_jobs(results[1], "level-spread")
    text = told(FAQ)
    assert f"of 16 nodes would hold, {without_a_group:.0%} do".replace("%", " %") in text
    assert f"on {spread:.1f} groups in the mean, under `simple` on {simple:.1f}." in text
    assert f"On an empty machine {on_empty:.0%} do not".replace("%", " %") in text


def test_the_papers_setting_favours_its_policy() -> None:
    [toml] = re.findall(r"^```toml\n(.*?)^```", FAQ, re.M | re.S)
    ratio = run_cosim(config_from(tomllib.loads(toml))).ratios["level-spread"]
    assert ratio.high is not None
    assert ratio.high < 1
    shown = f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f}) of `simple`'s time"
    assert shown in told(FAQ)


def test_the_start_page_has_the_demos_numbers(results: list[CosimResult]) -> None:
    """The README's table is held to the run by tests/test_docs.py; here the sentences."""
    text = told((PAGES / "docs" / "index.md").read_text(encoding="utf-8"))
    for policy in ("simple", "level-spread"):
        ratio = results[0].ratios[policy]
        assert f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})" in text
