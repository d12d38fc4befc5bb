"""Dimension-order and minimal-adaptive routing on tori and meshes.

"dimension-order": the lowest dimension that differs, the shorter direction. Half-way
ties in a ring go + if a sum is even, - if odd: all coordinates of the *source* router and those of
the destination's in the other dimensions. So both directions carry the same load under uniform
traffic, where every node sends to its opposite, and under transpose. The source's parity travels in
the state; with ``ring_ties = "drawn"`` each packet draws it. Rings have two channels and the
stateless dateline rule: channel 0 while the wrap link still lies ahead on the remaining path in
this dimension, else channel 1 (Dally and Seitz, 1987). A mesh needs only channel 0, as does a
HyperX, where the order of the dimensions is all there is to choose.

"minimal-adaptive": one more channel, the last, which a packet may take on any productive link (in a
tie both directions are productive), the least loaded among those whose buffer has room for it and
for everything that already waits for that channel; ties: lowest dimension first, then the direction
of dimension order. Without such a link it takes the dimension-order (escape) channel. Free of
deadlock: a packet joins an adaptive channel only when its space there is already sure, so it never
blocks there; what blocks, waits for an escape channel, and the escape channels by themselves have
no cycle (Duato, 1993, with reserved space).

State: 0 at the source router, then 1 + parity of the source's coordinate sum. Kernel tables:
params = 0, dimensions, escape channels, then each dimension's length, then whether it is a
ring, then whether ties are drawn. table_a: (routers, dimensions, 2) links + and -. table_b:
(routers, dimensions) coordinates. table_c: parity of each router's coordinate sum.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.routing import kernels_torus as kernels
from netsim.routing.any_graph import ShortestPaths
from netsim.routing.base import Hop, Routing, RoutingEntry
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.shortest_path import table_routing
from netsim.topologies.hyperx import HyperXShape
from netsim.topologies.torus import TorusShape
from netsim.topology import Topology

CODES = {
    "dimension-order": kernels.DIMENSION_ORDER,
    "minimal-adaptive": kernels.MINIMAL_ADAPTIVE,
}


class _TorusReference:
    """The routing in plain Python."""

    def __init__(self, topology: Topology, shape: TorusShape, adaptive: bool, drawn: bool) -> None:
        self.topology, self.s, self.adaptive, self.drawn = topology, shape, adaptive, drawn
        self.n_escape = 2 if any(map(shape.is_ring, range(len(shape.dims)))) else 1
        self.links = shape.link_table()

    def directions(self, d: int, own: int, target: int, odd: int) -> list[tuple[int, int]]:
        """Return (sign, escape channel) of each shortest path, best first; ties go - if ``odd``."""
        if not self.s.is_ring(d):
            return [(1 if target > own else -1, 0)]
        length = self.s.dims[d]
        ahead, behind = (target - own) % length, (own - target) % length
        signs = [1, -1] if ahead < behind or (ahead == behind and not odd) else [-1, 1]
        wraps = {1: target < own, -1: target > own}
        return [(g, 0 if wraps[g] else 1) for g in signs[: 2 if ahead == behind else 1]]

    def hops(self, router: int, dst_node: int, parity: int) -> tuple[Hop, list[Hop]]:
        """Return the dimension-order hop, and all hops on the adaptive channel in their order."""
        own = self.s.coords(router)
        target = self.s.coords(int(self.topology.port_router[dst_node]))
        escape, free = None, []
        for d, (c, t) in enumerate(zip(own, target, strict=True)):
            if c == t:
                continue
            for sign, vc in self.directions(d, c, t, (parity + sum(target) - t) % 2):
                link = int(self.links[router, 2 * d + (0 if sign > 0 else 1)])
                if escape is None:
                    escape = Hop(link, vc, parity + 1)
                free.append(Hop(link, self.n_escape, parity + 1))
        assert escape is not None
        return escape, free

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        if router == self.topology.port_router[dst_node]:
            return [ejection(self.topology, dst_node, state)]
        if self.drawn and state == 0:
            return [self.hops(router, dst_node, parity)[0] for parity in (0, 1)]
        parity = state - 1 if state else sum(self.s.coords(router)) % 2
        escape, free = self.hops(router, dst_node, parity)
        return [escape, *free] if self.adaptive else [escape]


def torus_routing(topology: Topology, name: str, drawn: bool = False) -> Routing:
    """Build "dimension-order" (``drawn``: with drawn ties) or "minimal-adaptive" on a torus."""
    s = topology.shape
    assert isinstance(s, TorusShape)
    rings = [s.is_ring(d) for d in range(len(s.dims))]
    adaptive = name == "minimal-adaptive"
    coords = s.all_coords()
    reference = _TorusReference(topology, s, adaptive, drawn)
    n_vcs = reference.n_escape + adaptive
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=adaptive,
        random_visits=int(drawn),
        room_vc=n_vcs - 1 if adaptive else -1,
        tables=make_tables(
            topology,
            CODES[name],
            n_vcs,
            (0, len(s.dims), reference.n_escape, *s.dims, *map(int, rings), int(drawn)),
            s.link_table(),
            coords,
            np.asarray(coords.sum(axis=1) % 2),
        ),
        choices=reference.choices,
    )


RING_TIES = ("static", "drawn")
Ties = Annotated[
    str, "direction half-way around a ring: by the two ends, or by packet", OneOf(RING_TIES)
]


def dimension_order(topology: Topology, ring_ties: Ties = "static") -> Routing:
    """Build "dimension-order" on a torus, a mesh, a HyperX or a hypercube."""
    drawn = ring_ties == "drawn"
    if not isinstance(topology.shape, HyperXShape):
        return torus_routing(topology, "dimension-order", drawn)
    if drawn:
        raise NetcosimError(f"ring_ties = drawn: a {topology.family} has no rings; leave it out")
    # its links are numbered by dimension
    paths = ShortestPaths(topology)
    away = ~np.eye(topology.n_routers, dtype=np.bool_)
    table = np.full_like(paths.place, -1)
    table[away] = paths.lists[paths.place[away] + 1]
    return table_routing(topology, "dimension-order", table, 1, channel_step=0)


ROUTINGS = (
    RoutingEntry(
        "dimension-order",
        "one dimension after the other, in the shorter direction of a ring",
        ("torus", "hypercube", "hyperx"),
        dimension_order,
    ),
    RoutingEntry(
        "minimal-adaptive",
        "least loaded productive link, dimension order as escape",
        ("torus",),
        lambda topology: torus_routing(topology, "minimal-adaptive"),
    ),
)
