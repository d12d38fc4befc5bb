"""Results in one SQLite file: of points, and of the tasks of runs that are not done yet.

Each is stored whole or not at all, by one writer at a time. A transaction costs the disk some ten
milliseconds, so results that come together share one (`Store.together`). (A write-ahead log would
be as fast, but does not work over network file systems.)
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from netcosim.archive.serialize import deserialize
from netcosim.archive.values import ArchivedRun
from netcosim.runs.frames import join_points
from netcosim.runs.outcome import Outcome
from netcosim.runs.points import canonical_json, plain
from netcosim.runs.store_format import (
    APPLICATION_ID,
    CHECKSUM_SCHEMA,
    COLUMNS,
    SCHEMA,
    SCHEMA_VERSION,
    TABLES,
    TASKS_SCHEMA,
    WITHOUT_CHECKSUMS,
    Decode,
    StoredPoint,
    add_functions,
    blob,
    check_content,
    check_header,
    check_tables,
    columns,
    insertion,
    mapping,
    number,
    read_rows,
    task_checksum,
    text,
    text_or_none,
)
from netsim.atomic_files import acquire_lock, defer_signals, let_go
from netsim.errors import NetcosimError, unknown_name
from netsim.kinds import need_kinds
from netsim.short_repr import short_repr

if TYPE_CHECKING:
    import pandas as pd

Rows = Sequence[Mapping[str, object]]
"""One table of a point's result: a list of rows, each a mapping of column to value."""


