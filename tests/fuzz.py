"""Run the property tests again and again with other examples: ``make fuzz MINUTES=10``.

The suite draws the same examples each time (the profile "ci" of `conftest.py`). Here every pass
has a seed of its own. A failure does not stop it; each failing test is printed once, with the
command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)
MOST_SHOWN = 6000


def one_pass(seed: int, tests: list[str]) -> tuple[int, str]:
    """Run every property test with a seed: what pytest returned and said."""
    command = [sys.executable, "-m", "pytest", "-m", "hypothesis and not slow", "--tb=short"]
    command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def main() -> int:
    """Go on for as long as asked; 1 if any test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="no pass begins after these")
    parser.add_argument("tests", nargs="*", help="files or tests; by default all")
    options = parser.parse_args()
    begin, passes, repeat = time.monotonic(), 0, dict[str, str]()
    while passes == 0 or time.monotonic() - begin < 60 * options.minutes:
        seed = secrets.randbelow(2**32)
        code, said = one_pass(seed, options.tests)
        passes += 1
        failed = FAILED.findall(said)
        for test in failed:
            if test not in repeat:
                repeat[test] = f"pytest --hypothesis-profile=fuzz --hypothesis-seed={seed} '{test}'"
        if code and not failed:
            raise SystemExit(f"pytest returned {code}:\n{said}")
        if failed:
            print(said[-MOST_SHOWN:])
        minutes = (time.monotonic() - begin) / 60
        told = f"pass {passes}, seed {seed}: {len(failed)} failed; {minutes:.1f} minutes"
        print(told, flush=True)
    for line in repeat.values():
        print(f"repeat with: {line}")
    return 1 if repeat else 0


if __name__ == "__main__":
    sys.exit(main())
