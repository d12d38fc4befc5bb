# mypy: allow-untyped-defs, allow-untyped-calls
"""Events: a wheel of two levels for packets and links, heaps for ranks and what is far away.

Time is cut into *spans* of ``1 << SPAN_BITS`` ticks. The fine wheel is a ring of buckets, one a
tick, of two spans: the present one and the next (all before HORIZON), with a bit for every bucket
that may hold something and a second level of bits over those words: small enough for the nearest
cache, however fine the tick. What comes later waits in a ring of spans, and moves into the fine
wheel when its span is the next one. A bucket is a linked list; its order does not matter, since
what happens in one tick is put into the model's order later.

A link's try is an entry of the pool ``tries``. It counts if TRY_TICK of the link is its tick: a
link that is to be tried earlier gets another entry, and the old one is passed over.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_memory import prefetch
from netsim.packet.tables import (
    CH_BITS,
    FINE,
    HORIZON,
    L_BITS,
    N_FAR,
    N_LATER,
    N_LINKS,
    N_OPENED,
    N_PK,
    N_STARTS,
    N_TRIES,
    NEXT,
    NOW,
    OVER,
    PK_BITS,
    PK_FREE,
    PK_USED,
    TRY_FREE,
    TRY_TICK,
    TRY_USED,
)

NONE = 1 << 62
"""A tick that never comes."""

SPAN_BITS = 11
SPAN = 1 << SPAN_BITS
FINE_MASK = 2 * SPAN - 1


@njit(**PLAIN_KERNEL, inline="always")
def low_bit(bits):
    """Return the number of the lowest set bit."""
    return np.int64(trailing_zeros(bits))  # type: ignore[call-arg]


@njit(**PLAIN_KERNEL, inline="always")
def mark(occupied, tick):
    """Set the occupancy bits of a tick's bucket; returns the bucket."""
    # Invariant: all ticks in the fine wheel are within 2 * SPAN of NOW, so a bucket is one tick.
    bucket = tick & FINE_MASK
    w = bucket >> 6
    occupied[w] |= np.uint64(1) << np.uint64(bucket & 63)
    occupied[2 * SPAN >> 6] |= np.uint64(1) << np.uint64(w)
    return bucket


@njit(**PLAIN_KERNEL, inline="always")
def unmark(occupied, bucket):
    """Clear the bits of a bucket that has been worked off."""
    w = bucket >> 6
    occupied[w] &= ~(np.uint64(1) << np.uint64(bucket & 63))
    if occupied[w] == 0:
        occupied[2 * SPAN >> 6] &= ~(np.uint64(1) << np.uint64(w))


@njit(**PLAIN_KERNEL, inline="always")
def next_tick(occupied, now):
    """Return the first tick >= now whose bucket in the fine wheel is marked, or NONE."""
    bucket = now & FINE_MASK
    w = bucket >> 6
    bits = occupied[w] >> np.uint64(bucket & 63)
    if bits != 0:
        return now + low_bit(bits)
    words = occupied[2 * SPAN >> 6]
    if words == 0:
        return NONE
    # words after this one are later in this turn of the ring; those before it, and this one's
    # lower bits, belong to the next turn
    later = words & ~((np.uint64(2) << np.uint64(w)) - np.uint64(1))
    if later != 0:
        w = low_bit(later)
        return now + (w << 6) + low_bit(occupied[w]) - bucket
    w = low_bit(words)
    ahead = (w << 6) + low_bit(occupied[w]) - bucket
    if ahead < 0:
        ahead += 2 * SPAN
    return now + ahead


@njit(**INNER_KERNEL)
def heap_push(heap, n, tick, item):
    """Push (tick, item) on a binary heap of ``n`` entries sorted by tick, then item."""
    # Equal ticks leave by item, since ranks whose time has come continue by number.
    k = n
    while k > 0:
        up = (k - 1) >> 1
        if heap[up, 0] < tick or (heap[up, 0] == tick and heap[up, 1] <= item):
            break
        heap[k, 0] = heap[up, 0]
        heap[k, 1] = heap[up, 1]
        k = up
    heap[k, 0] = tick
    heap[k, 1] = item


