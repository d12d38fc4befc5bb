"""Valiant paths on a dragonfly through a node drawn from all nodes, in plain Python.

As BookSim2 draws it: any node of the machine, the two ends' own among them. A packet goes minimally
to that node's router, then minimally to its destination. If the drawn node is in the source's
group, it goes minimally at once; so do packets within a group. A packet that comes by its
destination's router leaves there. (By the group, `netsim.routing.dragonfly`, no router is drawn in
the intermediate group, and the path may end at its first one.)

Virtual channel: local 0 and global 0 on the path out of the source's group, local 1 on to the drawn
node's router, local 2 and global 1 out of that group, local 3 in the destination's. No packet goes
from a later one of these to an earlier one. (BookSim2 itself has channel 0 as far as the drawn
node's router, and can deadlock.)

State: ``(1 + (r * B + first) * B + second) * 4 + place``: the drawn node's router r, which of the K
links leads to its group and which from there to the destination's; B is the least power of two that
is at least K. ``place`` is one of `PLACES`.
"""

from __future__ import annotations

from itertools import product

from netsim.routing.base import Hop
from netsim.routing.dragonfly_reference import DragonflyReference
from netsim.routing.make_tables import ejection

PLACES = ("leaves", "arrived", "turned", "entered")
"""Before and after the first global link, past the drawn router, in the destination's group."""
LEAVES, ARRIVED, TURNED, ENTERED = range(len(PLACES))


class ByNode(DragonflyReference):
    """`choices` of "valiant" and "ugal-l" through a drawn node."""

    inside_too = False

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        """Return every hop that is possible for any loads and draws."""
        own_group, target = router // self.s.a, self.router_of(dst_node) // self.s.a
        if state or own_group == target:
            return [self._on(router, dst_node, state)]
        k, paths = range(self.s.global_links_per_pair), []
        for middle in range(self.s.n_routers):
            if middle // self.s.a != own_group:
                paths += [self.plan(middle, *c) * 4 + LEAVES for c in product(k, k)]
        # any node of the own group may be drawn, so the minimal path is always possible
        paths += [self.plan(self.router_of(dst_node), 0, c) * 4 + TURNED for c in k]
        return [self._on(router, dst_node, state) for state in paths]

    def _on(self, router: int, dst_node: int, state: int) -> Hop:
        """Return the hop of a packet whose path is drawn."""
        s, dst_router = self.s, self.router_of(dst_node)
        if router == dst_router:
            return ejection(self.topology, dst_node, state)
        own_group, target, place = router // s.a, dst_router // s.a, state % 4
        middle, out, copy = self.parts(state // 4)
        if place == ARRIVED and router == middle:
            place = TURNED
        if own_group == target and (state == 0 or place >= TURNED):
            return Hop(self.link_toward(router, dst_router), 3, ENTERED)
        if place == ARRIVED:
            return Hop(self.link_toward(router, middle), 1, state)
        link = s.global_link(
            own_group, *((middle // s.a, out) if place == LEAVES else (target, copy))
        )
        owner, _ = self.ends(link)
        kept = self.plan(middle, out, copy) * 4
        if owner == router:
            return Hop(link, place // 2, kept + place + 1)
        return Hop(self.link_toward(router, owner), place, kept + place)
