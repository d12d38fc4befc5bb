"""A hundred random changes of good files; ``python -m hostile.fuzz`` tries more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.mark.full
def test_changed_files_end_well() -> None:
    """Fifteen of each kind."""
    cases = 15
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-m", "hostile.fuzz", "all", str(cases), "1"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1:] == [{"tried": cases}], done.stderr[-2000:]
    assert lines[:-1] == []
