"""Machines in midplanes, and the partitions that menus and the best or worst cuboid give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from alloc.bluegene.geometries import (
    best_geometry,
    geometries,
    partition_bisection,
    partition_dims,
    possible_sizes,
)
from alloc.bluegene.menus import JUQUEEN, MENUS, MIRA, SEQUOIA
from netcosim.runs.store import Rows
from netsim.errors import need_name, unknown_name

Point = Mapping[str, Any]
MACHINES: dict[str, tuple[int, ...]] = {
    "mira": MIRA,
    "juqueen": JUQUEEN,
    "sequoia": SEQUOIA,
    "juqueen-54": (3, 3, 3, 2),
    "juqueen-48": (4, 3, 2, 2),
}
"""Lengths in midplanes; the last two are the paper's proposals (section 5)."""


def geometry_for(machine: str, choice: str, midplanes: int) -> tuple[int, ...] | None:
    """Return the geometry that a machine gives a size: by a menu, or the "best" or "worst"."""
    need_name("machine", machine, MACHINES)
    if choice == "best":
        return best_geometry(MACHINES[machine], midplanes)
    if choice == "worst":
        return next(reversed(geometries(MACHINES[machine], midplanes)), None)
    if choice not in MENUS:
        raise unknown_name("choice", choice, ("best", "worst", *MENUS))
    of_size = [g for g in MENUS[choice].geometries if prod(g) == midplanes]
    return of_size[0] if of_size else None


def geometry_of(config: Point) -> tuple[int, ...]:
    """Return the geometry of a point's partition: machine, choice and midplanes."""
    machine, choice, size = config["machine"], config["choice"], config["midplanes"]
    geometry = geometry_for(machine, choice, size)
    if geometry is None:
        raise unknown_name(
            f"size of {machine} ({choice}), in midplanes,",
            str(size),
            [s for s in possible_sizes(MACHINES[machine]) if geometry_for(machine, choice, s)],
        )
    return geometry


def labels(config: Point, geometry: Sequence[int]) -> dict[str, object]:
    """Return the columns that identify a point's partition."""
    return {
        "machine": config["machine"],
        "choice": config["choice"],
        "Midplanes": config["midplanes"],
        "geometry": "x".join(map(str, geometry)),
        "bisection": partition_bisection(geometry),
    }


def bisections(config: Point) -> dict[str, Rows]:
    """Return table "partitions": every size of a machine with its geometry and bisection.

    ``config``: machine, choice (see `geometry_for`).
    """
    machine, choice = config["machine"], config["choice"]
    rows: list[dict[str, object]] = []
    for size in possible_sizes(MACHINES[machine]):
        geometry = geometry_for(machine, choice, size)
        if geometry is not None:
            nodes = int(prod(partition_dims(geometry)))
            rows.append(labels({**config, "midplanes": size}, geometry) | {"P": nodes})
    return {"partitions": rows}
