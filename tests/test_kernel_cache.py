"""Compiled kernels are kept by what they are made of."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba import types
from numba.core.caching import FunctionCache

from alloc.hierarchy.kernels_leaves import better
from netsim import kernel_cache as module
from netsim.kernel_cache import (
    KernelLocator,
    cache_folder,
    folder_name_of,
    imported_sources,
    kernel_sources,
)
from netsim.routing.kernels import route

ROOT = Path(module.__file__).resolve().parent.parent


def imports_of(source: Path) -> set[Path]:
    """The project's modules that a file imports, by Python's own parser."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        paths = (module._ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names)
        found |= {path for path in paths if path.is_file()}
    return found


def closure_of(source: Path) -> set[Path]:
    seen: set[Path] = set()
    left = {source}
    while left:
        seen |= left
        left = {path for known in left for path in imports_of(known)} - seen
    return seen


@pytest.mark.parametrize("source", kernel_sources(), ids=lambda path: path.stem)
def test_every_import_is_seen(source: Path) -> None:
    assert set(imported_sources(source)) == imports_of(source)


def test_a_change_renames_the_folders_of_what_can_see_it_alone(tmp_path, monkeypatch):
    for source in {path for kernel in kernel_sources() for path in closure_of(kernel)}:
        copy = tmp_path / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    monkeypatch.setattr(module, "_ROOT", tmp_path)

    def names() -> dict[Path, str]:
        for cached in (kernel_sources, imported_sources, folder_name_of):
            cached.cache_clear()
        return {path: folder_name_of(path) for path in kernel_sources()}

    try:
        before = names()
        target = tmp_path / "netsim" / "routing" / "kernels_fattree.py"
        target.write_text(target.read_text(encoding="utf-8") + "\n# a remark\n")
        after = names()
        renamed = {path for path in before if before[path] != after[path]}
        assert renamed == {path for path in before if target in closure_of(path)}
        assert renamed
    finally:
        kernel_sources.cache_clear()


def test_tables_of_a_folder_name_its_kernels_that_do_not_import_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    kernel, tables = tmp_path / "kernels_a.py", tmp_path / "tables.py"
    kernel.write_text("A = 1\n")
    names = []
    for text in ("B = 1\n", "B = 2\n", "B = 1\n"):
        tables.write_text(text)
        for cached in (imported_sources, folder_name_of):
            cached.cache_clear()
        names.append(folder_name_of(kernel))
    assert names[0] == names[2] != names[1]
    monkeypatch.setattr(module, "_numba_version", lambda: b"another")
    folder_name_of.cache_clear()
    assert folder_name_of(kernel) not in names


def test_functions_of_one_name_in_one_file_are_kept_apart(tmp_path):
    functions = [lambda: 1, lambda: 2]
    functions.append(lambda: 3)
    kept = [KernelLocator(function, tmp_path).get_disambiguator() for function in functions]
    assert kept[0] == kept[1] != kept[2]


def test_numba_keeps_kernels_there() -> None:
    source = ROOT / "netsim" / "routing" / "kernels.py"
    assert Path(route.stats.cache_path) == cache_folder() / folder_name_of(source)


TWO_LEAVES = """
import numpy as np
from alloc.hierarchy.kernels_leaves import better, choose_leaves
order = np.zeros(2, dtype=np.int64)
free, parent = np.array([3, 5, 8]), np.array([2, 2, -1])
used = choose_leaves(4, 2, free, parent, order)
hits = [sum(kernel.stats.cache_hits.values()) for kernel in (choose_leaves, better)]
print(used, order[0], *free, *hits)
"""


def test_a_kernel_that_only_kernels_call_is_kept_for_them(tmp_path: Path) -> None:
    """Leaves of 3 and 5 free nodes: the second has 4 and is used up; 8 - 5 are below the switch.

    The second process finds the outer kernel, the third, without it, the inner one.
    """

    def run() -> list[str]:
        env = {**os.environ, "NETCOSIM_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
        args = [sys.executable, "-c", TWO_LEAVES]
        return subprocess.run(
            args, env=env, capture_output=True, text=True, check=True
        ).stdout.split()

    outer = "*/kernels_leaves.choose_leaves-*"
    answer = ["1", "1", "3", "0", "3"]
    assert run() == [*answer, "0", "0"]
    assert run() == [*answer, "1", "0"]
    for file in tmp_path.glob(outer):
        file.unlink()
    *rest, inner_hits = run()
    assert rest == [*answer, "0"]
    assert int(inner_hits) > 0


def test_processes_that_save_at_once_keep_their_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look at the empty index; the second writes its index first and its data last."""
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path))
    context = better.targetctx
    first, second = (FunctionCache(better.py_func) for _ in range(2))
    for cache in (first, second):
        monkeypatch.setattr(cache._impl, "check_cachable", lambda _: True)
        monkeypatch.setattr(cache._impl, "reduce", lambda data: data.code)
        monkeypatch.setattr(cache._impl, "rebuild", lambda _, code: code)

    def save(cache: Any, kind: Any, code: str) -> None:
        cache.save_overload((kind,), SimpleNamespace(codegen=context.codegen(), code=code))

    save_index, save_data = first._cache_file._save_index, second._cache_file._save_data
    late: list[tuple[str, str]] = []

    def save_index_after_second(overloads: dict[Any, str]) -> None:
        save(second, types.float64, "of floats")
        save_index(overloads)

    monkeypatch.setattr(first._cache_file, "_save_index", save_index_after_second)
    monkeypatch.setattr(second._cache_file, "_save_data", lambda *data: late.append(data))
    save(first, types.int64, "of integers")
    save_data(*late[0])
    assert first.load_overload((types.int64,), context) == "of integers"


INNER = {"INNER_KERNEL", "FINITE_KERNEL", "INNER_ALLOCATING_KERNEL", "HOT_KERNEL"}


def needing_python(source: str) -> list[str]:
    """Return the inner kernels that print, raise or have a block of object mode."""
    return [
        function.name
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        and any(
            isinstance(node, ast.Name) and node.id in INNER
            for decorator in function.decorator_list
            for node in ast.walk(decorator)
        )
        and any(
            isinstance(node, ast.Raise | ast.With)
            or (isinstance(node, ast.Name) and node.id == "print")
            for node in ast.walk(function)
        )
    ]


def test_inner_kernels_need_nothing_of_python() -> None:
    raising = "@njit(**{})\ndef f(x):\n    if x > 2:\n        raise ValueError(x)\n"
    assert needing_python(raising.format("HOT_KERNEL")) == ["f"]
    assert needing_python(raising.format("KERNEL")) == []
    assert {
        p.name: names for p in kernel_sources() if (names := needing_python(p.read_text()))
    } == {}
