"""Random groups."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill


class RandomGroup(DragonflyPolicy):
    """All free nodes of a random group in order, then of another (Level-Spread paper, IV)."""

    name = "rdg"
    description = "random groups, all free nodes of each"

    def _select(self, n_nodes: int) -> Nodes:
        order = self.rng.permutation(np.flatnonzero(self._group_free))
        return fill(order, self._group_free, self._free, self._group_size, n_nodes)
