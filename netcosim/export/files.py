"""Results as files for other programs, a CSV or Parquet file a table, each whole or not at all."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from netcosim.archive.values import ArchivedRun
from netcosim.export.archive_tables import TABLES, archive_frames
from netcosim.runs.store import Store
from netsim.atomic_files import atomic_write, make_folder
from netsim.errors import NetcosimError, need_name

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet"]

POINTS = "points"
"""The file that lists the points."""
TABLE_NAMES = (POINTS, *TABLES)
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9_. -]{0,98}[A-Za-z0-9_-])?")


def export_tables(
    store: Store, folder: Path, file_format: Format, point: str | None = None
) -> list[Path]:
    """Write tables of a store, or of a point, and what was kept to ``folder/TABLE.csv``
    (``.parquet``).

    ``speedups`` of one point is a file that ``[queue.measured] table`` reads; with several points
    it has a column for each parameter that varies, and `read_speedups` selects the rows of one.
    Archives of runs are the tables of `netcosim.export.archive_tables`. If there are several
    points, the point's key and the parameters that vary precede each row. Returned are the files,
    ``points`` (keys, status, error, seconds) first. Parquet needs the pyarrow package.
    """
    need_name("export format", file_format, get_args(Format))
    if file_format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise NetcosimError("Parquet needs the package pyarrow (pip install pyarrow), or use csv")
    names = store.table_names()
    check_file_names(names)
    make_folder(folder)
    written = [_write(folder, POINTS, file_format, [_points(store, point)])]
    for name in names:
        frame = store.frame(name)
        if point is not None:
            frame = frame[frame["point"] == point]
            if frame.empty:
                continue
        written.append(_write(folder, name, file_format, [frame]))
    for name in TABLES:
        parts = _kept(store, name, point)
        first = next(parts, None)
        if first is not None:
            written.append(_write(folder, name, file_format, chain([first], parts)))
    return written


def _points(store: Store, point: str | None) -> pd.DataFrame:
    import pandas as pd

    columns = ["point", "status", "error", "seconds", "finished_utc", "code"]
    rows = [
        (p.key, p.status, p.error, p.seconds, p.finished_utc, p.code)
        for p in store.points()
        if point in (None, p.key)
    ]
    return pd.DataFrame(rows, columns=columns)


def _kept(store: Store, name: str, point: str | None) -> Iterator[pd.DataFrame]:
    """Yield one archived table of runs, point by point, because all of them may be large."""
    from netcosim.runs.frames import parameters_that_vary

    points = [p for p in store.points() if p.status == "done" and point in (None, p.key)]
    parameters = parameters_that_vary([p.config for p in points])
    for p, own in zip(points, parameters, strict=True):
        run = store.kept(p.key)
        frame = None if run is None else archive_frames(run, [name]).get(name)
        if frame is None:
            continue
        if len(points) > 1:
            for at, (key, value) in enumerate(own.items()):
                frame.insert(at, key, cast("Any", value), allow_duplicates=True)
            frame.insert(0, "point", p.key)
        yield frame


def _write(
    folder: Path,
    name: str,
    file_format: Format,
    frames: Iterator[pd.DataFrame] | list[pd.DataFrame],
) -> Path:
    """Write one file from parts with the same columns."""
    path = folder / f"{name}.{file_format}"
    with atomic_write(path) as part:
        if file_format == "csv":
            with part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                for number, frame in enumerate(frames):
                    frame.to_csv(file, index=False, header=number == 0)
        else:
            _parquet(part, frames)
    return path


def _parquet(part: Path, frames: Iterator[pd.DataFrame] | list[pd.DataFrame]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(part, table.schema)
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()


def archived_run(store: Store, key: str | None, what: str) -> ArchivedRun:
    """Return the archive of one point, for an export that needs it."""
    if key is None:
        raise NetcosimError(
            f"{what} is of one point, and {store.path} has several or none that is done: choose "
            "one with --point KEY (its page lists them)"
        )
    run = store.kept(key)
    if run is None:
        raise NetcosimError(
            f"{store.path}: point {key[:12]} kept no jobs ([run] keep, or a file of an older "
            f"version), so there is nothing for {what}; compute it again"
        )
    return run


def check_file_names(tables: Sequence[str]) -> None:
    """Raise NetcosimError unless each table's name can be a file's name, and another for each.

    A results file may come from anywhere: "../../evil" must not be written outside the folder,
    and names that differ in capitals alone are one file on some systems.
    """
    seen = set(TABLE_NAMES)
    for name in tables:
        if not _FILE_NAME.fullmatch(name):
            raise NetcosimError(
                f"table {name[:60]!r} cannot be a file; a name has 1 to 100 letters, digits, "
                '"-", "_", and "." or space inside'
            )
        if name.lower() in seen:
            raise NetcosimError(
                f"table {name!r} cannot be a file beside another of that name "
                f"(allowed: {', '.join(TABLE_NAMES)}, in any case)"
            )
        seen.add(name.lower())
