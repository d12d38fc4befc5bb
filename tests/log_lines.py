"""Job lines and small logs for tests."""

from __future__ import annotations

import gzip
from pathlib import Path


def line(**fields: object) -> str:
    """A job line; f1 ... f18 replace the defaults. Those without a number are jobs of their own."""
    values: list[object] = [-1, 0, 5, 100, 8, -1, -1, 8, 200, -1, 1, 3, 4, -1, -1, -1, -1, -1]
    for key, value in fields.items():
        values[int(key[1:]) - 1] = value
    return " ".join(map(str, values))


def written(folder: Path, *lines: str, name: str = "log.swf") -> Path:
    """A log of some lines, gzipped by its name."""
    path = folder / name
    text = "\n".join(lines) + "\n"
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path
