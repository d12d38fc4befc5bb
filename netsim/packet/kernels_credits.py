# mypy: allow-untyped-defs, allow-untyped-calls
"""Credits: space that channels get back (docs/packet-model.md, "Credits").

A credit is no event. It becomes visible when somebody looks at its channel: one that wants to
send, a routing, or the next credit; so that few are on their way at a time. The two earliest
stand in the channel's own row, FIRST and SECOND, the others in a list that is sorted by tick.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_wheel import NONE
from netsim.packet.tables import (
    BLOCKED,
    CR_BITS,
    CR_BYTES,
    CR_FREE,
    CR_NEXT,
    CR_TICK,
    CR_USED,
    CREDIT_HEAD,
    CREDIT_TAIL,
    FIRST_BYTES,
    FIRST_TICK,
    N_CR,
    NOW,
    Q_BITS,
    QT_BITS,
    ROOM,
    SECOND_BYTES,
    SECOND_TICK,
    SPACE,
)


@njit(**PLAIN_KERNEL, inline="always")
def take_credits(sc, channels, ticks, credits, q):
    """Make the space visible that channel ``q`` has got back by now."""
    now = sc[NOW]
    at = np.uint64(q) << QT_BITS
    if ticks[at + FIRST_TICK] <= now:
        channel = np.uint64(q) << Q_BITS
        back = np.int64(channels[channel + FIRST_BYTES])
        second = ticks[at + SECOND_TICK]
        places = 0
        if second <= now:
            back += channels[channel + SECOND_BYTES]
            ticks[at + FIRST_TICK] = NONE
        else:
            ticks[at + FIRST_TICK] = second
            channels[channel + FIRST_BYTES] = channels[channel + SECOND_BYTES]
            places = 1
        ticks[at + SECOND_TICK] = NONE
        if channels[channel + CREDIT_HEAD] >= 0:
            back += _take_listed(sc, channels, ticks, credits, q, places)
        channels[channel + SPACE] += back
        channels[channel + ROOM] += back


@njit(**INNER_KERNEL)
def _take_listed(sc, channels, ticks, credits, q, places):
    """Bytes of the list's credits that are due; those after them fill the row's free places."""
    now = sc[NOW]
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    back = np.int64(0)
    c = np.int64(channels[channel + CREDIT_HEAD])
    while c >= 0 and places < 2:
        row = np.uint64(c) << CR_BITS
        if credits[row + CR_TICK] <= now:
            back += credits[row + CR_BYTES]
        elif places == 0:
            ticks[at + FIRST_TICK] = credits[row + CR_TICK]
            channels[channel + FIRST_BYTES] = credits[row + CR_BYTES]
            places = 1
        else:
            ticks[at + SECOND_TICK] = credits[row + CR_TICK]
            channels[channel + SECOND_BYTES] = credits[row + CR_BYTES]
            places = 2
        after = np.int64(credits[row + CR_NEXT])
        credits[row + CR_NEXT] = sc[CR_FREE]
        sc[CR_FREE] = c
        sc[N_CR] -= 1
        c = after
    channels[channel + CREDIT_HEAD] = c
    return back


@njit(**PLAIN_KERNEL, inline="always")
def give_credit(sc, channels, ticks, credits, q, tick, size):
    """Channel ``q`` gets ``size`` bytes back at ``tick``."""
    take_credits(sc, channels, ticks, credits, q)
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    first = ticks[at + FIRST_TICK]
    if first == NONE:
        ticks[at + FIRST_TICK] = tick
        channels[channel + FIRST_BYTES] = size
    elif ticks[at + SECOND_TICK] == NONE and tick >= first:
        ticks[at + SECOND_TICK] = tick
        channels[channel + SECOND_BYTES] = size
    else:
        _give_in_order(sc, channels, ticks, credits, q, tick, size)


@njit(**INNER_KERNEL)
def _give_in_order(sc, channels, ticks, credits, q, tick, size):
    """Put a credit where it belongs; the latest of the row goes on the list to make place."""
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    if tick < ticks[at + FIRST_TICK]:
        later, later_bytes = ticks[at + FIRST_TICK], np.int64(channels[channel + FIRST_BYTES])
        ticks[at + FIRST_TICK] = tick
        channels[channel + FIRST_BYTES] = size
        tick, size = later, later_bytes
    if tick < ticks[at + SECOND_TICK]:
        later, later_bytes = ticks[at + SECOND_TICK], np.int64(channels[channel + SECOND_BYTES])
        ticks[at + SECOND_TICK] = tick
        channels[channel + SECOND_BYTES] = size
        tick, size = later, later_bytes
        if tick == NONE:
            return
    c = sc[CR_FREE]
    row = np.uint64(c) << CR_BITS
    if c >= 0:
        sc[CR_FREE] = credits[row + CR_NEXT]
    else:
        c = sc[CR_USED]
        row = np.uint64(c) << CR_BITS
        sc[CR_USED] = c + 1
    sc[N_CR] += 1
    credits[row + CR_TICK] = tick
    credits[row + CR_BYTES] = size
    credits[row + CR_NEXT] = -1
    head = np.int64(channels[channel + CREDIT_HEAD])
    if head < 0:
        channels[channel + CREDIT_HEAD] = c
        channels[channel + CREDIT_TAIL] = c
        return
    tail = np.uint64(channels[channel + CREDIT_TAIL]) << CR_BITS
    if credits[tail + CR_TICK] <= tick:
        credits[tail + CR_NEXT] = c
        channels[channel + CREDIT_TAIL] = c
    elif tick < credits[(np.uint64(head) << CR_BITS) + CR_TICK]:
        credits[row + CR_NEXT] = head
        channels[channel + CREDIT_HEAD] = c
    else:
        before = np.uint64(head) << CR_BITS
        after = np.uint64(credits[before + CR_NEXT]) << CR_BITS
        while credits[after + CR_TICK] <= tick:
            before = after
            after = np.uint64(credits[before + CR_NEXT]) << CR_BITS
        credits[row + CR_NEXT] = credits[before + CR_NEXT]
        credits[before + CR_NEXT] = c


@njit(**INNER_KERNEL)
def when_room(channels, ticks, credits, q, size):
    """First tick at which the known credits give ``size`` bytes on ``q``; marks q as blocked."""
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    channels[channel + BLOCKED] = 1
    have = np.int64(channels[channel + SPACE])
    if ticks[at + FIRST_TICK] == NONE:
        return NONE
    have += channels[channel + FIRST_BYTES]
    if have >= size:
        return ticks[at + FIRST_TICK]
    if ticks[at + SECOND_TICK] == NONE:
        return NONE
    have += channels[channel + SECOND_BYTES]
    if have >= size:
        return ticks[at + SECOND_TICK]
    c = np.int64(channels[channel + CREDIT_HEAD])
    while c >= 0:
        have += credits[(np.uint64(c) << CR_BITS) + CR_BYTES]
        if have >= size:
            return credits[(np.uint64(c) << CR_BITS) + CR_TICK]
        c = np.int64(credits[(np.uint64(c) << CR_BITS) + CR_NEXT])
    return NONE
