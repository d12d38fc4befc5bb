"""A hundred random changes of good files; ``python -m hostile.fuzz`` tries more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CASES = 15
"""Of each kind."""


def test_changed_files_end_well() -> None:
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-m", "hostile.fuzz", "all", str(CASES), "1"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1:] == [{"tried": CASES}], done.stderr[-2000:]
    assert lines[:-1] == []
