"""Measured bus bandwidths: logs of nccl-tests, or tables of several runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.limits import MAX_INDEX
from netsim.text_numbers import csv_cells, need_whole, number_of, whole_number

COLUMNS = ["run", "operation", "gpus", "bytes", "time_s", "busbw_Bps"]
_NEEDED = ("bytes", "time_us", "busbw_GBps")
_RANK = re.compile(r"#\s+Rank\s+\d+\s")
_TEST = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|alltoall|sendrecv)_perf\b")
_NAMES = {"alltoall": "all-to-all", "sendrecv": "send-recv"}
_RESULTS = 8
"""Time, algorithm and bus bandwidth, errors: out of place, then in place."""


def read_measured(path: str | Path) -> pd.DataFrame:
    """Read what nccl-tests printed, out of place, or a CSV file with a row a size, as `COLUMNS`.

    A log names its operation (or is of any), and lists its GPUs. CSV needs the columns ``bytes``,
    ``time_us`` and ``busbw_GBps``; ``run``, ``collective``, ``nodes`` and ``gpus_per_node`` are
    read if they are there; "" or 0 otherwise.
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
    n_bytes, us, GBps = whole_number(size), number_of(time_us), number_of(bus_GBps)
    if n_bytes is None or us is None or GBps is None:
        given = ", ".join((size, time_us, bus_GBps))
        raise NetcosimError(f"{where}: {given[:80]!r}; bytes, us and GB/s are needed")
    if not (0 < us < float("inf") and 0 <= GBps < float("inf")):
        raise NetcosimError(f"{where}: a size, time or bandwidth out of range")
    return n_bytes, us * 1e-6, GBps * 1e9


def _of_log(lines: Sequence[str], path: str | Path) -> list[tuple[object, ...]]:
    gpus = sum(_RANK.match(line) is not None for line in lines)
    named = next((found[1] for line in lines if (found := _TEST.search(line))), "")
    operation = _NAMES.get(named, named.replace("_", "-"))
    rows: list[tuple[object, ...]] = []
    for number, line in enumerate(lines, 1):
        cells = line.split()
        # Between the size and the results come three to five columns, by version and test.
        if len(cells) >= _RESULTS + 3 and whole_number(cells[0]) is not None:
            time_us, _, bus_GBps = cells[-_RESULTS : -_RESULTS + 3]
            values = _numbers((cells[0], time_us, bus_GBps), f"{path}:{number}")
            rows.append((Path(path).stem, operation, gpus, *values))
    return rows


def _of_table(lines: Sequence[str], path: str | Path) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    cells = csv_cells(path, lines)
    _, head = next(cells)
    for line, found in cells:
        row, where = dict(zip(head, found, strict=False)), f"{path}:{line}"
        if not found:
            continue
        if len(found) > len(head):
            raise NetcosimError(f"{where}: {len(found)} cells; the head has {len(head)}")
        values = _numbers((row.get(key, "") for key in _NEEDED), where)
        nodes, per_node = (
            need_whole(where, key, row.get(key) or "0", 0, MAX_INDEX)
            for key in ("nodes", "gpus_per_node")
        )
        operation = (row.get("collective") or "").replace("_", "-")
        rows.append((row.get("run") or Path(path).stem, operation, nodes * per_node, *values))
    return rows
