"""D-mod-k inside the partitions of a fat-tree, with wrap-around on remainder switches.

Smith and Lowenthal (Jigsaw, HPDC 2021), section 4 and Fig. 5: a job's traffic stays on the job's
links. Inside a partition a node is the i-th of its leaf, the leaf the l-th of its pod. D-mod-k
sends up by these digits: a leaf takes its i-th L2 position, an L2 switch its l-th spine. Where
the switch that sends, or the one above the destination, has fewer links, the digit is taken
modulo what both have. Up before down: one channel is free of deadlock.

A partition is rearrangeable, not free of contention: for every permutation there are routes at
one flow a link (`netsim.routing.partition_permutation`), but a static routing does not know the
permutation. Measured with random permutations in Jigsaw's partitions on a nearly full tree of
radix 18, over all flows between leaves: with jobs of 400 nodes on average 42 % of the flows have a
link with one other flow on it and 17 % one with two or more; with jobs of 60 nodes 38 and 11 %
(``test_random_permutations_meet_under_static_routing`` in ``tests/test_routing_partition.py``).

Between nodes of different partitions, and where a partition has no links, plain D-mod-k.

State: always 0. Kernel tables: params and table_c as in `netsim.routing.fattree`, but for the
last parameter, the number of nodes. table_a: up port at (leaf, destination node); table_b:
up port at (L2 switch, destination node).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.routing import kernels_fattree as kernels
from netsim.routing.base import Hop, Routing, View
from netsim.routing.fattree import fattree_routing
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.partition_shape import PartitionShape, partition_shape
from netsim.topologies.fattree import FatTreeShape
from netsim.topology import Topology


class _Reference:
    """The routing in plain Python: digits and what two switches have in common."""

    def __init__(self, topology: Topology, parts: list[PartitionShape]) -> None:
        self.topology, self.s = topology, topology.shape
        self.of_node = {v: part for part in parts for nodes in part.leaves.values() for v in nodes}

    def digits(self, dst_node: int) -> tuple[PartitionShape, int, int] | None:
        """Partition, place on the leaf, place of the leaf in its pod; None if in none."""
        part = self.of_node.get(dst_node)
        if part is None:
            return None
        leaf = self.s.leaf_of(dst_node)
        return part, part.leaves[leaf].index(dst_node), part.pods[leaf // self.s.m2].index(leaf)

    def position(self, leaf: int, dst_node: int) -> int:
        """L2 position that a leaf sends to."""
        known = self.digits(dst_node)
        if known is not None:
            part, i, _ = known
            mine = part.up.get(leaf, [])
            both = [p for p in mine if p in part.up[self.s.leaf_of(dst_node)]]
            if leaf in part.leaves and both:
                return both[i % len(both)]
        return int(dst_node % self.s.w2)

    def spine(self, pod: int, position: int, dst_node: int) -> int:
        """Spine that an L2 switch sends to."""
        known = self.digits(dst_node)
        if known is not None:
            part, _, leaf = known
            mine = part.spines.get((pod, position), [])
            there = part.spines.get((self.s.pod_of(dst_node), position), [])
            both = [j for j in mine if j in there]
            if both:
                return both[leaf % len(both)]
        return int((dst_node // self.s.m1) % self.s.w3)

    def hop(self, router: int, dst_node: int) -> Hop:
        s = self.s
        leaf, pod = s.leaf_of(dst_node), s.pod_of(dst_node)
        if router == leaf:
            return ejection(self.topology, dst_node, 0)
        if router < s.n_leaves:
            return Hop(s.leaf_up(router, self.position(router, dst_node)), 0, 0)
        if router < s.n_leaves + s.n_l2:
            here, position = divmod(router - s.n_leaves, s.w2)
            if here == pod:
                return Hop(s.leaf_down(leaf, position), 0, 0)
            return Hop(s.l2_up(here, position, self.spine(here, position, dst_node)), 0, 0)
        position, spine = divmod(router - s.n_leaves - s.n_l2, s.w3)
        return Hop(s.l2_down(pod, position, spine), 0, 0)

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        return [self.hop(router, dst_node)]

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        return self.hop(router, dst_node)


def partition_routing(
    topology: Topology, partitions: Iterable[tuple[ArrayLike, ArrayLike]]
) -> Routing:
    """Route every partition's traffic on its own links.

    Parameters
    ----------
    topology : Topology
        A fat-tree.
    partitions : iterable of (nodes, links)
        As in the placements of policies that allocate links. No node in two of them.

    Returns
    -------
    Routing
        Named "partition"; static, one channel, for both engines. Its tables take
        8 bytes for each pair of a leaf and a node (1458 nodes: 2 MB; 5488: 17 MB).

    Raises
    ------
    NetcosimError
        Not a fat-tree; a node in two partitions; what `partition_shape` refuses.
    """
    parts = [partition_shape(topology, nodes, links) for nodes, links in partitions]
    if not isinstance(topology.shape, FatTreeShape):
        raise NetcosimError(f"partition routing: {topology.name} is no fattree")
    plain = fattree_routing(topology, "d-mod-k")
    seen: set[int] = set()
    for part in parts:
        mine = {v for nodes in part.leaves.values() for v in nodes}
        if mine & seen:
            raise NetcosimError(f"partition routing: node {min(mine & seen)} is in two partitions")
        seen |= mine
    s = topology.shape
    at_leaf = np.tile(plain.tables.table_a, (s.n_leaves, 1))
    at_l2 = np.tile(plain.tables.table_b, (s.n_l2, 1))
    for part in parts:
        _fill(part, s, at_leaf, at_l2)
    reference = _Reference(topology, parts)
    return Routing(
        name="partition",
        topology=topology,
        n_vcs=1,
        adaptive=False,
        chance_visits=0,
        tables=make_tables(
            topology,
            kernels.PARTITION,
            1,
            (*plain.tables.params[: kernels.ROW].tolist(), s.n_nodes),
            at_leaf,
            at_l2,
            plain.tables.table_c,
        ),
        choices=reference.choices,
        choose=reference.choose,
    )


def _fill(
    part: PartitionShape, s: FatTreeShape, at_leaf: NDArray[np.int32], at_l2: NDArray[np.int32]
) -> None:
    """Write a partition's ports into the tables of D-mod-k."""
    for pod, leaves in part.pods.items():
        for place, leaf in enumerate(leaves):
            nodes = np.array(part.leaves[leaf])
            digit = np.arange(len(nodes))
            for source in part.leaves:
                both = [p for p in part.up[source] if p in set(part.up[leaf])]
                if source != leaf and both:
                    at_leaf[source, nodes] = np.array(both)[digit % len(both)]
            for (other, position), mine in part.spines.items():
                there = set(part.spines.get((pod, position), []))
                common = [j for j in mine if j in there]
                if other != pod and common:
                    at_l2[other * s.w2 + position, nodes] = common[place % len(common)]
