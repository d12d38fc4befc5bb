"""Decisions on dragonflies in plain Python: draws, and what UGAL, PAR and merlin compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from experiments.validation.reference.view import Choose, View, one_of
from netsim.routing.base import Hop, Routing
from netsim.routing.dragonfly import BY_NODE, CODES
from netsim.routing.dragonfly_merlin import MerlinUgal
from netsim.routing.dragonfly_node import LEAVES, TURNED, ByNode
from netsim.routing.dragonfly_plus import CODES as PLUS_CODES
from netsim.routing.dragonfly_plus import DragonflyPlusReference
from netsim.routing.dragonfly_reference import (
    COMPARES,
    NOT_CHOSEN,
    DragonflyReference,
    Ugal,
    fs_per_byte,
)
from netsim.routing.kernels_codes import RoutingRule
from netsim.routing.kernels_common import draw

RULES_OF_GROUPS = (
    RoutingRule.DECIDES_ONCE,
    RoutingRule.DECIDES_AGAIN,
    RoutingRule.MERLIN,
    RoutingRule.BY_NODE,
)
FREE_FACTOR = 2
DETOUR_WEIGHT = 2


def decisions(routing: Routing) -> Choose:
    """Return the decisions of a routing on a dragonfly, its rule and UGAL from its parameters."""
    p = routing.tables.params
    compares, weight, margin, nearest = (int(p[i]) for i in (10, 11, 12, 13))
    ugal = Ugal(COMPARES[compares], weight or None, int(p[0]), margin, bool(nearest))
    rule = next(name for name, code in CODES.items() if code == routing.tables.code)
    topology, shape = routing.topology, routing.topology.shape
    if rule == "merlin-ugal":
        return MerlinDecisions(topology, shape, ugal).choose
    for name, by_node in BY_NODE.items():
        if rule == by_node:
            return NodeDecisions(topology, shape, name, ugal).choose
    return GroupDecisions(topology, shape, rule, ugal).choose


def plus_decisions(routing: Routing) -> Choose:
    """Return the decisions of a routing on a dragonfly+."""
    name = next(name for name, code in PLUS_CODES.items() if code == routing.tables.code)
    bias_ps = int(routing.tables.params[0])
    return PlusDecisions(routing.topology, routing.topology.shape, name, bias_ps).choose


def numbers(key: int) -> Callable[[int, int], int]:
    """Return ``number(i, n)``: the i-th number of a key, below n."""
    return lambda i, n: int(draw(np.uint64(key), i, n))


class UgalDecisions(DragonflyReference):
    """What UGAL compares."""

    def compare(self, view: View, links: Sequence[int], hops_min: int, hops_val: int) -> bool:
        """Return whether the first of two links is the better one, at the paths' weights."""
        ugal, margin = self.ugal, self.ugal.margin
        if ugal.compares == "output-queue":
            seen, margin = [view.load(link) for link in links], ugal.bias_ps
        elif ugal.compares == "output-bytes":
            seen = [view.queued(link) for link in links]
        else:
            speed = self.topology.link_bandwidth_Bps
            seen = [view.used(link) * fs_per_byte(int(speed[link])) for link in links]
        return seen[0] * hops_min <= seen[1] * hops_val + margin


