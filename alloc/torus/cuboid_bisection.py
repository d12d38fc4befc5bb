"""Cuboids by their internal bisection: the greatest of their size, or the least."""

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


class CuboidBest(GeometryPolicy):
    """Only the cuboids with the greatest internal bisection of their volume.

    Several shapes or orientations may share it; the most cubic come first. (Oltchik and Schwartz:
    the "proposed" and "best-case" partitions.)
    """

    name = "cuboid-best"
    description = "a cuboid with the greatest internal bisection of its size, or wait"

    def shapes(self, volume: int, every: list[Extents]) -> list[Extents]:
        links = {e: internal_links(self.topology, e) for e in every}
        most = max(links.values())
        return sorted((e for e in every if links[e] == most), key=balanced)
