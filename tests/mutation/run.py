"""Change the code in one place at a time and see whether the tests notice: ``make mutants``.

The table `mutants.toml` says what is changed and which tests run against it. Every change is made
in a copy of the tree, never in the tree itself. First the tests run on the unchanged copy: where
they fail there, nothing could be learnt from a failure later. A change that no test notices has
*survived*: a wrong program would have passed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import shutil
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mutants.toml")
NOT_COPIED = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "results", "*.egg-info", "netcosim-*"
)
ALL_PASSED, SOME_FAILED = 0, 1
NOT_RUN = (4, 5)
"""What pytest returns for a wrong command line, and where it finds no test."""
PROCESSES = multiprocessing.get_context("forkserver")
"""Copies of a process that has loaded what all tests load, which takes longer than most tests."""
PROCESSES.set_forkserver_preload(["pytest", "hypothesis.strategies", "numba", "simpy"])


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes
    ----------
    number : int
        Place in the table, from 1.
    file, old, new : str
        ``old`` stands exactly once in ``file`` and becomes ``new``.
    suite : str
        Name of the tests that run against it.
    equivalent : str
        Why no test could notice; such a change is not run. Empty where a test should.
    line : int
        Where ``old`` begins.
    """

    number: int
    file: str
    old: str
    new: str
    suite: str
    equivalent: str
    line: int

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line}: {old} => {new}"


def read_table(path: Path, root: Path) -> tuple[dict[str, list[str]], list[Mutant]]:
    """The suites and the mutants; SystemExit names every entry that does not fit the tree."""
    table = tomllib.loads(path.read_text())
    suites: dict[str, list[str]] = table["suites"]
    mutants: list[Mutant] = []
    faults = []
    for entry in table["file"]:
        name, suite = entry["path"], entry["suite"]
        source = root / name
        text = source.read_text() if source.is_file() else ""
        if suite not in suites:
            faults.append(f"{path.name}, {name}: no suite {suite!r}; there are {', '.join(suites)}")
        for old, new, *why in entry.get("changes", []) + entry.get("equivalent", []):
            found = text.count(old)
            if found != 1:
                faults.append(f"{path.name}, {name}: {old!r} stands there {found} times, not once")
            if old == new:
                faults.append(f"{path.name}, {name}: {old!r} becomes itself")
            line = text[: max(0, text.find(old))].count("\n") + 1
            number = len(mutants) + 1
            mutants.append(Mutant(number, name, old, new, suite, "".join(why), line))
    if faults:
        raise SystemExit("\n".join(faults))
    return suites, mutants


def _pytest(tree: Path, arguments: list[str], output: Path) -> None:
    """Run tests in a process of its own."""
    os.setsid()
    with output.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.chdir(tree)
    os.environ |= {
        "PYTHONPATH": str(tree),
        "NETCOSIM_CACHE_DIR": str(tree.parent / "kernels"),
        "NETCOSIM_SHARED": os.environ.get("NETCOSIM_SHARED", str(ROOT.parent / "shared")),
        "HYPOTHESIS_PROFILE": "mutants",
    }
    sys.path.insert(0, str(tree))
    code = pytest.main(arguments)
    sys.stdout.flush()
    os._exit(code)


def run_tests(tree: Path, tests: list[str], timeout_s: float) -> tuple[bool, str]:
    """Whether all tests pass in a tree, and what pytest said. A run that hangs has failed.

    The test that failed last is the first one.
    """
    output = tree.with_suffix(".txt")
    arguments = ["-x", "--ff", "-q", "-m", "not slow", *tests]
    process = PROCESSES.Process(target=_pytest, args=(tree, arguments, output))
    process.start()
    process.join(timeout_s)
    if process.exitcode is None:
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        return False, f"no end after {timeout_s:g} s"
    said = output.read_text(errors="replace")
    if process.exitcode in NOT_RUN:
        raise SystemExit(f"pytest {' '.join(tests)} ran no tests:\n{said}")
    return process.exitcode == ALL_PASSED, said


def run_mutant(tree: Path, mutant: Mutant, tests: list[str], timeout_s: float) -> bool:
    """Make the change in a copy of the tree, run the tests, undo it; whether it was noticed."""
    path = tree / mutant.file
    text, stat = path.read_text(), path.stat()
    path.write_text(text.replace(mutant.old, mutant.new))
    # Python and Numba know a changed file by its time and size: a time for every mutant.
    changed = stat.st_mtime + mutant.number
    os.utime(path, (changed, changed))
    try:
        passed, _ = run_tests(tree, tests, timeout_s)
    finally:
        path.write_text(text)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return not passed


def in_copies(
    trees: list[Path], tasks: list[tuple[str, Callable[[Path], bool]]]
) -> dict[str, bool]:
    """Run every task in one of the copies of the tree; prints one line as each ends."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for tree in trees:
        free.put(tree)
    results: dict[str, bool] = {}

    def work(task: Callable[[Path], bool]) -> tuple[bool, float]:
        tree, begin = free.get(), time.monotonic()
        try:
            return task(tree), time.monotonic() - begin
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        futures = {pool.submit(work, task): name for name, task in tasks}
        for done in as_completed(futures):
            results[futures[done]], seconds = done.result()
            word = "killed  " if results[futures[done]] else "survived"
            told = f"{len(results):4}/{len(tasks)} {word} {seconds:5.0f} s  {futures[done]}"
            print(told, flush=True)
    return results


def main() -> int:
    """Run the table; 1 if a change survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="copies that run at once")
    parser.add_argument(
        "--only", action="append", help="only changes whose line holds this text (may be repeated)"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "mutation", help="where the copies stand"
    )
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run of tests")
    options = parser.parse_args()
    # In the background of a script Ctrl-C is ignored, and so it is by all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    suites, table = read_table(TABLE, ROOT)
    table = [m for m in table if any(text in str(m) for text in options.only or [""])]
    mutants = [mutant for mutant in table if not mutant.equivalent]
    trees = [options.folder.resolve() / f"tree-{k}" for k in range(options.jobs)]
    for tree in trees:
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
    for name in sorted({mutant.suite for mutant in mutants}):
        passed, said = run_tests(trees[0], suites[name], options.timeout)
        if not passed:
            raise SystemExit(f"suite {name} fails on the unchanged tree:\n{said}")
        print(f"suite {name} passes on the unchanged tree", flush=True)

    def task(mutant: Mutant) -> tuple[str, Callable[[Path], bool]]:
        tests = suites[mutant.suite]
        return str(mutant), lambda tree: run_mutant(tree, mutant, tests, options.timeout)

    killed = in_copies(trees, [task(mutant) for mutant in mutants])
    total = Counter(mutant.file.partition("/")[0] for mutant in mutants)
    lost = Counter(mutant.file.partition("/")[0] for mutant in mutants if not killed[str(mutant)])
    for package, n in sorted(total.items()):
        print(f"{package}: {n - lost[package]} of {n} killed")
    print(f"all: {total.total() - lost.total()} of {total.total()} killed, {lost.total()} survived")
    print(f"{len(table) - len(mutants)} more change nothing that could be seen:")
    for mutant in table:
        if mutant.equivalent:
            print(f"  {mutant} ({mutant.equivalent})")
    for line in (line for line, dead in killed.items() if not dead):
        print(f"survived: {line}")
    return SOME_FAILED if lost else ALL_PASSED


if __name__ == "__main__":
    sys.exit(main())
