"""Isoperimetric worst cuboid: the shape with the least internal bisection."""

from __future__ import annotations

from alloc.torus.geometry import Extents, GeometryPolicy, balanced, internal_links


class CuboidWorst(GeometryPolicy):
    """Only the cuboids with the least internal bisection of their volume, longest first.

    The worst case of a scheduler that allows any cuboid (Oltchik and Schwartz, Table 7).
    """

    name = "cuboid-worst"
    description = "a cuboid with the least internal bisection of its size: the worst case"

    def shapes(self, volume: int, every: list[Extents]) -> list[Extents]:
        links = {e: internal_links(self.topology, e) for e in every}
        least = min(links.values())
        return sorted((e for e in every if links[e] == least), key=balanced, reverse=True)
