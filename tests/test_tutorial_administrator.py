"""The tutorial for administrators, word for word."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from console import ROOT, sitting

PAGE = ROOT / "docs" / "tutorials" / "administrator.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    done = dict(sitting(PAGE, tmp_path))
    assert {command: told for command, told in done.items() if told} == {}
    judged = tmp_path / "judged"
    page = (judged / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    for told in ("What is assumed", "Does the locality score predict communication?", "Who gains"):
        assert any(title.startswith(told) for title in titles)
    jobs = pd.read_csv(judged / "tables" / "jobs.csv")
    assert len(jobs) == 4 * 1500
    replay = jobs[jobs["policy"] == "replay"]
    # the log's own schedule, to the second, and its run times
    assert (replay["wait_s"] - replay["logged_wait_s"]).abs().max() <= 1
    assert (replay["fed_run_s"] - replay["run_s"]).abs().max() < 1e-6


def test_the_mix_that_the_page_shows_is_one() -> None:
    from netcosim.config.communication import PatternSection

    [text] = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    [entry] = tomllib.loads(text)["communication"]["mix"]
    assert PatternSection(**entry).pattern == "halo3d"


@pytest.mark.slow
def test_the_whole_log_goes_through(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    [text] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    make = [sys.executable, "docs/tutorials/make_topology_conf.py", "topology.conf"]
    lines = [shlex.split(line) for line in text.splitlines()]
    python = {"netcosim": [sys.executable, "-m", "netcosim"], "python": [sys.executable]}
    for words in [make, *([*python[first], *rest] for first, *rest in lines)]:
        subprocess.run(
            words, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}, check=True
        )
    jobs = pd.read_csv(tmp_path / "netcosim-judge" / "tables" / "jobs.csv")
    assert jobs["policy"].value_counts().tolist() == [20_000] * 4
