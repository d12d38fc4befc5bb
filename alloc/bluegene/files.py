"""Partition menus in files: a table of partitions and, beside it, their wires.

The table is CSV with the columns ``name``, ``midplanes`` (names with spaces between) and
``shape`` ("1x2x4"); others are ignored. The wires are JSON, plain or gzip: partition name ->
{"wires": [names]}. Without wires partitions conflict only where they share midplanes.
"""

from __future__ import annotations

import csv
import gzip
import json
from math import prod
from pathlib import Path

from alloc.bluegene.machine import MIDPLANE_NODES, BlueGene, Partition
from netsim.errors import NetcosimError

COLUMNS = ("name", "midplanes", "shape")


def read_machine(
    menu: str | Path,
    wires: str | Path | None = None,
    *,
    midplane_names: tuple[str, ...] | None = None,
    dims: tuple[int, ...] | None = None,
    midplane_nodes: int = MIDPLANE_NODES,
) -> BlueGene:
    """Read a machine.

    Parameters
    ----------
    menu, wires : path
    midplane_names : tuple of str, optional
        By number; by default all that the menu names, sorted.
    dims : tuple of int, optional
        By default one line of midplanes.
    midplane_nodes : int

    Raises
    ------
    NetcosimError
        A file that cannot be read, a column or wire list that is missing, an unknown
        midplane, a shape that does not fit the number of midplanes.
    """
    rows = _rows(Path(menu))
    wiring = {} if wires is None else _wires(Path(wires))
    if midplane_names is None:
        midplane_names = tuple(sorted({m for row in rows for m in row["midplanes"].split()}))
    place = {name: i for i, name in enumerate(midplane_names)}
    found = []
    for row in rows:
        name, midplanes = row["name"], row["midplanes"].split()
        unknown = [m for m in midplanes if m not in place]
        if unknown:
            raise NetcosimError(f"{menu}: partition {name}: unknown midplane {unknown[0]!r}")
        try:
            shape = tuple(int(part) for part in row["shape"].split("x"))
        except ValueError:
            shape = ()
        if not shape or prod(shape) != len(midplanes):
            raise NetcosimError(
                f"{menu}: partition {name}: shape {row['shape']!r} for {len(midplanes)} midplanes"
            )
        if wires is not None and name not in wiring:
            raise NetcosimError(f"{wires}: no wires for partition {name}")
        numbers = tuple(sorted(place[m] for m in midplanes))
        found.append(Partition(name, numbers, shape, wiring.get(name, frozenset())))
    return BlueGene(
        Path(menu).stem,
        (len(midplane_names),) if dims is None else dims,
        midplane_names,
        tuple(sorted(found, key=lambda p: p.name)),
        midplane_nodes,
    )


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise NetcosimError(f"partition menu {path}: {error.strerror}") from error
    for column in COLUMNS:
        if not rows or rows[0].get(column) is None:
            raise NetcosimError(f"partition menu {path}: no column {column!r}")
    return rows


def _wires(path: Path) -> dict[str, frozenset[str]]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        return {name: frozenset(entry["wires"]) for name, entry in json.loads(text).items()}
    except OSError as error:
        raise NetcosimError(f"wires {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NetcosimError(f'wires {path}: not JSON of name -> {{"wires": [...]}}') from error
