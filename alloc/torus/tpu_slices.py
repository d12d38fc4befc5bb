"""Slices of TPU pods: cubes of 4 x 4 x 4 chips, contiguous or joined by optical switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from alloc.nodes import Nodes
from alloc.torus.first_fit_cuboid import FirstFitCuboid, cuboids
from netsim.topology import Topology

EDGE = 4
"""Routers along an edge of a cube (TPU v4: 64 chips, one rack)."""


@dataclass(frozen=True)
class Slices:
    """How cubes of a slice are joined."""

    optical: Annotated[
        bool, "optical switches join any free cubes to a slice, not only a cuboid of neighbours"
    ] = False


class TpuSlices(FirstFitCuboid):
    """Slices of entire cubes; jobs that are smaller than a cube share one.

    A job of more than half a cube gets entire cubes (Jouppi et al., ISCA'23): a contiguous cuboid
    of them, by the rule of `FirstFitCuboid`, or with ``optical`` any free cubes, the first ones.
    A smaller job gets 1, 2, 4, 8, ... routers of one cube that make an aligned cuboid: of such
    places the one in the cube with the fewest free nodes. The job gets all nodes of its slice. An
    edge of a cube is 4 routers where the machine's length is a multiple of it, else 2 or 1.

    The links of the machine are not changed: messages between cubes that are no neighbours take
    the torus, where an optical switch would give them a torus of their own.
    """

    name = "tpu-slices"
    description = "TPU slices: cuboids of cubes of 4 x 4 x 4, or any cubes (optical switches)"
    parameters = Slices

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Slices | None = None
    ) -> None:
        super().__init__(topology, rng)
        self._optical = (parameters or Slices()).optical
        edges = np.gcd(self._dims, EDGE)
        coords = np.stack(np.unravel_index(np.arange(topology.n_routers), self._dims), axis=1)
        cube, inside = np.divmod(coords, edges)
        # Invariant: numbers of routers inside a cube interleave the bits of their coordinates, so
        # 2^k numbers from a multiple of 2^k on are an aligned cuboid.
        keys = [inside[:, d] >> bit & 1 for bit in range(2) for d in range(len(edges))[::-1]]
        routers = np.lexsort((*keys, *cube.T[::-1]))
        self._width_of_router = self._width
        self._nodes_by_cube = (routers[:, None] * self._width + np.arange(self._width)).ravel()
        self._dims = tuple((np.array(self._dims) // edges).tolist())
        self._width *= int(edges.prod())
        self._cuboids = cuboids(self._dims)
        self._volumes = self._cuboids.prod(axis=1)

    def _free_routers(self) -> np.ndarray:
        """Return which cubes have only free nodes, (d0, d1, ...) bool."""
        free = self._free[self._nodes_by_cube]
        return np.asarray(free.reshape(*self._dims, self._width).all(axis=-1))

    def _select(self, n_nodes: int) -> Nodes | None:
        routers = -(-n_nodes // self._width_of_router)
        part = self._width_of_router << (routers - 1).bit_length()
        if part < self._width:
            free = self._free[self._nodes_by_cube]
            places = np.flatnonzero(free.reshape(-1, part).all(axis=1))
            if not len(places):
                return None
            in_cube = free.reshape(-1, self._width).sum(axis=1)[places * part // self._width]
            nodes = places[np.argmin(in_cube)] * part + np.arange(part)
        elif self._optical:
            cubes = np.flatnonzero(self._free_routers())[: -(-n_nodes // self._width)]
            if len(cubes) * self._width < n_nodes:
                return None
            nodes = (cubes[:, None] * self._width + np.arange(self._width)).ravel()
        else:
            found = super()._select(n_nodes)
            if found is None:
                return None
            nodes = found
        return np.asarray(self._nodes_by_cube[nodes], dtype=np.int64)
