"""The decisions of routings in plain Python: which of the possible hops a packet takes.

A second implementation of the routings' kernels, for the reference engine and the tests. `Routing`
has the possible hops; what picks one by loads and by a key is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from experiments.validation.reference import dragonfly_decisions as dragonfly
from experiments.validation.reference.view import Choose, View, one_of
from netsim.routing.base import Hop, Routing
from netsim.routing.kernels_codes import RULES, RoutingCode, RoutingRule
from netsim.routing.kernels_common import draw
from netsim.routing.kernels_tables import PIN_WIDTH

Pick = Callable[[View, Sequence[Hop], int], Hop]
"""``pick(view, hops, key)``: one of several hops."""


def least_loaded(view: View, hops: Sequence[Hop], key: int) -> Hop:
    """Return a random hop if its link has no load; else one with the least load, ties at random."""
    first = one_of(hops, key, 0)
    if view.load(first.link) == 0:
        return first
    least = min(view.load(hop.link) for hop in hops)
    return one_of([hop for hop in hops if view.load(hop.link) == least], key, 1)


def less_loaded(view: View, hops: Sequence[Hop], key: int) -> Hop:
    """Return the less loaded of two different random hops, the first of them where equal."""
    first = one_of(hops, key, 0)
    second = one_of([hop for hop in hops if hop != first], key, 1)
    return min(first, second, key=lambda hop: view.load(hop.link))


def random_hop(view: View, hops: Sequence[Hop], key: int) -> Hop:
    """Return a random hop, or that of a pinned flow, whose key is its place."""
    return hops[key] if key < len(hops) else one_of(hops, key, 0)


PICKS: dict[int, Pick] = {
    RoutingCode.LEAST_LOADED: least_loaded,
    RoutingCode.ADAPTIVE: least_loaded,
    RoutingCode.TWO_CHOICE: less_loaded,
    RoutingCode.RANDOM_UP: lambda view, hops, key: one_of(hops, key, 0),
    RoutingCode.EQUAL_COST: random_hop,
}
"""By code, where a choice depends on nothing but the possible hops, their loads and the key."""


@lru_cache(maxsize=64)
def choose_of(routing: Routing) -> Choose:
    """Return the decisions of a routing."""
    rule = RULES[RoutingCode(routing.tables.code)]
    if rule == RoutingRule.TORUS:
        return _torus(routing)
    if rule == RoutingRule.PLUS:
        return dragonfly.plus_decisions(routing)
    if rule in dragonfly.RULES_OF_GROUPS:
        return dragonfly.decisions(routing)
    if routing.tables.code == RoutingCode.WEIGHTED:
        return _by_weight(routing)
    pick = PICKS.get(routing.tables.code)

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        hops = routing.choices(router, dst_node, state)
        if len(hops) == 1:
            return hops[0]
        assert pick is not None, f"{routing.name}: several hops and no choice"
        return pick(view, hops, key)

    return choose


def _torus(routing: Routing) -> Choose:
    """Return the decisions on a torus: of the possible hops the first is the escape channel's."""
    drawn = bool(routing.tables.params[-1])

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        hops = routing.choices(router, dst_node, state)
        if drawn and len(hops) > 1:
            return one_of(hops, key, 0)
        fits = [h for h in hops[1:] if view.room(h.link, h.vc) >= wire_bytes]
        return min(fits, key=lambda hop: view.load(hop.link)) if fits else hops[0]

    return choose


def _by_weight(routing: Routing) -> Choose:
    """Return the decisions among links with weights: table_c has the sums of the weights so far."""
    tables, n_routers = routing.tables, routing.topology.n_routers

    def choose(
        view: View, router: int, dst_node: int, state: int, key: int, wire_bytes: int
    ) -> Hop:
        hops = routing.choices(router, dst_node, state)
        if len(hops) == 1:
            return hops[0]
        at = tables.table_a[router * n_routers + tables.port_router[dst_node]]
        sums = tables.table_c[at + 2 :: 2][: len(hops)]
        left = int(draw(np.uint64(key), 0, int(sums[-1])))
        return hops[int(np.searchsorted(sums, left, side="right"))]

    return choose


def pins_of(routing: Routing) -> dict[tuple[int, int, int], list[int]]:
    """Return ``key`` of pinned flows at each visit: the place of their link in ``choices``.

    By source port, destination port and queue pair.
    """
    tables, n_ports = routing.tables, routing.topology.n_ports
    width = int(tables.params[PIN_WIDTH]) if tables.code == RoutingCode.EQUAL_COST else 0
    if not width:
        return {}
    source = np.repeat(np.arange(n_ports), np.diff(tables.table_b[: n_ports + 1])).tolist()
    rows = tables.table_b[n_ports + 1 :].reshape(-1, width).tolist()
    return {
        (src, *divmod(flow, routing.queue_pairs)): [place for place in places if place >= 0]
        for src, (flow, *places) in zip(source, rows, strict=True)
    }
