"""Jokanovic's policy: small jobs at one end of the machine, large ones at the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes


class Jokanovic(DragonflyPolicy):
    """Small jobs in the first group with room, large ones from the last node down.

    Jokanovic et al., "Quiet neighborhoods", IPDPS 2015, as the Level-Spread paper (IV)
    takes it to dragonflies. The paper leaves the details open; here:

    - a job is small if it fits into an empty group (at most a*p nodes);
    - a small job goes to the first group with room for it; if no group has room, it gets
      the lowest-numbered free nodes;
    - a large job gets the highest-numbered free nodes, downwards.

    The papers' boundary between the two kinds moves to wherever they meet. As no job waits
    because of it, it never changes a placement, and this policy does not keep it.
    """

    name = "jokanovic"
    description = "small jobs from the first group up, large jobs from the last node down"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        size = self._group_size
        free: Nodes = np.flatnonzero(self._free)
        if n_nodes > size:
            last: Nodes = free[::-1][:n_nodes]
            return last
        room = self._group_free >= n_nodes
        if room.any():
            return self._small(free, free // size == int(np.argmax(room)), n_nodes)
        return free[:n_nodes]

    def _small(self, free: Nodes, in_group: NDArray[np.bool_], n_nodes: int) -> Nodes:
        """Return the nodes of a small job, of the free ones; some are in the first group with
        room."""
        return free[in_group][:n_nodes]