@njit(**INNER_KERNEL)
def heap_pop(heap, n):
    """Remove the top of a heap of ``n`` entries (read it before)."""
    n -= 1
    tick = heap[n, 0]
    item = heap[n, 1]
    k = 0
    while True:
        c = 2 * k + 1
        if c >= n:
            break
        if c + 1 < n and (
            heap[c + 1, 0] < heap[c, 0]
            or (heap[c + 1, 0] == heap[c, 0] and heap[c + 1, 1] < heap[c, 1])
        ):
            c += 1
        if tick < heap[c, 0] or (tick == heap[c, 0] and item <= heap[c, 1]):
            break
        heap[k, 0] = heap[c, 0]
        heap[k, 1] = heap[c, 1]
        k = c
    heap[k, 0] = tick
    heap[k, 1] = item


@njit(**INNER_KERNEL)
def add_later(sc, ev, chain, which, item, tick):
    """Keep a packet (which = 0) or an entry of a try (1) for a span after the fine wheel's."""
    span = tick >> SPAN_BITS
    mask = (len(ev.later) >> 1) - 1
    # Invariant: the ring holds only spans of [HORIZON, HORIZON + mask], so a slot is one span.
    if span - sc[HORIZON] > mask:
        heap_push(ev.far, sc[N_FAR], tick, (np.int64(item) << 1) | which)
        sc[N_FAR] += 1
        return
    row = np.uint64(item) << CH_BITS
    slot = span & mask
    chain[row + FINE] = tick & (SPAN - 1)
    chain[row + NEXT] = ev.later[2 * slot + which]
    ev.later[2 * slot + which] = item
    ev.later_occupied[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    sc[N_LATER] += 1


@njit(**PLAIN_KERNEL, inline="always")
def add_arrival(sc, ev, p, link, tick):
    """Schedule the arrival of packet ``p`` over ``link`` at ``tick``."""
    # Invariant: a packet is in one list at a time (a bucket, a span, a FIFO or the free rows), for
    # all of them run through its one NEXT.
    row = np.uint64(p) << CH_BITS
    ev.chain[row + OVER] = link
    if tick >> SPAN_BITS < sc[HORIZON]:
        bucket = mark(ev.occupied, tick)
        ev.chain[row + NEXT] = ev.wheel[2 * bucket]
        ev.wheel[2 * bucket] = p
    else:
        add_later(sc, ev, ev.chain, 0, p, tick)


@njit(**PLAIN_KERNEL, inline="always")
def new_packet(sc, chain):
    """Return a free row of the pool of packets, which must have one."""
    p = sc[PK_FREE]
    if p >= 0:
        sc[PK_FREE] = chain[(np.uint64(p) << CH_BITS) + NEXT]
    else:
        p = sc[PK_USED]
        sc[PK_USED] = p + 1
    sc[N_PK] += 1
    return p


@njit(**PLAIN_KERNEL, inline="always")
def free_packet(sc, chain, p):
    """Give a row of the pool of packets back."""
    chain[(np.uint64(p) << CH_BITS) + NEXT] = sc[PK_FREE]
    sc[PK_FREE] = p
    sc[N_PK] -= 1


@njit(**PLAIN_KERNEL, inline="always")
def free_try(sc, tries, entry):
    """Give an entry of the pool of tries back."""
    tries[(np.uint64(entry) << CH_BITS) + NEXT] = sc[TRY_FREE]
    sc[TRY_FREE] = entry
    sc[N_TRIES] -= 1


@njit(**HOT_KERNEL)
def set_try(sc, links, ev, link, tick):
    """Set the try of ``link`` to ``tick``."""
    # An older entry of the link stays where it is. It is stale when its tick comes: TRY_TICK is
    # another then, or NONE because this entry's tick was the same and came first.
    links[(np.uint64(link) << L_BITS) + TRY_TICK] = tick
    tries = ev.tries
    entry = sc[TRY_FREE]
    row = np.uint64(entry) << CH_BITS
    if entry >= 0:
        sc[TRY_FREE] = tries[row + NEXT]
    else:
        entry = sc[TRY_USED]
        row = np.uint64(entry) << CH_BITS
        sc[TRY_USED] = entry + 1
    sc[N_TRIES] += 1
    tries[row + OVER] = link
    if tick >> SPAN_BITS < sc[HORIZON]:
        bucket = mark(ev.occupied, tick)
        tries[row + NEXT] = ev.wheel[2 * bucket + 1]
        ev.wheel[2 * bucket + 1] = entry
    else:
        add_later(sc, ev, tries, 1, entry, tick)


@njit(**PLAIN_KERNEL, inline="always")
def add_try(sc, links, ev, link, tick):
    """Make sure that ``link`` is tried at ``tick`` or before."""
    if tick < links[(np.uint64(link) << L_BITS) + TRY_TICK]:
        set_try(sc, links, ev, link, tick)


@njit(**PLAIN_KERNEL, inline="always")
def add_start(sc, links, ev, link, tick):
    """Call `add_try` before the phase of the starts: a start in this tick needs no event."""
    row = np.uint64(link) << L_BITS
    if tick < links[row + TRY_TICK]:
        if tick == sc[NOW]:
            links[row + TRY_TICK] = tick
            n = sc[N_STARTS]
            ev.starts[np.uint64(n)] = link
            sc[N_STARTS] = n + 1
        else:
            set_try(sc, links, ev, link, tick)


@njit(**INNER_KERNEL)
def first_later(sc, ev):
    """Return the first non-empty span after those of the fine wheel; there is one."""
    mask = (len(ev.later) >> 1) - 1
    span = sc[HORIZON]
    while True:
        slot = span & mask
        bits = ev.later_occupied[slot >> 6] >> np.uint64(slot & 63)
        if bits != 0:
            return span + low_bit(bits)
        span = ((span >> 6) + 1) << 6


@njit(**INNER_KERNEL)
def open_span(sc, links, packets, ev, span):
    """Move what waits for a span into the fine wheel."""
    slot = span & ((len(ev.later) >> 1) - 1)
    begin = span << SPAN_BITS
    chain = ev.chain
    tries = ev.tries
    n_opened = sc[N_OPENED]
    p = np.int64(ev.later[2 * slot])
    while p >= 0:
        # one that finds no place is routed when it arrives, with the same result
        if n_opened < len(ev.opened):
            ev.opened[n_opened] = p
            n_opened += 1
        row = np.uint64(p) << CH_BITS
        after = np.int64(chain[row + NEXT])
        prefetch(packets, np.uint64(p) << PK_BITS)
        bucket = mark(ev.occupied, begin + chain[row + FINE])
        chain[row + NEXT] = ev.wheel[2 * bucket]
        ev.wheel[2 * bucket] = p
        sc[N_LATER] -= 1
        p = after
    sc[N_OPENED] = n_opened
    entry = np.int64(ev.later[2 * slot + 1])
    while entry >= 0:
        row = np.uint64(entry) << CH_BITS
        after = np.int64(tries[row + NEXT])
        prefetch(links, np.uint64(tries[row + OVER]) << L_BITS)
        bucket = mark(ev.occupied, begin + tries[row + FINE])
        tries[row + NEXT] = ev.wheel[2 * bucket + 1]
        ev.wheel[2 * bucket + 1] = entry
        sc[N_LATER] -= 1
        entry = after
    ev.later[2 * slot] = -1
    ev.later[2 * slot + 1] = -1
    ev.later_occupied[slot >> 6] &= ~(np.uint64(1) << np.uint64(slot & 63))


@njit(**INNER_KERNEL)
def open_until(sc, links, packets, ev, horizon):
    """Open all spans before ``horizon`` in the fine wheel."""
    while sc[N_LATER] > 0:
        span = first_later(sc, ev)
        if span >= horizon:
            break
        open_span(sc, links, packets, ev, span)
        sc[HORIZON] = span + 1  # where `first_later` begins to look
    sc[HORIZON] = horizon


@njit(**INNER_KERNEL)
def bring_near(sc, ev):
    """Move what the far heap holds within reach into the wheel."""
    far = ev.far
    reach = sc[HORIZON] + (len(ev.later) >> 1) - 1
    while sc[N_FAR] > 0 and far[0, 0] >> SPAN_BITS <= reach:
        tick = far[0, 0]
        item = far[0, 1]
        heap_pop(far, sc[N_FAR])
        sc[N_FAR] -= 1
        which = item & 1
        chain = ev.tries if which else ev.chain
        item >>= 1
        if tick >> SPAN_BITS >= sc[HORIZON]:
            add_later(sc, ev, chain, which, item, tick)
        else:
            bucket = mark(ev.occupied, tick)
            chain[(np.uint64(item) << CH_BITS) + NEXT] = ev.wheel[2 * bucket + which]
            ev.wheel[2 * bucket + which] = item


@njit(**INNER_KERNEL)
def collect(a, n, bucket):
    """Put a bucket's packets, after ``n`` others, into the order of the links they come over.

    ``order`` gets them, ``chosen`` the routers they come to. Returns how many there are then.
    """
    sc = a.sc
    events = a.events
    packets = a.packets
    arriving = a.arriving
    marked = a.marked
    order = a.order
    chain = events.chain
    upper = (sc[N_LINKS] >> 6) + 1
    p = np.int64(events.wheel[2 * bucket])
    events.wheel[2 * bucket] = -1
    while p >= 0:
        prefetch(packets, np.uint64(p) << PK_BITS)
        row = np.uint64(p) << CH_BITS
        link = np.int64(chain[row + OVER])
        # Invariant: one packet a link and tick, since they start a serialisation apart.
        arriving[np.uint64(link)] = p
        w = link >> 6
        marked[np.uint64(w)] |= np.uint64(1) << np.uint64(link & 63)
        marked[np.uint64(upper + (w >> 6))] |= np.uint64(1) << np.uint64(w & 63)
        p = np.int64(chain[row + NEXT])
    for g in range(upper, len(marked)):
        while marked[g] != 0:
            w = ((g - upper) << 6) + low_bit(marked[g])
            marked[g] &= marked[g] - np.uint64(1)
            bits = marked[np.uint64(w)]
            marked[np.uint64(w)] = np.uint64(0)
            while bits != 0:
                row = np.uint64((w << 6) + low_bit(bits))
                order[np.uint64(n)] = arriving[row]
                a.chosen[np.uint64(n)] = a.link_router[row]
                n += 1
                bits &= bits - np.uint64(1)
    return n


@njit(**HOT_KERNEL)
def next_event(sc, links, packets, ev, first_timer, until):
    """Return the tick of the next event, all its events in the fine wheel; NONE for nothing.

    ``first_timer`` is the first tick at which a rank continues. A result beyond ``until`` may come
    before what happens next.
    """
    now = next_tick(ev.occupied, sc[NOW])
    # The tick's own span and the next one have to be open before its events run, and the heap must
    # hold nothing that they could come after.
    opened = (now >> SPAN_BITS) + 2 <= sc[HORIZON]
    if opened and now <= min(first_timer, until) and sc[N_FAR] == 0:
        return now
    return _next_event_elsewhere(sc, links, packets, ev, first_timer, until)


@njit(**INNER_KERNEL)
def _next_event_elsewhere(sc, links, packets, ev, first_timer, until):
    """Return `next_event` where it is not just the next mark in the fine wheel."""
    while True:
        now = next_tick(ev.occupied, sc[NOW])
        other = first_timer
        if sc[N_FAR] > 0:
            other = min(other, ev.far[0, 0])
        if now == NONE and sc[N_LATER] > 0:
            # the first later span has the next event, unless a rank or the heap has it
            span = first_later(sc, ev)
            begin = span << SPAN_BITS
            if begin > until and other > until:
                return min(begin, other)
            if begin <= other:
                open_until(sc, links, packets, ev, span + 1)
                sc[NOW] = begin
                continue
        now = min(now, other)
        if now == NONE or now > until:
            return now
        if (now >> SPAN_BITS) + 2 > sc[HORIZON]:
            open_until(sc, links, packets, ev, (now >> SPAN_BITS) + 2)
        if sc[N_FAR] > 0:
            bring_near(sc, ev)
        return now
