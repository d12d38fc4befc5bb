"""The tutorial for researchers of schedulers, word for word."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from console import ROOT, sitting

import netcosim as nc

PAGE = ROOT / "docs" / "tutorials" / "scheduler-researcher.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """Also the table, to the digit; results are the same on two processes and over MPI ranks."""
    done = dict(sitting(PAGE, tmp_path))
    assert {command: told for command, told in done.items() if told not in ("", "skipped")} == {}
    assert [command for command, told in done.items() if told == "skipped"] in (
        [],
        [command for command in done if command.startswith("mpiexec")],
    )
    [parallel] = [command for command in done if command.startswith("mpiexec")]
    if done[parallel] != "skipped":
        frames = []
        for name in ("study.db", "ranks.db"):
            with nc.Store(tmp_path / name, "read") as store:
                frames.append(store.frame("policies"))
        pd.testing.assert_frame_equal(*frames)
