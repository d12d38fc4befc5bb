"""The agent of a tutorial: its files are whole, its search finds weights, and the run is its."""

from __future__ import annotations

import csv
import json
import re
import runpy
from pathlib import Path

import pytest

from netcosim.cli import main
from netcosim.config.load import config_from, load_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import point_key
from queuesim.metrics import summarise

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "learning.md"
TUTORIAL = DOCS / "tutorials" / "learning-agent.md"
BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+\.(?:py|toml))\n(.*?)^```", re.M | re.S)
FILES = {found.group(1): found.group(2) for found in BLOCK.finditer(TUTORIAL.read_text("utf-8"))}


@pytest.mark.full
def test_the_agent_of_the_page_is_trained_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(FILES) == {"agent.py", "agent.toml", "train.py"}
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    weights = tmp_path / "weights.json"
    weights.write_text("[0, 0, 0, 0]")
    untrained = point_key(load_config("agent.toml").resolved())
    found = runpy.run_path("train.py")
    best = json.loads(weights.read_text())
    assert best == found["best"].tolist()
    # the search told the truth: these weights give what it found, and no others were better
    least = found["mean_slowdown"](found["best"], [11, 12])
    assert least == found["least"]
    config = load_config("agent.toml")
    assert point_key(config.resolved()) != untrained
    assert main(["run", "agent.toml", "--out", "out"]) == 0
    capsys.readouterr()
    [schedule] = run_cosim(config).schedules.values()
    assert schedule.backfill == "linear"
    raw = config.resolved()
    easy = raw | {"queue": {k: v for k, v in raw["queue"].items() if not k.startswith("decider")}}
    [beside] = run_cosim(config_from(easy)).schedules.values()
    assert (schedule.workload.n_nodes == beside.workload.n_nodes).all()
    trained, by_easy = (summarise(one).mean_bounded_slowdown for one in (schedule, beside))
    assert trained < by_easy


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
