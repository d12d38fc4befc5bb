"""Random: uniformly random free nodes, independent of the network."""

from __future__ import annotations

from alloc.nodes import NodePolicy, Nodes


class RandomNodes(NodePolicy):
    """Uniformly random free nodes, in random order."""

    name = "random"
    description = "uniformly random free nodes"
    counts_only = True

    def _select(self, n_nodes: int) -> Nodes:
        return self.rng.permutation(self._free.nonzero()[0])[:n_nodes]
