"""Minimal, Valiant and UGAL routing on dragonflies (Kim et al., ISCA 2008).

Between two groups a packet takes one global link (minimal) or two, by way of an
intermediate group drawn uniformly from all but the source's and the destination's
(Valiant). Where several links join two groups, one is drawn; the whole path is fixed at
the source router. Packets within a group, and all packets of a machine of two groups, go
minimally. UGAL decides once, at the source router, between the drawn minimal path and
one drawn Valiant path: minimal if ``load_min * H_min <= load_val * H_val + bias``, where
``H`` is the number of router-to-router links, and the load is that of the path's first
link ("ugal-l") or of the global link with which the path leaves the source group, wherever
it sits ("ugal-g").

Virtual channel = number of global links taken so far; channels of one number within a
group are acyclic (an aries group goes along the chassis, then along the slot), so the
order local 0, global 0, local 1, global 1, local 2 admits no cycle.

State: ``plan * 4 + taken``: global links taken, and 1 + first * K + copy with ``first`` the
first global link counted from the first of all, ``copy`` which of the K links leaves the
intermediate group; plan 0 is "not decided yet".

Kernel tables: params = bias (in time units of the caller; 0th, as for all routings), a, g, K,
local links a group, first local link, first global link, routers, global links. table_a:
(a, a) place of the next local link within the group's, then (a, a) hops within a group.
table_b: (g, g, K) global links. table_c: group of each router, then the sending and then
the receiving router of each global link.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from netsim.errors import NetcosimError
from netsim.routing import kernels_dragonfly as kernels
from netsim.routing.base import Hop, Routing, View
from netsim.routing.kernels_common import draw
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.tables import RouteTables
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topology import Topology

CODES = {
    "minimal": kernels.MINIMAL,
    "valiant": kernels.VALIANT,
    "ugal-l": kernels.UGAL_L,
    "ugal-g": kernels.UGAL_G,
}


def _tables(topology: Topology, s: DragonflyShape, code: int, n_vcs: int, bias: int) -> RouteTables:
    a, g, k = s.a, s.g, s.global_links_per_pair
    if s.g * (s.g - 1) * k * k * 4 >= 2**31:
        raise NetcosimError(f"{topology.name}: {k} links a pair of groups are too many to route")
    places = [{t: i for i, t in enumerate(s.local_neighbours(r))} for r in range(a)]
    link, hops = np.zeros((a, a), dtype=np.int64), np.zeros((a, a), dtype=np.int64)
    for r, t in product(range(a), range(a)):
        if r != t:
            link[r, t] = r * s.local_degree + places[r][s.local_step(r, t)]
            hops[r, t] = s.local_hops(r, t)
    pairs = np.full((g, g, max(k, 1)), -1, dtype=np.int64)
    for src, dst, copy in product(range(g), range(g), range(k)):
        if src != dst:
            pairs[src, dst, copy] = s.global_link(src, dst, copy)
    ends = slice(s.first_global_link, None)
    params = (
        bias,
        a,
        g,
        k,
        a * s.local_degree,
        s.first_local_link,
        s.first_global_link,
        s.n_routers,
        g * s.global_links_per_group,
    )
    table_c = np.concatenate(
        [
            np.arange(s.n_routers) // a,
            topology.link_src[ends] - s.n_nodes,
            topology.link_dst[ends] - s.n_nodes,
        ]
    )
    table_a = np.concatenate([link.ravel(), hops.ravel()])
    return make_tables(topology, code, n_vcs, params, table_a, pairs, table_c)


class _Reference:
    """The routing in plain Python, from the shape's arithmetic alone."""

    def __init__(self, topology: Topology, shape: DragonflyShape, name: str, bias: int) -> None:
        self.topology, self.s, self.name, self.bias = topology, shape, name, bias

    def ends(self, link: int) -> tuple[int, int]:
        n = self.s.n_nodes
        return int(self.topology.link_src[link]) - n, int(self.topology.link_dst[link]) - n

    def hop_toward(self, router: int, target: int) -> int:
        group, r = divmod(router, self.s.a)
        return self.s.local_link(group, r, self.s.local_step(r, target % self.s.a))

    def local_hops(self, r: int, t: int) -> int:
        return self.s.local_hops(r % self.s.a, t % self.s.a)

    def plan(self, first: int, copy: int) -> int:
        return 1 + (first - self.s.first_global_link) * self.s.global_links_per_pair + copy

    def middles(self, here: int, target: int) -> list[int]:
        return [m for m in range(self.s.g) if m not in (here, target)]

    def hop(self, router: int, target: int, taken: int, plan: int) -> Hop:
        s = self.s
        here = router // s.a
        first, copy = divmod(plan - 1, s.global_links_per_pair)
        link = first + s.first_global_link if taken == 0 else s.global_link(here, target, copy)
        owner, _ = self.ends(link)
        if owner == router:
            return Hop(link, taken, plan * 4 + taken + 1)
        return Hop(self.hop_toward(router, owner), taken, plan * 4 + taken)

    def settled(self, router: int, dst_node: int, state: int) -> Hop | None:
        """The hop, where nothing is left to decide."""
        dst_router = int(self.topology.node_router[dst_node])
        if router == dst_router:
            return ejection(self.topology, dst_node, state)
        if router // self.s.a == dst_router // self.s.a:
            return Hop(self.hop_toward(router, dst_router), state % 4, state)
        if state // 4:
            return self.hop(router, dst_router // self.s.a, state % 4, state // 4)
        return None

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return [settled]
        s = self.s
        here, target = router // s.a, int(self.topology.node_router[dst_node]) // s.a
        copies, middles = range(s.global_links_per_pair), self.middles(here, target)
        plans = []
        if self.name != "valiant" or not middles:
            plans += [self.plan(s.global_link(here, target, c), 0) for c in copies]
        if self.name != "minimal":
            plans += [
                self.plan(s.global_link(here, m, c1), c2)
                for m, c1, c2 in product(middles, copies, copies)
            ]
        return [self.hop(router, target, 0, plan) for plan in plans]

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return settled
        s, k = self.s, self.s.global_links_per_pair
        dst_router = int(self.topology.node_router[dst_node])
        here, target = router // s.a, dst_router // s.a
        middles = self.middles(here, target)

        def number(i: int, n: int) -> int:
            return int(draw(np.uint64(key), i, n))

        minimal = s.global_link(here, target, number(1, k))
        direct = self.hop(router, target, 0, self.plan(minimal, 0))
        if self.name == "minimal" or not middles:
            return direct
        middle, copy = middles[number(0, len(middles))], number(3, k)
        detour, second = s.global_link(here, middle, number(2, k)), 0
        indirect = self.hop(router, target, 0, self.plan(detour, copy))
        if self.name == "valiant":
            return indirect
        second = s.global_link(middle, target, copy)
        (m_out, m_in), (d_out, d_in) = self.ends(minimal), self.ends(detour)
        s_out, s_in = self.ends(second)
        hops_min = self.local_hops(router, m_out) + 1 + self.local_hops(m_in, dst_router)
        hops_val = self.local_hops(router, d_out) + 1 + self.local_hops(d_in, s_out)
        hops_val += 1 + self.local_hops(s_in, dst_router)
        if self.name == "ugal-l":
            load_min, load_val = view.load(direct.link), view.load(indirect.link)
        else:
            load_min, load_val = view.load(minimal), view.load(detour)
        return direct if load_min * hops_min <= load_val * hops_val + self.bias else indirect


def dragonfly_routing(topology: Topology, name: str, *, bias_ps: int = 0) -> Routing:
    """Build "minimal", "valiant", "ugal-l" or "ugal-g" on a dragonfly.

    Parameters
    ----------
    topology : Topology
        Of family "dragonfly".
    name : str
    bias_ps : int
        UGAL's bias in picoseconds, towards the minimal path. It stands in ``params[0]``
        of the tables; an engine that counts in other ticks divides it there, and the
        plain reference takes loads in picoseconds.

    Raises
    ------
    NetcosimError
        Too many links a pair of groups for the state.
    """
    shape = topology.shape
    assert isinstance(shape, DragonflyShape)
    n_vcs = 2 if name == "minimal" or shape.g <= 2 else 3
    reference = _Reference(topology, shape, name, bias_ps)
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs if shape.g > 1 else 1,
        adaptive=name.startswith("ugal"),
        tables=_tables(topology, shape, CODES[name], n_vcs if shape.g > 1 else 1, bias_ps),
        choices=reference.choices,
        choose=reference.choose,
    )
