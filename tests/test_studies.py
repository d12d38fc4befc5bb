"""Studies and other folders that can be deleted, and nothing else is missing."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_import_directions import (
    MAY_IMPORT,
    ROOT,
    SOURCES,
    imports,
    module_of,
    name_of,
    tree_of,
)

OPTIONAL = {
    "Blue Gene": ("alloc/bluegene", "queuesim/bluegene"),
    "rare importers": ("workloads/importers/rare",),
    "OTF2": ("patterns/importers",),
}
KIT = "kit"
STUDIES = sorted(
    {path.parent.name for path in (ROOT / "experiments").glob("*/__init__.py")} - {KIT}
)
FOLDERS = ["experiments", *(folder for folders in OPTIONAL.values() for folder in folders)]
CORE_TESTS = ("test_units.py", "test_queue_basic.py", "test_queue_orders.py")
RUN = """
import netcosim as nc
from netcosim.catalogue import kinds
jobs = {"synthetic": {"n_jobs": 20, "mean_nodes": 4}}
queue = {"policies": ["baseline", "menu"], "run_time_model": "as-logged"}
machine = {"family": "torus", "dims": [8, 8]}
content = {"machine": machine, "workload": jobs, "run": {"snapshots": 0}}
config = nc.config_from({**content, "queue": {**queue, "policies": ["baseline"]}})
print(len(nc.run_cosim(config).schedules["baseline"].start_s))
print(*(name for kind in kinds() for name in nc.entries(kind)))
try:
    nc.config_from({**content, "queue": queue})
    print("menu is known")
except nc.NetcosimError as error:
    print(error)
"""


WITHOUT_EACH = """
import os, sys
for study in sys.argv[1:]:
    os.rename(f"experiments/{study}", "gone")
    print("without", study, flush=True)
    if not (child := os.fork()):
        from netcosim.cli import main
        sys.exit(main(["list", "papers"]))
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
    os.rename("gone", f"experiments/{study}")
"""
"""Each in a process of its own that has nothing of the project loaded before."""


def is_outside(path: Path) -> bool:
    return any(path.is_relative_to(ROOT / folder) for folder in FOLDERS)


def test_nothing_of_the_core_imports_a_study() -> None:
    """Registries name them as texts, and do without those that are not there."""
    outside = {module_of(path) for path in SOURCES if is_outside(path)}
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in SOURCES
        if not is_outside(path)
        for line, name in imports(path)
        if name in outside or name.rpartition(".")[0] in outside
    ]
    assert wrong == []


def study_of(path: Path) -> str | None:
    """Name the study that a source file belongs to."""
    house, name, *_ = path.relative_to(ROOT).parts
    return name if house == "experiments" and name in STUDIES else None


def test_no_study_imports_another() -> None:
    """What two studies share is in `experiments.kit`, which imports none."""
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in SOURCES
        if path.is_relative_to(ROOT / "experiments")
        for line, name in imports(path)
        if name.startswith("experiments.") and name.split(".")[1] not in (KIT, study_of(path))
    ]
    assert wrong == []


def test_studies_use_public_names() -> None:
    """Neither imports nor attributes of imported modules begin with an underscore."""
    wrong = []
    for path in SOURCES:
        if not path.is_relative_to(ROOT / "experiments"):
            continue
        names = [(line, name) for line, name in imports(path) if not name.startswith("__future__")]
        modules = {name.rpartition(".")[2] for _, name in names}
        wrong += [f"{name_of(path)}:{line} {n}" for line, n in names if "._" in n]
        wrong += [
            f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ]
    assert wrong == []


def copy_without(folders: list[str] | tuple[str, ...], target: Path) -> dict[str, str]:
    """Copy the packages and the tests, delete folders; return the environment to run them in."""
    for package in (*MAY_IMPORT, "tests"):
        ignored = shutil.ignore_patterns("*.pyc.*", "images", "tables")
        shutil.copytree(ROOT / package, target / package, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, target)
    for folder in folders:
        shutil.rmtree(target / folder)
    return {**os.environ, "PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": "1"}


def run(arguments: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.full
def test_the_core_does_without_any_of_them(tmp_path: Path) -> None:
    environment = copy_without(FOLDERS, tmp_path)
    done, names, menu = run(["-c", RUN], tmp_path, environment).splitlines()
    assert int(done) == 20
    assert {"jigsaw", "coupled-flow", "sacct", "easy"} <= set(names.split())
    gone = {"cobalt", "menu", "laas-coded", "ta-one-type", "flux", "partition-bisection"}
    assert gone & set(names.split()) == set()
    assert "unknown allocation policy 'menu'" in menu
    told = run(["-m", "netcosim", "--help"], tmp_path, environment)
    assert " sweep " in told
    gone = {
        "bench",
        "bench-rl",
        "curve",
        "isolation-gain",
        "judge",
        "match",
        "reproduce",
        "validate",
    }
    assert not any(f" {name} " in told for name in gone)
    tests = [f"tests/{name}" for name in CORE_TESTS]
    run(["-m", "pytest", "-p", "no:cacheprovider", *tests], tmp_path, environment)


@pytest.mark.full
@pytest.mark.parametrize("what", OPTIONAL)
def test_the_core_does_without_each(what: str, tmp_path: Path) -> None:
    environment = copy_without(OPTIONAL[what], tmp_path)
    run(["-c", RUN], tmp_path, environment)
    run(["-m", "netcosim", "--help"], tmp_path, environment)


@pytest.mark.full
def test_all_do_without_each_study(tmp_path: Path) -> None:
    """The command lists what is there; no study imports another (above)."""
    environment = copy_without((), tmp_path)
    printed = run(["-c", WITHOUT_EACH, *STUDIES], tmp_path, environment)
    _, *parts = re.split(r"^without ", printed, flags=re.M)
    assert [part.split()[0] for part in parts] == STUDIES
    for study, *papers in map(str.split, parts):
        assert study.replace("_", "-") not in papers
        assert "pollard" in papers or study == "pollard"
