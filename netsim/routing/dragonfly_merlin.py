"""UGAL of the dragonfly in SST's merlin, in plain Python.

merlin weighs the output FIFO of channel 0 of a path's first link (`View.queue_bytes`): ``q`` for
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

from collections.abc import Sequence

from netsim.routing.base import Hop, View
from netsim.routing.choosing import one_of
from netsim.routing.dragonfly_reference import NOT_CHOSEN, DragonflyReference, Ugal, copy_bits
from netsim.routing.make_tables import ejection
from netsim.topologies.dragonfly import DragonflyShape
from netsim.topology import Topology

MARGIN_BYTES = 400
"""merlin's bias of 50 flits of 8 bytes."""
_DETOUR_WEIGHT = 2


def _lightest(choices: Sequence[Hop], weights: Sequence[int], key: int, i: int) -> Hop:
    """Return a hop of least weight, equals by the i-th number of a key."""
    least = min(weights)
    equals = [choice for choice, weight in zip(choices, weights, strict=True) if weight == least]
    return one_of(equals, key, i)


class MerlinUgal(DragonflyReference):
    """`choices` and `choose` of "merlin-ugal"."""

    def __init__(self, topology: Topology, shape: DragonflyShape, ugal: Ugal) -> None:
        super().__init__(topology, shape, "merlin-ugal", ugal)
        self.bits = max(1, copy_bits(shape.global_links_per_pair))

    def choices(self, router: int, dst_node: int, state: int) -> list[Hop]:
        """Return every hop that is possible for any loads and draws."""
        return self._choices(router, dst_node, state)

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        """Return the hop of least weight."""
        choices = self._choices(router, dst_node, state, key)
        if len(choices) == 1:
            return choices[0]
        own_group, target = router // self.s.a, self._router(dst_node) // self.s.a
        if own_group == target:
            direct, detour = (view.queue_bytes(hop.link, 0) for hop in choices)
            return choices[direct > _DETOUR_WEIGHT * detour + self.ugal.threshold_bytes]
        taken = state % 4
        if taken == NOT_CHOSEN:
            first = self.s.first_global_link
            weights = [view.queue_bytes(h.link, 1) * (1 if h.link >= first else 2) for h in choices]
            return _lightest(choices, weights, key, 0)
        weights = [self._weight(view, hop, target) for hop in choices]
        if state:
            return choices[weights[0] > weights[1]]
        return _lightest(choices, weights, key, 1)

    def _router(self, node: int) -> int:
        return int(self.topology.port_router[node])

    def _weight(self, view: View, hop: Hop, target: int) -> int:
        """Return the weight of a first link; the packet's state determines whether it detours."""
        group, _, detours = self.parts(hop.state // 4)
        if hop.state % 4:
            detours = int(group != target)
        queue = view.queue_bytes(hop.link, 0)
        return _DETOUR_WEIGHT * queue + self.ugal.threshold_bytes if detours else queue

    def _first(self, router: int, target: int, middle: int, copy: int, detours: int) -> Hop:
        """Return the hop toward a copy of the links to the intermediate or target group."""
        group = middle if detours else target
        link = self.s.global_link(router // self.s.a, group, copy)
        owner, _ = self.ends(link)
        if owner != router:
            return Hop(self.link_toward(router, owner), 0, self.plan(middle, copy, detours) * 4)
        return Hop(link, 0, self.plan(group, copy, 0) * 4 + (NOT_CHOSEN if detours else 1))

    def _choices(self, router: int, dst_node: int, state: int, key: int | None = None) -> list[Hop]:
        """Return the candidate hops: for one draw of a key, or for every draw."""
        s, dst_router, k = self.s, self._router(dst_node), self.s.global_links_per_pair
        if router == dst_router:
            return [ejection(self.topology, dst_node, state)]
        own_group, target, taken = router // s.a, dst_router // s.a, state % 4
        if own_group == target:
            return self._inside(router, dst_router, state, key)
        middle, copy, detours = self.parts(state // 4)
        if taken:
            copies = range(k) if taken == NOT_CHOSEN else [copy]
            return [self._onward(router, target, c) for c in copies]
        if state == 0:
            middles: Sequence[int | None] = self.middles(own_group, target) or [None]
            if key is not None:
                middles = [one_of(middles, key, 0)]
            hops = []
            for m in middles:
                for c in range(k):
                    hops.append(self._first(router, target, target if m is None else m, c, 0))
                    if m is not None:
                        hops.append(self._first(router, target, m, c, 1))
            return hops
        ends = [self.ends(s.global_link(own_group, group, copy))[0] for group in (target, middle)]
        choices = [d for d in (0, 1) if ends[d] == router and not (d and middle == target)]
        return [self._first(router, target, middle, copy, d) for d in choices or [detours]]

    def _inside(self, router: int, dst_router: int, state: int, key: int | None) -> list[Hop]:
        base, taken = router - router % self.s.a, state % 4
        if taken:
            return [Hop(self.link_toward(router, dst_router), taken, state)]
        if state:
            via = base + state // 4 - 1
            if via == router:
                return [Hop(self.link_toward(router, dst_router), 2, 2)]
            return [self.inside(router, via)]
        vias = self.vias(router, dst_router)
        if key is not None:
            vias = [dst_router, one_of(vias, key, 0)]
        return [self.inside(router, via) for via in vias]

    def _onward(self, router: int, target: int, copy: int) -> Hop:
        """Return the hop out of the intermediate group over a copy of its links to the target."""
        link = self.s.global_link(router // self.s.a, target, copy)
        owner, _ = self.ends(link)
        state = self.plan(target, copy, 0) * 4
        if owner == router:
            return Hop(link, 1, state + 2)
        return Hop(self.link_toward(router, owner), 1, state + 1)
