"""Torus and mesh routing kernels; the tables are told in `netsim.routing.torus`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.routing.kernels_common import load_of

DIMENSION_ORDER, MINIMAL_ADAPTIVE = 30, 31

N_DIMS, N_ESCAPE, LENGTHS = 1, 2, 3


@njit(**HOT_KERNEL)
def route_torus(rt, router, dst_router, state, wire_bytes, now, free_at, waiting, room, nv):  # type: ignore[no-untyped-def]
    """Next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    n = p[N_DIMS]
    if state == 0:
        state = 1 + np.int64(rt.table_c[router])
    escape, escape_vc = np.int64(-1), np.int64(0)
    best, least = np.int64(-1), np.int64(0)
    adaptive_vc = p[N_ESCAPE]
    for d in range(n):
        c, t = np.int64(rt.table_b[router * n + d]), np.int64(rt.table_b[dst_router * n + d])
        if c == t:
            continue
        plus, tie, vc = t > c, False, np.int64(0)
        if p[LENGTHS + n + d]:
            length = p[LENGTHS + d]
            twice = 2 * (t - c)
            if twice < 0:
                twice += 2 * length
            tie = twice == length
            plus = state == 1 if tie else twice < length
            wraps = t < c if plus else t > c
            vc = np.int64(0) if wraps else np.int64(1)
        way = 0 if plus else 1
        link = np.int64(rt.table_a[(router * n + d) * 2 + way])
        if escape < 0:
            escape, escape_vc = link, vc
            if rt.code == DIMENSION_ORDER:
                break
        for other in range(2 if tie else 1):
            if other:
                link = np.int64(rt.table_a[(router * n + d) * 2 + 1 - way])
            if room[link * nv + adaptive_vc] >= wire_bytes:
                load = load_of(link, now, free_at, waiting)
                if best < 0 or load < least:
                    best, least = link, load
    if best >= 0:
        return best, adaptive_vc, state
    return escape, escape_vc, state
