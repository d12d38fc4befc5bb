"""Baseline: the lowest-numbered free nodes, independent of the network."""

from __future__ import annotations

import numpy as np

from alloc.nodes import NodePolicy, Nodes


class Baseline(NodePolicy):
    """The lowest-numbered free nodes ("Baseline" of Smith and Lowenthal, HPDC 2021, 5.2)."""

    name = "baseline"
    description = "lowest-numbered free nodes, blind to the network"
    counts_only = True
    deterministic = True

    def _select(self, n_nodes: int) -> Nodes:
        return np.flatnonzero(self._free)[:n_nodes]
