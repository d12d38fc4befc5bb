"""The examples of CONTRIBUTING.md, each in a copy of the packages, as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "netcosim",
    "experiments",
    "cosim",
    "queuesim",
    "alloc",
    "patterns",
    "workloads",
    "netsim",
)
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
FILE = re.compile(r"`([\w/]+\.py)`:\n\n```(\w+)\n(.*?)^```", re.M | re.S)


def changed(text: str, diff: str) -> tuple[str, int]:
    """A file with a change in it, and how many lines the change adds or replaces."""
    lines, at, count = text.splitlines(), 0, 0
    for mark, line in ((row[0], row[1:]) for row in diff.splitlines()):
        if mark == "+":
            lines.insert(at, line)
            at, count = at + 1, count + 1
        else:
            at = lines.index(line, at) + 1
            if mark == "-":
                at -= 1
                del lines[at]
    return "\n".join(lines) + "\n", count


def test_all_six_are_there() -> None:
    assert list(SECTIONS) == [
        "A policy",
        "A pattern",
        "An order",
        "A topology with a routing",
        "A run-time model",
        "A paper's figure",
    ]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages with all examples in them: a new file each, at most two lines elsewhere."""
    house = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, house / package, ignore=shutil.ignore_patterns("*.pyc"))
    for text in SECTIONS.values():
        (path, kind, source), (registry, word, diff) = FILE.findall(text)
        assert (kind, word) == ("python", "diff")
        assert not (house / path).exists()
        (house / path).write_text(source, encoding="utf-8")
        entered, count = changed((house / registry).read_text(encoding="utf-8"), diff)
        assert count <= 2, f"{registry}: {count} lines"
        (house / registry).write_text(entered, encoding="utf-8")
    return house


def test_examples_do_what_they_show(house: Path, tmp_path: Path) -> None:
    for title, text in SECTIONS.items():
        [shown] = re.findall(r"^```pycon\n(.*?)^```", text, re.M | re.S)
        (tmp_path / f"{title}.txt").write_text(shown, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "doctest", *(f"{title}.txt" for title in SECTIONS)],
        env={**os.environ, "PYTHONPATH": str(house)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_are_written_as_the_code_is(house: Path) -> None:
    """By the same rules; the registries too, once the lines are in."""
    files = [house / path for text in SECTIONS.values() for path, _, _ in FILE.findall(text)]
    ruff = [sys.executable, "-m", "ruff"]
    rules = ["--config", str(ROOT / "ruff.toml"), "--config", f"src = ['{house}']"]
    for check in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run(
            [*ruff, *check, *rules, *map(str, files)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
