"""Slim Fly: MMS graphs of diameter two (Besta and Hoefler, SC 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.topologies.checks import need_int, need_size
from netsim.topologies.family import EqualLinks, Family, Name
from netsim.topologies.graph import topology_from_cables
from netsim.topologies.positions import Layout, oval, places, ring_of_groups
from netsim.topology import Topology


@dataclass(frozen=True)
class SlimFlyShape:
    """Parameters of a Slim Fly.

    Router ``(half*q + x)*q + y``; node ``router*concentration + i``.
    """

    q: int
    """An odd prime; 2 q^2 routers of (3 q - d)/2 links, d = 1 if q mod 4 is 1, else -1."""
    concentration: int
    """Nodes a router."""

    def __post_init__(self) -> None:
        need_int("slimfly", "concentration", self.concentration, 1)
        need_int("slimfly", "q", self.q, 3)
        routers = 2 * self.q * self.q
        nodes = routers * self.concentration
        links = 2 * nodes + routers * ((3 * self.q + 1) // 2)
        # before the search for divisors, which a huge q makes endless
        need_size("slimfly", f"q = {shown(self.q)}", nodes, links)
        if any(self.q % f == 0 for f in range(2, int(self.q**0.5) + 1)):
            raise NetcosimError(f"slimfly: q = {self.q}; it must be an odd prime")


def generator_sets(q: int) -> tuple[set[int], set[int]]:
    """Return the sets X and X' of differences that join routers of one column (section II-B)."""
    order = q - 1
    root = next(
        r for r in range(2, q + 1) if len({pow(r, i, q) for i in range(order)}) == order
    )  # fmt: skip
    if q % 4 == 1:
        powers, other = range(0, order, 2), range(1, order, 2)
        return {pow(root, i, q) for i in powers}, {pow(root, i, q) for i in other}
    w = (q + 1) // 4
    first = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]
    second = [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)]
    return {pow(root, i, q) for i in first}, {pow(root, i, q) for i in second}


def slimfly(
    q: Annotated[int, "an odd prime; 2 q^2 routers", Ge(3)],
    *,
    concentration: Annotated[
        int | None, "nodes a router; half its links, rounded up, if left out", Ge(1)
    ] = None,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    name: Name = None,
) -> Topology:
    """Build a Slim Fly; by default a router has half as many nodes as links (full bandwidth)."""
    need_int("slimfly", "q", q, 3)
    degree = (3 * q - (1 if q % 4 == 1 else -1)) // 2
    shape = SlimFlyShape(q, -(-degree // 2) if concentration is None else concentration)
    cables = []
    for half, steps in enumerate(generator_sets(q)):
        for x, y, z in product(range(q), range(q), range(q)):
            if y < z and (z - y) % q in steps:
                cables.append(((half * q + x) * q + y, (half * q + x) * q + z))
    for x, m, c in product(range(q), range(q), range(q)):
        cables.append((x * q + (m * x + c) % q, (q + m) * q + c))
    return topology_from_cables(
        family="slimfly",
        name=name or f"slimfly({q})",
        shape=shape,
        nodes_per_router=np.full(2 * q * q, shape.concentration),
        cables=cables,
        bandwidth_Bps=links.link_bandwidth_Bps,
        latency_s=links.link_latency_s,
        node_bandwidth_Bps=links.node_bandwidth_Bps,
        node_latency_s=links.node_latency_s,
    )


def columns_in_a_ring(topology: Topology) -> Layout:
    """Return the columns (half, x) of q routers around a ring, one half on each side."""
    q = topology.shape.q
    column = np.arange(topology.n_routers) // q
    names = [f"half {half}, column {x}" for half in range(2) for x in range(q)]
    return ring_of_groups(column, *oval(*places(column)), names)


FAMILY = Family(
    name="slimfly",
    description="MMS graph of diameter two (q, an odd prime)",
    builders=(slimfly,),
    layout=columns_in_a_ring,
    small=({"q": 3},),
)
