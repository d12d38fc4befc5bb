"""Malformed inputs and foreign files: each ends in one line and status 2, in 10 s and 1 GB.

The rows stand in ``tests/hostile``; whoever finds a fault adds one. A row runs in a child process
that has 1 GB beyond what the program itself takes, and 10 s.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile.row import Row
from hostile.tables import ROWS
from selection import first_of_each
from test_experiments_sweep import environment, mpiexec

__all__ = ["mpiexec"]

LAW = "test_one_line_and_status_2"
BATCH = 1000
"""Rows a process, as each process compiles or loads the kernels."""


def kind(number: int) -> tuple[str, str, str]:
    """Return the command, the key or file that is wrong, and the group in the row's name."""
    row = ROWS[number]
    return " ".join(row.arguments[:1]), row.told, row.name.rpartition(": ")[0]


def value(number: int) -> str | None:
    """Return the value of a row called ``key = value``."""
    return ROWS[number].name.partition(" = ")[2] or None


NUMBERS = first_of_each(range(len(ROWS)), kind, value)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[int, dict[str, Any]]:
    """Return the outcome of each row that is selected, if its process lived."""
    found: dict[int, dict[str, Any]] = {}
    tests = [item for item in request.session.items if isinstance(item, pytest.Function)]
    waiting = [test.callspec.params["number"] for test in tests if test.originalname == LAW]
    while waiting:
        batch = waiting[:BATCH]
        command = [sys.executable, "-m", "hostile.child", "hostile.tables:ROWS"]
        done = subprocess.run(
            [*command, *map(str, batch)],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(text) for text in done.stdout.splitlines()]
        found |= {line["number"]: line for line in lines}
        # if the process died, it was over the row after the last one printed
        waiting = waiting[min(len(lines) + 1, len(batch)) :]
    return found


def checked_line(row: Row, err: str) -> None:
    """One line of ours, with what the row wants to read in it."""
    assert err.startswith("netcosim: error: "), err
    assert err.endswith("\n"), err
    assert err.count("\n") == 1, err
    assert len(err) < 1200
    assert row.told in err


def test_there_are_300_rows_of_different_names() -> None:
    names = [row.name for row in ROWS if row.status == 2]
    assert len(names) >= 300
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: ROWS[number].name[:60])
def test_one_line_and_status_2(number: int, outcomes: dict[int, dict[str, Any]]) -> None:
    row, done = ROWS[number], outcomes.get(number)
    assert done is not None, "the process died"
    assert done["status"] == row.status, done["err"]
    if row.status == 2:
        checked_line(row, done["err"])
        assert done["out"] == ""
        assert done["left"] == [], "something half-written is left"
    else:
        assert "Traceback" not in done["err"]
        assert "Warning" not in done["err"]


def test_the_same_over_two_processes_and_under_mpi(tmp_path: Path, mpiexec: str) -> None:
    """The command's own processes, and those of an MPI job."""
    [row] = [row for row in ROWS if row.name == "machine = 3"]
    row.make(tmp_path)
    sweep = [sys.executable, "-m", "netcosim", "sweep", "c.toml", "--quiet"]
    for command in ([*sweep, "--jobs", "2"], [mpiexec, "-n", "2", *sweep]):
        done = subprocess.run(
            command,
            env=environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2, (command, done.stderr)
        checked_line(row, done.stderr)
        assert done.stdout == ""
