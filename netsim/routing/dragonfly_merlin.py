"""UGAL of the dragonfly in SST's merlin, in plain Python.

merlin weighs the output FIFO of channel 0 of a path's first link (``queue_bytes``): ``q`` for
the minimal path, ``2 q + margin`` for a detour, `MARGIN_BYTES` by default.

- Within the group of its source a packet draws a router of the group, any but its own. It goes by
  that router if the direct link weighs more. If the destination's router was drawn, the two
  links are one and it goes directly.
- To another group it draws an intermediate group, and takes the first link of least weight among
  those toward the destination's and toward the intermediate group; ties at random.
- **The choice of a local link is not one of a path.** The router at its end takes the global link
  that it has. If it has both, toward the destination's and toward the intermediate group, it
  compares their weights again.
- The first router of the intermediate group weighs the links to the destination's group on channel
  1, twice those that leave over another router. It matters where several links join two groups.

Where several links join two groups, merlin numbers them as "slices"; a packet that
has chosen a slice keeps it within the group.

Virtual channel: global links taken so far, and 2 on the second local link of a detour inside a
group: local 0, global 0, local 1, global 1, local 2 admits no cycle.

State: ``plan * 4 + taken`` as in `netsim.routing.dragonfly`. Before its first global link a
packet's plan holds the intermediate group, the slice, and in place of the second copy whether it
set out for the intermediate group. After it, the group is the one to go to next.
"""

from __future__ import annotations

from netsim.routing.base import Hop
from netsim.routing.dragonfly_reference import NOT_CHOSEN, DragonflyReference, Ugal, copy_bits
from netsim.routing.make_tables import ejection
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topology import Topology

MARGIN_BYTES = 400
"""merlin's bias of 50 flits of 8 bytes."""


class MerlinUgal(DragonflyReference):
    """`choices` of "merlin-ugal"."""

    def __init__(self, topology: Topology, shape: DragonflyShape, ugal: Ugal) -> None:
        super().__init__(topology, shape, "merlin-ugal", ugal)
        self.bits = max(1, copy_bits(shape.global_links_per_pair))

    def _first(self, router: int, target: int, middle: int, copy: int, detours: int) -> Hop:
        """Return the hop toward a copy of the links to the intermediate or target group."""
        group = middle if detours else target
        link = self.s.global_link(router // self.s.a, group, copy)
        owner, _ = self.ends(link)
        if owner != router:
            return Hop(self.link_toward(router, owner), 0, self.plan(middle, copy, detours) * 4)
        return Hop(link, 0, self.plan(group, copy, 0) * 4 + (NOT_CHOSEN if detours else 1))

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        """Return every hop that is possible for any loads and draws."""
        s, dst_router, k = self.s, self.router_of(dst_node), self.s.global_links_per_pair
        if router == dst_router:
            return [ejection(self.topology, dst_node, state)]
        own_group, target, taken = router // s.a, dst_router // s.a, state % 4
        if own_group == target:
            return self._inside(router, dst_router, state)
        middle, copy, detours = self.parts(state // 4)
        if taken:
            copies = range(k) if taken == NOT_CHOSEN else [copy]
            return [self._onward(router, target, c) for c in copies]
        if state == 0:
            middles = self.middles(own_group, target) or [target]
            return [hop for middle in middles for hop in self.first_hops(router, target, middle)]
        ends = [self.ends(s.global_link(own_group, group, copy))[0] for group in (target, middle)]
        choices = [d for d in (0, 1) if ends[d] == router and not (d and middle == target)]
        return [self._first(router, target, middle, copy, d) for d in choices or [detours]]

    def first_hops(self, router: int, target: int, middle: int) -> list[Hop]:
        """Return the hops from a source router where an intermediate group is drawn; none is if it
        is the target."""
        ways = range(1 if middle == target else 2)
        copies = range(self.s.global_links_per_pair)
        return [self._first(router, target, middle, copy, d) for copy in copies for d in ways]

    def _inside(self, router: int, dst_router: int, state: int) -> list[Hop]:
        base, taken = router - router % self.s.a, state % 4
        if taken:
            return [Hop(self.link_toward(router, dst_router), taken, state)]
        if state:
            via = base + state // 4 - 1
            if via == router:
                return [Hop(self.link_toward(router, dst_router), 2, 2)]
            return [self.inside(router, via)]
        return [self.inside(router, via) for via in self.vias(router, dst_router)]

    def _onward(self, router: int, target: int, copy: int) -> Hop:
        """Return the hop out of the intermediate group over a copy of its links to the target."""
        link = self.s.global_link(router // self.s.a, target, copy)
        owner, _ = self.ends(link)
        state = self.plan(target, copy, 0) * 4
        if owner == router:
            return Hop(link, 1, state + 2)
        return Hop(self.link_toward(router, owner), 1, state + 1)