class GroupDecisions(UgalDecisions):
    """Of all routings whose Valiant paths are drawn by the group."""

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return settled
        number = numbers(key)
        s, k = self.s, self.s.global_links_per_pair
        dst_router = self.router_of(dst_node)
        own_group, target = router // s.a, dst_router // s.a
        if own_group == target:
            return self._choose_inside(view, router, dst_router, number)
        group, first, second = self.parts(state // 4)
        if state % 4 == NOT_CHOSEN:
            second = self._freest(view, router, target, second, 1)
            return self.hop(router, target, 1, self.plan(group, first, second))
        copies = self.copies(router, dst_router)
        direct = first if state // 4 else copies[number(1, len(copies))]
        if self.adapts:
            direct = self._freest(view, router, target, direct, 0)
        minimal = self.plan(target, direct, 0)
        middles = self.middles(own_group, target)
        if self.name == "minimal" or not middles:
            return self.hop(router, target, 0, minimal)
        middle, out, copy = middles[number(0, len(middles))], number(2, k), number(3, k)
        if self.adapts:
            out = self._freest(view, router, middle, out, 0)
        detour = self.plan(middle, out, copy)
        if self.detours_always:
            stays = False
        elif self.adapts:
            ways = [self.hop(router, target, 0, plan).link for plan in (minimal, detour)]
            stays = self._has_room(view, *ways)
        else:
            stays = self._minimal_wins(view, router, dst_router, minimal, detour)
        return self.hop(router, target, 0, minimal if stays else detour)

    def _minimal_wins(
        self, view: View, router: int, dst_router: int, minimal: int, detour: int
    ) -> bool:
        """Return whether UGAL prefers the minimal plan to the detour."""
        s, ugal = self.s, self.ugal
        own_group, target = router // s.a, dst_router // s.a
        (_, direct, _), (middle, out, copy) = self.parts(minimal), self.parts(detour)
        links = s.global_link(own_group, target, direct), s.global_link(own_group, middle, out)
        hops_min, hops_val = 1, ugal.weight
        if hops_val is None:
            d_out, d_in = self.ends(links[1])
            s_out, s_in = self.ends(s.global_link(middle, target, copy))
            hops_min = self.minimal_hops(router, dst_router, direct)
            hops_val = self.local_hops(router, d_out) + 1 + self.local_hops(d_in, s_out)
            hops_val += 1 + self.local_hops(s_in, dst_router)
        if self.name != "ugal-g":
            plans = minimal, detour
            direct_hop, detour_hop = (self.hop(router, target, 0, plan).link for plan in plans)
            links = direct_hop, detour_hop
        return self.compare(view, links, hops_min, hops_val)

    def _choose_inside(
        self, view: View, router: int, dst_router: int, number: Callable[[int, int], int]
    ) -> Hop:
        """Choose the direct hop or one through another router of the group."""
        vias = self.vias(router, dst_router)
        if not vias:
            return self.inside(router, dst_router)
        ways = dst_router, vias[number(0, len(vias))]
        if self.detours_always:
            return self.inside(router, ways[1])
        links = [self.link_toward(router, way) for way in ways]
        if self.judges_inside:
            hops_min, hops_val = 1, self.ugal.weight
            if hops_val is None:
                hops_min = self.local_hops(router, dst_router)
                hops_val = self.local_hops(router, ways[1]) + self.local_hops(ways[1], dst_router)
            return self.inside(router, ways[not self.compare(view, links, hops_min, hops_val)])
        return self.inside(router, ways[0 if self._has_room(view, *links) else 1])

    def _freest(self, view: View, router: int, group: int, copy: int, taken: int) -> int:
        """Return the copy with more room: a drawn copy of the links to a group, or the next."""
        other = (copy + 1) % self.s.global_links_per_pair
        plans = [self.plan(group, c, c) for c in (copy, other)]
        links = [self.hop(router, group, taken, plan).link for plan in plans]
        free = [self.free(view, link, taken) for link in links]
        return other if free[1] > free[0] else copy

    def free(self, view: View, link: int, vc: int) -> int:
        """Return the space that adaptive-local compares; merlin uses channel 0's output buffer."""
        return view.queue_free(link, 0) if self.merlin else view.room(link, vc)

    def _has_room(self, view: View, direct: int, detour: int) -> bool:
        """Return whether adaptive-local selects the direct path's first link."""
        free = [max(0, self.free(view, link, 0)) for link in (direct, detour)]
        return free[1] <= FREE_FACTOR * free[0]


class NodeDecisions(ByNode, UgalDecisions):
    """Of "valiant" and "ugal-l" through a drawn node."""

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        """Return the hop, over a drawn node or not."""
        s, dst_router = self.s, self.router_of(dst_node)
        own_group, target, k = router // s.a, dst_router // s.a, self.s.global_links_per_pair
        if state or own_group == target:
            return self._on(router, dst_node, state)
        number = numbers(key)
        middle, direct, out, copy = number(0, s.n_routers), number(1, k), number(2, k), number(3, k)
        minimal = self.plan(dst_router, 0, direct) * 4 + TURNED
        if middle // s.a == own_group:
            return self._on(router, dst_node, minimal)
        detour = self.plan(middle, out, copy) * 4 + LEAVES
        hops = [self._on(router, dst_node, state) for state in (minimal, detour)]
        if self.name == "valiant":
            return hops[1]
        hops_min, hops_val = 1, self.ugal.weight
        if hops_val is None:
            hops_min = self._length(router, dst_router, direct)
            hops_val = self._length(router, middle, out) + self._length(middle, dst_router, copy)
        return hops[not self.compare(view, [hop.link for hop in hops], hops_min, hops_val)]

    def _length(self, src: int, dst: int, copy: int) -> int:
        """Return the links of the minimal path between two routers."""
        if src // self.s.a == dst // self.s.a:
            return self.local_hops(src, dst)
        return self.minimal_hops(src, dst, copy)


def _lightest(choices: Sequence[Hop], weights: Sequence[int], key: int, i: int) -> Hop:
    """Return a hop of least weight, equals by the i-th number of a key."""
    least = min(weights)
    equals = [choice for choice, weight in zip(choices, weights, strict=True) if weight == least]
    return one_of(equals, key, i)


class MerlinDecisions(MerlinUgal):
    """Of "merlin-ugal"."""

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        """Return the hop of least weight."""
        dst_router = self.router_of(dst_node)
        own_group, target = router // self.s.a, dst_router // self.s.a
        if state or router == dst_router:
            choices = self.choices(router, dst_node, state)
        elif own_group == target:
            vias = dst_router, one_of(self.vias(router, dst_router), key, 0)
            choices = [self.inside(router, via) for via in vias]
        else:
            middle = one_of(self.middles(own_group, target) or [target], key, 0)
            choices = self.first_hops(router, target, middle)
        if len(choices) == 1:
            return choices[0]
        if own_group == target:
            direct, detour = (view.queue_bytes(hop.link, 0) for hop in choices)
            return choices[direct > DETOUR_WEIGHT * detour + self.ugal.threshold_bytes]
        taken = state % 4
        if taken == NOT_CHOSEN:
            first = self.s.first_global_link
            weights = [view.queue_bytes(h.link, 1) * (1 if h.link >= first else 2) for h in choices]
            return _lightest(choices, weights, key, 0)
        weights = [self._weight(view, hop, target) for hop in choices]
        if state:
            return choices[weights[0] > weights[1]]
        return _lightest(choices, weights, key, 1)

    def _weight(self, view: View, hop: Hop, target: int) -> int:
        """Return the weight of a first link; the packet's state determines whether it detours."""
        group, _, detours = self.parts(hop.state // 4)
        if hop.state % 4:
            detours = int(group != target)
        queue = view.queue_bytes(hop.link, 0)
        return DETOUR_WEIGHT * queue + self.ugal.threshold_bytes if detours else queue


class PlusDecisions(DragonflyPlusReference):
    """On a dragonfly+."""

    def choose(
        self, view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        settled = self.settled(router, dst_node, state)
        if settled is not None:
            return settled
        s = self.s
        own_group, place = divmod(router, s.routers_per_group)
        target = int(self.topology.port_router[dst_node]) // s.routers_per_group
        number = numbers(key)
        if place >= s.leaves:
            own, down = self.onward(own_group, place - s.leaves, target)
            return (
                own[number(0, len(own))] if own else down[number(1, len(down))][number(2, s.leaves)]
            )
        adapts = self.name.startswith("ugal")

        def pick(i: int, links: list[int]) -> int:
            """Return which of these links: drawn, or the least loaded from the drawn one on."""
            start = number(i, len(links))
            order = [(start + j) % len(links) for j in range(len(links))]
            return min(order, key=lambda j: view.load(links[j])) if adapts else start

        if own_group == target:
            ups = [s.up_link(own_group, place, spine) for spine in range(s.spines)]
            return Hop(ups[pick(0, ups)], 0, 0)

        def seen(group: int) -> list[int]:
            copies = range(s.global_links_per_pair)
            if self.name == "ugal-g":
                return [s.global_link(own_group, group, c) for c in copies]
            return [
                s.up_link(own_group, place, s.global_spine(own_group, group, c)) for c in copies
            ]

        direct = pick(1, seen(target))
        middles = self.middles(own_group, target)
        if self.name == "minimal" or not middles:
            return self.leave(own_group, place, target, direct)
        middle = middles[number(0, len(middles))]
        out = pick(2, seen(middle))
        indirect = self.leave(own_group, place, middle, out)
        if self.name == "valiant":
            return indirect
        landing = s.global_spine(middle, own_group, out)
        hops = 4 if self.own_copies(middle, landing, target) else 6
        load_min, load_val = view.load(seen(target)[direct]), view.load(seen(middle)[out])
        if load_min * 3 <= load_val * hops + self.bias:
            return self.leave(own_group, place, target, direct)
        return indirect
