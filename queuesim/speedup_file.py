"""Speed-up tables as CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

from netsim.errors import NetcosimError
from queuesim.measured import SpeedupRow, SpeedupTable

COLUMNS = (
    "reference_policy",
    "pattern",
    "min_nodes",
    "max_nodes",
    "policy",
    "ratio",
    "ratio_low",
    "ratio_high",
)


def write_speedups(table: SpeedupTable, path: str | Path) -> None:
    """Write a table with the columns `COLUMNS`, numbers exact."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for row in table.rows:
            out.writerow(
                [table.reference_policy, *(getattr(row, column) for column in COLUMNS[1:])]
            )


def read_speedups(path: str | Path) -> SpeedupTable:
    """Read a table.

    Further columns are allowed if they have one value in the whole file (the network, the log,
    ...): rows of two cases must not be mixed up.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a column that is missing, a value that is no number, more
        than one reference policy, rows of several cases, what `SpeedupTable` refuses.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise NetcosimError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise NetcosimError(f"{path}: no CSV text") from None
    if not rows:
        raise NetcosimError(f"{path}: a speed-up table needs a line of column names and rows")
    missing = [column for column in COLUMNS if column not in rows[0]]
    if missing:
        raise NetcosimError(f"{path}: column {missing[0]} is missing; needed: {', '.join(COLUMNS)}")
    numbers = {"jobs", *COLUMNS[1:]}
    for column in rows[0]:
        values = list(dict.fromkeys(row[column] for row in rows))
        if column not in numbers and len(values) > 1:
            raise NetcosimError(
                f"{path}: column {column} has {values[0]!r} and {values[1]!r}; keep the rows of one"
            )
    found = []
    for line, row in enumerate(rows, start=2):
        try:
            found.append(
                SpeedupRow(
                    row["pattern"],
                    int(row["min_nodes"]),
                    int(row["max_nodes"]),
                    row["policy"],
                    float(row["ratio"]),
                    float(row["ratio_low"]),
                    float(row["ratio_high"]),
                )
            )
        except (TypeError, ValueError):
            raise NetcosimError(f"{path}, line {line}: a number is missing or is none") from None
    try:
        return SpeedupTable(rows[0]["reference_policy"], tuple(found))
    except NetcosimError as error:
        raise NetcosimError(f"{path}: {error}") from None
