"""The cache of compiled kernels: a folder named by a hash of the kernel sources.

Numba's on-disk cache does not notice a change in a function that a cached function of
another module calls, so every version of the kernels gets a folder of its own. Kernel
code lives in files called ``kernels*.py`` and ``tables.py`` for this reason.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("netsim", "patterns", "alloc", "queuesim", "cosim")


@cache
def kernel_sources() -> tuple[Path, ...]:
    """Return every file that holds kernel code, sorted."""
    root = Path(__file__).resolve().parent.parent
    found = [
        path
        for package in _PACKAGES
        for pattern in ("kernels*.py", "tables.py")
        for path in (root / package).rglob(pattern)
    ]
    return tuple(sorted(found))


@cache
def kernel_hash() -> str:
    """Twelve hex digits that change with any kernel source, and with Numba's version."""
    digest = hashlib.sha256()
    # the file, for the version's metadata takes longer to import than all of a command's start
    numba = find_spec("numba")
    if numba is not None and numba.origin is not None:
        digest.update(Path(numba.origin).with_name("_version.py").read_bytes())
    for path in kernel_sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def use_kernel_cache() -> Path:
    """Point Numba at this version's folder; must run before anything is compiled.

    ``NUMBA_CACHE_DIR``, then ``XDG_CACHE_HOME``, then ``~/.cache`` select the folder.
    """
    given = os.environ.get("NETCOSIM_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        base = Path(given)
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netcosim"
    folder = base if base.name.startswith("kernels-") else base / f"kernels-{kernel_hash()}"
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder
