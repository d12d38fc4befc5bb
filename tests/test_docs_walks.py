"""Pages that are walked word for word: the tour, the how-tos and the tutorials."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from console import ROOT, sitting

import netcosim as nc
from netcosim.config.communication import PatternSection

pytestmark = pytest.mark.usefixtures("undrawn")

DOCS = ROOT / "docs"


def _judged(folder: Path) -> None:
    """The log's own schedule, to the second, and its run times."""
    page = (folder / "judged" / "report.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    for begins in ("Assumptions", "Does the locality score predict", "Who gains"):
        assert any(title.startswith(begins) for title in titles)
    jobs = pd.read_csv(folder / "judged" / "tables" / "jobs.csv")
    assert len(jobs) == 4 * 1500
    replay = jobs[jobs["policy"] == "replay"]
    assert (replay["wait_s"] - replay["logged_wait_s"]).abs().max() <= 1
    assert (replay["fed_run_s"] - replay["run_s"]).abs().max() < 1e-6


def _swept(folder: Path) -> None:
    """Results are the same on two processes and over MPI ranks."""
    frames = []
    for path in filter(Path.exists, (folder / "study.db", folder / "ranks.db")):
        with nc.Store(path, "read") as store:
            frames.append(store.frame("policies"))
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frames[0], frame)


def _curve(folder: Path) -> None:
    names = {path.name for path in (folder / "curve-mine").iterdir()}
    assert names == {
        "report.html",
        "curve.csv",
        "curve.db",
        "curve.png",
        "links.csv",
        "saturation.csv",
    }


LEFT: dict[str, Callable[[Path], None]] = {
    "administrator": _judged,
    "network-researcher": _curve,
    "scheduler-researcher": _swept,
}
"""What else is checked of the files that the commands leave."""


@pytest.mark.full
@pytest.mark.parametrize(
    "page",
    [DOCS / "index.md", DOCS / "howto.md", *sorted(DOCS.glob("tutorials/*.md"))],
    ids=lambda page: page.stem,
)
def test_every_command_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    """To the digit; without a launcher, commands under mpiexec are passed over."""
    (tmp_path / "docs").symlink_to(DOCS)
    done = dict(sitting(page, tmp_path))
    assert done
    assert {
        command: difference
        for command, difference in done.items()
        if difference and not (difference == "skipped" and command.startswith("mpiexec"))
    } == {}
    if page.stem in LEFT:
        LEFT[page.stem](tmp_path)


@pytest.mark.parametrize("name", ["administrator", "scheduler-researcher"])
def test_the_first_command_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(DOCS)
    _, difference = next(sitting(DOCS / "tutorials" / f"{name}.md", tmp_path))
    assert difference == ""


def test_the_mix_that_the_administrators_page_shows_is_one() -> None:
    text = (DOCS / "tutorials" / "administrator.md").read_text(encoding="utf-8")
    [mix] = re.findall(r"```text\n(.*?)```", text, re.S)
    [entry] = tomllib.loads(mix)["communication"]["mix"]
    assert PatternSection(**entry).pattern == "halo3d"
