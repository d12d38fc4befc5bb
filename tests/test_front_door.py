"""`import netcosim`: its names, their examples, what it loads, and packages of other projects."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import netcosim
from netcosim.package_check import PACKAGES, foreign_package

ROOT = Path(__file__).resolve().parents[1]
NAMES = [name for name in netcosim.__all__ if name != "__version__"]


def ran(script: str, path: Path = ROOT, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(path)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_names_are_the_same_objects_as_in_their_homes() -> None:
    """What type checkers read, what Python reads and what is public are one list."""
    tree = ast.parse(Path(netcosim.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(typed) == NAMES == sorted(NAMES)
    assert dir(netcosim) == netcosim.__all__
    for name, home in typed.items():
        assert getattr(netcosim, name) is getattr(importlib.import_module(home), name)


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="'netcosim' has no attribute 'make_machine'"):
        _ = netcosim.make_machine


@pytest.mark.parametrize("name", NAMES)
def test_examples_give_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    thing = getattr(netcosim, name)
    finder = doctest.DocTestFinder(recurse=False)
    [example] = finder.find(thing, name, globs={})
    assert any(e.want for e in example.examples), f"{name} has no example"
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert "".join(told) == ""


# Another project's package in the place of ours
OTHERS = '"""Allocation of memory."""\n'


def commands(path: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return ran("import sys; from netcosim.cli import main; sys.exit(main(['list']))", path, cwd)


def test_a_package_found_elsewhere_is_told_in_one_line(tmp_path: Path) -> None:
    """As in an environment where another distribution called alloc is installed."""
    (tmp_path / "alloc").mkdir()
    (tmp_path / "alloc" / "__init__.py").write_text(OTHERS)
    both = Path(f"{tmp_path}{os.pathsep}{ROOT}")
    done = commands(both)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"netcosim: error: the package 'alloc' is not netcosim's (Python finds {tmp_path / 'alloc'}"
    )
    assert "fresh virtual environment" in done.stderr
    assert done.stderr.count("\n") == 1
    done = ran("from netcosim import make_policy", both)
    assert done.stderr.splitlines()[-1].startswith("ImportError: the package 'alloc' is not")


def test_a_package_written_over_is_told(tmp_path: Path) -> None:
    """As after the installation of another distribution that holds a folder called netsim."""
    for package in ("netcosim", *PACKAGES):
        shutil.copytree(ROOT / package, tmp_path / package)
    assert commands(tmp_path, tmp_path).returncode == 0
    init = tmp_path / "netsim" / "__init__.py"
    init.write_text(OTHERS)
    done = commands(tmp_path, tmp_path)
    assert done.returncode == 2
    assert f"(another project has written over {init};" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netcosim.package_check.find_spec", lambda name: None)
    assert str(foreign_package()).startswith(
        "the package 'netsim' is not netcosim's (it is missing here; it belongs in"
    )


def test_ours_are_ours() -> None:
    assert foreign_package() is None
