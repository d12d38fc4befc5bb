"""Round-robin routers over groups."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, fill, in_turn


class RoundRobinRouter(DragonflyPolicy):
    """From group 0, the first router with a free node of each group in turn.

    All free nodes of each router are taken (Level-Spread paper, IV).
    """

    name = "rrr"
    description = "round-robin over groups, one router at a time"

    def _select(self, n_nodes: int) -> Nodes:
        routers = np.flatnonzero(self._router_free)
        order = in_turn(routers, routers * self._p // self._group_size)
        return fill(order, self._router_free, self._free, self._p, n_nodes)
