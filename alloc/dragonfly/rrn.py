"""Round-robin nodes over groups."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, in_turn


class RoundRobinNode(DragonflyPolicy):
    """From group 0, the first free node of each group in turn (Level-Spread paper, IV)."""

    name = "rrn"
    description = "round-robin over groups, one node at a time"

    def _select(self, n_nodes: int) -> Nodes:
        nodes = np.flatnonzero(self._free)
        return in_turn(nodes, nodes // self._group_size)[:n_nodes]
