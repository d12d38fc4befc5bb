"""Contents of a results file, and how its rows are read when it may be damaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from netsim.errors import NetcosimError

APPLICATION_ID = 0x4E434F53  # "NCOS"
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE points (
    key TEXT PRIMARY KEY,
    config TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error TEXT,
    seconds REAL NOT NULL,
    finished_utc TEXT NOT NULL,
    code TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE results (
    point_key TEXT NOT NULL REFERENCES points (key) ON DELETE CASCADE,
    table_name TEXT NOT NULL,
    columns TEXT NOT NULL,
    PRIMARY KEY (point_key, table_name)
) WITHOUT ROWID;
"""

SCHEMA_VERSION, WITHOUT_CHECKSUMS, WITHOUT_ARCHIVE = 3, 2, 1
"""Of the files that are written, and of those that are read as well."""

ARCHIVE_SCHEMA = """
CREATE TABLE kept (
    point_key TEXT NOT NULL REFERENCES points (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (point_key, name)
) WITHOUT ROWID;
CREATE TABLE archives (digest TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
"""Archives of runs by their content (SHA-256): equal parts of points are stored once."""

COLUMNS = {
    "meta": "key, value",
    "points": "key, config, status, error, seconds, finished_utc, code",
    "results": "point_key, table_name, columns",
    "kept": "point_key, name, digest",
    "archives": "digest, content",
}
"""The columns of each table, in the order in which they are read."""

CHECKED = ("meta", "points", "results", "kept")
"""Tables whose rows have a checksum; archives have their digest."""
CHECKSUM_SCHEMA = "".join(
    f"ALTER TABLE {table} ADD COLUMN checksum INTEGER;"
    f"UPDATE {table} SET checksum = row_crc({COLUMNS[table]});"
    for table in CHECKED
)


def insertion(table: str, verb: str = "INSERT") -> str:
    """Return the statement that stores a row of a table with its checksum."""
    marks = ", ".join(f"?{n}" for n in range(1, COLUMNS[table].count(",") + 2))
    names = f"{table} ({COLUMNS[table]}, checksum)"
    return f"{verb} INTO {names} VALUES ({marks}, row_crc({marks}))"


def add_functions(db: sqlite3.Connection) -> None:
    """Give a connection the functions of checksums: ``row_crc`` and ``sha256``."""

    def row_crc(*values: object) -> int:
        return zlib.crc32(repr(values).encode())

    db.create_function("row_crc", -1, row_crc, deterministic=True)
    db.create_function("sha256", 1, lambda data: hashlib.sha256(data).hexdigest())


def check_content(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise NetcosimError or a sqlite3 error if any byte of the content has changed.

    SQLite's own checks find rows that are lost, the checksums values that have changed. In a file
    without checksums only the former are looked for.
    """
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise NetcosimError(f"{path}: damaged results file: {' '.join(found.split())[:200]}")
    queries = {"row": "PRAGMA foreign_key_check"}
    if version == SCHEMA_VERSION:
        for table in CHECKED:
            crc = f"row_crc({COLUMNS[table]})"
            queries[table] = f"SELECT 1 FROM {table} WHERE checksum IS NOT {crc} LIMIT 1"
    if version > WITHOUT_ARCHIVE:
        queries["archives"] = "SELECT 1 FROM archives WHERE digest IS NOT sha256(content) LIMIT 1"
        queries["digest"] = "SELECT 1 FROM kept WHERE digest NOT IN (SELECT digest FROM archives)"
    for what, query in queries.items():
        if db.execute(query).fetchone() is not None:
            raise NetcosimError(
                f"{path}: damaged results file: a row of {what} is not as it was written; restore "
                "a copy, or compute it again"
            )


@dataclass(frozen=True)
class StoredPoint:
    """What is known of one point."""

    key: str
    config: dict[str, object]
    status: Literal["done", "failed"]
    error: str | None
    """One line, for a failed point."""
    seconds: float
    """Time it took to compute."""
    finished_utc: str
    """ISO date and time."""
    code: str
    """Fingerprint of the sources that computed it."""


def check_header(path: Path, *, may_be_empty: bool) -> None:
    """Raise NetcosimError if a file exists that is no results file."""
    header = b""
    if path.exists():
        with path.open("rb") as file:
            header = file.read(100)
    if not header and not may_be_empty:
        raise NetcosimError(f"{path}: not a netcosim results file (it is empty)")
    application_id = APPLICATION_ID.to_bytes(4, "big")
    if header and (header[:16] != b"SQLite format 3\0" or header[68:72] != application_id):
        raise NetcosimError(f"{path}: not a netcosim results file")


def check_tables(db: sqlite3.Connection, path: Path, has_archive: bool) -> None:
    """Raise NetcosimError or a sqlite3 error unless all tables and columns are there."""
    found = {
        str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    for table, columns in COLUMNS.items():
        if table in ("kept", "archives") and not has_archive:
            continue
        # a view of that name could have rows without end
        if table not in found:
            raise NetcosimError(f"{path}: damaged results file: table {table} is missing")
        db.execute(f"SELECT {columns} FROM {table} LIMIT 0")


def read_rows(
    db: sqlite3.Connection, path: Path, query: str, kinds: str, values: tuple[object, ...]
) -> list[Any]:
    """Return all rows of a query, each value checked for its kind and decoded.

    Parameters
    ----------
    kinds : str
        A letter a column: t(ext), o(ptional text), n(umber), j(son), m(apping as JSON),
        c(olumns of equal length as JSON), b(ytes).

    Raises
    ------
    NetcosimError
        A damaged file: SQLite finds it so, or a value is of another kind.
    """
    try:
        rows = db.execute(query, values).fetchall()
        return [tuple(map(_checked, row, kinds)) for row in rows]
    except (sqlite3.Error, ValueError, TypeError, RecursionError, MemoryError) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise NetcosimError(f"{path}: damaged results file: {message}") from None


_STORED_AS: dict[str, tuple[tuple[type, ...], str]] = {
    "n": ((int, float), "a number was"),
    "b": ((bytes,), "bytes were"),
    "o": ((str, type(None)), "text was"),
}


def _checked(value: object, kind: str) -> object:
    """Decode a stored value of one of the kinds of `read_rows`."""
    types, expected = _STORED_AS.get(kind, ((str,), "text was"))
    if not isinstance(value, types):
        raise ValueError(f"{value!r:.40} where {expected} expected")
    if not isinstance(value, str) or kind in "to":
        return value
    content = json.loads(value)
    if kind in "mc" and not isinstance(content, dict):
        raise ValueError(f"{value[:40]!r} where a table was expected")
    if kind == "c":
        lists = list(content.values())
        if not all(isinstance(column, list) for column in lists):
            raise ValueError(f"{value[:40]!r} where columns were expected")
        if len({len(column) for column in lists}) > 1:
            raise ValueError("columns of unequal length")
    return content
