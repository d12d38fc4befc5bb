"""Static partition menus: a job gets a partition of the scheduler's list."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from alloc.bluegene.menus import MIRA, Geometry, any_cuboid, partition_menu
from alloc.torus.geometry import Extents, GeometryPolicy, balanced
from netsim.topology import Topology


class Menu(GeometryPolicy):
    """The machine's own menu: Mira's list on its 4 x 4 x 3 x 2 midplanes, else any cuboid.

    The job gets the smallest partition on the menu that holds it; of several shapes (any
    cuboid) the first that is free, the greatest bisection first.
    """

    name = "menu"
    description = "the scheduler's own partitions: Mira's list on Mira, any cuboid elsewhere"
    mira_menu: ClassVar[str] = "mira-current"

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        self.check_family(topology)
        dims = balanced(topology.shape.dims)
        menu = partition_menu(self.mira_menu).geometries if dims == MIRA else any_cuboid(dims)
        self._rank: dict[Geometry, int] = {geometry: i for i, geometry in enumerate(menu)}
        super().__init__(topology, rng)

    def shapes(self, volume: int, every: list[Extents]) -> list[Extents]:
        allowed = [e for e in every if balanced(e) in self._rank]
        return sorted(allowed, key=lambda e: self._rank[balanced(e)])


class MenuProposed(Menu):
    """As `Menu`, with the best geometry of each size in place of Mira's own (Table 6)."""

    name = "menu-proposed"
    description = "as menu, with Mira's partitions replaced by those of the best bisection"
    mira_menu: ClassVar[str] = "mira-proposed"
