"""The house's walls: who may import whom, and what kernels may use."""

from __future__ import annotations

import ast
import configparser
import re
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
    "netcosim": {"netsim", "alloc", "patterns", "workloads", "queuesim", "cosim"},
    "experiments": {*("netsim", "alloc", "patterns", "workloads", "queuesim", "cosim", "netcosim")},
}
# What a package must not know, beyond its imports of other packages.
BANNED = {
    package: {"argparse", "matplotlib", "sqlite3", "mpi4py", "tqdm", "pydantic", "jinja2"}
    for package in ("netsim", "patterns", "workloads", "alloc", "queuesim", "cosim")
}
# Config models are made from declared parameters when a value is checked; engines need none.
PYDANTIC = "netsim/parameters.py"

SOURCES = sorted(
    p
    for package in MAY_IMPORT
    for p in (ROOT / package).rglob("*.py")
    if not {"tests", "tables"} & set(p.relative_to(ROOT).parts)
)


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
    """Jobs on a network, then measuring them, then run times; names and keys import none."""
    order = ["cosim.network", "cosim.measuring", "cosim.run_times"]
    modules = {module_of(path): path for path in SOURCES if path.is_relative_to(ROOT / "cosim")}
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for module, path in modules.items()
        for line, name in imports(path)
        for k, room in enumerate(order)
        if module.startswith(room) and name.startswith(tuple(order[k + 1 :]))
    ]
    assert wrong == []


def test_registries_import_none_of_their_entries() -> None:
    """They name them as texts (`netsim.registry`); `make_topology` and the like look them up."""
    found = {}
    for path in (path for path in SOURCES if path.name == "registry.py"):
        listed = set(re.findall(r'^ {8}"([\w.]+):[\w.]+",$', path.read_text("utf-8"), re.M))
        found[name_of(path)] = {
            name for _, name in imports(path, for_types=False) if name.rpartition(".")[0] in listed
        }
    assert not any(found.values()), found


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
