"""Lines of comma-separated text as cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from netsim.errors import NetcosimError


def csv_cells(
    path: str | Path, lines: Iterable[str], before: int, separator: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row's last line in the file, and the cells of the row.

    Parameters
    ----------
    path : str or Path
        For messages.
    before : int
        Lines of the file before these.

    Raises
    ------
    NetcosimError
        A line (named ``file:line``) that is no valid CSV.
    """
    reader = csv.reader(lines, delimiter=separator)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            where = f"{path}:{reader.line_num + before}"
            raise NetcosimError(f"{where}: not valid CSV: {error}") from None
        if cells is None:
            return
        yield reader.line_num + before, cells
