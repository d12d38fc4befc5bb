# mypy: allow-untyped-defs, allow-untyped-calls
"""Credits: space that channels get back (docs/packet-model.md, "Credits").

A credit is not an event. It becomes visible when its channel is next read: by a link that wants to
send, a routing, or the next credit. So few are in flight at a time. The earliest is in the
channel's own row, the others in a ring that is sorted by tick, by its last.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_wheel import NONE
from netsim.packet.tables import (
    CR_BITS,
    CR_BYTES,
    CR_FREE,
    CR_NEXT,
    CR_TICK,
    CR_USED,
    CREDIT_BYTES,
    CREDIT_TAIL,
    CREDIT_TICK,
    N_CR,
    NOW,
    Q_BITS,
    QT_BITS,
    ROOM,
    SPACE,
)


@njit(**PLAIN_KERNEL, inline="always")
def collect_credits(sc, channels, ticks, credits, q):
    """Make the space visible that channel ``q`` has got back by now."""
    at = np.uint64(q) << QT_BITS
    if ticks[at + CREDIT_TICK] <= sc[NOW]:
        channel = np.uint64(q) << Q_BITS
        # the sign encodes whether the link waits: `x ^ -1` turns all bits, `x ^ 0` none
        known = np.int64(channels[channel + CREDIT_BYTES])
        waits = known >> 63
        back = known ^ waits
        ticks[at + CREDIT_TICK] = NONE
        channels[channel + CREDIT_BYTES] = waits
        if channels[channel + CREDIT_TAIL] >= 0:
            back += _collect_listed(sc, channels, ticks, credits, q)
        channels[channel + SPACE] += back
        channels[channel + ROOM] += back


@njit(**INNER_KERNEL)
def _collect_listed(sc, channels, ticks, credits, q):
    """Return the bytes of the ring's credits that are due; the one after them goes into the row."""
    # Invariant: the row's credit is the earliest, and the ring is empty if the row has none. So the
    # first credit that is not due moves into the row.
    channel = np.uint64(q) << Q_BITS
    tail = np.int64(channels[channel + CREDIT_TAIL])
    last = np.uint64(tail) << CR_BITS
    back = np.int64(0)
    while True:
        c = np.int64(credits[last + CR_NEXT])
        row = np.uint64(c) << CR_BITS
        tick, size = credits[row + CR_TICK], credits[row + CR_BYTES]
        credits[last + CR_NEXT] = credits[row + CR_NEXT]
        credits[row + CR_NEXT] = sc[CR_FREE]
        sc[CR_FREE] = c
        sc[N_CR] -= 1
        if c == tail:
            channels[channel + CREDIT_TAIL] = -1
        if tick > sc[NOW]:
            ticks[(np.uint64(q) << QT_BITS) + CREDIT_TICK] = tick
            channels[channel + CREDIT_BYTES] ^= size
            return back
        back += size
        if c == tail:
            return back


@njit(**PLAIN_KERNEL, inline="always")
def give_credit(sc, channels, ticks, credits, q, tick, size):
    """Return ``size`` bytes to channel ``q`` at ``tick``, and whether its link waits for space."""
    collect_credits(sc, channels, ticks, credits, q)
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    waits = channels[channel + CREDIT_BYTES] < 0
    if ticks[at + CREDIT_TICK] == NONE:
        ticks[at + CREDIT_TICK] = tick
        channels[channel + CREDIT_BYTES] ^= size
    else:
        _give_in_order(sc, channels, ticks, credits, q, tick, size)
    return waits


@njit(**INNER_KERNEL)
def _give_in_order(sc, channels, ticks, credits, q, tick, size):
    """Put a credit where it belongs: in the row, for that one's place on the ring, or there."""
    channel = np.uint64(q) << Q_BITS
    at = np.uint64(q) << QT_BITS
    if tick < ticks[at + CREDIT_TICK]:
        known = np.int64(channels[channel + CREDIT_BYTES])
        waits = known >> 63
        channels[channel + CREDIT_BYTES] = size ^ waits
        size = known ^ waits
        tick, ticks[at + CREDIT_TICK] = ticks[at + CREDIT_TICK], tick
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
    tail = np.int64(channels[channel + CREDIT_TAIL])
    if tail < 0:
        credits[row + CR_NEXT] = c
        channels[channel + CREDIT_TAIL] = c
        return
    # the last one's next is the first; credits mostly come in order, so the end is looked at first
    before = np.uint64(tail) << CR_BITS
    if credits[before + CR_TICK] <= tick:
        channels[channel + CREDIT_TAIL] = c
    else:
        after = np.uint64(credits[before + CR_NEXT]) << CR_BITS
        while credits[after + CR_TICK] <= tick:
            before = after
            after = np.uint64(credits[before + CR_NEXT]) << CR_BITS
    credits[row + CR_NEXT] = credits[before + CR_NEXT]
    credits[before + CR_NEXT] = c


@njit(**PLAIN_KERNEL, inline="always")
def use_space(channels, q, size):
    """Take space for a packet that starts on channel ``q``, which no longer waits for space."""
    channel = np.uint64(q) << Q_BITS
    channels[channel + SPACE] -= size
    known = channels[channel + CREDIT_BYTES]
    if known < 0:
        channels[channel + CREDIT_BYTES] = ~known


@njit(**INNER_KERNEL)
def when_room(channels, ticks, credits, q, size):
    """Return the first tick at which the known credits give ``size`` bytes on ``q``, which waits
    from now."""
    channel = np.uint64(q) << Q_BITS
    known = np.int64(channels[channel + CREDIT_BYTES])
    if known >= 0:
        channels[channel + CREDIT_BYTES] = ~known
    else:
        known = ~known
    tick = ticks[(np.uint64(q) << QT_BITS) + CREDIT_TICK]
    if tick == NONE:
        return NONE
    have = np.int64(channels[channel + SPACE]) + known
    if have >= size:
        return tick
    tail = np.int64(channels[channel + CREDIT_TAIL])
    if tail < 0:
        return NONE
    c = tail
    while True:
        c = np.int64(credits[(np.uint64(c) << CR_BITS) + CR_NEXT])
        have += credits[(np.uint64(c) << CR_BITS) + CR_BYTES]
        if have >= size:
            return credits[(np.uint64(c) << CR_BITS) + CR_TICK]
        if c == tail:
            return NONE
