"""Kernels of table-based routings, see `netsim.routing.any_graph` and `weighted`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.routing.kernels_codes import RoutingCode, codes_between
from netsim.routing.kernels_common import draw, entry
from netsim.routing.kernels_fattree import choose_up
from netsim.routing.kernels_random import packet_key

SHORTEST_PATH, BY_DESTINATION, LEAST_LOADED, WEIGHTED, EQUAL_COST = codes_between(
    RoutingCode.SHORTEST_PATH, RoutingCode.EQUAL_COST
)

ROW, STEP, QUEUE_PAIRS, SEEDS = 1, 2, 3, 4


@njit(**PLAIN_KERNEL, inline="always")
def hashes_flows(rt):  # type: ignore[no-untyped-def]
    """Return whether all packets of a flow get the same key at a router."""
    return rt.code == EQUAL_COST and rt.params[QUEUE_PAIRS] > 0


@njit(**PLAIN_KERNEL, inline="always")
def flow_key(rt, seed, src, dst, packet, visit):  # type: ignore[no-untyped-def]
    """Return the key of a router visit: that of all packets between two ports on a queue pair."""
    flow = (np.int64(src) << 32) | np.int64(dst)
    return packet_key(seed, flow, packet % rt.params[QUEUE_PAIRS], visit * rt.params[SEEDS])


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
def route_tables(rt, router, dst_router, dst_node, key, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """Return the next link of a packet that is not yet at its destination's router."""
    row = router * rt.params[ROW]
    if rt.code == BY_DESTINATION:
        return entry(rt.table_a, row + dst_node)
    paths = entry(rt.table_a, row + dst_router)
    if rt.code == EQUAL_COST:
        return entry(rt.table_c, paths + 1 + draw(key, 0, entry(rt.table_c, paths)))
    if rt.code == WEIGHTED:
        return _drawn(rt, paths, key)
    return choose_up(rt, np.int64(0), paths, key, now, free_at, waiting)
