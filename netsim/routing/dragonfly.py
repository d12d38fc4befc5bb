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

State: ``plan * 4 + taken``: global links taken, and ``1 + (group * B + first) * B + second``:
the group to go to first (the intermediate or the destination's), which of the K links
leads there, and which of the K links leads from there to the destination's group; B is the
least power of two that is at least K. Plan 0 is "not decided yet".

Kernel tables: params = bias (in time units of the caller; 0th, as for all routings), a, g, K,
local links a group, first local link, first global link, routers, global links, log2 B.
table_a: (a, a) place of the next local link within the group's, then (a, a) hops within a
group. table_b: (routers, g, K) next link toward the global link to a group, then (g, g, K)
global links. table_c: group of each router, then the sending and then the receiving
router of each global link.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.routing import kernels_dragonfly as kernels
from netsim.routing.base import Hop, Routing, RoutingEntry, View
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


_TABLE_BYTES = 40
"""Peak while the tables are built, for each way from a router to a group."""


def _bits(copies: int) -> int:
    """Bits that a number in 0..copies-1 takes."""
    return max(copies - 1, 0).bit_length()


def _tables(topology: Topology, s: DragonflyShape, code: int, n_vcs: int, bias: int) -> RouteTables:
    a, g, k = s.a, s.g, s.global_links_per_pair
    bits = _bits(k)
    if g << (2 * bits + 2) >= 2**31:
        raise NetcosimError(f"{topology.name}: {k} links a pair of groups are too many to route")
    need_memory(
        f"{topology.name}: routing tables of {s.n_routers:,} routers and {g:,} groups",
        s.n_routers * g * max(k, 1) * _TABLE_BYTES,
    )
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
    group = np.arange(s.n_routers) // a
    senders = np.zeros_like(pairs)
    known = pairs >= 0
    senders[known] = topology.link_src[pairs[known]] - topology.n_ports
    owner = senders[group] % a
    own = np.arange(s.n_routers)[:, None, None] % a
    local = s.first_local_link + group[:, None, None] * a * s.local_degree + link[own, owner]
    toward = np.where(owner == own, pairs[group], local)
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
        bits,
    )
    table_c = np.concatenate(
        [
            group,
            topology.link_src[ends] - topology.n_ports,
            topology.link_dst[ends] - topology.n_ports,
        ]
    )
    table_a = np.concatenate([link.ravel(), hops.ravel()])
    table_b = np.concatenate([toward.ravel(), pairs.ravel()])
    return make_tables(topology, code, n_vcs, params, table_a, table_b, table_c)


class _Reference:
    """The routing in plain Python, from the shape's arithmetic alone."""

    def __init__(self, topology: Topology, shape: DragonflyShape, name: str, bias: int) -> None:
        self.topology, self.s, self.name, self.bias = topology, shape, name, bias

    def ends(self, link: int) -> tuple[int, int]:
        n = self.topology.n_ports
        return int(self.topology.link_src[link]) - n, int(self.topology.link_dst[link]) - n

    def hop_toward(self, router: int, target: int) -> int:
        group, r = divmod(router, self.s.a)
        return self.s.local_link(group, r, self.s.local_step(r, target % self.s.a))

    def local_hops(self, r: int, t: int) -> int:
        return self.s.local_hops(r % self.s.a, t % self.s.a)

    def plan(self, group: int, first: int, second: int) -> int:
        size = 1 << _bits(self.s.global_links_per_pair)
        return 1 + (group * size + first) * size + second

    def middles(self, here: int, target: int) -> list[int]:
        return [m for m in range(self.s.g) if m not in (here, target)]

    def hop(self, router: int, target: int, taken: int, plan: int) -> Hop:
        s = self.s
        here = router // s.a
        size = 1 << _bits(s.global_links_per_pair)
        rest, second = divmod(plan - 1, size)
        group, first = divmod(rest, size)
        link = s.global_link(here, *((group, first) if taken == 0 else (target, second)))
        owner, _ = self.ends(link)
        if owner == router:
            return Hop(link, taken, plan * 4 + taken + 1)
        return Hop(self.hop_toward(router, owner), taken, plan * 4 + taken)

    def settled(self, router: int, dst_node: int, state: int) -> Hop | None:
        """The hop, where nothing is left to decide."""
        dst_router = int(self.topology.port_router[dst_node])
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
        here, target = router // s.a, int(self.topology.port_router[dst_node]) // s.a
        copies, middles = range(s.global_links_per_pair), self.middles(here, target)
        plans = []
        if self.name != "valiant" or not middles:
            plans += [self.plan(target, c, 0) for c in copies]
        if self.name != "minimal":
            plans += [self.plan(m, c1, c2) for m, c1, c2 in product(middles, copies, copies)]
        return [self.hop(router, target, 0, plan) for plan in plans]

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return settled
        s, k = self.s, self.s.global_links_per_pair
        dst_router = int(self.topology.port_router[dst_node])
        here, target = router // s.a, dst_router // s.a
        middles = self.middles(here, target)

        def number(i: int, n: int) -> int:
            return int(draw(np.uint64(key), i, n))

        first = number(1, k)
        direct = self.hop(router, target, 0, self.plan(target, first, 0))
        if self.name == "minimal" or not middles:
            return direct
        middle, out, copy = middles[number(0, len(middles))], number(2, k), number(3, k)
        indirect = self.hop(router, target, 0, self.plan(middle, out, copy))
        if self.name == "valiant":
            return indirect
        minimal, detour = s.global_link(here, target, first), s.global_link(here, middle, out)
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


MAX_BIAS_S = 3_000_000
"""A third of what 64 bits of picoseconds hold: loads are added to it."""
BiasS = Annotated[
    float, "added to the Valiant side of the comparison", Gt(-MAX_BIAS_S), Lt(MAX_BIAS_S)
]


def ugal_l(topology: Topology, ugal_bias_s: BiasS = 0.0) -> Routing:
    """Build "ugal-l"; see `dragonfly_routing`."""
    return dragonfly_routing(topology, "ugal-l", bias_ps=round(ugal_bias_s * 1e12))


def ugal_g(topology: Topology, ugal_bias_s: BiasS = 0.0) -> Routing:
    """Build "ugal-g"; see `dragonfly_routing`."""
    return dragonfly_routing(topology, "ugal-g", bias_ps=round(ugal_bias_s * 1e12))


ROUTINGS = (
    RoutingEntry(
        "minimal",
        "at most one global link",
        ("dragonfly",),
        lambda topology: dragonfly_routing(topology, "minimal"),
    ),
    RoutingEntry(
        "valiant",
        "by way of a random intermediate group",
        ("dragonfly",),
        lambda topology: dragonfly_routing(topology, "valiant"),
    ),
    RoutingEntry(
        "ugal-l",
        "minimal or Valiant, by the loads of the source router's links",
        ("dragonfly",),
        ugal_l,
    ),
    RoutingEntry(
        "ugal-g",
        "minimal or Valiant, by the loads of the source group's global links",
        ("dragonfly",),
        ugal_g,
    ),
)
