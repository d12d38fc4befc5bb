"""Level-Spread: spread a job within the smallest level that holds it."""

from __future__ import annotations

import numpy as np

from alloc.dragonfly.base import DragonflyPolicy
from alloc.nodes import Nodes, in_turn


class LevelSpread(DragonflyPolicy):
    """The smallest of router, group and machine that holds the job; spread within it.

    Zhang et al., "Level-Spread: A New Job Allocation Policy for Dragonfly Networks", III-B.
    Router: the one with most free nodes. Group: the one with most free nodes, one node a
    router in turn from its first router. Machine: one node a group in turn from group 0.
    Ties go to the lowest number.
    """

    name = "level-spread"
    description = "spread within the smallest level (router, group, machine) that holds the job"
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        for size, counts, within in (
            (self._p, self._router_free, 1),
            (self._group_size, self._group_free, self._p),
        ):
            best = int(np.argmax(counts))
            if counts[best] >= n_nodes:
                nodes = best * size + np.flatnonzero(self._free[best * size : (best + 1) * size])
                if within > 1:
                    nodes = in_turn(nodes, nodes // within)
                return nodes[:n_nodes]
        nodes = np.flatnonzero(self._free)
        return in_turn(nodes, nodes // self._group_size)[:n_nodes]
