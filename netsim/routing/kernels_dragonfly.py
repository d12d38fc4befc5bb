"""Dragonfly routing kernels; `netsim.routing.dragonfly` describes the tables."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.routing.kernels_codes import RoutingRule, plain_codes
from netsim.routing.kernels_common import draw, entry, load_of

MINIMAL, VALIANT, UGAL_L, UGAL_G = plain_codes(RoutingRule.DECIDES_ONCE)
PAR, VALIANT_LOCAL, ADAPTIVE_LOCAL, MERLIN_VALIANT, MERLIN_ADAPTIVE = plain_codes(
    RoutingRule.DECIDES_AGAIN
)
(MERLIN_UGAL,) = plain_codes(RoutingRule.MERLIN)

(BIAS, A, G, K, LOCAL_PER_GROUP, FIRST_LOCAL, FIRST_GLOBAL, N_ROUTERS, N_GLOBAL, BITS, COMPARES,
 WEIGHT, MARGIN, NEAREST, INSIDE, FIRST_COST) = range(16)  # fmt: skip

OUTPUT_QUEUE, OUTPUT_BYTES, USED_CREDITS = range(3)

FREE_FACTOR = 2
"""A detour must have more than this many times the direct path's free space (adaptive-local)."""

NOT_CHOSEN = 3
"""Global links taken, in a state: one, and which of the K links comes next is not yet chosen."""


