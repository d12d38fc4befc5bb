"""Pages told as one sitting at a terminal: their files are written, their commands run in order.

A block ```python or ```toml that begins with ``# NAME`` is a file; in a ```console block a line
``$ COMMAND`` is run in one folder for the whole page, and the lines after it are all that it
prints, on both streams. ``...`` in such a line stands for anything, a line of it alone for any
lines: times and paths differ from machine to machine, numbers of a simulation do not.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from netcosim.cli import main

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def find_mpiexec() -> str | None:
    """The launcher beside this Python, or the one on the path."""
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def sitting(page: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Write a page's files and run its commands; each with what came out, until one differs.

    Yields
    ------
    command, difference : str
        Empty if the output is what the page shows, "skipped" for a missing launcher.
    """
    for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        named = re.match(r"# ([\w.-]+)\n", text)
        if language in ("python", "toml") and named:
            (folder / named.group(1)).write_text(text[named.end() :], encoding="utf-8")
        elif language == "console":
            for command, expected in _commands(text):
                yield command, _difference(command, expected, folder)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def _printed(arguments: list[str], folder: Path) -> str:
    """Return what ``netcosim`` prints, without a process of its own."""
    out, environment = io.StringIO(), pytest.MonkeyPatch()
    environment.setenv("COLUMNS", "100")
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
            main(arguments)
    finally:
        environment.undo()
    return out.getvalue()


def _ran(words: list[str], folder: Path) -> str:
    """Return what another program prints; ``netcosim`` may be an argument of it."""
    python = {"netcosim": [sys.executable, "-m", "netcosim"], "python": [sys.executable]}
    python["mpiexec"] = [str(find_mpiexec())]
    done = subprocess.run(
        [part for word in words for part in python.get(word, [word])],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout


def _difference(command: str, expected: str, folder: Path) -> str:
    words = shlex.split(command)
    if words[0] == "mpiexec" and find_mpiexec() is None:
        return "skipped"
    printed = _printed(words[1:], folder) if words[0] == "netcosim" else _ran(words, folder)
    # what is compiled on the first use of a version is told once
    said = [line for line in printed.splitlines() if "compiling kernels" not in line]
    found = "".join(f"{line.rstrip()}\n" for line in said)
    pattern = re.escape(expected).replace(r"\.\.\.", "...")
    pattern = re.sub(r"^\.\.\.\\?\n", r"(?s:(?:.*\\n)?)", pattern, flags=re.M)
    pattern = pattern.replace("...", ".*")
    return "" if re.fullmatch(pattern, found) else f"shown:\n{expected}\nfound:\n{found}"
