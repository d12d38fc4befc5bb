"""Small machines of every family with every routing that serves them, for the routing tests."""

from __future__ import annotations

from functools import cache

import networkx as nx

from netsim.routing.base import Routing
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.graph import graph
from netsim.topologies.registry import FAMILIES, small_machine
from netsim.topology import Topology


@cache
def small_machines() -> tuple[Topology, ...]:
    """Machines small enough to walk every path, as each family names its own."""
    made = (small_machine(name, i, {}) for name, f in FAMILIES.items() for i in range(f.n_small))
    return (*made, graph(nx.petersen_graph(), name="petersen"))


VARIANTS = {
    "dragonfly": (
        ("valiant", {"valiant_intermediate": "node"}),
        ("ugal-l", {"valiant_intermediate": "node", "ugal_counts_bids": False}),
    )
}
"""Parameters that make another routing, by topology family."""


def all_routings() -> list[Routing]:
    """Every routing on every small machine, and those that parameters make."""
    return [
        make_routing(t, name, parameters)
        for t in small_machines()
        for name, parameters in (
            *((name, {}) for name in routings_for(t.family)),
            *VARIANTS.get(t.family, ()),
        )
    ]
