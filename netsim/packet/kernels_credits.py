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
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_wheel import NONE


@njit(**PLAIN_KERNEL, inline="always")
def collect_credits(sc, credits, channel):
    """Make the space visible that a channel has got back by now."""
    if channel.credit_tick <= sc.now:
        # the sign encodes whether the link waits: `x ^ -1` turns all bits, `x ^ 0` none
        known = np.int64(channel.credit_bytes)
        waits = known >> 63
        back = known ^ waits
        channel.credit_tick = NONE
        channel.credit_bytes = waits
        if channel.credit_tail >= 0:
            back += _collect_listed(sc, credits, channel)
        channel.space += back
        channel.room += back


@njit(**INNER_KERNEL)
def _collect_listed(sc, credits, channel):
    """Return the bytes of the ring's credits that are due; the one after them goes into the row."""
    # Invariant: the row's credit is the earliest, and the ring is empty if the row has none. So the
    # first credit that is not due moves into the row.
    tail = np.int64(channel.credit_tail)
    last = row_of(credits, tail)
    back = np.int64(0)
    while True:
        c = np.int64(last.next)
        credit = row_of(credits, c)
        last.next = credit.next
        credit.next = sc.free_credit
        sc.free_credit = c
        sc.n_credits -= 1
        if c == tail:
            channel.credit_tail = -1
        if credit.tick > sc.now:
            channel.credit_tick = credit.tick
            channel.credit_bytes ^= credit.bytes
            return back
        back += credit.bytes
        if c == tail:
            return back


@njit(**PLAIN_KERNEL, inline="always")
def give_credit(sc, credits, channel, tick, size):
    """Return ``size`` bytes to a channel at ``tick``, and whether its link waits for space."""
    collect_credits(sc, credits, channel)
    waits = channel.credit_bytes < 0
    if channel.credit_tick == NONE:
        channel.credit_tick = tick
        channel.credit_bytes ^= size
    else:
        _give_in_order(sc, credits, channel, tick, size)
    return waits


@njit(**INNER_KERNEL)
def _give_in_order(sc, credits, channel, tick, size):
    """Put a credit where it belongs: in the row, for that one's place on the ring, or there."""
    if tick < channel.credit_tick:
        known = np.int64(channel.credit_bytes)
        waits = known >> 63
        channel.credit_bytes = size ^ waits
        size = known ^ waits
        tick, channel.credit_tick = channel.credit_tick, tick
    c = sc.free_credit
    if c >= 0:
        sc.free_credit = row_of(credits, c).next
    else:
        c = sc.used_credits
        sc.used_credits = c + 1
    sc.n_credits += 1
    credit = row_of(credits, c)
    credit.tick = tick
    credit.bytes = size
    if channel.credit_tail < 0:
        credit.next = c
        channel.credit_tail = c
        return
    # the last one's next is the first; credits mostly come in order, so the end is looked at first
    before = row_of(credits, channel.credit_tail)
    if before.tick <= tick:
        channel.credit_tail = c
    else:
        after = row_of(credits, before.next)
        while after.tick <= tick:
            before = after
            after = row_of(credits, before.next)
    credit.next = before.next
    before.next = c


@njit(**PLAIN_KERNEL, inline="always")
def use_space(channel, size):
    """Take space for a packet that starts on a channel, which no longer waits for space."""
    channel.space -= size
    known = channel.credit_bytes
    if known < 0:
        channel.credit_bytes = ~known


@njit(**INNER_KERNEL)
def when_room(credits, channel, size):
    """Return the first tick at which the known credits give ``size`` bytes on a channel, which
    waits from now."""
    known = np.int64(channel.credit_bytes)
    if known >= 0:
        channel.credit_bytes = ~known
    else:
        known = ~known
    if channel.credit_tick == NONE:
        return NONE
    have = np.int64(channel.space) + known
    if have >= size:
        return channel.credit_tick
    tail = np.int64(channel.credit_tail)
    if tail < 0:
        return NONE
    c = tail
    while True:
        c = np.int64(row_of(credits, c).next)
        credit = row_of(credits, c)
        have += credit.bytes
        if have >= size:
            return credit.tick
        if c == tail:
            return NONE
