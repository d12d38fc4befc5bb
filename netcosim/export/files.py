"""Results as files for other programs: one CSV or Parquet file a table."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from experiments.store import Store
from netcosim.axes import table_frame
from netsim.errors import NetcosimError, unknown_name

Format = Literal["csv", "parquet"]

POINTS = "points"
"""The file that lists the points."""
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9_. -]{0,98}[A-Za-z0-9_-])?")


def export_tables(store: Store, folder: Path, file_format: Format) -> list[Path]:
    """Write every table of a store to ``folder/TABLE.csv`` (or ``.parquet``).

    ``speedups`` of one point is a file that ``[queue.measured] table`` takes as it is; with
    several points it has a column for each parameter that varies, and `read_speedups` asks for
    the rows of one.

    Parameters
    ----------
    store : Store
    folder : path
        Made if it is missing.
    file_format : {"csv", "parquet"}
        Parquet needs the pyarrow package.

    Returns
    -------
    list of path
        The files written, ``points`` (keys, status, error, seconds) first.

    Raises
    ------
    NetcosimError
        An unknown format, Parquet without pyarrow, a folder that cannot be made.
    """
    import pandas as pd

    if file_format not in get_args(Format):
        raise unknown_name("export format", file_format, get_args(Format))
    if file_format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise NetcosimError("Parquet needs the package pyarrow (pip install pyarrow), or use csv")
    names = store.table_names()
    check_file_names(names)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NetcosimError(f"{folder}: cannot be made: {error.strerror}") from None
    points = pd.DataFrame(
        [
            {
                "point": p.key,
                "status": p.status,
                "error": p.error,
                "seconds": p.seconds,
                "finished_utc": p.finished_utc,
                "code": p.code,
            }
            for p in store.points()
        ],
        columns=["point", "status", "error", "seconds", "finished_utc", "code"],
    )
    frames = {POINTS: points} | {name: table_frame(store, name) for name in names}
    written = []
    for name, frame in frames.items():
        path = folder / f"{name}.{file_format}"
        # whole or not at all, and never through a link that lies in the folder
        part = folder / f".{name}.part"
        part.unlink(missing_ok=True)
        if file_format == "csv":
            frame.to_csv(part, index=False)
        else:
            frame.to_parquet(part, index=False)
        part.replace(path)
        written.append(path)
    return written


def check_file_names(tables: Sequence[str]) -> None:
    """Raise NetcosimError unless each table's name can be a file's name, and another for each.

    A results file may come from anywhere: "../../evil" must not be written outside the folder,
    and names that differ in capitals alone are one file on some systems.
    """
    seen = {POINTS}
    for name in tables:
        if not _FILE_NAME.fullmatch(name):
            raise NetcosimError(
                f"table {name[:60]!r} cannot be a file; a name has 1 to 100 letters, digits, "
                '"-", "_", and "." or space inside'
            )
        if name.lower() in seen:
            raise NetcosimError(
                f"table {name!r} cannot be a file beside another of that name (points is taken "
                "by the list of points; capitals count for nothing)"
            )
        seen.add(name.lower())
