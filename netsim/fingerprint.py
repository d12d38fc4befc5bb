"""Which code computed a result: a short name of the model's sources."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from netsim.atomic_files import make_folder, write_text_atomically
from netsim.errors import NetcosimError
from netsim.kernel_cache import cache_folder

_MODEL_PACKAGES = ("netsim", "patterns", "alloc", "workloads", "queuesim", "cosim")


@cache
def code_fingerprint() -> str:
    """Return 12 hex digits of the model's sources without their comments and docstrings.

    It is stored with each point, so that a report can show when points of one store were
    computed by different code. It is not part of a point's key (`MODEL_VERSION` is).
    """
    return fingerprint_of(Path(__file__).resolve().parent.parent, cache_folder())


def fingerprint_of(root: Path, folder: Path) -> str:
    """Return `code_fingerprint` of a source tree, stored in ``folder`` because parsing is slow.

    The key is the bytes of all files, so a change is noticed whatever a file's date,
    and Python's version, whose syntax trees differ.
    """
    paths = sorted(p for package in _MODEL_PACKAGES for p in (root / package).rglob("*.py"))
    sources = [(str(path.relative_to(root)), path.read_bytes()) for path in paths]
    raw = hashlib.sha256(repr((sys.version_info[:2], sources)).encode()).hexdigest()
    kept = folder / f"sources-{raw}"
    with suppress(OSError, ValueError):
        found = kept.read_text(encoding="ascii")
        if re.fullmatch("[0-9a-f]{12}", found):
            return found
    digest = hashlib.sha256()
    for name, source in sources:
        digest.update(name.encode())
        digest.update(_normalised(source.decode()).encode())
    with suppress(NetcosimError):
        make_folder(folder)
        write_text_atomically(kept, digest.hexdigest()[:12])
    return digest.hexdigest()[:12]


def _normalised(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return ast.dump(tree)


def _is_docstring(node: ast.stmt) -> bool:
    """Return whether a statement documents what it is in, or the name before it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
