"""Kernel of "merlin-ugal"; `netsim.routing.dragonfly_merlin` describes rule and state."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.routing.kernels_common import draw, entry
from netsim.routing.kernels_dragonfly import (
    FIRST_GLOBAL,
    MARGIN,
    NOT_CHOSEN,
    A,
    G,
    K,
    _draw_other,
    _local_link,
    _pair_link,
    _parts,
    _plan,
    _sender,
    _toward,
    draw_any_other,
    queue_bytes,
)

DETOUR_WEIGHT = 2
"""How many times the queue of a detour's first link counts."""


@njit(**HOT_KERNEL)
def _weight(rt, router, group, copy, detours, view):  # type: ignore[no-untyped-def]
    """Return the weight of the first link toward a copy of the links to a group."""
    queue = queue_bytes(_toward(rt, router, group, copy), 0, view)
    return DETOUR_WEIGHT * queue + rt.params[MARGIN] if detours else queue


@njit(**INNER_KERNEL)
def _lightest(rt, router, target, middle, key, view):  # type: ignore[no-untyped-def]
    """Return the copy of least weight at the source router, and whether it detours."""
    ways = 1 + (middle != target)
    least = np.int64(1) << 62
    n_least = np.int64(1)
    for turn in range(2):
        n = np.int64(0)
        # equals are counted first, then the drawn one of them is looked up
        wanted = np.int64(-1) if turn == 0 else draw(key, 1, n_least)
        for copy in range(rt.params[K]):
            for detours in range(ways):
                group = middle if detours else target
                weight = _weight(rt, router, group, copy, detours, view)
                if weight < least:
                    least = weight
                    n = np.int64(0)
                if weight == least:
                    if n == wanted:
                        return np.int64(copy), np.int64(detours)
                    n += 1
        n_least = n
    return np.int64(0), np.int64(0)


@njit(**INNER_KERNEL)
def _onward(rt, router, target, key, view):  # type: ignore[no-untyped-def]
    """Return the copy of the links to the destination's group that an intermediate router takes."""
    least = np.int64(1) << 62
    n_least = np.int64(1)
    for turn in range(2):
        n = np.int64(0)
        wanted = np.int64(-1) if turn == 0 else draw(key, 0, n_least)
        for copy in range(rt.params[K]):
            link = _toward(rt, router, target, copy)
            weight = queue_bytes(link, 1, view)
            if link < rt.params[FIRST_GLOBAL]:
                weight *= 2
            if weight < least:
                least = weight
                n = np.int64(0)
            if weight == least:
                if n == wanted:
                    return np.int64(copy)
                n += 1
        n_least = n
    return np.int64(0)


@njit(**INNER_KERNEL)
def _inside(rt, own_group, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Route within the group of source and destination: directly, or through a drawn router."""
    a = rt.params[A]
    base = own_group * a
    via = base + (state >> 2) - 1
    if state == 0:
        via = base + draw_any_other(key, a, router - base)
        direct = queue_bytes(_local_link(rt, own_group, router, dst_router), 0, view)
        detour = queue_bytes(_local_link(rt, own_group, router, via), 0, view)
        if direct <= DETOUR_WEIGHT * detour + rt.params[MARGIN]:
            via = dst_router
        state = (1 + via - base) << 2
    if via != router:
        return _local_link(rt, own_group, router, via), np.int64(0), state
    return _local_link(rt, own_group, router, dst_router), np.int64(2), np.int64(2)


@njit(**INNER_KERNEL)
def route_merlin_ugal(rt, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet that is not yet at its last router."""
    p = rt.params
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    taken = state & 3
    if own_group == target:
        if taken == 0:
            return _inside(rt, own_group, router, dst_router, state, key, view)
        return _local_link(rt, own_group, router, dst_router), taken, state
    middle, copy, detours = _parts(rt, state >> 2)
    if taken == 0:
        if state == 0:
            middle = target
            if p[G] > 2:
                middle = _draw_other(key, p[G], own_group, target)
            copy, detours = _lightest(rt, router, target, middle, key, view)
        elif middle != target:
            # the source router's first choice matters only if both paths continue from own_group
            at_direct = _sender(rt, _pair_link(rt, own_group, target, copy)) == router
            at_detour = _sender(rt, _pair_link(rt, own_group, middle, copy)) == router
            if at_direct and at_detour:
                direct = _weight(rt, router, target, copy, 0, view)
                detour = _weight(rt, router, middle, copy, 1, view)
                detours = np.int64(direct > detour)
            elif at_direct or at_detour:
                detours = np.int64(at_detour)
        link = _toward(rt, router, middle if detours else target, copy)
        if link < p[FIRST_GLOBAL]:
            return link, np.int64(0), _plan(rt, middle, copy, detours) << 2
        if detours:
            return link, np.int64(0), (_plan(rt, middle, copy, 0) << 2) | NOT_CHOSEN
        return link, np.int64(0), (_plan(rt, target, copy, 0) << 2) | 1
    if taken == NOT_CHOSEN:
        copy = _onward(rt, router, target, key, view)
    link = _toward(rt, router, target, copy)
    after = 1 + (link >= p[FIRST_GLOBAL])
    return link, np.int64(1), (_plan(rt, target, copy, 0) << 2) | after
