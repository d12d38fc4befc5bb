"""TA: topology-aware allocation, isolation only by rules on nodes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.kernels_ta import HELD, WIRED, Tree, flip, mark_possible, select
from alloc.nodes import NodePolicy, Nodes
from alloc.policy import Placement, Request
from netsim.topology import Topology

if TYPE_CHECKING:
    from alloc.fattree.kernels_places import Places


class TopologyAware(NodePolicy):
    """Types of jobs by size; which types may share a leaf or a pod.

    Pollard, Jain, Herbein, Bhatele: "Evaluation of an Interference-free Node Allocation Policy on
    Fat-tree Clusters", SC 2018, Algorithm 1. T1 fits on a leaf, T2 in a pod, T3 is larger.

    - T1: pod with fewest free nodes first, in it the leaf with fewest that holds the job.
    - T2: pods with fewest free nodes first; in it the leaves without a T2 or T3 job, most
      free nodes first.
    - T3: pods without a T3 job, most free nodes first; in each the leaves without a T2 or
      T3 job, most free nodes first. (Line 35 of the paper excludes only T2; a leaf with
      a T3 job lies in a pod with one.)

    A pod's free nodes are all of them, those on leaves that the job may not use too. Ties
    go to the lowest number. No links are reserved: no two jobs can ever have one in common.
    """

    name = "ta"
    description = "topology-aware: isolation by rules on leaves and pods, no links reserved"
    families = ("fattree",)
    isolates = True
    kernels = "TA search"
    deterministic = True
    holds_any = False  # a hold marks the leaves and pods of a job
    has_kernel_state = True

    def __init__(self, topology: Topology, rng: np.random.Generator) -> None:
        super().__init__(topology, rng)
        shape = topology.shape
        # A leaf is wired if a T2 or T3 job sits on it, a pod if a T3 job does.
        self._leaf_marks = np.zeros((2, shape.n_leaves), dtype=np.bool_)
        self._pod_marks = np.zeros((2, shape.m3), dtype=np.bool_)
        self._scratch_nodes = np.zeros(topology.n_nodes, dtype=np.int64)

    def block_sizes(self, topology: Topology) -> tuple[int, ...]:
        """Return the nodes a leaf, nodes a pod."""
        return topology.shape.m1, topology.shape.nodes_per_pod

    def _mark(self, nodes: NDArray[np.integer], row: int, on: bool) -> None:
        """Set or clear the marks that a job on these nodes makes."""
        leaf_size, pod_size = self._blocks
        if len(nodes) > leaf_size:
            self._leaf_marks[row, nodes // leaf_size] = on
        if len(nodes) > pod_size:
            self._pod_marks[row, nodes // pod_size] = on

    def _flip(self, nodes: NDArray[np.integer], free: bool) -> None:
        flip(nodes, free, *self._blocks, self._free, *self._counts)
        self._n_free += len(nodes) if free else -len(nodes)

    @property
    def _tree(self) -> Tree:
        on_leaf, in_pod = self._counts
        return Tree(self._free, on_leaf, in_pod, self._leaf_marks, self._pod_marks)

    def _select(self, n_nodes: int) -> Nodes | None:
        n = select(n_nodes, *self._blocks, self._tree, self._scratch_nodes)
        return self._scratch_nodes[:n].copy() if n else None

    def kernel_state(self, needs_Bps: Sequence[float | None]) -> Places:
        from alloc.fattree.kernels_places import Marks, Places, no_parts

        now, open_, later = (copy.deepcopy(self._tree) for _ in range(3))
        limits, chosen = np.zeros((2, 3), dtype=np.int64), np.zeros_like(self._scratch_nodes)
        leaf_size, pod_size = self._blocks
        marks = Marks(now, open_, later, limits, chosen, leaf_size, pod_size)
        needs = np.zeros(len(needs_Bps), dtype=np.int64)
        return Places(None, None, marks, no_parts(self.topology.n_nodes), needs)

    def may_place(
        self, n_nodes: NDArray[np.int64], bandwidth_Bps: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Compare sizes with the free nodes of a leaf, of a pod or of pods that their type may use.

        Subclasses may use fewer of these.
        """
        possible = np.empty(len(n_nodes), dtype=np.bool_)
        mark_possible(n_nodes, *self._blocks, self._tree, possible)
        return possible

    def allocate(self, request: Request) -> Placement | None:
        placement = super().allocate(request)
        if placement is not None:
            self._mark(placement.nodes, WIRED, True)
        return placement

    def release(self, placement: Placement) -> None:
        super().release(placement)
        self._mark(placement.nodes, WIRED, False)

    def hold(self, placement: Placement) -> None:
        """Set aside the nodes and the marks, so that the placement stays legal."""
        super().hold(placement)
        self._mark(placement.nodes, HELD, True)

    def unhold(self) -> None:
        super().unhold()
        self._leaf_marks[HELD] = False
        self._pod_marks[HELD] = False

    def clone(self) -> Self:
        copied = super().clone()
        copied._leaf_marks, copied._pod_marks = self._leaf_marks.copy(), self._pod_marks.copy()
        copied._leaf_marks[HELD] = False
        copied._pod_marks[HELD] = False
        return copied
