"""Fat-tree routing kernels; the tables are told in `netsim.routing.fattree`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.routing.kernels_common import load_of

D_MOD_K, ADAPTIVE, PARTITION = 20, 21, 22

# ROW: entries of table_a (table_b) from one leaf (L2 switch) to the next; 0: all have the same.
ROW, M2, W2, W3, N_LEAVES, FIRST_L2_POD, FIRST_SPINE, UP1, DOWN1, UP2, DOWN2 = range(11)


@njit(**HOT_KERNEL)
def _least_loaded(first, count, start, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """The least loaded of links first..first+count-1; ties: the first from start on."""
    best = first + start
    least = load_of(best, now, free_at, waiting)
    port = start
    for _ in range(count - 1):
        if least == 0:
            break
        port += 1
        if port == count:
            port = np.int64(0)
        load = load_of(first + port, now, free_at, waiting)
        if load < least:
            best, least = first + port, load
    return best


@njit(**HOT_KERNEL)
def route_fattree(rt, router, dst_router, dst_node, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """Next link of a packet that is not yet at its destination's leaf."""
    p = rt.params
    place = np.int64(rt.table_c[router])
    dst_pod = np.int64(rt.table_c[dst_router])
    if router < p[N_LEAVES]:
        first, count = p[UP1] + router * p[W2], p[W2]
        start = np.int64(rt.table_a[router * p[ROW] + dst_node])
    elif router < p[FIRST_SPINE]:
        index = router - p[N_LEAVES]
        if place == dst_pod:
            return p[DOWN1] + dst_router * p[W2] + index - place * p[W2]
        first, count = p[UP2] + index * p[W3], p[W3]
        start = np.int64(rt.table_b[index * p[ROW] + dst_node])
    else:
        spine = router - p[FIRST_SPINE] - place * p[W3]
        return p[DOWN2] + (dst_pod * p[W2] + place) * p[W3] + spine
    if rt.code != ADAPTIVE:
        return first + start
    return _least_loaded(first, count, start, now, free_at, waiting)
