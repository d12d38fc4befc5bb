"""The tutorial for researchers of schedulers, word for word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from console import ROOT, sitting

PAGE = ROOT / "docs" / "tutorials" / "scheduler-researcher.md"


@pytest.mark.full
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """Also the table, to the digit: the same on one process, on two, and over MPI ranks."""
    done = dict(sitting(PAGE, tmp_path))
    assert {command: told for command, told in done.items() if told not in ("", "skipped")} == {}
    assert [command for command, told in done.items() if told == "skipped"] in (
        [],
        [command for command in done if command.startswith("mpiexec")],
    )
    assert sum(command.startswith("mpiexec") for command in done) == 1
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"^\$ python compare.py \w+\.db\n(.*?)^(?:\$|```)", text, re.M | re.S)
    assert len(tables) == 2
    assert tables[0] == tables[1]
