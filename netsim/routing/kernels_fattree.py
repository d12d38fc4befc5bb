"""Fat-tree routing kernels; `netsim.routing.fattree` describes the tables."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry, load_of

D_MOD_K, PARTITION, ADAPTIVE, RANDOM_UP, TWO_CHOICE = plain_codes(RoutingRule.FAT_TREE)

M2, W2, W3, N_LEAVES, FIRST_L2_POD, FIRST_SPINE, UP1, DOWN1, UP2, DOWN2 = range(1, 11)
# Entries of table_a (table_b) from one leaf (L2 switch) to the next; 0: all have the same ports.
ROW = 11


@njit(**INNER_KERNEL)
def choose_up(rt, first, ports, key, view):  # type: ignore[no-untyped-def]
    """Return one of the links ``first`` + port; ``ports`` is their list's offset in table_c."""
    count = entry(rt.table_c, ports)
    ports += 1
    one = draw(key, 0, count)
    best = first + entry(rt.table_c, ports + one)
    if rt.code == RANDOM_UP or count == 1:
        return best
    least = load_of(view, best)
    if rt.code == TWO_CHOICE:
        two = draw(key, 1, count - 1)
        if two >= one:
            two += 1
        other = first + entry(rt.table_c, ports + two)
        if load_of(view, other) < least:
            return other
        return best
    if least == 0:
        return best
    alike = np.int64(0)
    for i in range(count):
        load = load_of(view, first + entry(rt.table_c, ports + i))
        if load < least:
            least, alike = load, np.int64(1)
        elif load == least:
            alike += 1
    left = draw(key, 1, alike)
    for i in range(count):
        best = first + entry(rt.table_c, ports + i)
        if load_of(view, best) == least:
            if left == 0:
                break
            left -= 1
    return best


@njit(**HOT_KERNEL)
def route_fattree(rt, router, dst_router, dst_node, key, view):  # type: ignore[no-untyped-def]
    """Return the next link of a packet that is not yet at its destination's leaf."""
    p = rt.params
    place = entry(rt.table_c, router)
    dst_pod = entry(rt.table_c, dst_router)
    if router < p[N_LEAVES]:
        first = p[UP1] + router * p[W2]
        port = entry(rt.table_a, router * p[ROW] + dst_node)
    elif router < p[FIRST_SPINE]:
        index = router - p[N_LEAVES]
        if place == dst_pod:
            return p[DOWN1] + dst_router * p[W2] + index - place * p[W2]
        first = p[UP2] + index * p[W3]
        port = entry(rt.table_b, index * p[ROW] + dst_node)
    else:
        spine = router - p[FIRST_SPINE] - place * p[W3]
        return p[DOWN2] + (dst_pod * p[W2] + place) * p[W3] + spine
    if rt.code == D_MOD_K or rt.code == PARTITION:
        return first + port
    return choose_up(rt, first, port, key, view)
