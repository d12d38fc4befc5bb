"""Another simulator in a separate process: found, run with JSON, its errors in one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError

_ROOT = Path(__file__).resolve().parents[2]
_PLACES = (sys.executable, "python3", "/usr/bin/python3")


@dataclass(frozen=True)
class Peer:
    """A simulator with a Python package."""

    title: str
    package: str
    """What the script imports."""
    script: str
    """Module that is run with ``python -m``; it imports nothing of netcosim and reads and writes
    JSON. What it imports never enters our process."""
    how_to_get: str

    def ask(self, question: Any, python: str = "") -> Any:
        """Return the peer's answer, its last line, to a question on standard input, as JSON."""
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        ran = subprocess.run(
            [self.interpreter(python), "-m", self.script],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
        lines = ran.stdout.splitlines()
        if ran.returncode or not lines:
            stderr_lines = ran.stderr.strip().splitlines() or ["no message"]
            message = next((line for line in stderr_lines if "CRITICAL" in line), stderr_lines[-1])
            raise NetcosimError(f"{self.title} ended with status {ran.returncode}: {message}")
        try:
            return json.loads(lines[-1])
        except ValueError:
            raise NetcosimError(f"{self.title} answered {lines[-1][:60]!r}; not JSON") from None

    def interpreter(self, python: str) -> str:
        """Return the given interpreter, or the first that has the package."""
        find_package = (
            f"import importlib.util as u, sys; sys.exit(u.find_spec({self.package!r}) is None)"
        )
        for name in (python,) if python else _PLACES:
            found = shutil.which(name)
            if found is None:
                continue
            try:
                probe = subprocess.run(
                    [found, "-c", find_package], capture_output=True, check=False
                )
            except OSError:
                continue
            if probe.returncode == 0:
                return found
        where = f"{python} has it not" if python else "no Python here has it"
        raise NetcosimError(f"{self.title}: {where}; {self.how_to_get}")
