"""Runs rows one after the other, each with 1 GB and 10 s of computing; tells what became of them.

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
from typing import TextIO

from hostile.row import Row

MEMORY = 1 << 30
SECONDS = 10.0


class TooSlow(BaseException):
    """Ten seconds of computing are over."""


def virtual_bytes() -> int:
    """Address space in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """1 GB more than now, and an alarm; its clock is the process's, as others share the machine."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (virtual_bytes() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def run_row(row: Row, folder: Path) -> dict[str, object]:
    """Status, output, time and files of one row."""
    from netcosim.cli import main

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
    """Ten seconds of computing are over."""
    raise TooSlow


def run_in_folder(row: Row) -> dict[str, object]:
    """One row in an empty folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        return run_row(row, folder)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def set_up() -> TextIO:
    """Load and compile what is no row's cost; gives the stream for results."""
    signal.signal(signal.SIGPROF, alarm)
    import netcosim.runs.run_output  # noqa: F401
    from netcosim.announce import compile_kernels
    from netcosim.kernel_parts import CROSSBAR_THREADS, PACKET_THREADS, PARTS

    compile_kernels([part for part in PARTS if part not in (PACKET_THREADS, CROSSBAR_THREADS)])
    return os.fdopen(os.dup(1), "w")


def main() -> None:
    """Run the rows whose numbers are given, from the list that is named."""
    module, _, name = sys.argv[1].partition(":")
    rows = getattr(importlib.import_module(module), name)
    results = set_up()
    for number in map(int, sys.argv[2:]):
        done = run_in_folder(rows[number])
        print(json.dumps({"number": number, **done}), file=results, flush=True)


if __name__ == "__main__":
    main()
