"""Input files of a point: named by where they lie, known by what they hold.

In a point's content a file is a mapping ``{"file": path, "sha256": digest}``. The point's key
and its draws depend only on the digest (`identity`), so a file that changed makes another
point, and the same file in another folder makes the same one. Code that reads the file calls
`checked_path` for it, which refuses a file that has changed since the content was made.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from netsim.files import check_file

_KEYS = {"file", "sha256"}


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a file as 64 hex digits.

    Of the file of a rank (`netsim.inputs`), that of the digests of all that are read with it.
    """
    together = companions(path)
    if len(together) > 1:
        parts = "".join(map(_file_digest, together))
        return hashlib.sha256(parts.encode()).hexdigest()
    return _file_digest(Path(path))


def _file_digest(path: Path) -> str:
    check_file(path)
    try:
        now = path.stat()
        known = (str(path.resolve()), now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino)
        if time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) < _SETTLED_NS:
            return _digest(known)
        return _kept_digest(known)
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None


_SETTLED_NS = 3 * 10**9
"""Age from which a file's modification time is reliable; some file systems count in 2 s."""


def _digest(known: tuple[str, int, int, int, int]) -> str:
    with open(known[0], "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_kept_digest = lru_cache(maxsize=256)(_digest)
"""Points of a sweep name the same few files; a file that changed is another entry."""


def input_file(path: str | Path) -> dict[str, str]:
    """Return a file in a point's content: its absolute path and its digest."""
    digest = file_digest(path)
    return {"file": str(Path(path).resolve()), "sha256": digest}


def is_input(value: object) -> bool:
    """Return whether a value of a point's content is an input file, plug-in or class in a file."""
    return isinstance(value, Mapping) and _KEYS <= set(value) <= _KEYS | {"module", "name"}


def checked_path(value: Mapping[str, object]) -> str:
    """Return the path of an input file that still holds what it held when the content was made."""
    path = str(value["file"])
    found = file_digest(path)
    if found != value["sha256"]:
        raise NetcosimError(
            f"{path}: the file has changed: SHA-256 {found[:12]}..., "
            f"this run was made for {str(value['sha256'])[:12]}...; start it again"
        )
    return path


def refuse_bare_paths(content: object, where: str = "a point") -> None:
    """Check that no content names a file only by its path, which would silently become stale."""
    if isinstance(content, str):
        if content.startswith("/") and "\0" not in content and Path(content).is_file():
            raise NetcosimError(f"{where}: the file {content} must be given as an input file")
    elif isinstance(content, Mapping):
        if not is_input(content):
            for key, value in content.items():
                refuse_bare_paths(value, f"{where}, {key}")
    elif isinstance(content, (list, tuple)):
        for value in content:
            refuse_bare_paths(value, where)


def identity(value: object) -> object:
    """Return a content with each input file replaced by its digest, as used for keys and draws.

    For a class in a file, the name counts too.
    """
    if isinstance(value, Mapping):
        if is_input(value):
            return {key: value[key] for key in ("sha256", "name") if key in value}
        return {key: identity(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [identity(item) for item in value]
    return value


def label(value: Mapping[str, object]) -> str:
    """Return an input file in one cell of a table: its name and the start of its digest."""
    name = f":{value['name']}" if "name" in value else ""
    return f"{Path(str(value['file'])).name}{name} ({str(value['sha256'])[:12]})"


def digests(contents: Iterable[object]) -> dict[str, str]:
    """Return the SHA-256 digest of each input file of some contents by path, in their order.

    A path with several digests (the file changed between two runs) is reported with all of them.
    """
    found: dict[str, list[str]] = {}
    for value in (value for content in contents for value in _inputs_of(content)):
        known = found.setdefault(str(value["file"]), [])
        if str(value["sha256"]) not in known:
            known.append(str(value["sha256"]))
    return {path: ", ".join(known) for path, known in found.items()}


def _inputs_of(content: object) -> Iterator[Mapping[str, object]]:
    if isinstance(content, Mapping):
        if is_input(content):
            yield content
        else:
            for value in content.values():
                yield from _inputs_of(value)
    elif isinstance(content, (list, tuple)):
        for value in content:
            yield from _inputs_of(value)


def place_files(content: dict[str, Any], keys: Iterable[str], folder: Path) -> None:
    """Make relative paths at dotted keys absolute where such a file lies in a folder.

    Other paths stay relative to the working directory. The content is changed in place; ``*`` in a
    key matches each entry of a list. A value is a path or has one at "file".
    """
    for dotted in keys:
        *path, key = dotted.split(".")
        tables: list[Any] = [content]
        for part in path:
            inner = [table.get(part) for table in tables if isinstance(table, dict)]
            if part == "*":
                inner = [one for table in tables if isinstance(table, list) for one in table]
            tables = inner
        for table in tables:
            if key == "*" and isinstance(table, list):
                _place_entries(table, dotted, folder)
            elif isinstance(table, dict):
                pinned = table.get(key)
                if isinstance(pinned, dict):
                    _place(pinned, "file", dotted, folder)
                else:
                    _place(table, key, dotted, folder)


def _place_entries(files: list[Any], dotted: str, folder: Path) -> None:
    for k, name in enumerate(files):
        entry = name if isinstance(name, dict) else {"file": name}
        _place(entry, "file", dotted, folder)
        files[k] = name if isinstance(name, dict) else entry["file"]


def _place(table: dict[str, Any], key: str, dotted: str, folder: Path) -> None:
    name = table.get(key)
    if isinstance(name, str):
        if "\0" in name:
            raise NetcosimError(f"key {dotted}: {name!r}; no file has a zero byte in its name")
        if os.path.exists(folder / name):
            table[key] = str(folder / name)


_RANK_FILE = re.compile(r"(?P<prefix>.+)\.(?P<rank>[0-9]+)\.(?P<end>et|json)")


def ranks_of(path: str | Path) -> list[Path]:
    """Return the files that differ from this one in the number of their rank, in order.

    ``w.0.et``, ``w.1.et``, ... A file of another name, or without others, is alone; one that is
    missing between others is an error.
    """
    path = Path(path)
    own = _RANK_FILE.fullmatch(path.name)
    if own is None or not path.parent.is_dir():
        return [path]
    found = {}
    for name in os.listdir(path.parent) if os.access(path.parent, os.R_OK) else ():
        match = _RANK_FILE.fullmatch(name)
        if match and (match["prefix"], match["end"]) == (own["prefix"], own["end"]):
            found[int(match["rank"])] = path.parent / name
    if len(found) <= 1:
        return [path]
    missing = next(rank for rank in range(len(found) + 1) if rank not in found)
    if missing < len(found):
        raise NetcosimError(
            f"{path}: {len(found)} ranks' files are beside it, without that of rank {missing}"
        )
    return [found[rank] for rank in range(len(found))]


def companions(path: str | Path) -> list[Path]:
    """Return all files that are read with a rank's file: those of all ranks, and of the groups.

    The members of process groups are in ``PREFIX.json``, or else in the only file of the folder
    whose name begins with ``comm_group``, or in the one of these that ends as the prefix.
    """
    path = Path(path)
    own = _RANK_FILE.fullmatch(path.name)
    if own is None and path.suffix != ".et":
        return [path]
    try:
        ranks = ranks_of(path)
    except NetcosimError:  # other files that have numbers in their names
        return [path]
    prefix = own["prefix"] if own else path.stem
    named = path.parent / f"{prefix}.json"
    if named.is_file() and named not in ranks:
        return [*ranks, named]
    groups = sorted(path.parent.glob("comm_group*.json"))
    if len(groups) > 1:
        ends = (prefix[k:] for k in range(len(prefix)) if not prefix[k].isalnum())
        fitting = {f"comm_group{end}.json" for end in ends}
        groups = [one for one in groups if one.name in fitting]
    return [*ranks, *groups[:1]]
