"""Random nodes."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes


class RandomNode(DragonflyPolicy):
    """Uniformly random free nodes of the machine, in random order (Level-Spread paper, IV)."""

    name = "rdn"
    description = "random nodes"

    def _select(self, n_nodes: int) -> Nodes:
        return self.rng.permutation(np.flatnonzero(self._free))[:n_nodes]
