"""Dragonfly routing kernels; the tables are told in `netsim.routing.dragonfly`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.routing.kernels_common import draw, load_of

MINIMAL, VALIANT, UGAL_L, UGAL_G = 10, 11, 12, 13

BIAS, A, G, K, LOCAL_PER_GROUP, FIRST_LOCAL, FIRST_GLOBAL, N_ROUTERS, N_GLOBAL = range(9)


@njit(cache=True)
def _local_hops(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    return np.int64(rt.table_a[a * a + (r - base) * a + (t - base)])


@njit(cache=True)
def _local_link(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    offset = np.int64(rt.table_a[(r - base) * a + (t - base)])
    return rt.params[FIRST_LOCAL] + group * rt.params[LOCAL_PER_GROUP] + offset


@njit(cache=True)
def _pair_link(rt, src, dst, copy):  # type: ignore[no-untyped-def]
    return np.int64(rt.table_b[(src * rt.params[G] + dst) * rt.params[K] + copy])


@njit(cache=True)
def _sender(rt, link):  # type: ignore[no-untyped-def]
    return np.int64(rt.table_c[rt.params[N_ROUTERS] + link - rt.params[FIRST_GLOBAL]])


@njit(cache=True)
def _receiver(rt, link):  # type: ignore[no-untyped-def]
    p = rt.params
    return np.int64(rt.table_c[p[N_ROUTERS] + p[N_GLOBAL] + link - p[FIRST_GLOBAL]])


@njit(cache=True)
def _first_link(rt, group, router, link):  # type: ignore[no-untyped-def]
    owner = _sender(rt, link)
    if owner == router:
        return link
    return _local_link(rt, group, router, owner)


@njit(cache=True)
def _decide(rt, router, here, target, dst_router, key, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """The global link to take first, and which copy to take from the intermediate group."""
    p = rt.params
    g, k = p[G], p[K]
    minimal = np.int64(-1)
    if rt.code != VALIANT or g == 2:
        minimal = _pair_link(rt, here, target, draw(key, 1, k))
        if rt.code == MINIMAL or g == 2:
            return minimal, np.int64(0)
    middle = draw(key, 0, g - 2)
    if middle >= min(here, target):
        middle += 1
    if middle >= max(here, target):
        middle += 1
    detour = _pair_link(rt, here, middle, draw(key, 2, k))
    copy = draw(key, 3, k)
    if rt.code == VALIANT:
        return detour, copy
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
        look_min = _first_link(rt, here, router, minimal)
        look_val = _first_link(rt, here, router, detour)
    load_min = load_of(look_min, now, free_at, waiting)
    load_val = load_of(look_val, now, free_at, waiting)
    if load_min * hops_min <= load_val * hops_val + p[BIAS]:
        return minimal, np.int64(0)
    return detour, copy


@njit(cache=True)
def route_dragonfly(rt, router, dst_router, state, key, now, free_at, waiting):  # type: ignore[no-untyped-def]
    """Next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    here, target = np.int64(rt.table_c[router]), np.int64(rt.table_c[dst_router])
    taken = state & 3
    if here == target:
        return _local_link(rt, here, router, dst_router), taken, state
    plan = state >> 2
    if plan == 0:
        first, copy = _decide(rt, router, here, target, dst_router, key, now, free_at, waiting)
        plan = 1 + (first - p[FIRST_GLOBAL]) * p[K] + copy
    if taken == 0:
        link = plan - 1
        if p[K] > 1:
            link //= p[K]
        link += p[FIRST_GLOBAL]
    else:
        copy = np.int64(0)
        if p[K] > 1:
            copy = (plan - 1) % p[K]
        link = _pair_link(rt, here, target, copy)
    owner = _sender(rt, link)
    if owner == router:
        return link, taken, (plan << 2) | (taken + 1)
    return _local_link(rt, here, router, owner), taken, (plan << 2) | taken
