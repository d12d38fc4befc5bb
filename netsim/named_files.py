"""Files that a nested content names, found where the file that names them lies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError


def place_files(content: dict[str, Any], keys: Iterable[str], folder: Path) -> None:
    """Make relative paths at dotted keys absolute where such a file lies in a folder.

    Other paths stay relative to the working directory.

    Parameters
    ----------
    content : dict
        Changed in place.
    keys : iterable of str
        ``a.b.c``; ``*`` matches each entry of a list. A value is a path or has one at "file".
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
