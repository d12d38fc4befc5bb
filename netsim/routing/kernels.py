"""The interface between the packet engine and all routings."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL
from netsim.routing.kernels_common import entry
from netsim.routing.kernels_dragonfly import (
    ADAPTIVE_LOCAL,
    FIRST_GLOBAL,
    MERLIN_ADAPTIVE,
    MERLIN_UGAL,
    MINIMAL,
    dragonfly_compares,
    minimal_link,
    route_dragonfly,
    route_ugal,
)
from netsim.routing.kernels_dragonfly_merlin import route_merlin_ugal
from netsim.routing.kernels_dragonfly_node import VALIANT_NODE, node_compares, route_by_node
from netsim.routing.kernels_dragonfly_plus import PLUS_MINIMAL, route_dragonfly_plus
from netsim.routing.kernels_fattree import D_MOD_K, LAST_STATIC, TWO_CHOICE, route_fattree
from netsim.routing.kernels_kinds import compiled_by_tables
from netsim.routing.kernels_tables import EQUAL_COST, SHORTEST_PATH, STEP, route_tables
from netsim.routing.kernels_torus import N_DIMS, productive_links, route_torus
from netsim.routing.tables import StaticTables, UgalTables


@njit(**PLAIN_KERNEL, forceinline=True)
def route(  # type: ignore[no-untyped-def]
    rt, router, dst_node, state, key, wire_bytes, now, free_at, waiting, space, room, nv,
    buffer_bytes,
):  # fmt: skip
    """Return the next hop of a packet.

    Parameters
    ----------
    rt : RouteTables
    router, dst_node, state : int64
    key : uint64
        Fresh for every (message, packet, router visit).
    wire_bytes : int64
        Of the packet.
    now : int64
        Present tick.
    free_at : (n_links,) int64
        Tick from which the link is free.
    waiting : (n_links,) int64
        Ticks of serialisation of all packets in the link's FIFOs.
    space : (n_links * nv,) int64
        Free bytes behind (link, channel) at ``link*nv + vc``.
    room : (n_links * nv,) int64
        The same, less the bytes of the packets that wait; looked at for the adaptive channel of
        links that leave ``router``, and for all channels of `links_compared`.
    nv : int64
        Channels a link in ``space`` and ``room``.
    buffer_bytes : int64
        Free bytes behind an idle channel; of its output buffer, for routings with
        ``compares_queues``.

    Returns
    -------
    link, vc, state : int64
    """
    dst_router = entry(rt.port_router, dst_node)
    code, state = rt.code, np.int64(state)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), np.int64(0), state
    if MINIMAL <= code <= MERLIN_ADAPTIVE:
        return route_dragonfly(
            rt, router, dst_router, state, key, now, free_at, waiting, space, room, nv,
            buffer_bytes,
        )  # fmt: skip
    if D_MOD_K <= code <= TWO_CHOICE:
        up_or_down = route_fattree(rt, router, dst_router, dst_node, key, now, free_at, waiting)
        return up_or_down, np.int64(0), state
    if code == SHORTEST_PATH:
        link = entry(rt.table_a, router * rt.params[1] + dst_router)
        return link, state, state + rt.params[STEP]
    if code <= EQUAL_COST:
        link = route_tables(rt, router, dst_router, dst_node, key, now, free_at, waiting)
        return link, state, state + rt.params[STEP]
    if code == MERLIN_UGAL:
        return route_merlin_ugal(rt, router, dst_router, state, key, space, room, nv)
    if code >= VALIANT_NODE:
        return route_by_node(
            rt, router, dst_router, state, key, now, free_at, waiting, space, room, nv,
            buffer_bytes,
        )  # fmt: skip
    if code >= PLUS_MINIMAL:
        return route_dragonfly_plus(rt, router, dst_router, state, key, now, free_at, waiting)
    return route_torus(
        rt, router, dst_router, state, key, wire_bytes, now, free_at, waiting, room, nv
    )


@njit(**PLAIN_KERNEL, forceinline=True)
def static_route(rt, router, dst_node, state, idle, room):  # type: ignore[no-untyped-def]
    """Return the next hop under a routing without draws and loads; see `route`.

    ``idle``: (n_links,) zeros.
    """
    dst_router = entry(rt.port_router, dst_node)
    vc, state = np.int64(0), np.int64(state)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), vc, state
    code, key, now = rt.code, np.uint64(0), np.int64(0)
    if code == MINIMAL:
        link = minimal_link(rt, router, dst_router)
        return link, state, state + (link >= rt.params[FIRST_GLOBAL])
    if D_MOD_K <= code <= LAST_STATIC:
        up_or_down = route_fattree(rt, router, dst_router, dst_node, key, now, idle, idle)
        return up_or_down, vc, state
    if code == SHORTEST_PATH:
        link = entry(rt.table_a, router * rt.params[1] + dst_router)
        return link, state, state + rt.params[STEP]
    if code <= EQUAL_COST:
        link = route_tables(rt, router, dst_router, dst_node, key, now, idle, idle)
        return link, state, state + rt.params[STEP]
    one = np.int64(1)
    return route_torus(rt, router, dst_router, state, key, one, now, idle, idle, room, rt.n_vcs)


def next_hop(  # type: ignore[no-untyped-def]
    rt, router, dst_node, state, key, wire_bytes, now, free_at, waiting, space, room, nv,
    buffer_bytes,
):  # fmt: skip
    """Return the next hop as `route`, by the code of the routings of the class of ``rt`` alone."""
    return route(
        rt, router, dst_node, state, key, wire_bytes, now, free_at, waiting, space, room, nv,
        buffer_bytes,
    )  # fmt: skip


def _static_hop(  # type: ignore[no-untyped-def]
    rt, router, dst_node, state, key, wire_bytes, now, free_at, waiting, space, room, nv,
    buffer_bytes,
):  # fmt: skip
    return static_route(rt, router, dst_node, state, waiting, room)


def _ugal_hop(  # type: ignore[no-untyped-def]
    rt, router, dst_node, state, key, wire_bytes, now, free_at, waiting, space, room, nv,
    buffer_bytes,
):  # fmt: skip
    dst_router = entry(rt.port_router, dst_node)
    if router == dst_router:
        return entry(rt.eject_link, dst_node), np.int64(0), np.int64(state)
    return route_ugal(
        rt, router, dst_router, np.int64(state), key, now, free_at, waiting, space, room, nv,
        buffer_bytes,
    )  # fmt: skip


compiled_by_tables(next_hop, {StaticTables: _static_hop, UgalTables: _ugal_hop})


@njit(**PLAIN_KERNEL)
def links_compared(rt, router, dst_node, state, key):  # type: ignore[no-untyped-def]
    """Return the links whose ``room`` `route` will look at for a packet, -1 for none; see `route`.

    For routings with ``compares_credits``. An engine whose credits become visible when
    a check makes those of these links visible first.
    """
    dst_router = entry(rt.port_router, dst_node)
    if MINIMAL <= rt.code <= ADAPTIVE_LOCAL and router != dst_router:
        return dragonfly_compares(rt, router, dst_router, np.int64(state), key)
    if rt.code >= VALIANT_NODE and router != dst_router:
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
