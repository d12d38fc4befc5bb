"""Runs rows one after the other, each with 1 GB and 10 s, and prints what became of them.

python -m hostile.child MODULE:LIST ROW ROW ... ; one line of JSON a row on the first stdout.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

MEMORY = 1 << 30
SECONDS = 10.0


class TooSlow(BaseException):
    """Ten seconds are over."""


def virtual_bytes() -> int:
    """Address space in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """1 GB more than now, and an alarm."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (virtual_bytes() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def run_row(row, folder: Path) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """Status, output, time and files of one row."""
    from experiments.cli import main

    row.make(folder)
    before = set(folder.rglob("*"))
    os.chdir(folder)
    out, err = io.StringIO(), io.StringIO()
    started = time.perf_counter()
    status: object
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limits():
            status = main(list(row.arguments))
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        status = f"{type(error).__name__}: {error}"[:300]
        err.write("".join(traceback.format_exception(error, limit=-4)))
    left = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p not in before)
    return {
        "row": row.name,
        "status": status,
        "out": out.getvalue(),
        "err": err.getvalue(),
        "seconds": time.perf_counter() - started,
        "left": left,
    }


def alarm(number: int, frame: object) -> None:
    """Ten seconds are over."""
    raise TooSlow


def main() -> None:
    """Run the rows whose numbers are given, from the list that is named."""
    module, _, name = sys.argv[1].partition(":")
    rows = getattr(importlib.import_module(module), name)
    signal.signal(signal.SIGALRM, alarm)
    import experiments.run_output  # noqa: F401  (its memory is no row's)
    from experiments.announce import compile_kernels

    compile_kernels()
    results = os.fdopen(os.dup(1), "w")
    for number in map(int, sys.argv[2:]):
        folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        try:
            done = run_row(rows[number], folder)
        finally:
            os.chdir("/")
            shutil.rmtree(folder, ignore_errors=True)
        print(json.dumps({"number": number, **done}), file=results, flush=True)


if __name__ == "__main__":
    main()
