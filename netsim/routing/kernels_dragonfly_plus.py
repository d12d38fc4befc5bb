"""Dragonfly+ routing kernels; `netsim.routing.dragonfly_plus` describes the tables."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry, load_of

PLUS_MINIMAL, PLUS_VALIANT, PLUS_UGAL_L, PLUS_UGAL_G = plain_codes(RoutingRule.PLUS)

BIAS, LEAVES, SPINES, G, K, BITS, FIRST_UP, FIRST_DOWN = range(8)


@njit(**HOT_KERNEL)
def _pair(rt, src, dst, copy):  # type: ignore[no-untyped-def]
    """Return the index in ``table_a`` and ``table_b`` of a copy of the link between two groups."""
    p = rt.params
    return (src * p[G] + dst) * p[K] + copy


@njit(**HOT_KERNEL)
def _up(rt, own_group, leaf, spine):  # type: ignore[no-untyped-def]
    p = rt.params
    return p[FIRST_UP] + (own_group * p[LEAVES] + leaf) * p[SPINES] + spine


@njit(**HOT_KERNEL)
def _seen(rt, own_group, leaf, group, copy):  # type: ignore[no-untyped-def]
    """Return the link whose load is used for leaving by the ``copy``-th link to a group."""
    at = _pair(rt, own_group, group, copy)
    if rt.code == PLUS_UGAL_G:
        return entry(rt.table_a, at)
    return _up(rt, own_group, leaf, entry(rt.table_b, at))


@njit(**HOT_KERNEL)
def _choose(rt, own_group, leaf, group, count, key, i, view):  # type: ignore[no-untyped-def]
    """Choose among ``count``: spines in the leaf's group, else copies of the link to a group.

    The ``i``-th draw of the key; under UGAL the least loaded, of equals the first from there on.
    """
    at = draw(key, i, count)
    if rt.code == PLUS_MINIMAL or rt.code == PLUS_VALIANT:
        return at
    best, least = at, np.int64(-1)
    for _ in range(count):
        link = (
            _up(rt, own_group, leaf, at)
            if group == own_group
            else _seen(rt, own_group, leaf, group, at)
        )
        load = load_of(view, link)
        if least < 0 or load < least:
            best, least = at, load
        if least == 0:
            break
        at += 1
        if at == count:
            at = np.int64(0)
    return best


@njit(**HOT_KERNEL)
def _own(rt, own_group, spine, target):  # type: ignore[no-untyped-def]
    """Return the first of a spine's own links to a group, and how many there are."""
    p = rt.params
    at = 2 * ((own_group * p[SPINES] + spine) * p[G] + target)
    return entry(rt.table_c, at), entry(rt.table_c, at + 1)


@njit(**HOT_KERNEL)
def _decide(rt, own_group, leaf, target, key, view):  # type: ignore[no-untyped-def]
    """Return the group to go to first, and by which of the links."""
    p = rt.params
    g, k = p[G], p[K]
    direct = _choose(rt, own_group, leaf, target, k, key, 1, view)
    if rt.code == PLUS_MINIMAL or g == 2:
        return target, direct
    middle = draw(key, 0, g - 2)
    if middle >= min(own_group, target):
        middle += 1
    if middle >= max(own_group, target):
        middle += 1
    out = _choose(rt, own_group, leaf, middle, k, key, 2, view)
    if rt.code == PLUS_VALIANT:
        return middle, out
    landing = entry(rt.table_b, _pair(rt, middle, own_group, out))
    hops = 4 if _own(rt, middle, landing, target)[1] > 0 else 6
    load_min = load_of(view, _seen(rt, own_group, leaf, target, direct))
    load_val = load_of(view, _seen(rt, own_group, leaf, middle, out))
    if load_min * 3 <= load_val * hops + p[BIAS]:
        return target, direct
    return middle, out


@njit(**INNER_KERNEL)
def route_dragonfly_plus(rt, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    leaves, spines = p[LEAVES], p[SPINES]
    own_group, place = router // (leaves + spines), router % (leaves + spines)
    target, leaf = dst_router // (leaves + spines), dst_router % (leaves + spines)
    taken, bits = state & 3, p[BITS]
    if place >= leaves:
        spine = place - leaves
        if own_group != target:
            copy, group = (state >> 2) & ((1 << bits) - 1), target
            if taken == 0:
                group = state >> (2 + bits)
            else:
                first, count = _own(rt, own_group, spine, target)
                copy = first + draw(key, 0, count)
                if count == 0:
                    copy, leaf = draw(key, 1, p[K]), draw(key, 2, leaves)
            if taken == 0 or entry(rt.table_b, _pair(rt, own_group, group, copy)) == spine:
                return entry(rt.table_a, _pair(rt, own_group, group, copy)), taken, taken + 1
            state = (copy << 2) | taken
        down = p[FIRST_DOWN] + (own_group * leaves + leaf) * spines + spine
        return down, max(taken - 1, np.int64(0)), state
    if own_group == target:
        spine = _choose(rt, own_group, place, own_group, spines, key, 0, view)
        return _up(rt, own_group, place, spine), taken, state
    group, copy = target, state >> 2
    if taken == 0:
        group, copy = _decide(rt, own_group, place, target, key, view)
        state = ((group << bits) | copy) << 2
    spine = entry(rt.table_b, _pair(rt, own_group, group, copy))
    return _up(rt, own_group, place, spine), taken, state