@njit(**HOT_KERNEL)
def _local_hops(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    return entry(rt.table_a, a * a + (r - base) * a + (t - base))


@njit(**HOT_KERNEL)
def _local_link(rt, group, r, t):  # type: ignore[no-untyped-def]
    a = rt.params[A]
    base = group * a
    offset = entry(rt.table_a, (r - base) * a + (t - base))
    return rt.params[FIRST_LOCAL] + group * rt.params[LOCAL_PER_GROUP] + offset


@njit(**HOT_KERNEL)
def _pair_link(rt, src, dst, copy):  # type: ignore[no-untyped-def]
    p = rt.params
    return entry(rt.table_b, ((p[N_ROUTERS] + src) * p[G] + dst) * p[K] + copy)


@njit(**HOT_KERNEL)
def _sender(rt, link):  # type: ignore[no-untyped-def]
    return entry(rt.table_c, rt.params[N_ROUTERS] + link - rt.params[FIRST_GLOBAL])


@njit(**HOT_KERNEL)
def _receiver(rt, link):  # type: ignore[no-untyped-def]
    p = rt.params
    return entry(rt.table_c, p[N_ROUTERS] + p[N_GLOBAL] + link - p[FIRST_GLOBAL])


@njit(**HOT_KERNEL)
def _toward(rt, router, group, copy):  # type: ignore[no-untyped-def]
    """Return the next link from a router toward its group's ``copy``-th link to a group."""
    return entry(rt.table_b, (router * rt.params[G] + group) * rt.params[K] + copy)


@njit(**HOT_KERNEL)
def _draw_other(key, n, one, other):  # type: ignore[no-untyped-def]
    """Return a number in 0..n-1 that is neither of two different ones."""
    drawn = draw(key, 0, n - 2)
    if drawn >= min(one, other):
        drawn += 1
    if drawn >= max(one, other):
        drawn += 1
    return drawn


@njit(**HOT_KERNEL)
def _plan(rt, group, first, second):  # type: ignore[no-untyped-def]
    bits = rt.params[BITS]
    return 1 + ((((group << bits) | first) << bits) | second)


@njit(**HOT_KERNEL)
def _parts(rt, plan):  # type: ignore[no-untyped-def]
    """Return the group, the first and the second copy of a plan."""
    bits = rt.params[BITS]
    code = plan - 1
    mask = (1 << bits) - 1
    return code >> (2 * bits), (code >> bits) & mask, code & mask


@njit(**HOT_KERNEL)
def _bytes(rt, link, view):  # type: ignore[no-untyped-def]
    """Return the used credits of a link as time, or the bytes that wait for it."""
    p = rt.params
    used = p[COMPARES] == USED_CREDITS
    total = np.int64(0)
    for q in range(link * view.nv, (link + 1) * view.nv):
        total += (view.buffer_bytes if used else entry(view.space, q)) - entry(view.room, q)
    if used:
        at = p[N_ROUTERS] + 2 * p[N_GLOBAL] + link - p[FIRST_LOCAL]
        total *= p[FIRST_COST + entry(rt.table_c, at)]
    return total


@njit(**HOT_KERNEL)
def _minimal_hops(rt, router, own_group, target, dst_router, copy):  # type: ignore[no-untyped-def]
    """Return the links of the minimal path over a copy of the links between two groups."""
    link = _pair_link(rt, own_group, target, copy)
    out = _local_hops(rt, own_group, router, _sender(rt, link))
    return out + 1 + _local_hops(rt, target, _receiver(rt, link), dst_router)


@njit(**INNER_KERNEL)
def _minimal_wins(  # type: ignore[no-untyped-def]
    rt, router, own_group, target, dst_router, direct, middle, out, copy, view
):
    """Return whether UGAL prefers the drawn minimal path to the drawn Valiant path."""
    p = rt.params
    minimal = _pair_link(rt, own_group, target, direct)
    detour = _pair_link(rt, own_group, middle, out)
    if p[WEIGHT] == 0:
        second = _pair_link(rt, middle, target, copy)
        hops_min = _minimal_hops(rt, router, own_group, target, dst_router, direct)
        hops_val = (
            _local_hops(rt, own_group, router, _sender(rt, detour))
            + 1
            + _local_hops(rt, middle, _receiver(rt, detour), _sender(rt, second))
            + 1
            + _local_hops(rt, target, _receiver(rt, second), dst_router)
        )
    else:
        hops_min, hops_val = np.int64(1), p[WEIGHT]
    look_min, look_val = minimal, detour
    if rt.code != UGAL_G:
        look_min = _toward(rt, router, target, direct)
        look_val = _toward(rt, router, middle, out)
    return _first_wins(rt, look_min, look_val, hops_min, hops_val, view)


@njit(**HOT_KERNEL)
def _first_wins(rt, look_min, look_val, hops_min, hops_val, view):  # type: ignore[no-untyped-def]
    """Return whether UGAL prefers the minimal path, by the links that it looks at."""
    p = rt.params
    if rt.code == UGAL_G or p[COMPARES] == OUTPUT_QUEUE:
        load_min = load_of(view, look_min)
        load_val = load_of(view, look_val)
        return load_min * hops_min <= load_val * hops_val + p[BIAS]
    return less_used(rt, look_min, look_val, hops_min, hops_val, view)


@njit(**INNER_KERNEL)
def less_used(rt, look_min, look_val, hops_min, hops_val, view):  # type: ignore[no-untyped-def]
    """Return whether UGAL prefers the minimal link, by used credits or waiting bytes."""
    bytes_min = _bytes(rt, look_min, view)
    bytes_val = _bytes(rt, look_val, view)
    return bytes_min * hops_min <= bytes_val * hops_val + rt.params[MARGIN]


@njit(**INNER_KERNEL)
def _nearest(rt, router, own_group, target, dst_router, key):  # type: ignore[no-untyped-def]
    """Return the copy by which the path is shortest; one of several is drawn."""
    least, several = np.int64(1) << 32, np.int64(0)
    for link in range(rt.params[K]):
        hops = _minimal_hops(rt, router, own_group, target, dst_router, link)
        if hops < least:
            least, several = hops, np.int64(0)
        several += hops == least
    left, copy = draw(key, 1, several), np.int64(0)
    while True:
        left -= _minimal_hops(rt, router, own_group, target, dst_router, copy) == least
        if left < 0:
            return copy
        copy += 1


@njit(**HOT_KERNEL)
def _decide(rt, router, own_group, target, dst_router, direct, key, view):  # type: ignore[no-untyped-def]
    """Return the plan: the group to go to first, and which copies of the links to take.

    ``direct`` is the copy that the minimal path takes.
    """
    g, k = rt.params[G], rt.params[K]
    plan_min = _plan(rt, target, direct, 0)
    if rt.code == MINIMAL or g == 2:
        return plan_min
    middle = _draw_other(key, g, own_group, target)
    out, copy = draw(key, 2, k), draw(key, 3, k)
    plan_val = _plan(rt, middle, out, copy)
    if rt.code == VALIANT or rt.code == VALIANT_LOCAL or rt.code == MERLIN_VALIANT:
        return plan_val
    if _minimal_wins(rt, router, own_group, target, dst_router, direct, middle, out, copy, view):
        return plan_min
    return plan_val


@njit(**HOT_KERNEL)
def queue_bytes(link, vc, view):  # type: ignore[no-untyped-def]
    """Return the bytes in a channel's output FIFO, if the routing's ``room`` counts no bids."""
    at = link * view.nv + vc
    return entry(view.space, at) - entry(view.room, at)


@njit(**INNER_KERNEL)
def _free(rt, link, vc, view):  # type: ignore[no-untyped-def]
    """Return the space that "adaptive-local" compares; its merlin form always uses channel 0."""
    if rt.code == MERLIN_ADAPTIVE:
        return view.buffer_bytes - queue_bytes(link, 0, view)
    return entry(view.room, link * view.nv + vc)


@njit(**INNER_KERNEL)
def _freest(rt, router, group, copy, taken, view):  # type: ignore[no-untyped-def]
    """Return the copy with more room, of a drawn copy of the links to a group and the next one, and
    its room."""
    other = (copy + 1) % rt.params[K]
    one = _toward(rt, router, group, copy)
    two = _toward(rt, router, group, other)
    room_one = _free(rt, one, taken, view)
    room_other = _free(rt, two, taken, view)
    if room_other > room_one:
        return other, max(room_other, 0)
    return copy, max(room_one, 0)


@njit(**INNER_KERNEL)
def _adapt(rt, router, own_group, target, key, view):  # type: ignore[no-untyped-def]
    """Return the plan under "adaptive-local"."""
    g, k = rt.params[G], rt.params[K]
    direct, free_min = _freest(rt, router, target, draw(key, 1, k), 0, view)
    if g > 2:
        middle = _draw_other(key, g, own_group, target)
        out, free_val = _freest(rt, router, middle, draw(key, 2, k), 0, view)
        if free_val > FREE_FACTOR * free_min:
            return _plan(rt, middle, out, draw(key, 3, k))
    return _plan(rt, target, direct, 0)


@njit(**INNER_KERNEL)
def draw_any_other(key, n, one):  # type: ignore[no-untyped-def]
    """Return a number in 0..n-1 that is not a given one."""
    drawn = draw(key, 0, n - 1)
    return drawn + (drawn >= one)


@njit(**INNER_KERNEL)
def _via(rt, own_group, router, dst_router, key, view):  # type: ignore[no-untyped-def]
    """Return the router by which a packet within the group goes; the destination's if directly."""
    a = rt.params[A]
    base = own_group * a
    if a == 2:
        return dst_router
    if rt.code == MERLIN_VALIANT or rt.code == MERLIN_ADAPTIVE:
        via = base + draw_any_other(key, a, router - base)
    else:
        via = base + _draw_other(key, a, router - base, dst_router - base)
    if rt.params[INSIDE]:
        hops_min, hops_val = np.int64(1), rt.params[WEIGHT]
        if hops_val == 0:
            hops_min = _local_hops(rt, own_group, router, dst_router)
            hops_val = _local_hops(rt, own_group, router, via)
            hops_val += _local_hops(rt, own_group, via, dst_router)
        direct = _local_link(rt, own_group, router, dst_router)
        detour = _local_link(rt, own_group, router, via)
        if _first_wins(rt, direct, detour, hops_min, hops_val, view):
            return dst_router
    elif rt.code == ADAPTIVE_LOCAL or rt.code == MERLIN_ADAPTIVE:
        direct = _local_link(rt, own_group, router, dst_router)
        free_min = _free(rt, direct, 0, view)
        detour = _local_link(rt, own_group, router, via)
        free_via = _free(rt, detour, 0, view)
        if free_via <= 0 or free_via <= FREE_FACTOR * free_min:
            return dst_router
    return via


@njit(**INNER_KERNEL)
def _detour_inside(rt, own_group, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Return the next hop of a packet within its group that may go by another router of it."""
    # Free of deadlock: a packet takes local 0 to that router and local 1 from there. Each is
    # acyclic by itself within a group, and all other paths take 1 after 0, too.
    a = rt.params[A]
    base, plan = own_group * a, state >> 2
    via = base + plan - 1
    if plan == 0:
        via = _via(rt, own_group, router, dst_router, key, view)
        state = (1 + via - base) << 2
    if via != router:
        return _local_link(rt, own_group, router, via), np.int64(0), state
    return _local_link(rt, own_group, router, dst_router), np.int64(1), np.int64(1)


@njit(**INNER_KERNEL)
def route_again(rt, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Route as `route_once`, for routings that detour inside a group or decide more than once."""
    p = rt.params
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    code, taken, plan = rt.code, state & 3, state >> 2
    if own_group == target:
        if taken == 0 and (code != PAR or p[INSIDE]):
            return _detour_inside(rt, own_group, router, dst_router, state, key, view)
        # PAR: one above the global links taken, but after a detour in the group, whose plan is 0
        later = code == PAR and taken > 0 and plan > 0
        return _local_link(rt, own_group, router, dst_router), taken + later, state
    group, first, second = _parts(rt, plan)
    adapts = code in (ADAPTIVE_LOCAL, MERLIN_ADAPTIVE)
    if adapts:
        if plan == 0:
            plan = _adapt(rt, router, own_group, target, key, view)
        elif taken == NOT_CHOSEN:
            taken = np.int64(1)
            second, _ = _freest(rt, router, target, second, taken, view)
            plan = _plan(rt, group, first, second)
    elif plan == 0 or (code == PAR and taken == 0 and group == target):
        direct = draw(key, 1, p[K]) if plan == 0 else first
        plan = _decide(rt, router, own_group, target, dst_router, direct, key, view)
    group, first, second = _parts(rt, plan)
    if taken > 0:
        link = _toward(rt, router, target, second)
    else:
        link = _toward(rt, router, group, first)
    if link >= p[FIRST_GLOBAL]:
        after = taken + 1
        if adapts and taken == 0 and group != target:
            after = np.int64(NOT_CHOSEN)
        return link, taken, (plan << 2) | after
    vc = taken
    if code == PAR and (taken > 0 or group != target):
        vc += 1
    return link, vc, (plan << 2) | taken


@njit(**HOT_KERNEL)
def minimal_link(rt, router, dst_router):  # type: ignore[no-untyped-def]
    """Return the next link under "minimal" where one link connects two groups."""
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    if own_group == target:
        return _local_link(rt, own_group, router, dst_router)
    return _toward(rt, router, target, 0)


@njit(**HOT_KERNEL)
def route_once(rt, router, dst_router, state, key, view):  # type: ignore[no-untyped-def]
    """Return the next link, channel and state of a packet that is not yet at its last router, under
    a routing that decides once, at the first."""
    p = rt.params
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    taken = state & 3
    if own_group == target:
        if taken == 0 and p[INSIDE]:
            return _detour_inside(rt, own_group, router, dst_router, state, key, view)
        return _local_link(rt, own_group, router, dst_router), taken, state
    plan = state >> 2
    if plan == 0:
        if p[NEAREST]:
            direct = _nearest(rt, router, own_group, target, dst_router, key)
        else:
            direct = draw(key, 1, p[K])
        plan = _decide(rt, router, own_group, target, dst_router, direct, key, view)
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


@njit(**INNER_KERNEL)
def dragonfly_compares(rt, router, dst_router, state, key):  # type: ignore[no-untyped-def]
    """Return the links compared (see `netsim.routing.kernels.links_compared`)."""
    p = rt.params
    none = np.int64(-1)
    own_group, target = entry(rt.table_c, router), entry(rt.table_c, dst_router)
    g, k, plan, taken = p[G], p[K], state >> 2, state & 3
    group, first, second = _parts(rt, plan)
    if own_group == target:
        a = p[A]
        if state != 0 or a == 2 or not (rt.code == ADAPTIVE_LOCAL or p[INSIDE]):
            return none, none, none, none
        via = own_group * a + _draw_other(
            key, a, router - own_group * a, dst_router - own_group * a
        )
        direct = _local_link(rt, own_group, router, dst_router)
        return direct, _local_link(rt, own_group, router, via), none, none
    if rt.code == ADAPTIVE_LOCAL:
        if taken == NOT_CHOSEN:
            one = _toward(rt, router, target, second)
            return one, _toward(rt, router, target, (second + 1) % k), none, none
        if state != 0:
            return none, none, none, none
        c = draw(key, 1, k)
        one, two = _toward(rt, router, target, c), _toward(rt, router, target, (c + 1) % k)
        if g == 2:
            return one, two, none, none
        middle, out = _draw_other(key, g, own_group, target), draw(key, 2, k)
        three = _toward(rt, router, middle, out)
        return one, two, three, _toward(rt, router, middle, (out + 1) % k)
    undecided = plan == 0 or (rt.code == PAR and group == target)
    if taken > 0 or g == 2 or not undecided:
        return none, none, none, none
    direct = draw(key, 1, k) if plan == 0 else first
    middle, out = _draw_other(key, g, own_group, target), draw(key, 2, k)
    return _toward(rt, router, target, direct), _toward(rt, router, middle, out), none, none
