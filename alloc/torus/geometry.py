"""Base of the policies that choose a cuboid by its shape and wait for that shape."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import Nodes
from alloc.torus.first_fit_cuboid import FirstFitCuboid, free_corners
from netsim.analysis.bisection import cuboid_bisection
from netsim.topology import Topology

Extents = tuple[int, ...]

_KEPT_ROUTERS = 512  # up to here all cuboids of a shape are kept as router lists


def internal_links(topology: Topology, extents: Sequence[int]) -> float:
    """Return the internal bisection of a cuboid of routers, to compare cuboids of one size.

    On a Blue Gene machine of midplanes (``double_links_for_two``) a cuboid becomes a torus of its
    own and a midplane is even in every dimension, so 2 N / L holds for odd lengths too: in cables
    between midplanes. On other tori a cuboid has rings only where it covers one.
    """
    shape = topology.shape
    if shape.double_links_for_two:
        return 2 * prod(extents) / max(extents)
    return cuboid_bisection(shape.dims, extents, wrap=shape.wrap, double_links_for_two=False)


class GeometryPolicy(FirstFitCuboid):
    """A job gets a cuboid of the smallest volume that holds it, of the shapes allowed.

    A subclass defines which shapes a volume may have, in order of preference. If none of them is
    free the job waits, though other shapes or larger cuboids may be free. The first free
    corner in router order is taken; the job gets all nodes of its cuboid. Cuboids are
    compared by their internal bisection (Oltchik and Schwartz, section 3).
    Wires that a Blue Gene partition blocks outside its midplanes are not looked at.
    """

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        by_volume: dict[int, list[Extents]] = {}
        for cuboid in self._cuboids.tolist():
            by_volume.setdefault(prod(cuboid), []).append(tuple(cuboid))
        allowed = {v: self.shapes(v, every) for v, every in by_volume.items()}
        self._allowed: dict[int, list[Extents]] = {v: a for v, a in allowed.items() if a}
        self._scratch_boxes: dict[Extents, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self._sizes: NDArray[np.int64] = np.array(sorted(self._allowed), dtype=np.int64)

    @abstractmethod
    def shapes(self, volume: int, every: list[Extents]) -> list[Extents]:
        """Return the allowed edge lengths of a volume of routers, by preference.

        ``every`` has all cuboids of this volume that fit, compact ones first.
        """

    def fits_empty(self, n_nodes: int) -> bool:
        """Return whether some allowed cuboid holds a job of this size."""
        return n_nodes >= 1 and -(-n_nodes // self._width) <= int(self._sizes[-1])

    def shapes_for(self, n_nodes: int) -> list[Extents]:
        """Return the cuboids that a job of this size may get, in order of preference."""
        at = int(np.searchsorted(self._sizes, -(-n_nodes // self._width)))
        return self._allowed[int(self._sizes[at])] if at < len(self._sizes) else []

    def _select(self, n_nodes: int) -> Nodes | None:
        shapes = self.shapes_for(n_nodes)
        if not shapes or prod(shapes[0]) * self._width > self._n_free:
            return None
        free = self._free_routers()
        for shape in shapes:
            corner = self._free_corner(free, shape)
            if corner is not None:
                extents = np.array(shape, dtype=np.int64)
                return self._nodes_of(np.unravel_index(corner, self._dims), extents)
        return None

    def _free_corner(self, free: NDArray[np.bool_], shape: Extents) -> int | None:
        """Return the first router of a free cuboid of this shape."""
        if free.size > _KEPT_ROUTERS:
            corners = free_corners(free, np.array(shape, dtype=np.int64), self._rings).ravel()
            first = int(np.argmax(corners))
            return first if corners[first] else None
        if shape not in self._scratch_boxes:
            self._scratch_boxes[shape] = self._boxes(shape)
        starts, routers = self._scratch_boxes[shape]
        all_free = np.asarray(free.ravel()[routers].all(axis=1), dtype=np.bool_)
        first = int(np.argmax(all_free))
        return int(starts[first]) if all_free[first] else None

    def _boxes(self, shape: Extents) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return corners (k,), ascending, and routers (k, volume) of all cuboids of this shape."""
        everywhere = np.ones(self._dims, dtype=np.bool_)
        extents = np.array(shape, dtype=np.int64)
        starts = np.flatnonzero(free_corners(everywhere, extents, self._rings))
        corners = np.stack(np.unravel_index(starts, self._dims), axis=1)
        inside = np.stack(np.unravel_index(np.arange(prod(shape)), shape), axis=1)
        coords = (corners[:, None, :] + inside[None, :, :]) % np.array(self._dims)
        routers = np.ravel_multi_index(tuple(np.moveaxis(coords, -1, 0)), self._dims)
        return starts, np.asarray(routers, dtype=np.int64)


def balanced(extents: Extents) -> Extents:
    """Return the sort key that puts the most cubic shape first."""
    return tuple(sorted(extents, reverse=True))
