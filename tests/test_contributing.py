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


def test_all_seven_are_there() -> None:
    assert list(SECTIONS) == [
        "A policy",
        "A pattern",
        "An order",
        "A topology with a routing",
        "A routing on an existing topology",
        "A run-time model",
        "A paper's figure",
    ]


def copy_with_examples(house: Path, *, registered: bool = True) -> Path:
    """Copy the tree and apply the examples: new files, at most two lines elsewhere."""
    for folder in (*PACKAGES, "tests", "docs"):
        ignored = shutil.ignore_patterns("*.pyc.*", "*.ipynb", "images")
        shutil.copytree(ROOT / folder, house / folder, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, house)
    for text in SECTIONS.values():
        for path, kind, content in FILE.findall(text):
            if kind == "python":
                assert not (house / path).exists()
                (house / path).parent.mkdir(exist_ok=True)
                (house / path).write_text(content, encoding="utf-8")
                continue
            entered, count = changed((house / path).read_text(encoding="utf-8"), content)
            assert count <= 2, f"{path}: {count} lines"
            if registered:
                (house / path).write_text(entered, encoding="utf-8")
    return house


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_with_examples(tmp_path_factory.mktemp("house"))


def run_in(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": str(house)},
        cwd=house,
        capture_output=True,
        text=True,
        check=False,
    )


NAMES = "last-free or star or longest or ring or one-way or last-link or jitter or backfilling"
STRUCTURE = "generated_pages or registered or names_are or every_kind or refuses_what_is_too_large"
SUITES = [
    f"tests/test_{name}.py"
    for name in (
        *("alloc_policies", "config_reference", "estimates", "experiments_registries"),
        *("parameters", "patterns_programs", "recipes", "registered", "routing_deadlock"),
        *("routing_paths", "topology_families"),
    )
]


@pytest.mark.full
def test_suites_pass_with_the_examples(house: Path) -> None:
    """Those that find new names by themselves, once `make pages` has run."""
    assert run_in(house, "netcosim.catalogue").returncode == 0
    for option, page in (("--all", "reference.md"), ("--config", "config.md")):
        done = run_in(house, "netcosim", "describe", option)
        (house / "docs" / page).write_text(done.stdout, encoding="utf-8")
    chosen = f"{NAMES} or {STRUCTURE} or orders_and_backfills"
    done = run_in(house, "pytest", "-p", "no:cacheprovider", "-k", chosen, *SUITES)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


def test_lines_that_are_missing_are_named(tmp_path: Path) -> None:
    house = copy_with_examples(tmp_path / "house", registered=False)
    done = run_in(
        house, "pytest", "-k", "every_name", "-p", "no:cacheprovider", "tests/test_registered.py"
    )
    assert done.returncode == 1, done.stderr
    for line in (
        "alloc/registry.py: add LastFree (from alloc.dragonfly.last_free) to POLICIES",
        "patterns/registry.py: add PATTERN (from patterns.star) to PATTERNS",
        "queuesim/registry.py: add LONGEST (from queuesim.longest) to ORDERS",
        "netsim/topologies/registry.py: add FAMILY (from netsim.topologies.ring) to FAMILIES",
        "netsim/routing/registry.py: add ROUTING (from netsim.routing.last_link) to ROUTINGS",
        "cosim/registry.py: add Jitter (from queuesim.jitter) to RUNTIME_MODELS",
    ):
        assert line in done.stdout


@pytest.mark.full
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
