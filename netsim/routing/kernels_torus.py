"""Torus and mesh routing kernels; `netsim.routing.torus` describes the tables."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry, load_of

DIMENSION_ORDER, MINIMAL_ADAPTIVE = plain_codes(RoutingRule.TORUS)

N_DIMS, N_ESCAPE, LENGTHS = 1, 2, 3


@njit(**HOT_KERNEL)
def productive_links(rt, router, dst_router, d):  # type: ignore[no-untyped-def]
    """Return the links that reduce the distance in dimension ``d``, up and down; -1 for none."""
    p = rt.params
    n = p[N_DIMS]
    c, t = entry(rt.table_b, router * n + d), entry(rt.table_b, dst_router * n + d)
    plus, minus = t > c, t < c
    if c != t and p[LENGTHS + n + d]:
        twice = 2 * (t - c)
        if twice < 0:
            twice += 2 * p[LENGTHS + d]
        plus, minus = twice <= p[LENGTHS + d], twice >= p[LENGTHS + d]
    up, down = np.int64(-1), np.int64(-1)
    if plus:
        up = entry(rt.table_a, (router * n + d) * 2)
    if minus:
        down = entry(rt.table_a, (router * n + d) * 2 + 1)
    return up, down


@njit(**HOT_KERNEL)
def route_torus(rt, router, dst_router, state, key, wire_bytes, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    n = p[N_DIMS]
    if state == 0:
        state = 1 + (draw(key, 0, 2) if p[LENGTHS + 2 * n] else entry(rt.table_c, router))
    escape, escape_vc = np.int64(-1), np.int64(0)
    best, least = np.int64(-1), np.int64(0)
    adaptive_vc = p[N_ESCAPE]
    for d in range(n):
        up, down = productive_links(rt, router, dst_router, d)
        if up < 0 and down < 0:
            continue
        plus = up >= 0
        if plus and down >= 0:
            others = entry(rt.table_c, dst_router) + entry(rt.table_b, dst_router * n + d)
            plus = (state + others) & 1 == 1
        link, other = (up, down) if plus else (down, up)
        if escape < 0:
            escape = link
            if p[LENGTHS + n + d]:
                c, t = entry(rt.table_b, router * n + d), entry(rt.table_b, dst_router * n + d)
                wraps = t < c if plus else t > c
                escape_vc = np.int64(0) if wraps else np.int64(1)
            if rt.code == DIMENSION_ORDER:
                break
        while link >= 0:
            if entry(view.room, link * view.nv + adaptive_vc) >= wire_bytes:
                load = load_of(view, link)
                if best < 0 or load < least:
                    best, least = link, load
            link, other = other, np.int64(-1)
    if best >= 0:
        return best, adaptive_vc, state
    return escape, escape_vc, state
