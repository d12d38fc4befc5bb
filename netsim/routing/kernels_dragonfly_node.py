"""Kernels of Valiant paths by a random node, see `netsim.routing.dragonfly_node`."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry, load_of
from netsim.routing.kernels_dragonfly import (
    BIAS,
    COMPARES,
    FIRST_GLOBAL,
    N_ROUTERS,
    OUTPUT_QUEUE,
    WEIGHT,
    K,
    _local_hops,
    _local_link,
    _pair_link,
    _parts,
    _plan,
    _receiver,
    _sender,
    _toward,
    less_used,
)

VALIANT_NODE, UGAL_NODE = plain_codes(RoutingRule.BY_NODE)

LEAVES, ARRIVED, TURNED, ENTERED = range(4)
"""Where a packet is: before and after its path's first global link, past the drawn node's router,
in the destination's group."""


@njit(**HOT_KERNEL)
def _hops_between(rt, src, dst, copy):  # type: ignore[no-untyped-def]
    """Return the links of the minimal path between two routers, over a copy of the links of their
    groups."""
    own_group, target = entry(rt.table_c, src), entry(rt.table_c, dst)
    if own_group == target:
        return _local_hops(rt, own_group, src, dst)
    link = _pair_link(rt, own_group, target, copy)
    first = _local_hops(rt, own_group, src, _sender(rt, link))
    return first + 1 + _local_hops(rt, target, _receiver(rt, link), dst)


@njit(**INNER_KERNEL)
def _stays(rt, router, target, dst_router, middle, direct, out, copy, view):  # type: ignore[no-untyped-def]
    """Return whether UGAL takes the minimal path rather than that by a drawn router."""
    p = rt.params
    hops_min, hops_val = np.int64(1), p[WEIGHT]
    if hops_val == 0:
        hops_min = _hops_between(rt, router, dst_router, direct)
        hops_val = _hops_between(rt, router, middle, out)
        hops_val += _hops_between(rt, middle, dst_router, copy)
    look_min = _toward(rt, router, target, direct)
    look_val = _toward(rt, router, entry(rt.table_c, middle), out)
    if p[COMPARES] == OUTPUT_QUEUE:
        load_min = load_of(view, look_min)
        load_val = load_of(view, look_val)
        return load_min * hops_min <= load_val * hops_val + p[BIAS]
    return less_used(rt, look_min, look_val, hops_min, hops_val, view)


@njit(**INNER_KERNEL)
def route_by_node(rt, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    place = state & 3
    middle, out, copy = _parts(rt, state >> 2)
    if state == 0 and own_group != target:
        k = p[K]
        # every router has as many nodes: a drawn node is a drawn router
        middle = draw(key, 0, p[N_ROUTERS])
        direct, out, copy = draw(key, 1, k), draw(key, 2, k), draw(key, 3, k)
        if entry(rt.table_c, middle) == own_group or (
            rt.code == UGAL_NODE
            and _stays(rt, router, target, dst_router, middle, direct, out, copy, view)
        ):
            middle, out, copy, place = dst_router, np.int64(0), direct, np.int64(TURNED)
    if place == ARRIVED and router == middle:
        place = np.int64(TURNED)
    if own_group == target and (state == 0 or place >= TURNED):
        return _local_link(rt, own_group, router, dst_router), np.int64(3), np.int64(ENTERED)
    if place == ARRIVED:
        return _local_link(rt, own_group, router, middle), np.int64(1), state
    if place == LEAVES:
        link = _toward(rt, router, entry(rt.table_c, middle), out)
    else:
        link = _toward(rt, router, target, copy)
    leaves_group = link >= p[FIRST_GLOBAL]
    vc = place >> 1 if leaves_group else place
    return link, vc, (_plan(rt, middle, out, copy) << 2) | (place + leaves_group)


@njit(**INNER_KERNEL)
def node_compares(rt, router, dst_router, state, key):  # type: ignore[no-untyped-def]
    """Return the links compared (see `netsim.routing.kernels.links_compared`)."""
    none = np.int64(-1)
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    middle = entry(rt.table_c, draw(key, 0, rt.params[N_ROUTERS]))
    if state != 0 or own_group == target or middle == own_group:
        return none, none, none, none
    k = rt.params[K]
    direct = _toward(rt, router, target, draw(key, 1, k))
    return direct, _toward(rt, router, middle, draw(key, 2, k)), none, none
