"""Minimal, Valiant and UGAL routing on dragonfly+ (Shpiner et al., HiPINEB 2017).

Within a group a packet goes up to a spine and down to its leaf. Between groups it goes up to a
spine that holds a link to the wanted group, over it, and down ("minimal": up, global, down).
"valiant" goes through an intermediate group drawn uniformly from all but the source's and the
destination's: if the spine that it comes to there has a link to the destination's group itself, it
goes on over one of those; else down to a drawn leaf and up to the spine of a drawn link. Spines
and links are drawn from the packet's key. Machines of two groups, and packets within a group,
have no detour.

UGAL draws nothing on the path up: it takes the least loaded of all spines (within a group) or of
all links to a group, of equals the first from a drawn one on, and decides once, at the source's
leaf, between that minimal path and one by a drawn intermediate group: minimal if ``load_min * 3 <=
load_val * H + bias``, where H is 4 or 6 links, and the load is that of the leaf's link up
("ugal-l") or of the global link with which the path leaves the group ("ugal-g").

Virtual channel: up and global links the number of global links taken so far, down links one less
(at least 0). Minimal needs one channel, a detour two: up 0, global 0, down 0, up 1, global 1,
down 1 admits no cycle.

State: ``(group * B + copy) * 4 + taken``: the group to go to first, by which of the K links, and
how many global links are taken; B is the least power of two that is at least K. Between the spine
and the drawn leaf of an intermediate group ``copy * 4 + 1``: the link to leave it by.

Kernel tables: params = bias (in time units of the caller), leaves, spines, g, K, log2 B, first up
link, first down link. table_a: (g, g, K) global links. table_b: (g, g, K) the spines that hold
them. table_c: (g, spines, g, 2) first copy and number of a spine's own links to a group.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from netsim.errors import NetcosimError
from netsim.limits import need_memory
from netsim.routing import kernels_dragonfly_plus as kernels
from netsim.routing.base import Hop, Routing
from netsim.routing.make_tables import ejection, make_tables
from netsim.routing.tables import RouteTables
from netsim.topologies.dragonfly_plus import DragonflyPlusShape
from netsim.topology import Topology

CODES = {
    "minimal": kernels.PLUS_MINIMAL,
    "valiant": kernels.PLUS_VALIANT,
    "ugal-l": kernels.PLUS_UGAL_L,
    "ugal-g": kernels.PLUS_UGAL_G,
}
_TABLE_BYTES = 60
"""Peak while the tables are built, for each path from a group or a spine to a group."""


def _bits(copies: int) -> int:
    """Return the number of bits of a number in 0..copies-1."""
    return max(copies - 1, 0).bit_length()


def _tables(
    topology: Topology, s: DragonflyPlusShape, code: int, n_vcs: int, bias: int
) -> RouteTables:
    g, k = s.g, s.global_links_per_pair
    if g << (_bits(k) + 2) >= 2**31:
        raise NetcosimError(f"{topology.name}: {k} links a pair of groups are too many to route")
    need_memory(
        f"{topology.name}: routing tables of {g:,} groups",
        g * g * (max(k, 1) + s.spines) * _TABLE_BYTES,
    )
    links = np.full((g, g, max(k, 1)), -1, dtype=np.int64)
    spines = np.zeros_like(links)
    own = np.zeros((g, s.spines, g, 2), dtype=np.int64)
    for src, dst in product(range(g), range(g)):
        for copy in range(k if src != dst else 0):
            spine = s.global_spine(src, dst, copy)
            links[src, dst, copy], spines[src, dst, copy] = s.global_link(src, dst, copy), spine
            if own[src, spine, dst, 1] == 0:
                own[src, spine, dst, 0] = copy
            own[src, spine, dst, 1] += 1
    params = (bias, s.leaves, s.spines, g, k, _bits(k), s.first_up_link, s.first_down_link)
    return make_tables(topology, code, n_vcs, params, links, spines, own)


class DragonflyPlusReference:
    """The routing in plain Python, only from the shape's arithmetic."""

    def __init__(self, topology: Topology, shape: DragonflyPlusShape, name: str, bias: int) -> None:
        self.topology, self.s, self.name, self.bias = topology, shape, name, bias
        self.size = 1 << _bits(shape.global_links_per_pair)

    def middles(self, own_group: int, target: int) -> list[int]:
        return [m for m in range(self.s.g) if m not in (own_group, target)]

    def own_copies(self, group: int, spine: int, target: int) -> list[int]:
        copies = range(self.s.global_links_per_pair)
        return [c for c in copies if self.s.global_spine(group, target, c) == spine]

    def leave(self, own_group: int, leaf: int, group: int, copy: int) -> Hop:
        """Return the hop from the source's leaf up to the spine of a copy of a global link."""
        up = self.s.up_link(own_group, leaf, self.s.global_spine(own_group, group, copy))
        return Hop(up, 0, (group * self.size + copy) * 4)

    def settled(self, router: int, dst_node: int, state: int) -> Hop | None:
        """Return the hop, where nothing is left to draw or decide."""
        s = self.s
        dst_router = int(self.topology.port_router[dst_node])
        if router == dst_router:
            return ejection(self.topology, dst_node, state)
        own_group, place = divmod(router, s.routers_per_group)
        target, dst_leaf = divmod(dst_router, s.routers_per_group)
        plan, taken = divmod(state, 4)
        if place >= s.leaves:
            if own_group == target:
                return Hop(
                    s.down_link(own_group, dst_leaf, place - s.leaves), max(taken - 1, 0), state
                )
            if taken == 0:
                group, copy = divmod(plan, self.size)
                return Hop(s.global_link(own_group, group, copy), 0, 1)
        elif taken == 1 and own_group != target:
            spine = s.global_spine(own_group, target, plan)
            return Hop(s.up_link(own_group, place, spine), 1, state)
        return None

    def onward(self, own_group: int, spine: int, target: int) -> tuple[list[Hop], list[list[Hop]]]:
        """Return the hops from an intermediate spine: by its own links, else by copy and leaf."""
        s = self.s
        own = self.own_copies(own_group, spine, target)
        if own:
            return [Hop(s.global_link(own_group, target, c), 1, 2) for c in own], []
        copies = range(s.global_links_per_pair)
        return [], [
            [Hop(s.down_link(own_group, leaf, spine), 0, c * 4 + 1) for leaf in range(s.leaves)]
            for c in copies
        ]

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return [settled]
        s = self.s
        own_group, place = divmod(router, s.routers_per_group)
        target = int(self.topology.port_router[dst_node]) // s.routers_per_group
        if place >= s.leaves:
            own, down = self.onward(own_group, place - s.leaves, target)
            return own + [hop for row in down for hop in row]
        if own_group == target:
            return [Hop(s.up_link(own_group, place, spine), 0, 0) for spine in range(s.spines)]
        middles = self.middles(own_group, target)
        groups = [target] if self.name != "valiant" or not middles else []
        groups += middles if self.name != "minimal" else []
        copies = range(s.global_links_per_pair)
        return [self.leave(own_group, place, m, copy) for m, copy in product(groups, copies)]


def dragonfly_plus_routing(topology: Topology, name: str, *, bias_ps: int = 0) -> Routing:
    """Build "minimal", "valiant", "ugal-l" or "ugal-g" on a dragonfly+.

    UGAL's bias, towards the minimal path, is that of `netsim.routing.dragonfly.dragonfly_routing`.
    """
    shape = topology.shape
    assert isinstance(shape, DragonflyPlusShape)
    n_vcs = 1 if name == "minimal" or shape.g <= 2 else 2
    reference = DragonflyPlusReference(topology, shape, name, bias_ps)
    return Routing(
        name=name,
        topology=topology,
        n_vcs=n_vcs,
        adaptive=name.startswith("ugal"),
        # at the leaf, its spine, and the spine in the intermediate group
        random_visits=1 if name == "minimal" else 3,
        tables=_tables(topology, shape, CODES[name], n_vcs, bias_ps),
        choices=reference.choices,
        looks_far=name == "ugal-g",
    )
