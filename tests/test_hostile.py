"""Malformed inputs and foreign files: each ends in one line and status 2, in 10 s and 1 GB.

The rows stand in ``tests/hostile``; whoever finds a fault adds one. A row runs in a child process
that has 1 GB beyond what the program itself takes, and 10 s.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile.row import Row
from hostile.tables import ROWS
from selection import first_of_each

TESTS = Path(__file__).resolve().parent
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


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    return {**os.environ, "PYTHONPATH": path}


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


@pytest.fixture
def mpiexec() -> str:
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec here")
    return found


def swept(name: str) -> tuple[Row, list[str]]:
    """A row as a sweep, whatever command it has."""
    [row] = [row for row in ROWS if row.name == name]
    arguments = [str(a) for a in row.arguments]
    return row, arguments if arguments[0] == "sweep" else ["sweep", "c.toml", "--quiet"]


def on_two(
    start: list[str], arguments: list[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """A command over two processes: those of ``start`` (mpiexec), or else its own ``--jobs``."""
    return subprocess.run(
        [*start, sys.executable, "-m", "netcosim", *arguments] + ([] if start else ["--jobs", "2"]),
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "name",
    [
        "machine = 3",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("nested arrays", "sweep into: no points", "sweep into: text")
        ),
    ],
)
def test_the_same_over_two_processes_and_under_mpi(name: str, tmp_path: Path, mpiexec: str) -> None:
    row, arguments = swept(name)
    row.make(tmp_path)
    for start in ([], [mpiexec, "-n", "2"]):
        done = on_two(start, arguments, tmp_path)
        assert done.returncode == 2, (start, done.stderr)
        checked_line(row, done.stderr)
        assert done.stdout == ""


TOO_LARGE = ["torus 40000 x 40000", "iterations 10^9", "pattern fft3d { cells = 10000000 }"]


@pytest.mark.full
@pytest.mark.parametrize("name", TOO_LARGE)
def test_points_too_large_are_recorded_as_failed(name: str, tmp_path: Path, mpiexec: str) -> None:
    """In a sweep a point that cannot be computed is told on one line; the others go on."""
    row, arguments = swept(name)
    row.make(tmp_path)
    text = (tmp_path / "c.toml").read_text()
    # two points, so that two processes have something to do
    (tmp_path / "c.toml").write_text(text.replace("snapshots = 1", "snapshots = 1\nseed = [1, 2]"))
    for start in ([], [mpiexec, "-n", "2"]):
        (tmp_path / "c.db").unlink(missing_ok=True)
        done = on_two(start, arguments, tmp_path)
        assert done.returncode == 1, (start, done.stderr)
        assert done.stderr == ""
        failed = [line for line in done.stdout.splitlines() if line.startswith("failed: point")]
        assert len(failed) == 2, done.stdout
        assert all(row.told in line for line in failed)
