"""Why the demo's best policy is not the headline paper's: the numbers of the page, measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from netcosim.config.config import Config
from netcosim.config.load import config_from
from netcosim.demo_config import demo_config_text
from netcosim.report.about import notes_of
from netcosim.report.policies import policy_rows, print_table
from netcosim.report.verdict import findings
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.queue_intervals import RESAMPLES, redrawn, with_intervals

pytestmark = pytest.mark.full
PAGES = Path(__file__).resolve().parents[1]
FAQ = (PAGES / "docs" / "faq.md").read_text(encoding="utf-8")
README = (PAGES / "README.md").read_text(encoding="utf-8")
POLICIES = ("rdn", "simple", "level-spread")
IN_README = ("rdn", "rdg", "simple", "level-spread")


def told(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def demo_with(*changes: str, policies: Sequence[str] = POLICIES) -> Config:
    """The demo's config with some of the changes of the page's table."""
    config = tomllib.loads(demo_config_text(None, None, policies, 1))
    config["run"]["keep"] = "schedules"  # jobs need not be sent alone as well
    if "at once" in changes:
        config["communication"]["together"] = "always"
        config["run"]["snapshots"] = 12
    if "emptied" in changes:
        config["workload"]["all_at_zero"] = True
        del config["workload"]["synthetic"]["requested_factor"]
        config["workload"]["synthetic"]["run_time_range"] = ["1 h", "1 h"]
        config["queue"] |= {"backfill": "none", "run_time_model": "as-logged"}
        config["run"]["snapshots"] = 24
        for entry in config["communication"]["mix"]:
            del entry["communication_fraction"]  # all communicate all the time
    if "small messages" in changes:
        for entry in config["communication"]["mix"]:
            entry["message_bytes"] = "1 KB"
    if "minimal" in changes:
        config["machine"]["routing"] = "minimal"
    return config_from(config)


CHANGES = ("at once", "emptied", "small messages", "minimal")


@cache
def result_with(number: int) -> CosimResult:
    """The demo with the first changes."""
    policies = POLICIES if number else IN_README
    return run_cosim(demo_with(*CHANGES[:number], policies=policies))


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3)), 4]
)
def test_the_table_is_what_comes_out(number: int) -> None:
    """The demo's order turns round when all four things are as in the paper."""
    rows = re.findall(r"^\| .+ \| ([\d.]+) \| ([\d.]+) \|$", FAQ, re.M)
    assert len(rows) == 5
    ratios = result_with(number).ratios
    found = (f"{ratios['simple'].ratio:.2f}", f"{ratios['level-spread'].ratio:.2f}")
    assert found == rows[number]


def test_the_readme_has_the_demos_table_and_numbers() -> None:
    """To the digit: the demo's draws come from its config alone."""
    result = result_with(0)
    shown_lines = [*print_table(policy_rows(result_tables(result))).splitlines(), *notes_of(result)]
    [table] = re.findall(r"^```text\n(policy .*?)^```", README, re.M | re.S)
    assert [line.rstrip() for line in shown_lines] == [line.rstrip() for line in table.splitlines()]
    tables = with_intervals(result_tables(result), result, redrawn(result, RESAMPLES))
    [waits] = [line for line in findings(tables) if line.startswith("simple ")]
    assert "shortens mean wait by 36 % (1.2 to 58)" in waits
    assert "and mean waits by 36 % (1.2 to 58)." in told(README)
    assert "halo3d26 on 9-32 nodes (+7.8 %), halo3d26 on 33-128 nodes (+9.3 %)." in waits
    assert "halos on 9 nodes and more take 7.8 to 9.3 % longer runs." in told(README)
    simple = result.ratios["simple"]
    less = [100 * (1 - end) for end in (simple.ratio, simple.high, simple.low)]
    assert "by {:.0f} % (95 % CI {:.0f} to {:.0f})".format(*less) in told(README)
