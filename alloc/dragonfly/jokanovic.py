"""Jokanovic's policy: small jobs at one end of the machine, large ones at the other."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes
from netsim.topology import Topology


class Jokanovic(DragonflyPolicy):
    """Small jobs in groups below a moving boundary, large ones above it from the last node.

    Jokanovic et al., "Quiet neighborhoods", IPDPS 2015, as the Level-Spread paper (IV)
    takes it to dragonflies. The paper leaves the details open; here:

    - a job is small if it fits into an empty group (at most a*p nodes);
    - a small job goes to the first group below the boundary with room for it; if there is
      none, the boundary moves up behind the first group above it with room; if no group
      has room, it gets the lowest-numbered free nodes and the boundary stays;
    - a large job gets the highest-numbered free nodes, downwards; if they reach below the
      boundary, it moves down to the lowest group that the job touches.

    Nobody waits because of the boundary, so in this reading it records where the two kinds
    of jobs met last (`boundary`) and follows the history of allocations; a release does
    not move it.
    """

    name = "jokanovic"
    description = "small jobs from the first group up, large jobs from the last node down"

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        self.boundary = 0
        """First group of the large jobs' part."""

    def _select(self, n_nodes: int) -> Nodes:
        size = self._group_size
        if n_nodes > size:
            nodes = np.flatnonzero(self._free)[::-1][:n_nodes]
            self.boundary = min(self.boundary, int(nodes[-1]) // size)
            return nodes
        room = self._group_free >= n_nodes
        if not room.any():
            return np.flatnonzero(self._free)[:n_nodes]
        below = room[: self.boundary]
        group = int(np.argmax(below)) if below.any() else int(np.argmax(room))
        self.boundary = max(self.boundary, group + 1)
        return (
            group * size + np.flatnonzero(self._free[group * size : (group + 1) * size])[:n_nodes]
        )
