"""Results files of one sweep's slices as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from netcosim.runs.points import MODEL_VERSION, point_key
from netcosim.runs.store import Store
from netcosim.runs.store_format import COLUMNS, add_functions
from netsim.atomic_files import acquire_lock, atomic_write, let_go
from netsim.errors import NetcosimError

_DIFFERENT = """
SELECT a.point_key, a.table_name FROM {}.results AS a
LEFT JOIN {}.results AS b USING (point_key, table_name)
WHERE a.point_key IN (
    SELECT key FROM main.points AS p JOIN other.points AS o USING (key)
    WHERE p.status = 'done' AND o.status = 'done'
) AND a.columns IS NOT b.columns
"""


def _copy(table: str, verb: str = "INSERT") -> str:
    names = COLUMNS[table]
    return (
        f"{verb} INTO main.{table} ({names}, checksum) SELECT {names}, row_crc({names})"
        f" FROM other.{table}"
    )


_ADD = (
    # a point that failed in one file and was done in another is done
    "DELETE FROM main.points WHERE status = 'failed'"
    " AND key IN (SELECT key FROM other.points WHERE status = 'done')",
    "CREATE TEMP TABLE added AS SELECT key FROM other.points"
    " WHERE key NOT IN (SELECT key FROM main.points)",
    f"{_copy('points')} WHERE key IN added",
    f"{_copy('results')} WHERE point_key IN added",
    _copy("meta", "INSERT OR IGNORE"),
    f"{_copy('kept')} WHERE point_key IN added",
    "INSERT OR IGNORE INTO main.archives SELECT * FROM other.archives"
    " WHERE digest IN (SELECT digest FROM main.kept)",
)


class Merged(NamedTuple):
    """What a merged file holds, and how many points were in more than one file, alike."""

    points: int
    failed: int
    codes: int
    repeated: int


def merge(out: Path, files: Sequence[Path]) -> Merged:
    """Write all points of results files into one, whole or not at all; keep those that it has."""
    lock = acquire_lock(out)
    try:
        sources = list(dict.fromkeys([*([out] if out.exists() else []), *files]))
        with atomic_write(out) as part:
            with Store(part, "write"):
                pass
            with closing(sqlite3.connect(part, isolation_level=None, uri=True)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                add_functions(db)
                found = sum([_add(db, source) for source in sources])
                points, failed, codes = db.execute(
                    "SELECT count(*), coalesce(sum(status = 'failed'), 0), count(DISTINCT code)"
                    " FROM points"
                ).fetchone()
        return Merged(points, failed, codes, repeated=found - points)
    except sqlite3.Error as error:
        raise NetcosimError(f"{out}: cannot be merged: {error}") from None
    finally:
        let_go(lock)


def _add(db: sqlite3.Connection, source: Path) -> int:
    """Add a file's points; returns how many it has."""
    with Store(source, "read") as store:
        stored = store.points()
        for point in stored:
            if point_key(point.config) != point.key:
                raise NetcosimError(
                    f"{source}: point {point.key[:12]} was computed by another model version (this "
                    f"one is {MODEL_VERSION}); compute it again, or merge with that version"
                )
        # within: a reader has rolled back what a killed writer left
        db.execute("ATTACH ? AS other", (f"{source.resolve().as_uri()}?mode=ro",))
    with db:
        db.execute("BEGIN")
        both = f"{_DIFFERENT.format('main', 'other')} UNION {_DIFFERENT.format('other', 'main')}"
        for key, table in db.execute(f"{both} LIMIT 1"):
            raise NetcosimError(
                f"{source}: table {table!r} of point {key[:12]} differs from that of a file before "
                "it; nothing was merged (netcosim report shows each; were they computed alike?)"
            )
        for statement in _ADD:
            db.execute(statement)
        db.execute("DROP TABLE added")
    db.execute("DETACH other")
    return len(stored)
