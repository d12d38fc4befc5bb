"""Dragonfly routing kernels; the tables are told in `netsim.routing.dragonfly`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL
from netsim.routing.kernels_common import draw, load_of

MINIMAL, VALIANT, UGAL_L, UGAL_G = 10, 11, 12, 13

BIAS, A, G, K, LOCAL_PER_GROUP, FIRST_LOCAL, FIRST_GLOBAL, N_ROUTERS, N_GLOBAL, BITS = range(10)


@njit(**HOT_KERNEL)
def _local_hops(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    return np.int64(rt.table_a[a * a + (r - base) * a + (t - base)])


@njit(**HOT_KERNEL)
def _local_link(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    offset = np.int64(rt.table_a[(r - base) * a + (t - base)])
    return rt.params[FIRST_LOCAL] + group * rt.params[LOCAL_PER_GROUP] + offset


@njit(**HOT_KERNEL)
def _pair_link(rt, src, dst, copy):  # type: ignore[no-untyped-def]
    p = rt.params
    return np.int64(rt.table_b[((p[N_ROUTERS] + src) * p[G] + dst) * p[K] + copy])


@njit(**HOT_KERNEL)
def _sender(rt, link):  # type: ignore[no-untyped-def]
    return np.int64(rt.table_c[rt.params[N_ROUTERS] + link - rt.params[FIRST_GLOBAL]])


@njit(**HOT_KERNEL)
def _receiver(rt, link):  # type: ignore[no-untyped-def]
    p = rt.params
    return np.int64(rt.table_c[p[N_ROUTERS] + p[N_GLOBAL] + link - p[FIRST_GLOBAL]])


@njit(**HOT_KERNEL)
def _toward(rt, router, group, copy):  # type: ignore[no-untyped-def]
    """The next link from a router toward its group's ``copy``-th link to a group."""
    return np.int64(rt.table_b[(router * rt.params[G] + group) * rt.params[K] + copy])


@njit(**HOT_KERNEL)
def _decide(rt, router, here, target, dst_router, key, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """The plan: the group to go to first, and which copies of the links to take."""
    p = rt.params
    g, k = p[G], p[K]
    direct, bits = draw(key, 1, k), p[BITS]
    plan_min = 1 + (((target << bits) | direct) << bits)
    if rt.code == MINIMAL or g == 2:
        return plan_min
    middle = draw(key, 0, g - 2)
    if middle >= min(here, target):
        middle += 1
    if middle >= max(here, target):
        middle += 1
    out, copy = draw(key, 2, k), draw(key, 3, k)
    plan_val = 1 + ((((middle << bits) | out) << bits) | copy)
    if rt.code == VALIANT:
        return plan_val
    minimal = _pair_link(rt, here, target, direct)
    detour = _pair_link(rt, here, middle, out)
    second = _pair_link(rt, middle, target, copy)
    hops_min = (
        _local_hops(rt, here, router, _sender(rt, minimal))
        + 1
        + _local_hops(rt, target, _receiver(rt, minimal), dst_router)
    )
    hops_val = (
        _local_hops(rt, here, router, _sender(rt, detour))
        + 1
        + _local_hops(rt, middle, _receiver(rt, detour), _sender(rt, second))
        + 1
        + _local_hops(rt, target, _receiver(rt, second), dst_router)
    )
    look_min, look_val = minimal, detour
    if rt.code == UGAL_L:
        look_min = _toward(rt, router, target, direct)
        look_val = _toward(rt, router, middle, out)
    load_min = load_of(look_min, now, free_at, waiting)
    load_val = load_of(look_val, now, free_at, waiting)
    if load_min * hops_min <= load_val * hops_val + p[BIAS]:
        return plan_min
    return plan_val


@njit(**HOT_KERNEL)
def route_dragonfly(rt, router, dst_router, state, key, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """Next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    here, target = np.int64(rt.table_c[router]), np.int64(rt.table_c[dst_router])
    taken = state & 3
    if here == target:
        return _local_link(rt, here, router, dst_router), taken, state
    plan = state >> 2
    if plan == 0:
        plan = _decide(rt, router, here, target, dst_router, key, now, free_at, waiting)
    bits, group, copy = p[BITS], target, np.int64(0)
    code = plan - 1
    if taken == 0:
        group = code >> (2 * bits)
    if bits:
        if taken == 0:
            code >>= bits
        copy = code & ((1 << bits) - 1)
    link = _toward(rt, router, group, copy)
    if link >= p[FIRST_GLOBAL]:
        return link, taken, (plan << 2) | (taken + 1)
    return link, taken, (plan << 2) | taken
