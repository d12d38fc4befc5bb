"""Partition menus in files: a table of partitions and, beside it, their wires.

The table is CSV with the columns ``name``, ``midplanes`` (names with spaces between) and
``shape`` ("1x2x4"); others are ignored. The wires are JSON, plain or gzip: partition name ->
{"wires": [names]}. Without wires partitions conflict only where they share midplanes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated

from alloc.bluegene.machine import MIDPLANE_NODES, BlueGene, MidplanePartition
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.parameters import Example, NamesFile
from netsim.text_numbers import csv_records, whole_number
from netsim.topology import Topology

COLUMNS = ("name", "midplanes", "shape")


@dataclass(frozen=True)
class MenuFiles:
    """``[policies.cobalt]`` and its kin: a partition menu of the user's own.

    Without ``menu`` the machine has that of `alloc.bluegene.loops.machine_for`.
    """

    menu: Annotated[
        str | None, "partitions of the machine: CSV", NamesFile, Example("menu.csv")
    ] = None
    wires: Annotated[
        str | None,
        "wires of each partition: JSON, or gzip",
        NamesFile,
        Example("wires.json", {"menu": "menu.csv"}),
    ] = None
    midplanes: Annotated[
        Sequence[str] | None,
        "names of the midplanes by number; by default sorted",
        Example(["m0", "m1"], {"menu": "menu.csv"}),
    ] = None

    def __post_init__(self) -> None:
        if self.menu is None and (self.wires is not None or self.midplanes is not None):
            raise NetcosimError("wires and midplanes are those of a menu, which is missing")

    def machine(self, topology: Topology) -> BlueGene | None:
        """Return the machine on a torus of midplanes; None without a menu."""
        if self.menu is None:
            return None
        names = None if self.midplanes is None else tuple(self.midplanes)
        shape = topology.shape
        return read_machine(
            self.menu,
            self.wires,
            midplane_names=names,
            dims=tuple(shape.dims),
            midplane_nodes=int(shape.concentration),
        )


MAX_MENU_BYTES = 64 * 2**20
"""Most text of a menu or of its wires; Intrepid's wires have 170 KB."""


def read_machine(
    menu: str | Path,
    wires: str | Path | None = None,
    *,
    midplane_names: tuple[str, ...] | None = None,
    dims: tuple[int, ...] | None = None,
    midplane_nodes: int = MIDPLANE_NODES,
) -> BlueGene:
    """Read a machine: by default of one line of midplanes, all that the menu names, sorted."""
    text = read_text(menu, limit_bytes=MAX_MENU_BYTES)
    rows = [row for _, row in csv_records(menu, text, COLUMNS)]
    if not rows:
        raise NetcosimError(f"{menu}: a partition menu needs rows")
    wiring = {} if wires is None else _wires(Path(wires))
    if midplane_names is None:
        midplane_names = tuple(sorted({m for row in rows for m in row["midplanes"].split()}))
    place = {name: i for i, name in enumerate(midplane_names)}
    partitions = []
    for row in rows:
        name, midplanes = row["name"], row["midplanes"].split()
        unknown = [m for m in midplanes if m not in place]
        if unknown:
            raise NetcosimError(f"{menu}: partition {name}: unknown midplane {unknown[0]!r}")
        shape = tuple(whole_number(part.strip(), 1) or 0 for part in row["shape"].split("x"))
        if prod(shape) != len(midplanes):
            raise NetcosimError(
                f"{menu}: partition {name}: shape {row['shape']!r} for {len(midplanes)} midplanes"
            )
        if wires is not None and name not in wiring:
            raise NetcosimError(f"{wires}: no wires for partition {name}")
        numbers = tuple(sorted(place[m] for m in midplanes))
        partitions.append(MidplanePartition(name, numbers, shape, wiring.get(name, frozenset())))
    return BlueGene(
        Path(menu).stem,
        (len(midplane_names),) if dims is None else dims,
        midplane_names,
        tuple(sorted(partitions, key=lambda p: p.name)),
        midplane_nodes,
    )


def _wires(path: Path) -> dict[str, frozenset[str]]:
    text = read_text(path, limit_bytes=MAX_MENU_BYTES)
    try:
        return {name: frozenset(entry["wires"]) for name, entry in json.loads(text).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NetcosimError(f'wires {path}: not JSON of name -> {{"wires": [...]}}') from error
