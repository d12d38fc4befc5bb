"""Contents of a results file, and how its rows are read when it may be damaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from netsim.errors import NetcosimError

Decode = Callable[[Any], Any]
"""Returns the content of a stored value; ValueError for one of another kind."""


def _of_type(types: type | tuple[type, ...], name: str) -> Decode:
    def decode(value: object) -> object:
        if not isinstance(value, types):
            raise ValueError(f"{value!r:.40}; must be {name}")
        return value

    return decode


text = _of_type(str, "a text")
text_or_none = _of_type((str, type(None)), "a text or nothing")
number = _of_type((int, float), "a number")
blob = _of_type(bytes, "a blob")


def from_json(value: object) -> object:
    """Return the content of a text in JSON."""
    return json.loads(text(value))


def mapping(value: object) -> dict[str, Any]:
    """Return a mapping that is stored as JSON."""
    content = from_json(value)
    if not isinstance(content, dict):
        raise ValueError(f"{value!r:.40}; must be a mapping")
    return content


def columns(value: object) -> dict[str, list[object]]:
    """Return the columns of a table, lists of one length."""
    content = mapping(value)
    if not all(isinstance(column, list) for column in content.values()):
        raise ValueError(f"{value!r:.40}; must be columns")
    if len({len(column) for column in content.values()}) > 1:
        raise ValueError("columns of unequal length")
    return content


TABLES: dict[str, dict[str, Decode]] = {
    "meta": {"key": text, "value": from_json},
    "points": {
        "key": text,
        "config": mapping,
        "status": text,
        "error": text_or_none,
        "seconds": number,
        "finished_utc": text,
        "code": text,
    },
    "results": {"point_key": text, "table_name": text, "columns": columns},
    "kept": {"point_key": text, "name": text, "digest": text},
    "archives": {"digest": text, "content": blob},
}
"""The columns of each table, in their order, and how they are read."""

COLUMNS = {table: ", ".join(decoders) for table, decoders in TABLES.items()}

APPLICATION_ID = 0x4E434F53  # "NCOS"
SCHEMA_VERSION, WITHOUT_CHECKSUMS = 3, 2
"""Of the files that are written, and of those that are read as well."""
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
CREATE TABLE kept (
    point_key TEXT NOT NULL REFERENCES points (key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (point_key, name)
) WITHOUT ROWID;
CREATE TABLE archives (digest TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
"""Archives of runs are stored by their content (SHA-256): equal ones of several points once."""

CHECKED = ("meta", "points", "results", "kept")
"""Tables whose rows have a checksum; archives have their digest."""
CHECKSUM_SCHEMA = "".join(
    f"ALTER TABLE {table} ADD COLUMN checksum INTEGER;"
    f"UPDATE {table} SET checksum = row_crc({COLUMNS[table]});"
    for table in CHECKED
)

TASKS_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (run, name)
);
"""
"""Results of the tasks of runs that are not done yet; the table is dropped afterwards."""


def task_checksum(run: str, name: str, content: bytes) -> int:
    """Return the checksum of a task's row."""
    return zlib.crc32(content, zlib.crc32(f"{run} {name}".encode()))


def insertion(table: str, verb: str = "INSERT") -> str:
    """Return the statement that stores a row of a table with its checksum."""
    marks = ", ".join(f"?{n}" for n in range(1, len(TABLES[table]) + 1))
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
    without checksums only the former are looked for. A task's checksum is looked at when it is
    read.
    """
    answer = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise NetcosimError(f"{path}: damaged results file: {' '.join(answer.split())[:200]}")
    queries = {
        "row": "PRAGMA foreign_key_check",
        "archives": "SELECT 1 FROM archives WHERE digest IS NOT sha256(content) LIMIT 1",
        "digest": "SELECT 1 FROM kept WHERE digest NOT IN (SELECT digest FROM archives)",
    }
    for table in CHECKED if version == SCHEMA_VERSION else ():
        crc = f"row_crc({COLUMNS[table]})"
        queries[table] = f"SELECT 1 FROM {table} WHERE checksum IS NOT {crc} LIMIT 1"
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


def check_tables(db: sqlite3.Connection, path: Path) -> None:
    """Raise NetcosimError or a sqlite3 error unless all tables and columns are there."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in COLUMNS.items():
        # a view of that name could have rows without end
        if table not in names:
            raise NetcosimError(f"{path}: damaged results file: table {table} is missing")
        db.execute(f"SELECT {columns} FROM {table} LIMIT 0")


def read_rows(
    db: sqlite3.Connection,
    path: Path,
    query: str,
    decoders: Sequence[Decode],
    values: tuple[object, ...],
) -> list[Any]:
    """Return all rows of a query, each value checked and decoded."""
    try:
        return [
            tuple(decode(value) for decode, value in zip(decoders, row, strict=True))
            for row in db.execute(query, values)
        ]
    except (sqlite3.Error, ValueError, TypeError, RecursionError, MemoryError) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise NetcosimError(f"{path}: damaged results file: {message}") from None
