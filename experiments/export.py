"""Results as files for other programs: one CSV or Parquet file a table."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Literal, get_args

from experiments.report.axes import table_frame
from experiments.store import Store
from netsim.errors import NetcosimError, unknown_name

Format = Literal["csv", "parquet"]


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
    frames = {"points": points} | {name: table_frame(store, name) for name in store.table_names()}
    written = []
    for name, frame in frames.items():
        path = folder / f"{name}.{file_format}"
        if file_format == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
        written.append(path)
    return written
