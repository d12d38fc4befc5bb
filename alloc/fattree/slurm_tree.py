"""Slurm's topology/tree: best fit on the lowest switch that holds the job."""

from __future__ import annotations

import numpy as np

from alloc.nodes import NodePolicy, Nodes, fill
from netsim.topology import Topology


class SlurmTree(NodePolicy):
    """The lowest-level switch that holds the job, then its leaves, fullest first.

    The rule of Slurm's topology/tree plugin: among the switches of the lowest level (leaf,
    pod, machine) with enough free nodes the one with fewest; then its leaves are used up,
    those with the fewest free nodes first. Ties go to the lowest number.
    """

    name = "slurm-tree"
    description = "Slurm's topology/tree: best fit on the lowest switch that holds the job"
    families = ("fattree",)
    counts_only = True

    def block_sizes(self, topology: Topology) -> tuple[int, ...]:
        """Nodes a leaf, nodes a pod."""
        return topology.shape.m1, topology.shape.nodes_per_pod

    def _select(self, n_nodes: int) -> Nodes:
        width, leaf_free = self._blocks[0], self._counts[0]
        leaves = np.arange(len(leaf_free))
        for size, counts in zip(self._blocks, self._counts, strict=True):
            fits = np.flatnonzero(counts >= n_nodes)
            if len(fits):
                best, a_switch = int(fits[np.argmin(counts[fits])]), size // width
                leaves = leaves[best * a_switch : (best + 1) * a_switch]
                break
        leaves = leaves[leaf_free[leaves] > 0]
        order = leaves[np.argsort(leaf_free[leaves], kind="stable")]
        return fill(order, leaf_free, self._free, width, n_nodes)