@short_repr("path", "mode")
class Store:
    """A results file, opened for reading or for writing.

    Use as a context manager. Only one process may have a store open for writing; others may
    read it meanwhile.

    Parameters
    ----------
    path : path
    mode : {"read", "write"}
        "write" creates the file if it is missing.

    Raises
    ------
    NetcosimError
        A file that is missing (for reading), no results file, of a newer schema, damaged, or being
        written by another process.

    Examples
    --------
    >>> import netcosim as nc
    >>> content = {
    ...     "machine": {"family": "torus", "dims": [8, 8]},
    ...     "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...     "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
    ... }
    >>> points = [
    ...     nc.config_from(content | {"run": {"seed": seed, "snapshots": 0}}).resolved()
    ...     for seed in (1, 2)
    ... ]
    >>> summary = nc.run_points("netcosim.runs.cosim:cosim_point", points, "a.db", progress=False)
    >>> with nc.Store("a.db", "read") as store:
    ...     print(store.frame("policies")[["run.seed", "policy", "jobs"]].to_string(index=False))
     run.seed   policy  jobs
            1 baseline    30
            2 baseline    30
    """

    def __init__(self, path: str | os.PathLike[str], mode: Literal["read", "write"]) -> None:
        need_kinds("Store", {"path": (path, (str, os.PathLike))})
        if mode not in ("read", "write"):
            raise unknown_name("mode of a store", mode, ("read", "write"))
        self.path = Path(path)
        self.mode = mode
        if self.path.is_dir():
            raise NetcosimError(f"{self.path}: a directory; a results file was expected")
        if self.path.exists() and not self.path.is_file():
            raise NetcosimError(f"{self.path}: a pipe or a device; a results file was expected")
        if mode == "read" and not self.path.exists():
            raise NetcosimError(f"{self.path}: no such results file")
        if mode == "write" and not self.path.parent.is_dir():
            raise NetcosimError(f"{self.path}: the folder {self.path.parent} does not exist")
        # Before anything is written beside a file that is no results file.
        check_header(self.path, may_be_empty=mode == "write")
        with ExitStack() as held:
            if mode == "write":
                held.callback(let_go, acquire_lock(self.path))
            self._db = self._open(held)
            self._held = held.pop_all()

    # Opening and closing

    def _open(self, held: ExitStack) -> sqlite3.Connection:
        # A reader, too, may have to roll back what a killed writer left, where it is allowed to.
        writable = self.mode == "write" or os.access(self.path, os.W_OK)
        access = ("rwc" if self.mode == "write" else "rw") if writable else "ro"
        uri = f"{self.path.resolve().as_uri()}?mode={access}"
        try:
            db = sqlite3.connect(uri, 30.0, isolation_level=None, uri=True)
        except sqlite3.Error as error:
            raise NetcosimError(f"{self.path}: cannot be opened: {error}") from None
        held.callback(db.close)
        try:
            add_functions(db)
            if self.mode == "write":
                self._create(db)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (SCHEMA_VERSION, WITHOUT_CHECKSUMS):
                raise NetcosimError(
                    f"{self.path}: results file of format {version}; this program reads formats "
                    f"{WITHOUT_CHECKSUMS} and {SCHEMA_VERSION}: use the version that wrote it, or "
                    "compute it again into a new file"
                )
            check_tables(db, self.path)
            check_content(db, self.path, version)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            if self.mode == "read":
                db.execute("PRAGMA query_only = ON")
        # SQLite quotes damaged names in its messages, which then are no text
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise NetcosimError(f"{self.path}: cannot be used as a results file: {error}") from None
        return db

    @staticmethod
    def _create(db: sqlite3.Connection) -> None:
        """Make the tables and columns that a file lacks, in one transaction: all or none."""
        schema = SCHEMA
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            if db.execute("PRAGMA user_version").fetchone()[0] != WITHOUT_CHECKSUMS:
                return
            schema = ""
        db.executescript(
            f"PRAGMA journal_mode = DELETE; BEGIN; {schema} {CHECKSUM_SCHEMA}"
            f"PRAGMA application_id = {APPLICATION_ID};"
            f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )

    def close(self) -> None:
        """Close the file and let others write it."""
        with defer_signals():
            self._held.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # Writing

    @contextmanager
    def together(self) -> Iterator[sqlite3.Connection]:
        """Write what is put within the block in one transaction, all or nothing.

        Signals wait for its end.

        Raises
        ------
        NetcosimError
            The file cannot be written.
        """
        if self.mode != "write":
            raise NetcosimError(f"{self.path}: opened for reading alone")
        if self._db.in_transaction:
            yield self._db
            return
        try:
            with defer_signals(), self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise NetcosimError(f"{self.path}: cannot be written: {error}") from None

    def put(self, key: str, config: Mapping[str, object], outcome: Outcome, code: str = "") -> None:
        """Store what became of a point, in place of what was stored of it."""
        need_kinds(
            "put",
            {"key": (key, str), "config": (config, Mapping), "outcome": (outcome, Outcome)},
        )
        status = "failed" if outcome.tables is None else "done"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        # a name of a file need not be text; one such error must not keep others from the disk
        error = outcome.error and outcome.error.encode(errors="backslashreplace").decode()
        point = (key, canonical_json(config), status, error, float(outcome.seconds), now, code)
        tables = [(key, name, text) for name, text in sorted((outcome.tables or {}).items())]
        kept = [
            (key, name, hashlib.sha256(data).hexdigest(), data)
            for name, data in outcome.kept.items()
        ]
        with self.together() as db:
            replaced = db.execute("DELETE FROM points WHERE key = ?", point[:1]).rowcount
            db.execute(insertion("points"), point)
            db.executemany(insertion("results"), tables)
            db.executemany(insertion("kept"), [row[:3] for row in kept])
            # points share machines and jobs
            archives = [row[2:] for row in kept]
            db.executemany("INSERT OR IGNORE INTO archives VALUES (?, ?)", archives)
            if replaced:
                db.execute("DELETE FROM archives WHERE digest NOT IN (SELECT digest FROM kept)")

    def put_task(self, run: str, name: str, content: bytes) -> None:
        """Store the result of a task of a run."""
        row = (run, name, content, task_checksum(run, name, content))
        with self.together() as db:
            db.execute(TASKS_SCHEMA)
            db.execute("INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?)", row)

    def drop_tasks(self, but: str = "") -> int:
        """Remove the tasks of all runs but one; return how many there were."""
        if not self._has_tasks():
            return 0
        with self.together() as db:
            count = db.execute("DELETE FROM tasks WHERE run != ?", (but,)).rowcount
            if not but:
                db.execute("DROP TABLE tasks")
        # where a reader is at the file, its space is used again
        with suppress(sqlite3.OperationalError):
            self._db.execute("VACUUM")
        return count

    def put_meta(self, values: Mapping[str, object]) -> None:
        """Set entries of the store, as opposed to a point's (the config's text, versions, ...)."""
        need_kinds("put_meta", {"values": (values, Mapping)})
        with self.together() as db:
            db.executemany(
                insertion("meta", "INSERT OR REPLACE"),
                [(key, json.dumps(plain(value), sort_keys=True)) for key, value in values.items()],
            )

    # Reading

    def _read(self, query: str, decoders: Sequence[Decode], *values: object) -> list[Any]:
        return read_rows(self._db, self.path, query, decoders, values)

    def _read_table(self, table: str, order: str) -> list[Any]:
        query = f"SELECT {COLUMNS[table]} FROM {table} ORDER BY {order}"
        return self._read(query, tuple(TABLES[table].values()))

    def meta(self) -> dict[str, object]:
        """Return every entry that belongs to the store, not to a point."""
        return dict(self._read_table("meta", "key"))

    def statuses(self) -> dict[str, str]:
        """Return the status of each stored point, by key."""
        return dict(self._read("SELECT key, status FROM points", (text, text)))

    def points(self) -> list[StoredPoint]:
        """Return every stored point, sorted by key."""
        return [StoredPoint(*row) for row in self._read_table("points", "key")]

    def _has_tasks(self) -> bool:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'tasks'"
        return bool(self._read(query, (text,)))

    def task_names(self, run: str) -> set[str]:
        """Return the names of the stored tasks of a run."""
        if not self._has_tasks():
            return set()
        return {
            name for (name,) in self._read("SELECT name FROM tasks WHERE run = ?", (text,), run)
        }

    def task(self, run: str, name: str) -> bytes | None:
        """Return the result of a task; None if it is not stored, or damaged."""
        query = "SELECT content, checksum FROM tasks WHERE run = ? AND name = ?"
        if not self._has_tasks():
            return None
        for content, checksum in self._read(query, (blob, number), run, name):
            if checksum == task_checksum(run, name, content):
                return bytes(content)
        return None

    def table_names(self) -> list[str]:
        """Return the names of the tables that points have stored."""
        query = "SELECT DISTINCT table_name FROM results ORDER BY table_name"
        return [name for (name,) in self._read(query, (text,))]

    def rows(self, key: str, table: str) -> list[dict[str, object]]:
        """Return one table of one point.

        Raises
        ------
        NetcosimError
            No such point or table.
        """
        tables = self.tables(key, table)
        if table not in tables:
            raise NetcosimError(f"{self.path}: no table {table!r} of point {key[:12]}")
        return tables[table]

    def tables(self, key: str, name: str | None = None) -> dict[str, list[dict[str, object]]]:
        """Return the tables of one point by name: all of them, or only the named one."""
        need_kinds("tables", {"key": (key, str), "name": (name, (str, type(None)))})
        query = "SELECT table_name, columns FROM results WHERE point_key = ?"
        if name is not None:
            query += " AND table_name = ?"
        given = (key,) if name is None else (key, name)
        return {
            table: [
                dict(zip(by_name, values, strict=True))
                for values in zip(*by_name.values(), strict=True)
            ]
            for table, by_name in self._read(
                f"{query} ORDER BY table_name", (text, columns), *given
            )
        }

    def kept(self, key: str) -> ArchivedRun | None:
        """Return what was archived of a point; None if nothing was, as in older files.

        Raises
        ------
        NetcosimError
            A damaged file.
        """
        need_kinds("kept", {"key": (key, str)})
        query = "SELECT name, content FROM kept JOIN archives USING (digest) WHERE point_key = ?"
        archives = dict(self._read(query, (text, blob), key))
        return deserialize(archives, str(self.path)) if archives else None

    def digest(self) -> str:
        """Return the SHA-256 of all that was computed: keys, configs, statuses, errors, tables.

        Times are left out, and the order in which points were stored does not matter: two
        sweeps of the same points agree in it, however they were run. What `kept` gives is not in
        it, because its compression depends on the machine.
        """
        digest = hashlib.sha256()
        points = "SELECT key, config, status, error FROM points ORDER BY key"
        tables = "SELECT point_key, table_name, columns FROM results ORDER BY point_key, table_name"
        for row in (
            *self._read(points, (text, text, text, text_or_none)),
            *self._read(tables, (text, text, text)),
        ):
            digest.update(json.dumps(row).encode() + b"\n")
        return digest.hexdigest()

    def frame(self, table: str) -> pd.DataFrame:
        """Return one table of all points: the parameters that vary, then the table's columns.

        ``attrs["units"]`` has the units of columns. Points come in the order of their parameters'
        text, so the frame does not depend on the order of computing. A parameter with the name of
        a column is left out.

        Raises
        ------
        NetcosimError
            No point has such a table.
        """
        if table not in self.table_names():
            listed = ", ".join(self.table_names()) or "none"
            raise NetcosimError(f"{self.path}: no table {table!r}; stored tables: {listed}")
        rows = self._read(
            "SELECT key, config, columns FROM points JOIN results ON key = point_key"
            " WHERE table_name = ? ORDER BY config",
            (text, mapping, columns),
            table,
        )
        if not rows:
            raise NetcosimError(
                f"{self.path}: damaged results file: table {table!r} is of no stored point"
            )
        return join_points(rows)
