"""Speed-up tables written as CSV files, the other way round of what is tested."""

from __future__ import annotations

import csv
from pathlib import Path

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.speedup_file import COLUMNS, RATIO_OF, speedup_rows


def write_speedups(table: SpeedupTable, path: str | Path) -> None:
    """Write a table, numbers exact; no interval leaves its two cells empty."""
    columns = [*COLUMNS, RATIO_OF] if table.of_run_times else COLUMNS
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, columns)
        out.writeheader()
        out.writerows(speedup_rows(table))
