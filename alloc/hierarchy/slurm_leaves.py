"""Slurm's topology/tree as implemented: leaf after leaf, each the best for what is left."""

from __future__ import annotations

import numpy as np

from alloc.hierarchy.kernels_leaves import choose_leaves
from alloc.hierarchy.slurm_tree import SlurmTree, Switches
from alloc.nodes import Nodes
from netsim.topology import Topology


class SlurmTreeCoded(SlurmTree):
    """Leaf after leaf, as the code of Slurm 26.11 chooses them ("minimal leaf switch count").

    Each time the best leaf for the nodes that are still missing is used up. Of two leaves that
    both hold them the one with fewer free nodes is better; one that holds them is better than one
    that does not; of two that do not, the one whose switch above is better by the same rule; under
    one switch the one with more free nodes. A leaf nearer to those already taken (sum of the
    distances in the tree) precedes it, or the switch at which the two diverge,
    holds what is missing. Leaves are looked at in order and replaced only by better ones, so ties
    go to the lowest number. Ranks are laid in order of node numbers.

    All nodes count alike (no weights, no required nodes, whole nodes), and all leaves are equally
    deep. ``switches`` and ``max_wait`` are those of `slurm-tree`.
    """

    name = "slurm-tree-coded"
    description = "Slurm's topology/tree as its code has it: leaf after leaf, as few as it can"
    kernels = "Slurm tree"

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Switches | None = None
    ) -> None:
        super().__init__(topology, rng, parameters)
        counts = self.hierarchy.counts[::-1]
        first = np.cumsum([0, *counts])
        above = [self._above[k] + first[i + 1] for i, k in enumerate(self._from_leaves()[:-1])]
        self._parent = np.concatenate([*above, [-1]]).astype(np.int64)

    def _from_leaves(self) -> range:
        return range(self.n_levels - 1, -1, -1)

    def _select(self, n_nodes: int) -> Nodes:
        free = np.concatenate([self._count[k] for k in self._from_leaves()])
        order = np.empty(len(self._count[-1]), dtype=np.int64)
        used = choose_leaves(n_nodes, len(order), free, self._parent, order)
        return np.sort(self._fill(order[:used], n_nodes))
