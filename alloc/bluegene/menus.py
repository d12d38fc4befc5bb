"""Static partition menus of Blue Gene/Q machines: which geometries a scheduler may allocate.

Geometries are in midplanes, longest dimension first, in any orientation (Oltchik and Schwartz,
section 3.2 and Table 6). Mira has a short list; JUQUEEN allows every cuboid, and so does, it seems,
Sequoia (section 5). The paper names geometries, not places: they are taken wherever they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alloc.bluegene.geometries import (
    best_geometry,
    geometries,
    partition_bisection,
    possible_sizes,
)
from netsim.errors import NetcosimError, need_name

Geometry = tuple[int, ...]

MIRA = (4, 4, 3, 2)
JUQUEEN = (7, 2, 2, 2)
SEQUOIA = (4, 4, 4, 3)

MIRA_CURRENT: tuple[Geometry, ...] = (
    (1, 1, 1, 1),
    (2, 1, 1, 1),
    (4, 1, 1, 1),
    (4, 2, 1, 1),
    (4, 4, 1, 1),
    (4, 3, 2, 1),
    (4, 4, 2, 1),
    (4, 4, 3, 1),
    (4, 4, 2, 2),
    (4, 4, 3, 2),
)
"""Table 6, "Current Geometry"."""


@dataclass(frozen=True)
class PartitionMenu:
    """The geometries that a scheduler may allocate, each size's in order of preference."""

    description: str
    machine: Geometry
    """Lengths of the machine in midplanes."""
    geometries: tuple[Geometry, ...]


def any_cuboid(machine: Sequence[int]) -> tuple[Geometry, ...]:
    """Return every cuboid that fits, by size; those of one size with the greatest bisection
    first."""
    return tuple(g for size in possible_sizes(machine) for g in geometries(machine, size))


def improved(machine: Sequence[int], menu: Sequence[Geometry]) -> tuple[Geometry, ...]:
    """Return the menu with each geometry replaced by the best of its size, where that has more
    links.
    """
    better = []
    for geometry in menu:
        size = 1
        for a in geometry:
            size *= a
        best = best_geometry(machine, size)
        if best is None or geometry not in geometries(machine, size):
            raise NetcosimError(f"geometry {geometry} does not fit into the machine {machine}")
        gains = partition_bisection(best) > partition_bisection(geometry)
        better.append(best if gains else geometry)
    return tuple(better)


MENUS: dict[str, PartitionMenu] = {
    "mira-current": PartitionMenu("Mira's list as it was", MIRA, MIRA_CURRENT),
    "mira-proposed": PartitionMenu(
        "Mira's list with the best cuboid of each size", MIRA, improved(MIRA, MIRA_CURRENT)
    ),
    "juqueen": PartitionMenu("JUQUEEN: any cuboid", JUQUEEN, any_cuboid(JUQUEEN)),
    "sequoia": PartitionMenu("Sequoia: any cuboid", SEQUOIA, any_cuboid(SEQUOIA)),
}


def partition_menu(name: str) -> PartitionMenu:
    """Return a menu by name."""
    need_name("partition menu", name, MENUS)
    return MENUS[name]
