"""Random routers."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill


class RandomRouter(DragonflyPolicy):
    """All free nodes of a random router in order, then of another (Level-Spread paper, IV)."""

    name = "rdr"
    description = "random routers, all free nodes of each"

    def _select(self, n_nodes: int) -> Nodes:
        order = self.rng.permutation(np.flatnonzero(self._router_free))
        return fill(order, self._router_free, self._free, self._p, n_nodes)
