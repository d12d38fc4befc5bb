"""Small machines of every family with every routing that serves them, for the routing tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import networkx as nx
import pytest
from selection import first_of_each

from experiments.kit.small_machines import n_small, small_machine
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.graph import graph
from netsim.topologies.registry import FAMILIES
from netsim.topology import Topology


@cache
def small_machines() -> tuple[Topology, ...]:
    """Machines small enough to walk every path, as each family names its own."""
    made = (small_machine(name, i, {}) for name in FAMILIES for i in range(n_small(name)))
    return (*made, graph(nx.petersen_graph(), name="petersen"))


VARIANTS = {
    "dragonfly": (
        ("valiant", {"valiant_intermediate": "node"}),
        ("ugal-l", {"valiant_intermediate": "node", "ugal_counts_bids": False}),
        ("minimal", {"minimal_global_link": "nearest"}),
    ),
    "torus": (("dimension-order", {"ring_ties": "drawn"}),),
}
"""Parameters that make another routing, by topology family."""


@cache
def all_routings() -> tuple[Routing, ...]:
    """Every routing on every small machine, and those that parameters make."""
    return tuple(
        make_routing(t, name, parameters)
        for t in small_machines()
        for name, parameters in (
            *((name, {}) for name in routings_for(t.family)),
            *VARIANTS.get(t.family, ()),
        )
    )


def routing_cases() -> tuple[list[Any], list[str]]:
    """Return `all_routings` as parameters, and their names.

    `make test` has each routing of a family once and each machine once.
    """
    alike = (lambda r: (r.topology.family, r.name), lambda r: r.topology.name)
    names = [f"{r.topology.name}-{r.name}" for r in all_routings()]
    return first_of_each(all_routings(), *alike), names


def on_every_routing(function: Callable[..., Any]) -> Any:
    """Give a test ``routing``, each of `routing_cases`."""
    cases, names = routing_cases()
    return pytest.mark.parametrize("routing", cases, ids=names)(function)
