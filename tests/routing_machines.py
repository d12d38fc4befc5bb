"""Small machines of every family with every routing that serves them, for the routing tests."""

from __future__ import annotations

from functools import cache

import networkx as nx

from netsim.routing.base import Routing
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree, xgft
from netsim.topologies.graph import graph
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.slimfly import slimfly
from netsim.topologies.torus import torus
from netsim.topology import Topology


@cache
def small_machines() -> tuple[Topology, ...]:
    """Machines small enough to walk every path."""
    return (
        dragonfly(1, 2, 5),
        dragonfly(2, 2, 3, 1, arrangement="relative"),
        dragonfly(1, 2, 4, 3, arrangement="circulant", name="two links a pair"),
        dragonfly(1, 3, 2, 1),
        dragonfly(2, 3, 1),
        fat_tree(4),
        fat_tree(4, pods=3, taper=0.5),
        fat_tree(4, levels=2),
        xgft(2, 3, 2, 3, 2),
        torus([4, 3]),
        torus([5]),
        torus([2, 3, 4], wrap=[True, False, True], double_links_for_two=True),
        torus([2, 1, 4], concentration=2),
        torus([3, 2, 3], wrap=False),
        hypercube(3),
        hyperx([3, 4]),
        slimfly(3),
        graph(nx.petersen_graph(), name="petersen"),
    )


def all_routings() -> list[Routing]:
    """Every routing on every small machine."""
    return [make_routing(t, name) for t in small_machines() for name in routings_for(t.family)]
