"""Kernels of table-based routings, see `netsim.routing.any_graph` and `weighted`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry
from netsim.routing.kernels_fattree import choose_up
from netsim.routing.kernels_random import packet_key

(SHORTEST_PATH,) = plain_codes(RoutingRule.NEXT_LINK)
BY_DESTINATION, LEAST_LOADED, WEIGHTED, EQUAL_COST = plain_codes(RoutingRule.TABLES)

ROW, STEP, QUEUE_PAIRS, SEEDS, PIN_WIDTH = 1, 2, 3, 4, 5


@njit(**PLAIN_KERNEL, inline="always")
def hashes_flows(rt):  # type: ignore[no-untyped-def]
    """Return whether all packets of a flow get the same key at a router."""
    return rt.code == EQUAL_COST and rt.params[QUEUE_PAIRS] > 0


@njit(**INNER_KERNEL)
def pinned_link(rt, src, flow, visit):  # type: ignore[no-untyped-def]
    """Return the place among the equal-cost links that a flow is pinned to, -1 if it is not.

    ``flow`` is the destination port times the queue pairs, plus the queue pair.
    """
    width = rt.params[PIN_WIDTH]
    first = len(rt.port_router) + 1
    low, end = entry(rt.table_b, src), entry(rt.table_b, src + 1)
    high = end
    while low < high:
        middle = (low + high) >> 1
        if entry(rt.table_b, first + middle * width) < flow:
            low = middle + 1
        else:
            high = middle
    at = first + low * width
    if low < end and entry(rt.table_b, at) == flow and visit + 1 < width:
        return entry(rt.table_b, at + 1 + visit)
    return np.int64(-1)


@njit(**PLAIN_KERNEL, inline="always")
def flow_key(rt, seed, src, dst, packet, visit):  # type: ignore[no-untyped-def]
    """Return the key of a router visit: that of all packets between two ports on a queue pair.

    Of a pinned flow it is the place of its link.
    """
    pair = packet % rt.params[QUEUE_PAIRS]
    if rt.params[PIN_WIDTH] > 0:
        place = pinned_link(rt, src, dst * rt.params[QUEUE_PAIRS] + pair, visit)
        if place >= 0:
            return np.uint64(place)
    flow = (np.int64(src) << 32) | np.int64(dst)
    return packet_key(seed, flow, pair, visit * rt.params[SEEDS])


@njit(**PLAIN_KERNEL, inline="always")
def equal_cost_place(key, n):  # type: ignore[no-untyped-def]
    """Return which of n links a key names: that place, or drawn if it is none."""
    if key < np.uint64(n):
        return np.int64(key)
    return draw(key, 0, n)


@njit(**INNER_KERNEL)
def _drawn(rt, paths, key):  # type: ignore[no-untyped-def]
    """Return a link of a list of (link, sum of the weights so far), by its weight."""
    count = entry(rt.table_c, paths)
    last = paths + 2 * count
    left = draw(key, 0, entry(rt.table_c, last))
    paths += 1
    while paths + 1 < last and entry(rt.table_c, paths + 1) <= left:
        paths += 2
    return entry(rt.table_c, paths)


@njit(**INNER_KERNEL)
def route_tables(rt, router, dst_router, dst_node, key, view):  # type: ignore[no-untyped-def]
    """Return the next link of a packet that is not yet at its destination's router."""
    row = router * rt.params[ROW]
    if rt.code == BY_DESTINATION:
        return entry(rt.table_a, row + dst_node)
    paths = entry(rt.table_a, row + dst_router)
    if rt.code == EQUAL_COST:
        return entry(rt.table_c, paths + 1 + equal_cost_place(key, entry(rt.table_c, paths)))
    if rt.code == WEIGHTED:
        return _drawn(rt, paths, key)
    return choose_up(rt, np.int64(0), paths, key, view)
