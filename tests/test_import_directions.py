"""The house's walls: who may import whom, what kernels may use, and the size of things."""

from __future__ import annotations

import ast
import configparser
from collections import Counter
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]

MAY_IMPORT = {
    "netsim": set(),
    "patterns": {"netsim"},
    "workloads": {"netsim"},
    "alloc": {"netsim"},
    "queuesim": {"netsim", "alloc", "workloads"},
    "cosim": {"netsim", "alloc", "patterns", "workloads", "queuesim"},
    "experiments": {"netsim", "alloc", "patterns", "workloads", "queuesim", "cosim"},
    "netcosim": {"netsim", "alloc", "patterns", "workloads", "queuesim", "cosim", "experiments"},
}
# What a package must not know, beyond its imports of other packages.
BANNED = {
    package: {"argparse", "matplotlib", "sqlite3", "mpi4py", "tqdm", "pydantic", "jinja2"}
    for package in ("netsim", "patterns", "workloads", "alloc", "queuesim", "cosim")
}
# Config models are made from declared parameters when a value is checked; engines need none.
PYDANTIC = "netsim/parameters.py"
# Ceilings. Lower one when the code has become smaller; raise one only with a reason in the commit.
MAX_LINES_OF_PACKAGE = {
    "netsim": 23_810,
    "patterns": 6_330,
    "workloads": 5_080,
    "alloc": 6_240,
    "queuesim": 9_800,
    "cosim": 9_290,
    "experiments": 19_190,
    "netcosim": 22_150,
}
MAX_LINES_OF_FILE = 448
MAX_FILES_OF_FOLDER = 30
LARGER_FOLDERS = {
    "experiments": 36,
    "netsim/routing": 34,
    "patterns": 31,
}
# How many functions may have more than 60 lines, or more than 8 parameters (kernels take arrays).
MAX_LONG_FUNCTIONS = 59
MAX_WIDE_FUNCTIONS = 56

SOURCES = sorted(p for package in MAY_IMPORT for p in (ROOT / package).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_kernel(path: Path) -> bool:
    inside = path.relative_to(ROOT).parts[0] in ("netsim", "alloc", "queuesim", "cosim")
    return path.name.startswith("kernels") or (inside and path.name == "tables.py")


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Nodes of the kinds that tests look at."""
    kinds = (ast.Import, ast.ImportFrom, ast.If, ast.FunctionDef)
    return tuple(node for node in ast.walk(tree_of(path)) if isinstance(node, kinds))


@cache
def imports(path: Path, *, for_types: bool = True) -> tuple[tuple[int, str], ...]:
    """Line and full name of every import, those inside functions and ``from x import y`` too.

    Those under ``if TYPE_CHECKING`` can be left out.
    """
    skipped = set()
    if not for_types:
        skipped = {
            inner for node in nodes_of(path) if is_for_types(node) for inner in ast.walk(node)
        }
    found = []
    for node in nodes_of(path):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append((node.lineno, alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            for alias in node.names:
                found.append((node.lineno, f"{node.module}.{alias.name}"))
    return tuple(found)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_sources_of_every_package() -> None:
    assert {p.relative_to(ROOT).parts[0] for p in SOURCES} == set(MAY_IMPORT)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_go_one_way(package: str) -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] == package
        for line, name in imports(path)
        if (top := name.split(".")[0]) in set(MAY_IMPORT) - MAY_IMPORT[package] - {package}
        or (top in BANNED.get(package, set()) and (top, name_of(path)) != ("pydantic", PYDANTIC))
    ]
    assert wrong == []


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions count too: a circle that runs late is one nevertheless.

    Those for type checkers do not: an interface names the context that it is built from, the
    context names what it offers to those who implement the interface, and no code runs for it.
    """
    modules = {module_of(path): path for path in SOURCES}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, path in modules.items():
        for _, name in imports(path, for_types=False):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and target != module:
                graph.add_edge(module, target)
    circles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert circles == []


def test_folders_of_cosim_import_one_way() -> None:
    """Jobs on a network, then measuring them, then run times, then their names."""
    order = ["cosim.network", "cosim.measuring", "cosim.run_times", "cosim.registry"]
    modules = {module_of(path): path for path in SOURCES if path.is_relative_to(ROOT / "cosim")}
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for module, path in modules.items()
        for line, name in imports(path)
        for k, room in enumerate(order)
        if module.startswith(room) and name.startswith(tuple(order[k + 1 :]))
    ]
    assert wrong == []


def test_kernels_import_numpy_numba_and_kernels_alone() -> None:
    """Compiled functions are kept by a hash of the file and its imports (`netsim.kernel_cache`)."""
    wrong = []
    for path in filter(is_kernel, SOURCES):
        for line, name in imports(path):
            parts = name.split(".")
            inside = parts[0] in MAY_IMPORT
            kernel = any(p == "tables" or p.startswith("kernels") for p in parts[1:])
            kernel |= name == "netsim.kernel_cache.KernelLocator"
            if inside and not kernel:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
            # llvmlite is Numba's own lower half, for intrinsics.
            allowed = {"numpy", "numba", "llvmlite", "typing", "enum", "__future__"}
            if not inside and parts[0] not in allowed:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert wrong == []


def test_compiled_code_lives_in_kernel_files() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in SOURCES
        if not is_kernel(path)
        for line, name in imports(path)
        if name.startswith("numba.")
    ]
    assert wrong == []


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_packages_files_and_folders_stay_within_their_ceilings() -> None:
    lines = Counter[str]()
    for path in SOURCES:
        lines[path.relative_to(ROOT).parts[0]] += lines_of(path)
    assert {p: n for p, n in lines.items() if n > MAX_LINES_OF_PACKAGE[p]} == {}
    files = {name_of(path): lines_of(path) for path in SOURCES}
    assert {name: n for name, n in files.items() if n > MAX_LINES_OF_FILE} == {}
    folders = Counter(name_of(path.parent) for path in SOURCES)
    limits = {name: LARGER_FOLDERS.get(name, MAX_FILES_OF_FOLDER) for name in folders}
    assert {name: n for name, n in folders.items() if n > limits[name]} == {}


def test_long_functions_and_functions_of_many_parameters_do_not_become_more() -> None:
    long, wide = [], []
    for path in SOURCES:
        for node in nodes_of(path):
            if not isinstance(node, ast.FunctionDef):
                continue
            name = f"{name_of(path)}:{node.lineno} {node.name}"
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno >= 60:
                long.append(name)
            a = node.args
            if len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs) > 8:
                wide.append(name)
    assert len(long) <= MAX_LONG_FUNCTIONS, long
    assert len(wide) <= MAX_WIDE_FUNCTIONS, wide


def test_every_package_is_shipped() -> None:
    """A package that setup.cfg does not list is missing from an installed netcosim."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    found = {".".join(p.parent.relative_to(ROOT).parts) for p in SOURCES if p.name == "__init__.py"}
    assert listed == found
    with_sources = {".".join(p.parent.relative_to(ROOT).parts) for p in SOURCES}
    assert with_sources == found, "a folder of sources has no __init__.py"
    assert {p.parent.name for p in ROOT.glob("*/py.typed")} == set(MAY_IMPORT)
