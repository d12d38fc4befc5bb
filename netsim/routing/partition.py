"""Up-down routing inside the partitions of a fat-tree, only on their own links.

Smith and Lowenthal (Jigsaw, HPDC 2021), section 4 and Fig. 5: a job's traffic stays on the job's
links. An up port is open to a packet if it is the partition's and the destination can be reached
from there within the partition: an L2 position that the leaf of the destination has too and,
for another pod, that shares a spine with its counterpart there; a spine that both pods have.
A machine's routing holds inside its partitions:

- D-mod-k and other static routings: D-mod-k with wrap-around. Inside a partition a node is the
  i-th of its leaf, the leaf the l-th of its pod; a leaf takes its i-th open L2 position, an L2
  switch its l-th open spine, modulo how many there are.
- "adaptive", "two-choice" and "random-up" choose among the open ports as
  in `netsim.routing.fattree`. They consider only the partition's own links, so isolated jobs
  do not touch each other under them either.

Up before down: one channel is free of deadlock.

A partition is rearrangeable, not free of contention: for every permutation there are routes at
one flow a link, but a static routing does not know the permutation. Measured with random
permutations in Jigsaw's partitions on a nearly full tree of radix 18, over all flows between
leaves: with jobs of 400 nodes on average 42 % of the flows have a link with one other flow on it
and 17 % one with two or more; with jobs of 60 nodes 38 and 11 %
(``experiments/jigsaw/tests/test_rearrangeable.py``).

Between nodes of different partitions, and where a partition has no open link, all ports are open.

State: always 0. Kernel tables: as in `netsim.routing.fattree`, but table_a has a row of nodes for
each leaf, table_b for each L2 switch; the last parameter is the number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.routing import kernels_fattree as kernels
from netsim.routing.base import Routing
from netsim.routing.fattree import (
    CODES,
    STATIC,
    PortLists,
    UpDown,
    d_mod_k_ports,
    switch_places,
    up_down_routing,
)
from netsim.routing.partition_shape import PartitionShape, partition_shape
from netsim.topologies.fattree import FatTreeShape
from netsim.topology import Topology

_Written = Callable[[Sequence[int], NDArray[np.int64]], ArrayLike]
"""Return the table entries for a list of open ports and the digits of the destination nodes."""


class _PartitionReference(UpDown):
    """The routing in plain Python: digits and what two switches have in common."""

    def __init__(self, topology: Topology, parts: list[PartitionShape], rule: str) -> None:
        super().__init__(topology, rule)
        self.of_node = {v: part for part in parts for nodes in part.leaves.values() for v in nodes}

    def positions(self, leaf: int, dst_node: int) -> tuple[Sequence[int], int]:
        part, dst_leaf = self.of_node.get(dst_node), self.s.leaf_of(dst_node)
        if part is not None and leaf in part.leaves:
            own_pod, pod = leaf // self.s.m2, dst_leaf // self.s.m2
            both = [p for p in part.up.get(leaf, []) if p in part.up.get(dst_leaf, [])]
            ports = [p for p in both if own_pod == pod or self.common(part, own_pod, pod, p)]
            if ports:
                return ports, part.leaves[dst_leaf].index(dst_node) % len(ports)
        return super().positions(leaf, dst_node)

    def spines(self, pod: int, position: int, dst_node: int) -> tuple[Sequence[int], int]:
        part, dst_leaf = self.of_node.get(dst_node), self.s.leaf_of(dst_node)
        if part is not None:
            ports = self.common(part, pod, dst_leaf // self.s.m2, position)
            if ports:
                return ports, part.pods[dst_leaf // self.s.m2].index(dst_leaf) % len(ports)
        return super().spines(pod, position, dst_node)

    def common(self, part: PartitionShape, pod: int, other: int, position: int) -> list[int]:
        """Return the spines that the L2 switches of a position have in two pods."""
        other_spines = part.spines.get((other, position), [])
        return [j for j in part.spines.get((pod, position), []) if j in other_spines]


def partition_routing(
    topology: Topology, partitions: Iterable[tuple[ArrayLike, ArrayLike]], rule: str = STATIC
) -> Routing:
    """Route the traffic of every partition of a fat-tree on its own links.

    Partitions are (nodes, links), as in the placements of policies that allocate links; no node is
    in two of them. ``rule`` is the machine's routing on a fat-tree, which holds inside the
    partitions as well. The tables take 8 bytes for each pair of a leaf and a node (1458 nodes: 2
    MB; 5488: 17 MB).
    """
    parts = [partition_shape(topology, nodes, links) for nodes, links in partitions]
    s = topology.shape
    if not isinstance(s, FatTreeShape):
        raise NetcosimError(f"partition routing: {topology.name} is no fattree")
    seen: set[int] = set()
    for part in parts:
        mine = {v for nodes in part.leaves.values() for v in nodes}
        if mine & seen:
            raise NetcosimError(f"partition routing: node {min(mine & seen)} is in two partitions")
        seen |= mine
    static = rule not in CODES
    lists = PortLists(switch_places(s))
    leaf_row, l2_row = d_mod_k_ports(s)
    if not static:
        leaf_row = np.full(s.n_nodes, lists.at(range(s.w2)))
        l2_row = np.full(s.n_nodes, lists.at(range(max(s.w3, 1))))

    def written(ports: Sequence[int], digits: NDArray[np.int64]) -> ArrayLike:
        return np.array(ports)[digits % len(ports)] if static else lists.at(ports)

    at_leaf = np.tile(leaf_row.astype(np.int32), (s.n_leaves, 1))
    at_l2 = np.tile(l2_row.astype(np.int32), (s.n_l2, 1))
    for part in parts:
        _fill(part, s, at_leaf, at_l2, written)
    return up_down_routing(
        "partition" if static else f"partition {rule}",
        _PartitionReference(topology, parts, STATIC if static else rule),
        kernels.PARTITION if static else CODES[rule],
        (at_leaf, at_l2, lists.table()),
        row=s.n_nodes,
    )


def _fill(
    part: PartitionShape,
    s: FatTreeShape,
    at_leaf: NDArray[np.int32],
    at_l2: NDArray[np.int32],
    written: _Written,
) -> None:
    """Write a partition's ports into the tables of the whole machine."""
    common = _common_spines(part)
    for pod, leaves in part.pods.items():
        for place, leaf in enumerate(leaves):
            nodes = np.array(part.leaves[leaf])
            digits = np.arange(len(nodes))
            positions = set(part.up.get(leaf, []))
            for source in part.leaves:
                own_pod = source // s.m2
                both = [p for p in part.up.get(source, []) if p in positions]
                ports = [p for p in both if own_pod == pod or common.get((own_pod, pod, p))]
                if source != leaf and ports:
                    at_leaf[source, nodes] = written(ports, digits)
            for other, position in part.spines:
                ports = common.get((other, pod, position), [])
                if ports:
                    place_of_all = np.full(len(nodes), place)
                    at_l2[other * s.w2 + position, nodes] = written(ports, place_of_all)


def _common_spines(part: PartitionShape) -> dict[tuple[int, int, int], list[int]]:
    """Map (pod, other pod, position) to the spines that both L2 switches have."""
    common = {}
    for (pod, position), own_spines in part.spines.items():
        for other in part.pods:
            other_spines = set(part.spines.get((other, position), []))
            if other != pod:
                common[pod, other, position] = [j for j in own_spines if j in other_spines]
    return common
