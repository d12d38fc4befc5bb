"""The cache of compiled kernels: a folder for each kernel file, named by what it is made of.

Numba's own folders are named by a file's path and go stale by its date, so a copy of the same
sources compiles all again, and a change in a function that a cached function of another module
calls is not noticed. Here a folder is named by a hash of the file and of every project file that
it imports, directly or not: a change recompiles what can see it and nothing else, and
environments that share a cache share its kernels. Kernel code lives in files called
``kernels*.py`` and ``tables.py`` for this reason.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("netsim", "patterns", "alloc", "queuesim", "cosim")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)


@cache
def kernel_sources(under: str = "") -> tuple[Path, ...]:
    """Return every file that holds kernel code, or those of one folder or name, sorted."""
    found = [
        path
        for package in _PACKAGES
        for pattern in ("kernels*.py", "tables.py")
        for path in (_ROOT / package).rglob(pattern)
        if path.is_relative_to(_ROOT / under)
    ]
    return tuple(sorted(found))


@cache
def imported_sources(source: Path) -> tuple[Path, ...]:
    """Return the files of the project's modules that a source file imports."""
    names = set(_IMPORT.findall(source.read_text(encoding="utf-8")))
    paths = [_ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in sorted(names)]
    return tuple(path for path in paths if path.is_file())


@cache
def _numba_version() -> bytes:
    """Return Numba's version file, because importing the version's metadata is slow."""
    numba = find_spec("numba")
    if numba is None or numba.origin is None:
        return b""
    return Path(numba.origin).with_name("_version.py").read_bytes()


def sources_hash(sources: Iterable[Path]) -> str:
    """Return 12 hex digits of source files, of all that they import, and of Numba's version."""
    seen: set[Path] = set()
    left = list(sources)
    while left:
        source = left.pop()
        if source not in seen:
            seen.add(source)
            left.extend(imported_sources(source))
    digest = hashlib.sha256(_numba_version())
    for source in sorted(seen):
        content = source.read_bytes()
        digest.update(f"{source.relative_to(_ROOT).as_posix()} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def cache_folder() -> Path:
    """Return the folder of compiled kernels and of other values computed from the sources.

    ``NETCOSIM_CACHE_DIR``, ``NUMBA_CACHE_DIR``, then ``XDG_CACHE_HOME``, then ``~/.cache``
    select it.
    """
    given = os.environ.get("NETCOSIM_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netcosim"


@cache
def folder_name_of(source: Path) -> str:
    """Return the name of the folder of a kernel file's compiled functions.

    What is compiled names the classes of its arguments, which its folder's ``tables.py`` declares,
    whether or not the file imports it.
    """
    module = source.relative_to(_ROOT).with_suffix("").as_posix().replace("/", ".")
    tables = source.with_name("tables.py")
    return f"{module}-{sources_hash([source, tables] if tables.is_file() else [source])}"


def _make_writable(folder: Path) -> None:
    """Create a folder; raise OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    TemporaryFile(dir=folder).close()


def is_writable(folder: Path) -> bool:
    """Return whether a folder can be written, and create it."""
    try:
        _make_writable(folder)
    except OSError:
        return False
    return True


@cache
def _writable_folder(py_file: str, cached_in: Path) -> Path | None:
    """Return the folder of a file's kernels; None for another file or one not writable."""
    source = Path(py_file).resolve()
    if source not in kernel_sources():
        return None
    folder = cached_in / folder_name_of(source)
    return folder if is_writable(folder) else None


class KernelLocator:
    """The folder of a kernel file's compiled functions, for Numba.

    Has the methods of `numba.core.caching._CacheLocator` without importing Numba. Numba tries one
    class after another, so functions of other files are kept as Numba always does, and so are
    kernels where the folder cannot be written.
    """

    def __init__(self, py_func: Callable[..., Any], folder: Path) -> None:
        self._folder = folder
        # what Numba names where it cannot keep a function, for instance without optimisation
        self._py_file = py_func.__code__.co_filename
        self._first_line = py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """Return the folder of the compiled functions."""
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """Create the folder; raise OSError if it cannot be written."""
        _make_writable(self._folder)

    def get_source_stamp(self) -> str:
        """Return a constant stamp, because changed sources have another folder."""
        return "named by its sources"

    def get_disambiguator(self) -> str:
        """Return the first line, which separates functions of one name in one file."""
        return str(self._first_line)

    def data_files(self, base: str) -> str:
        """Return Numba's pattern of file names, with a part that no other process has."""
        return f"{base}.{{number:d}}.{os.urandom(8).hex()}.nbc"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> KernelLocator | None:
        """Return the locator of a kernel, or None for any other function."""
        folder = _writable_folder(py_file, cache_folder())
        return None if folder is None else cls(py_func, folder)
