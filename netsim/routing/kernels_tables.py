"""Kernels of table-based routings, see `netsim.routing.any_graph` and `weighted`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL
from netsim.routing.kernels_codes import RoutingCode, codes_between
from netsim.routing.kernels_common import draw, entry
from netsim.routing.kernels_fattree import choose_up

SHORTEST_PATH, BY_DESTINATION, LEAST_LOADED, WEIGHTED = codes_between(
    RoutingCode.SHORTEST_PATH, RoutingCode.WEIGHTED
)

ROW, STEP = 1, 2


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
    if rt.code == WEIGHTED:
        return _drawn(rt, paths, key)
    return choose_up(rt, np.int64(0), paths, key, now, free_at, waiting)
