"""First-fit cuboid: the first free box of the smallest volume that holds the job."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy, Nodes
from netsim.topology import Topology

Shapes = NDArray[np.int64]

_TRIED = 8  # cuboids that are looked for one by one, before all are at once


def cuboids(dims: tuple[int, ...]) -> Shapes:
    """Return every cuboid that fits into a torus or mesh, (k, dimensions) int64.

    By volume, then by the sum of the edge lengths (compact ones first), then by the edge
    lengths themselves, the first dimension first.
    """
    every = np.array(list(product(*(range(1, d + 1) for d in dims))), dtype=np.int64)
    keys = [*every.T[::-1], every.sum(axis=1), every.prod(axis=1)]
    return every[np.lexsort(keys)]


def free_corners(
    free: NDArray[np.bool_], extents: NDArray[np.int64], rings: tuple[bool, ...]
) -> NDArray[np.bool_]:
    """Return the possible positions of a cuboid: True at the corners of entirely free ones.

    ``free`` are routers (d0, d1, ...). A cuboid may wrap around in dimensions that are ``rings``;
    one as long as its dimension is at 0 there.
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


def longest_free(
    free: NDArray[np.bool_], rings: tuple[bool, ...], least_volume: int
) -> tuple[int, NDArray[np.int64]]:
    """Return the longest axis, and the greatest lengths of free cuboids along it.

    They are by the other edge lengths, less 1 each; 0 where no cuboid is free, or none of
    ``least_volume``. ``free`` and ``rings`` as in `free_corners`.
    """
    axis = int(np.argmax(free.shape))
    others = [k for k in range(free.ndim) if k != axis]
    length = free.shape[axis]
    along = np.moveaxis(free, axis, -1)
    runs = np.empty(along.shape, dtype=np.min_scalar_type(length))
    run = np.zeros(along.shape[:-1], dtype=np.int64)
    for at in range((2 if rings[axis] else 1) * length - 1, -1, -1):
        run = np.where(along[..., at % length], run + 1, 0)
        runs[..., at % length] = np.minimum(run, length)
    longest = np.zeros(along.shape[:-1], dtype=np.int64)
    _widen(runs, [rings[k] for k in others], (), least_volume, longest)
    return axis, longest


def _widen(
    runs: NDArray[np.unsignedinteger],
    rings: list[bool],
    extents: tuple[int, ...],
    least_volume: int,
    longest: NDArray[np.int64],
) -> None:
    """Record the longest run of all cuboids with these first edge lengths.

    ``runs`` are the runs common to all routers of a cuboid that starts at each place; an edge that
    is longer by one takes the minimum of its own run and that of the next place.
    """
    axis = len(extents)
    if axis == longest.ndim:
        longest[tuple(e - 1 for e in extents)] = runs.max()
        return
    length = runs.shape[axis]
    rest = int(np.prod(longest.shape[axis + 1 :]) * np.prod(extents))
    twice = np.concatenate([runs, runs], axis=axis) if rings[axis] else runs
    both: list[slice] = [slice(None)] * runs.ndim
    least = runs
    for extent in range(1, length + 1):
        if extent > 1:
            places = length if rings[axis] else length - extent + 1
            here, behind = [both.copy() for _ in range(2)]
            here[axis], behind[axis] = slice(places), slice(extent - 1, extent - 1 + places)
            least = np.minimum(least[tuple(here)], twice[tuple(behind)])
        top = int(least.max())
        if top == 0:
            return
        if rest * extent * top >= least_volume:
            _widen(least, rings, (*extents, extent), least_volume, longest)


class FirstFitCuboid(NodePolicy):
    """A job gets a cuboid of routers of its own, of the smallest volume that fits now.

    Volumes from that of the request (in whole routers) upwards; for each volume all edge
    lengths in all orientations, compact ones first; the first free corner in router order.
    Cuboids may wrap around in a wrapped dimension. The job gets *all* nodes of its cuboid:
    those beyond the request are lost to others (internal fragmentation), as there is
    no cuboid of 7 routers, for example, on a 4 x 4 torus. A cuboid longer than half a ring has
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
        free = self._free_routers()
        first = int(np.searchsorted(self._volumes, -(-n_nodes // width)))
        last = int(np.searchsorted(self._volumes, int(free.sum()), side="right"))
        tried = min(first + _TRIED, last)
        found = self._first_free(free, range(first, tried))
        if found is not None or tried == last:
            return found
        axis, longest = longest_free(free, self._rings, int(self._volumes[tried]))
        edges = self._cuboids[tried:last]
        others = tuple(np.delete(edges, axis, axis=1).T - 1)
        fits = np.flatnonzero(edges[:, axis] <= longest[others])
        return self._first_free(free, tried + fits[:1])

    def _free_routers(self) -> NDArray[np.bool_]:
        """Return which routers have only free nodes, (d0, d1, ...) bool."""
        return np.asarray(self._free.reshape(*self._dims, self._width).all(axis=-1))

    def _first_free(self, free: NDArray[np.bool_], cuboids: Iterable[int]) -> Nodes | None:
        """Return the first of these cuboids that is free somewhere, at its first corner."""
        for i in cuboids:
            extents = self._cuboids[i]
            corners = free_corners(free, extents, self._rings)
            corner = int(np.argmax(corners))
            if corners.flat[corner]:
                return self._nodes_of(np.unravel_index(corner, self._dims), extents)
        return None

    def _nodes_of(self, corner: tuple[np.intp, ...], extents: NDArray[np.int64]) -> Nodes:
        axes = [
            (np.arange(extent) + start) % length
            for start, extent, length in zip(corner, extents.tolist(), self._dims, strict=True)
        ]
        routers = np.ravel_multi_index(tuple(np.meshgrid(*axes, indexing="ij")), self._dims)
        nodes = routers.ravel()[:, None] * self._width + np.arange(self._width)
        return np.asarray(nodes.ravel(), dtype=np.int64)
