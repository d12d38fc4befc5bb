"""D-mod-k and adaptive routing on fat-trees.

D-mod-k (Zahavi, 2010): a packet climbs through up port ``dst mod w2`` at a leaf and
``leaf(dst) mod w3`` at an L2 switch, until it stands above its destination's leaf; the way
down is determined. Destinations (ports, where nodes have several) are counted leaf by leaf.
With w2 = m1 and w3 = m2 every shift permutation uses each link at most once.
"adaptive" takes the up port of least load; on ties the first one counted on from the
D-mod-k port. Up before down: one channel is free of deadlock.

State: always 0. Kernel tables: params = 0, m2, w2, w3, leaves, first L2 switch, first spine,
first links of the blocks up1, down1, up2, down2, then 0: one row of ports serves all switches
of a level. table_a, table_b: up port of each destination at a leaf and at an L2 switch.
table_c: pod of each leaf and L2 switch, position of each spine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.routing import kernels_fattree as kernels
from netsim.routing.base import Hop, Routing, RoutingEntry, View
from netsim.routing.make_tables import ejection, make_tables
from netsim.topologies.fattree import FatTreeShape
from netsim.topology import Topology

CODES = {"d-mod-k": kernels.D_MOD_K, "adaptive": kernels.ADAPTIVE}


def leaf_places(topology: Topology) -> NDArray[np.int64]:
    """(n_ports,) int64: each port's number if they were counted leaf by leaf.

    With one port a node, or all on one leaf, its own.
    """
    place = np.empty(topology.n_ports, dtype=np.int64)
    place[np.argsort(topology.port_router, kind="stable")] = np.arange(topology.n_ports)
    return place


class _Reference:
    """The routing in plain Python, from the shape's arithmetic alone."""

    def __init__(self, topology: Topology, shape: FatTreeShape, adaptive: bool) -> None:
        self.topology, self.s, self.adaptive = topology, shape, adaptive
        self.place = leaf_places(topology)

    def links(self, router: int, dst_node: int) -> list[int]:
        """Every link toward the destination, the D-mod-k one first."""
        s = self.s
        leaf = int(self.topology.port_router[dst_node])
        pod = leaf // s.m2
        if router < s.n_leaves:
            start = int(self.place[dst_node]) % s.w2
            return [s.leaf_up(router, (start + i) % s.w2) for i in range(s.w2)]
        if router < s.n_leaves + s.n_l2:
            here, position = divmod(router - s.n_leaves, s.w2)
            if here == pod:
                return [s.leaf_down(leaf, position)]
            start = leaf % s.w3
            return [s.l2_up(here, position, (start + i) % s.w3) for i in range(s.w3)]
        position, spine = divmod(router - s.n_leaves - s.n_l2, s.w3)
        return [s.l2_down(pod, position, spine)]

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        if router == self.topology.port_router[dst_node]:
            return [ejection(self.topology, dst_node, state)]
        links = self.links(router, dst_node)
        return [Hop(link, 0, state) for link in (links if self.adaptive else links[:1])]

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        hops = self.choices(router, dst_node, state)
        # min() keeps the first of equals, that is the one nearest after the D-mod-k port.
        return min(hops, key=lambda hop: view.load(hop.link)) if len(hops) > 1 else hops[0]


def fattree_routing(topology: Topology, name: str) -> Routing:
    """Build "d-mod-k" or "adaptive" on a fat-tree (family "fattree")."""
    s = topology.shape
    assert isinstance(s, FatTreeShape)
    leaves = topology.port_router
    place = np.concatenate(
        [
            np.arange(s.n_leaves) // s.m2,
            np.arange(s.n_l2) // s.w2,
            np.arange(s.n_spines) // max(s.w3, 1),
        ]
    )
    params = (0, s.m2, s.w2, s.w3, s.n_leaves, s.n_leaves, s.n_leaves + s.n_l2)
    blocks = (s.first_up1, s.first_down1, s.first_up2, s.first_down2)
    reference = _Reference(topology, s, name == "adaptive")
    return Routing(
        name=name,
        topology=topology,
        n_vcs=1,
        adaptive=name == "adaptive",
        chance_visits=0,
        tables=make_tables(
            topology,
            CODES[name],
            1,
            (*params, *blocks, 0),
            leaf_places(topology) % s.w2,
            leaves % max(s.w3, 1),
            place,
        ),
        choices=reference.choices,
        choose=reference.choose,
    )


ROUTINGS = (
    RoutingEntry(
        "d-mod-k",
        "static up port by destination digit",
        ("fattree",),
        lambda topology: fattree_routing(topology, "d-mod-k"),
    ),
    RoutingEntry(
        "adaptive",
        "least loaded up port",
        ("fattree",),
        lambda topology: fattree_routing(topology, "adaptive"),
    ),
)
