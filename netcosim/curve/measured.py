"""Measured bus bandwidths: logs of nccl-tests, or tables of several runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from netsim.errors import NetcosimError
from netsim.files import read_text

COLUMNS = ["run", "operation", "gpus", "bytes", "time_s", "busbw_Bps"]
_NEEDED = ("bytes", "time_us", "busbw_GBps")
_RANK = re.compile(r"#\s+Rank\s+\d+\s")
_TEST = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|alltoall|sendrecv)_perf\b")
_NAMES = {"alltoall": "all-to-all", "sendrecv": "send-recv"}
_RESULTS = 8
"""Time, algorithm and bus bandwidth, errors: out of place, then in place."""


def read_measured(path: str | Path) -> pd.DataFrame:
    """Read what nccl-tests printed, out of place, or a CSV file with a row a size.

    A log names its operation (or is of any), and lists its GPUs. CSV needs the columns ``bytes``,
    ``time_us`` and ``busbw_GBps``; ``run``, ``collective``, ``nodes`` and ``gpus_per_node`` are
    read if they are there.

    Returns
    -------
    DataFrame
        `COLUMNS`; "" or 0 for an operation or a number of GPUs that the file does not give.

    Raises
    ------
    NetcosimError
        A file that cannot be read, without rows, or with a row that is wrong; with its line.
    """
    lines = read_text(path).splitlines()
    head = lines[0].split(",") if lines else []
    rows = _of_table(lines, path) if set(_NEEDED) <= set(head) else _of_log(lines, path)
    if not rows:
        raise NetcosimError(
            f"{path}: no row of nccl-tests, and no CSV with the columns {', '.join(_NEEDED)}"
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _numbers(cells: Iterable[str], where: str) -> tuple[int, float, float]:
    """Return bytes, s and bytes/s of cells in bytes, us and GB/s."""
    size, time_us, bus_GBps = cells
    try:
        found = int(size), float(time_us) * 1e-6, float(bus_GBps) * 1e9
    except ValueError:
        given = ", ".join((size, time_us, bus_GBps))
        raise NetcosimError(f"{where}: {given[:80]!r}; bytes, us and GB/s are needed") from None
    if not (found[0] >= 0 and 0 < found[1] < float("inf") and 0 <= found[2] < float("inf")):
        raise NetcosimError(f"{where}: a size, time or bandwidth out of range")
    return found


def _of_log(lines: Sequence[str], path: str | Path) -> list[tuple[object, ...]]:
    gpus = sum(_RANK.match(line) is not None for line in lines)
    named = next((found[1] for line in lines if (found := _TEST.search(line))), "")
    operation = _NAMES.get(named, named.replace("_", "-"))
    rows: list[tuple[object, ...]] = []
    for number, line in enumerate(lines, 1):
        cells = line.split()
        # Between the size and the results come three to five columns, by version and test.
        if len(cells) >= _RESULTS + 3 and cells[0].isdigit():
            time_us, _, bus_GBps = cells[-_RESULTS : -_RESULTS + 3]
            values = _numbers((cells[0], time_us, bus_GBps), f"{path}:{number}")
            rows.append((Path(path).stem, operation, gpus, *values))
    return rows


def _of_table(lines: Sequence[str], path: str | Path) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    reader = csv.DictReader(lines)
    for row in reader:
        where = f"{path}:{reader.line_num}"
        values = _numbers((row[key] or "" for key in _NEEDED), where)
        counts = [row.get(key) or "0" for key in ("nodes", "gpus_per_node")]
        if not all(count.isdigit() for count in counts):
            raise NetcosimError(f"{where}: {' x '.join(counts)} GPUs; whole numbers are needed")
        operation = (row.get("collective") or "").replace("_", "-")
        gpus = int(counts[0]) * int(counts[1])
        rows.append((row.get("run") or Path(path).stem, operation, gpus, *values))
    return rows
