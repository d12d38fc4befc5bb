"""The interface between the packet engine and all routings."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL
from netsim.routing.kernels_codes import RULE_OF, RoutingRule
from netsim.routing.kernels_common import entry
from netsim.routing.kernels_dragonfly import (
    FIRST_GLOBAL,
    MINIMAL,
    dragonfly_compares,
    minimal_link,
    route_again,
    route_once,
)
from netsim.routing.kernels_dragonfly_merlin import route_merlin_ugal
from netsim.routing.kernels_dragonfly_node import node_compares, route_by_node
from netsim.routing.kernels_dragonfly_plus import route_dragonfly_plus
from netsim.routing.kernels_fattree import route_fattree
from netsim.routing.kernels_kinds import compiled_by_tables
from netsim.routing.kernels_tables import STEP, route_tables
from netsim.routing.kernels_torus import N_DIMS, productive_links, route_torus
from netsim.routing.tables import StaticTables, UgalTables

(NEXT_LINK, TABLES, DECIDES_ONCE, DECIDES_AGAIN, MERLIN, BY_NODE, FAT_TREE, TORUS,
 PLUS) = (int(rule) for rule in RoutingRule)  # fmt: skip


@njit(**PLAIN_KERNEL, forceinline=True)
def route(rt, router, dst_node, state, key, wire_bytes, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet; link -1 for a code without a rule.

    The key is fresh for every (message, packet, router visit).
    """
    dst_router = entry(rt.port_router, dst_node)
    rule, state, vc = RULE_OF[np.uint64(rt.code)], np.int64(state), np.int64(0)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), vc, state
    if rule == DECIDES_ONCE:
        return route_once(rt, router, dst_router, state, key, view)
    if rule == DECIDES_AGAIN:
        return route_again(rt, router, dst_router, state, key, view)
    if rule == FAT_TREE:
        return route_fattree(rt, router, dst_router, dst_node, key, view), vc, state
    if rule == NEXT_LINK:
        link = entry(rt.table_a, router * rt.params[1] + dst_router)
        return link, state, state + rt.params[STEP]
    if rule == TABLES:
        link = route_tables(rt, router, dst_router, dst_node, key, view)
        return link, state, state + rt.params[STEP]
    if rule == MERLIN:
        return route_merlin_ugal(rt, router, dst_router, state, key, view)
    if rule == BY_NODE:
        return route_by_node(rt, router, dst_router, state, key, view)
    if rule == PLUS:
        return route_dragonfly_plus(rt, router, dst_router, state, key, view)
    if rule == TORUS:
        return route_torus(rt, router, dst_router, state, key, wire_bytes, view)
    return np.int64(-1), vc, state


@njit(**PLAIN_KERNEL, forceinline=True)
def static_route(rt, router, dst_node, state, view):  # type: ignore[no-untyped-def]
    """Return the next hop under a routing without draws and loads; see `route`."""
    dst_router = entry(rt.port_router, dst_node)
    rule, state, vc = RULE_OF[np.uint64(rt.code)], np.int64(state), np.int64(0)
    key = np.uint64(0)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), vc, state
    if rt.code == MINIMAL:
        link = minimal_link(rt, router, dst_router)
        return link, state, state + (link >= rt.params[FIRST_GLOBAL])
    if rule == FAT_TREE:
        return route_fattree(rt, router, dst_router, dst_node, key, view), vc, state
    if rule == NEXT_LINK:
        link = entry(rt.table_a, router * rt.params[1] + dst_router)
        return link, state, state + rt.params[STEP]
    if rule == TABLES:
        link = route_tables(rt, router, dst_router, dst_node, key, view)
        return link, state, state + rt.params[STEP]
    if rule == TORUS:
        return route_torus(rt, router, dst_router, state, key, np.int64(1), view)
    return np.int64(-1), vc, state


def next_hop(rt, router, dst_node, state, key, wire_bytes, view):  # type: ignore[no-untyped-def]
    """Return the next hop as `route`, by the code of the routings of the class of ``rt`` alone."""
    return route(rt, router, dst_node, state, key, wire_bytes, view)


def _static_hop(rt, router, dst_node, state, key, wire_bytes, view):  # type: ignore[no-untyped-def]
    return static_route(rt, router, dst_node, state, view)


def _once_hop(rt, router, dst_node, state, key, wire_bytes, view):  # type: ignore[no-untyped-def]
    dst_router = entry(rt.port_router, dst_node)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), np.int64(0), np.int64(state)
    return route_once(rt, router, dst_router, np.int64(state), key, view)


compiled_by_tables(next_hop, {StaticTables: _static_hop, UgalTables: _once_hop})


@njit(**PLAIN_KERNEL)
def links_compared(rt, router, dst_node, state, key):  # type: ignore[no-untyped-def]
    """Return the links whose ``room`` `route` will look at for a packet, -1 for none; see `route`.

    For routings with ``compares_credits``. An engine whose credits become visible when
    a check makes those of these links visible first.
    """
    dst_router = entry(rt.port_router, dst_node)
    rule = RULE_OF[np.uint64(rt.code)]
    if rule in (DECIDES_ONCE, DECIDES_AGAIN) and router != dst_router:
        return dragonfly_compares(rt, router, dst_router, np.int64(state), key)
    if rule == BY_NODE and router != dst_router:
        return node_compares(rt, router, dst_router, np.int64(state), key)
    none = np.int64(-1)
    return none, none, none, none


@njit(**PLAIN_KERNEL, forceinline=True)
def pairs_compared(rt, router, dst_node):  # type: ignore[no-untyped-def]
    """Return the number of `pair_compared` for a packet; 0 at its last router."""
    if router == entry(rt.port_router, dst_node):
        return np.int64(0)
    return rt.params[N_DIMS]


@njit(**PLAIN_KERNEL, forceinline=True)
def pair_compared(rt, router, dst_node, i):  # type: ignore[no-untyped-def]
    """Return two links, -1 for none, whose ``room`` on channel ``room_vc`` `route` will read.

    For routings with a ``room_vc``, which look at it everywhere.
    """
    return productive_links(rt, router, entry(rt.port_router, dst_node), i)
