"""One table of what benchmarks measured, and its form as CSV."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from netsim.errors import NetcosimError
from netsim.text_numbers import csv_cells, need_whole, number_of

NAMES: Mapping[str, Any] = tomllib.loads(
    files("experiments.machines.match").joinpath("names.toml").read_text("utf-8")
)
"""Names and units of benchmarks, and what is fitted."""
UNITS: Mapping[str, float] = NAMES["units"]
LONGER_IS_SLOWER, PAIR_TESTS = NAMES["longer_is_slower"], NAMES["pair_tests"]
_ALIASES, _WIDE = NAMES["columns"], NAMES["statistics"]
_TAILS = NAMES["tails"]
_OSU_NAME = re.compile(r"osu_[a-z_]+")


@dataclass(frozen=True)
class Row:
    """A number that a benchmark printed."""

    test: str
    algorithm: str
    """"" if the output does not name it."""
    bytes: int
    """As the benchmark counts them."""
    nodes: int
    ranks: int
    """nodes, ranks: 0 if the output does not give it."""
    statistic: str
    """Either "mean", "median", "p99", "min", or as the output names it."""
    value: float
    unit: str
    where: str = ""
    """File and line."""

    @property
    def label(self) -> str:
        """The row in a sentence."""
        how = f" ({self.algorithm})" if self.algorithm else ""
        return f"{self.test}{how} of {format_bytes(self.bytes)} on {self.ranks} ranks"


def plain(name: str) -> str:
    """Return a name in small letters without anything else."""
    return re.sub(r"[^a-z]", "", name.lower())


def format_bytes(n: int) -> str:
    """Return a size in the largest binary unit that divides it."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n and n % (1 << power) == 0:
            return f"{n >> power} {unit}"
    return f"{n} B"


def is_table(head: str) -> bool:
    """Return whether the first line of a file is the head of a table."""
    names = {cell.strip().lower() for cell in head.split(",")}
    return bool(names & {*_ALIASES["bytes"]}) and bool(names & {*_ALIASES["value"], *_WIDE})


def read_table(path: Path, lines: Sequence[str], where: Mapping[str, str]) -> list[Row]:
    """Read CSV with a row a number, or a column a statistic.

    The columns are those of `Row` or of public collections: ``collective`` or ``benchmark`` for the
    test, ``Size`` or ``elements_int32`` for the bytes, ``tasks_per_node``, ``median_us``,
    ``mean_us``, ``Latency(us)``, ``MB/s``. Without a test, the file's name has it (osu_bw, ...).
    Rows whose columns lack the text of ``where`` are left out.
    """
    cells = csv_cells(path, lines)
    _, head = next(cells)
    names = [name.strip().lower() for name in head]
    column = {key: next((a for a in known if a in names), None) for key, known in _ALIASES.items()}
    wide = next((name for name in _WIDE if name in names), None)
    named = _OSU_NAME.search(path.stem)
    for key in where:
        if key.lower() not in names:
            known = ", ".join(head)
            raise NetcosimError(f"{path}: --where {key}: no such column; there are {known}")
    rows = []
    for line, found in cells:
        if not found:
            continue
        at = f"{path}:{line}"
        if len(found) != len(names):
            raise NetcosimError(f"{at}: {len(found)} cells; the head has {len(names)}")
        row = dict(zip(names, (cell.strip() for cell in found), strict=True))
        if any(row[key.lower()] != text for key, text in where.items()):
            continue

        def text(key: str, row: Mapping[str, str] = row) -> str:
            return row[name] if (name := column[key]) is not None else ""

        statistic, unit = _WIDE[wide] if wide and not column["value"] else (text("statistic"), "")
        value = number_of(text("value") if column["value"] else row[wide or ""])
        if value is None or not 0 < value < math.inf:
            if column["value"]:  # a range, or several numbers in one cell
                continue
            raise NetcosimError(f"{at}: {row[wide or '']!r} is no measured value above 0")
        unit = unit or NAMES["unit_names"].get(text("unit"), text("unit"))
        if unit not in UNITS:
            continue
        n_bytes = need_whole(at, "bytes", text("bytes").removesuffix(".0") or "0")
        n_bytes *= 4 if column["bytes"] == "elements_int32" else 1
        test = _osu_name(text("test")) or (named[0] if named else "")
        nodes, ranks = _nodes_and_ranks(at, text)
        measured = (statistic or "mean", value, unit, at)
        one = _pair(Row(test, text("algorithm"), n_bytes, nodes, ranks, *measured))
        rows.append(one)
        tail = number_of(next((row[name] for name in _TAILS if name in row), ""))
        if tail is not None and tail > 0 and plain(one.test) in PAIR_TESTS:
            rows.append(replace(one, statistic="p99", value=tail))
    return rows


def _nodes_and_ranks(at: str, text: Callable[[str], str]) -> tuple[int, int]:
    """Return the nodes and ranks of a row, of which a table may name one, or ranks a node."""
    parts = (text("nodes") or "1").split("x")
    nodes = math.prod(need_whole(at, "nodes", part, 1) for part in parts)
    per_node = need_whole(at, "ranks per node", text("per_node") or "1", 1)
    ranks = need_whole(at, "ranks", text("ranks"), 1) if text("ranks") else nodes * per_node
    return nodes, ranks


def _osu_name(test: str) -> str:
    """Return the name of an OSU benchmark in a longer text, else the text."""
    found = _OSU_NAME.search(test)
    return found[0] if found else test


def _pair(row: Row) -> Row:
    """Return the row of a test of one pair with its two nodes, whatever job it was part of."""
    return replace(row, nodes=2, ranks=2) if plain(row.test) in PAIR_TESTS else row
