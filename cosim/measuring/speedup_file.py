"""Speed-up tables as CSV files."""

from __future__ import annotations

from pathlib import Path

from cosim.measuring.measured import SpeedupRow, SpeedupTable
from netsim.errors import NetcosimError, unknown_name
from netsim.files import read_text
from netsim.text_numbers import csv_records, number_of, whole_number

MAX_FILE_BYTES = 1 << 26
"""64 MiB: a table has some hundred lines."""

MAX_ROWS = 10_000
"""Rows are compared with each other, so time grows with their square."""

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
_RATIOS = COLUMNS[-3:]

RATIO_OF = "ratio_of"
RATIOS_OF = {"communication": False, "run": True}
"""Values of the column `RATIO_OF`, which may be missing: what `SpeedupTable.of_run_times` is."""


def speedup_rows(table: SpeedupTable) -> list[dict[str, object]]:
    """Return a table's rows with the columns `COLUMNS`, and `RATIO_OF` where ratios are of whole
    runs."""
    more = {RATIO_OF: "run"} if table.of_run_times else {}
    return [
        {
            "reference_policy": table.reference_policy,
            **{column: getattr(row, column) for column in COLUMNS[1:]},
            **more,
        }
        for row in table.rows
    ]


def read_speedups(path: str | Path) -> SpeedupTable:
    """Read a table.

    Further columns are allowed if they have one value in the entire file (the network, the log,
    the point of a sweep): rows of two cases must not be mixed up. Two empty ends of an interval
    mean that it is not known. The column ``ratio_of`` states whether ratios are of run times
    ("run") or only of communication ("communication", if it is missing).
    """
    lines = list(csv_records(path, read_text(path, limit_bytes=MAX_FILE_BYTES), COLUMNS))
    rows = [row for _, row in lines]
    if not rows:
        raise NetcosimError(f"{path}: a speed-up table needs rows")
    if len(rows) > MAX_ROWS:
        raise NetcosimError(f"{path}: {len(rows):,} rows; at most {MAX_ROWS:,} are allowed")
    numbers = {"jobs", *COLUMNS[1:]}
    for column in sorted(
        rows[0], key=lambda name: name == "point"
    ):  # a point's key is the least informative
        values = list(dict.fromkeys(row[column] for row in rows))
        if column not in numbers and len(values) > 1:
            raise NetcosimError(
                f"{path}: column {column} has {values[0]!r} and {values[1]!r}; keep the rows of one"
            )
    kind = rows[0].get(RATIO_OF, "communication")
    if kind not in RATIOS_OF:
        raise NetcosimError(f"{path}: {unknown_name(RATIO_OF, kind, RATIOS_OF)}")
    found = []
    for where, row in lines:
        least, most = (whole_number(row[key]) for key in ("min_nodes", "max_nodes"))
        ratio, *ends = (number_of(row[key]) for key in _RATIOS)
        open_ends = [row[key] == "" for key in _RATIOS[1:]]
        none = [end is None for end in ends]
        if least is None or most is None or ratio is None or none != open_ends:
            raise NetcosimError(f"{where}: a number is missing or is none")
        found.append(SpeedupRow(row["pattern"], least, most, row["policy"], ratio, *ends))
    try:
        return SpeedupTable(rows[0]["reference_policy"], tuple(found), RATIOS_OF[kind])
    except NetcosimError as error:
        raise NetcosimError(f"{path}: {error}") from None
