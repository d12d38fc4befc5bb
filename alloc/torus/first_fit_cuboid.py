"""First-fit cuboid: the first free box of the smallest volume that holds the job."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy, Nodes
from netsim.topology import Topology

Shapes = NDArray[np.int64]


def cuboids(dims: tuple[int, ...]) -> Shapes:
    """Every cuboid that fits into a torus or mesh, (k, dimensions) int64.

    By volume, then by the sum of the edge lengths (compact ones first), then by the edge
    lengths themselves, the first dimension first.
    """
    every = np.array(list(product(*(range(1, d + 1) for d in dims))), dtype=np.int64)
    keys = [*every.T[::-1], every.sum(axis=1), every.prod(axis=1)]
    return every[np.lexsort(keys)]


def free_corners(
    free: NDArray[np.bool_], extents: NDArray[np.int64], rings: tuple[bool, ...]
) -> NDArray[np.bool_]:
    """Where a cuboid can stand: True at the corners of the cuboids that are wholly free.

    Parameters
    ----------
    free : (d0, d1, ...) bool
        Free routers.
    extents : (dimensions,) int64
    rings : tuple of bool
        Dimensions that a cuboid may wrap around in. A cuboid as long as its dimension
        stands at 0 there.
    """
    corners = free
    for axis, (extent, ring) in enumerate(zip(extents.tolist(), rings, strict=True)):
        length, done = free.shape[axis], 1
        while done < extent:
            step = min(done, extent - done)
            corners = corners & np.roll(corners, -step, axis)
            done += step
        if extent > 1 and (not ring or extent == length):
            corners = corners.copy() if corners is free else corners
            end = [slice(None)] * free.ndim
            end[axis] = slice(length - extent + 1, None)
            corners[tuple(end)] = False
    return corners


class FirstFitCuboid(NodePolicy):
    """A job gets a cuboid of routers of its own, of the smallest volume that fits now.

    Volumes from that of the request (in whole routers) upwards; for each volume all edge
    lengths in all orientations, compact ones first; the first free corner in router order.
    Cuboids may wrap around in a wrapped dimension. The job gets *all* nodes of its cuboid:
    those beyond the request are lost to others (internal fragmentation), as there is
    no cuboid of, say, 7 routers on a 4 x 4 torus. A cuboid longer than half a ring has
    shortest paths that leave it, so isolation is not promised.
    """

    name = "first-fit-cuboid"
    description = "the first free cuboid of the smallest volume that holds the job"
    families = ("torus",)

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self._dims: tuple[int, ...] = topology.shape.dims
        self._rings: tuple[bool, ...] = topology.shape.wrap
        self._width: int = topology.shape.concentration
        self._cuboids = cuboids(self._dims)
        self._volumes = self._cuboids.prod(axis=1)

    def _select(self, n_nodes: int) -> Nodes | None:
        width = self._width
        free = np.asarray(self._free.reshape(*self._dims, width).all(axis=-1))
        first = int(np.searchsorted(self._volumes, -(-n_nodes // width)))
        last = int(np.searchsorted(self._volumes, int(free.sum()), side="right"))
        possible = np.ones(last, dtype=np.bool_)
        for i in range(first, last):
            if not possible[i]:
                continue
            extents = self._cuboids[i]
            corners = free_corners(free, extents, self._rings)
            corner = int(np.argmax(corners))
            if corners.flat[corner]:
                return self._nodes_of(np.unravel_index(corner, self._dims), extents)
            # What does not fit, fits no larger either.
            possible &= (self._cuboids[:last] < extents).any(axis=1)
        return None

    def _nodes_of(self, corner: tuple[np.intp, ...], extents: NDArray[np.int64]) -> Nodes:
        axes = [
            (np.arange(extent) + start) % length
            for start, extent, length in zip(corner, extents.tolist(), self._dims, strict=True)
        ]
        routers = np.ravel_multi_index(tuple(np.meshgrid(*axes, indexing="ij")), self._dims)
        nodes = routers.ravel()[:, None] * self._width + np.arange(self._width)
        return np.asarray(nodes.ravel(), dtype=np.int64)
