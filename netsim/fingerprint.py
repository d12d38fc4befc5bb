"""Which code computed a result: a short name of the model's sources."""

from __future__ import annotations

import hashlib
import marshal
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType

from netsim.atomic_files import make_folder, write_text_atomically
from netsim.errors import NetcosimError
from netsim.kernel_cache import cache_folder

_WITHOUT_REFERENCES = 2
"""Version of `marshal` whose bytes do not depend on how often an object is referred to."""
_MODEL_PACKAGES = ("netsim", "patterns", "alloc", "workloads", "queuesim", "cosim")


@cache
def code_fingerprint() -> str:
    """Return 12 hex digits of the model's sources without comments, texts of docstrings and
    assertions.

    It is stored with each point, so that a report can show when points of one store were
    computed by different code. It is not part of a point's key (`MODEL_VERSION` is).
    """
    return fingerprint_of(Path(__file__).resolve().parent.parent, cache_folder())


def fingerprint_of(root: Path, folder: Path) -> str:
    """Return `code_fingerprint` of a source tree, stored in ``folder`` because compiling is slow.

    The key is the bytes of all files, so a change is noticed whatever a file's date,
    and Python's version, whose compiled code differs.
    """
    paths = sorted(p for package in _MODEL_PACKAGES for p in (root / package).rglob("*.py"))
    sources = [(str(path.relative_to(root)), path.read_bytes()) for path in paths]
    raw = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for name, source in sources:
        raw.update(f"{name} {len(source)} ".encode() + source)
    kept = folder / f"sources-{raw.hexdigest()}"
    with suppress(OSError, ValueError):
        found = kept.read_text(encoding="ascii")
        if re.fullmatch("[0-9a-f]{12}", found):
            return found
    digest = hashlib.sha256()
    for name, source in sources:
        digest.update(name.encode())
        digest.update(_normalised(source))
    with suppress(NetcosimError):
        make_folder(folder)
        write_text_atomically(kept, digest.hexdigest()[:12])
    return digest.hexdigest()[:12]


def _normalised(source: bytes) -> bytes:
    """Return what a file compiles to: comments leave no trace, and docstrings not their texts."""
    code = _without_lines(compile(source, "", "exec", optimize=2))
    return marshal.dumps(code, _WITHOUT_REFERENCES)


def _without_lines(code: CodeType) -> CodeType:
    inside = (_without_lines(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=tuple(inside), co_linetable=b"", co_firstlineno=1)
