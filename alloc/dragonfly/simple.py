"""Simple: label order."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes


class Simple(DragonflyPolicy):
    """The lowest-numbered free nodes (Level-Spread paper, IV)."""

    name = "simple"
    description = "free nodes in label order"

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[:n_nodes]
