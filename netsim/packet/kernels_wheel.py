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
from numba import config, njit
from numba.cpython.unsafe.numbers import trailing_zeros

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_memory import prefetch, row_of

NONE = 1 << 62
"""A tick that never comes."""

SPAN_BITS = 11
SPAN = 1 << SPAN_BITS
FINE_MASK = 2 * SPAN - 1

CACHED_LINKS = 1 << 17
"""With fewer links, to fetch what the next tries and ranks need takes longer than it saves."""

# what a list of a bucket holds
PACKETS, TRIES = 0, 1


if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def low_bit(bits):
        """Return the number of the lowest set bit."""
        return np.int64((int(bits) & -int(bits)).bit_length() - 1)

else:

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


@njit(**HOT_KERNEL)
def precedes(entry, tick, item):
    """Return whether an entry of a heap leaves before (tick, item)."""
    # Equal ticks leave by item, since ranks whose time has come continue by number.
    return entry.tick < tick or (entry.tick == tick and entry.key < item)


@njit(**HOT_KERNEL)
def set_entry(entry, tick, item):
    """Write an entry of a heap."""
    entry.tick = tick
    entry.key = item


@njit(**INNER_KERNEL)
def heap_push(heap, n, tick, item):
    """Push (tick, item) on a binary heap of ``n`` entries sorted by tick, then item."""
    k = n
    while k > 0:
        above = row_of(heap, (k - 1) >> 1)
        if precedes(above, tick, item):
            break
        set_entry(row_of(heap, k), above.tick, above.key)
        k = (k - 1) >> 1
    set_entry(row_of(heap, k), tick, item)


@njit(**INNER_KERNEL)
def heap_pop(heap, n):
    """Remove the top of a heap of ``n`` entries (read it before)."""
    n -= 1
    tick = row_of(heap, n).tick
    item = row_of(heap, n).key
    k = 0
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n:
            first = row_of(heap, child)
            if precedes(row_of(heap, child + 1), first.tick, first.key):
                child += 1
        below = row_of(heap, child)
        if not precedes(below, tick, item):
            break
        set_entry(row_of(heap, k), below.tick, below.key)
        k = child
    set_entry(row_of(heap, k), tick, item)


@njit(**PLAIN_KERNEL, inline="always")
def put(ev, bucket, which, item):
    """Put a packet, or an entry of a try, into a list of a bucket."""
    # Invariant: a packet is in one list at a time (a bucket, a span, a FIFO or the free rows), for
    # all of them run through its one ``next``.
    if which == TRIES:
        row_of(ev.tries, item).next = bucket.entry
        bucket.entry = item
    else:
        row_of(ev.chain, item).next = bucket.packet
        bucket.packet = item


@njit(**INNER_KERNEL)
def add_later(sc, ev, which, item, tick):
    """Keep a packet, or an entry of a try, for a span after the fine wheel's."""
    span = tick >> SPAN_BITS
    # Invariant: the ring holds only len(later) spans from the horizon on, so a slot is one span.
    if span - sc.horizon >= len(ev.later):
        heap_push(ev.far, sc.n_far, tick, (np.int64(item) << 1) | which)
        sc.n_far += 1
        return
    slot = span & (len(ev.later) - 1)
    chain = ev.tries if which == TRIES else ev.chain
    row_of(chain, item).fine = tick & (SPAN - 1)
    put(ev, row_of(ev.later, slot), which, item)
    ev.later_occupied[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    sc.n_later += 1


@njit(**PLAIN_KERNEL, inline="always")
def schedule(sc, ev, which, item, tick):
    """Put a packet, or an entry of a try, where it is found when its tick comes."""
    if tick >> SPAN_BITS < sc.horizon:
        put(ev, row_of(ev.wheel, mark(ev.occupied, tick)), which, item)
    else:
        add_later(sc, ev, np.int64(which), item, tick)


@njit(**PLAIN_KERNEL, inline="always")
def add_arrival(sc, ev, p, link, tick):
    """Schedule the arrival of packet ``p`` over ``link`` at ``tick``."""
    row_of(ev.chain, p).over = link
    schedule(sc, ev, PACKETS, p, tick)


@njit(**PLAIN_KERNEL, inline="always")
def new_packet(sc, chain):
    """Return a free row of the pool of packets, which must have one."""
    p = sc.free_packet
    if p >= 0:
        sc.free_packet = row_of(chain, p).next
    else:
        p = sc.used_packets
        sc.used_packets = p + 1
    sc.n_packets += 1
    return p


@njit(**PLAIN_KERNEL, inline="always")
def free_packet(sc, chain, p):
    """Give a row of the pool of packets back."""
    row_of(chain, p).next = sc.free_packet
    sc.free_packet = p
    sc.n_packets -= 1


@njit(**PLAIN_KERNEL, inline="always")
def free_try(sc, tries, entry):
    """Give an entry of the pool of tries back."""
    row_of(tries, entry).next = sc.free_try
    sc.free_try = entry
    sc.n_tries -= 1


@njit(**HOT_KERNEL)
def set_try(sc, tried, ev, link, tick):
    """Set the try of ``link``, whose row is ``tried``, to ``tick``."""
    # An older entry of the link stays where it is. It is stale when its tick comes: ``try_tick`` is
    # another then, or NONE because this entry's tick was the same and came first.
    tried.try_tick = tick
    entry = sc.free_try
    if entry >= 0:
        sc.free_try = row_of(ev.tries, entry).next
    else:
        entry = sc.used_tries
        sc.used_tries = entry + 1
    sc.n_tries += 1
    row_of(ev.tries, entry).over = link
    schedule(sc, ev, TRIES, entry, tick)


@njit(**PLAIN_KERNEL, inline="always")
def add_try(sc, tried, ev, link, tick):
    """Make sure that ``link``, whose row is ``tried``, is tried at ``tick`` or before."""
    if tick < tried.try_tick:
        set_try(sc, tried, ev, link, tick)


@njit(**PLAIN_KERNEL, inline="always")
def add_start(sc, tried, ev, link, tick):
    """Call `add_try` before the phase of the starts: a start in this tick needs no event."""
    if tick < tried.try_tick:
        if tick == sc.now:
            tried.try_tick = tick
            n = sc.n_starts
            ev.starts[np.uint64(n)] = link
            sc.n_starts = n + 1
        else:
            set_try(sc, tried, ev, link, tick)


@njit(**INNER_KERNEL)
def first_later(sc, ev):
    """Return the first non-empty span after those of the fine wheel; there is one."""
    mask = len(ev.later) - 1
    span = sc.horizon
    while True:
        slot = span & mask
        bits = ev.later_occupied[slot >> 6] >> np.uint64(slot & 63)
        if bits != 0:
            return span + low_bit(bits)
        span = ((span >> 6) + 1) << 6


@njit(**INNER_KERNEL)
def fetch_opened_tries(sc, links, channels, packets, tries, first):
    """Fetch, step by step, what the tries of a list will need; mostly it is the same until then."""
    for step in range(4):
        entry = first
        while entry >= 0:
            tried = row_of(tries, entry)
            link = np.int64(tried.over)
            entry = np.int64(tried.next)
            if step == 0:
                prefetch(links, np.uint64(link))
                continue
            # tries from number n_links on are of outputs of crossbars
            if link < sc.n_nodes or link >= sc.n_links or row_of(links, link).waiting_vcs == 0:
                continue
            q = (link << sc.vshift) | low_bit(np.uint64(row_of(links, link).waiting_vcs))
            if step == 1:
                prefetch(channels, np.uint64(q))
                continue
            p = np.int64(row_of(channels, q).fifo_head)
            if step == 2:
                prefetch(packets, np.uint64(p))
            elif p >= 0:  # in input-queued routers packets wait elsewhere
                prefetch(channels, np.uint64(row_of(packets, p).holds))


@njit(**INNER_KERNEL)
def open_span(sc, links, channels, packets, ev, span):
    """Move what waits for a span into the fine wheel."""
    slot = span & (len(ev.later) - 1)
    waiting = row_of(ev.later, slot)
    begin = span << SPAN_BITS
    n_opened = sc.n_opened
    p = np.int64(waiting.packet)
    while p >= 0:
        # one that finds no place is routed when it arrives, with the same result
        if n_opened < len(ev.opened):
            ev.opened[n_opened] = p
            n_opened += 1
        chained = row_of(ev.chain, p)
        after = np.int64(chained.next)
        prefetch(packets, np.uint64(p))
        put(ev, row_of(ev.wheel, mark(ev.occupied, begin + chained.fine)), PACKETS, p)
        sc.n_later -= 1
        p = after
    sc.n_opened = n_opened
    entry = np.int64(waiting.entry)
    if sc.n_links > CACHED_LINKS:
        fetch_opened_tries(sc, links, channels, packets, ev.tries, entry)
    while entry >= 0:
        chained = row_of(ev.tries, entry)
        after = np.int64(chained.next)
        prefetch(links, np.uint64(chained.over))
        put(ev, row_of(ev.wheel, mark(ev.occupied, begin + chained.fine)), TRIES, entry)
        sc.n_later -= 1
        entry = after
    waiting.packet = -1
    waiting.entry = -1
    ev.later_occupied[slot >> 6] &= ~(np.uint64(1) << np.uint64(slot & 63))


@njit(**INNER_KERNEL)
def open_until(sc, links, channels, packets, ev, horizon):
    """Open all spans before ``horizon`` in the fine wheel."""
    while sc.n_later > 0:
        span = first_later(sc, ev)
        if span >= horizon:
            break
        open_span(sc, links, channels, packets, ev, span)
        sc.horizon = span + 1  # where `first_later` begins to look
    sc.horizon = horizon


@njit(**INNER_KERNEL)
def bring_near(sc, ev):
    """Move what the far heap holds within reach into the wheel."""
    first = row_of(ev.far, 0)
    while sc.n_far > 0 and (first.tick >> SPAN_BITS) - sc.horizon < len(ev.later):
        tick = first.tick
        item = first.key
        heap_pop(ev.far, sc.n_far)
        sc.n_far -= 1
        schedule(sc, ev, item & 1, item >> 1, tick)


@njit(**HOT_KERNEL)
def collect(a, n, bucket):
    """Put a bucket's packets, after ``n`` others, into the order of the links they come over.

    ``order`` gets them, ``chosen`` the routers they come to. Returns how many there are then.
    """
    arriving = a.arriving
    marked = a.marked
    chain = a.events.chain
    first_upper = (a.sc[0].n_links >> 6) + 1
    p = np.int64(bucket.packet)
    bucket.packet = -1
    while p >= 0:
        prefetch(a.packets, np.uint64(p))
        chained = row_of(chain, p)
        link = np.int64(chained.over)
        # Invariant: one packet a link and tick, since they start a serialisation apart.
        arriving[np.uint64(link)] = p
        w = link >> 6
        marked[np.uint64(w)] |= np.uint64(1) << np.uint64(link & 63)
        marked[np.uint64(first_upper + (w >> 6))] |= np.uint64(1) << np.uint64(w & 63)
        p = np.int64(chained.next)
    for upper in range(first_upper, len(marked)):
        while marked[upper] != 0:
            w = ((upper - first_upper) << 6) + low_bit(marked[upper])
            marked[upper] &= marked[upper] - np.uint64(1)
            bits = marked[np.uint64(w)]
            marked[np.uint64(w)] = np.uint64(0)
            while bits != 0:
                over = np.uint64((w << 6) + low_bit(bits))
                a.order[np.uint64(n)] = arriving[over]
                a.chosen[np.uint64(n)] = a.link_router[over]
                n += 1
                bits &= bits - np.uint64(1)
    return n


@njit(**HOT_KERNEL)
def next_event(sc, links, channels, packets, ev, first_timer, until):
    """Return the tick of the next event, all its events in the fine wheel; NONE for nothing.

    ``first_timer`` is the first tick at which a rank continues. A result beyond ``until`` may come
    before what happens next.
    """
    now = min(next_tick(ev.occupied, sc.now), first_timer)
    # The tick's own span and the next one have to be open before its events run, and the heap must
    # hold nothing that they could come after. What later spans hold comes after them.
    opened = (now >> SPAN_BITS) + 2 <= sc.horizon
    if opened and now <= until and sc.n_far == 0:
        return now
    return _next_event_elsewhere(sc, links, channels, packets, ev, first_timer, until)


@njit(**INNER_KERNEL)
def _next_event_elsewhere(sc, links, channels, packets, ev, first_timer, until):
    """Return `next_event` where it is not just the next mark in the fine wheel."""
    while True:
        now = next_tick(ev.occupied, sc.now)
        other = first_timer
        if sc.n_far > 0:
            other = min(other, row_of(ev.far, 0).tick)
        if now == NONE and sc.n_later > 0:
            # the first later span has the next event, unless a rank or the heap has it
            span = first_later(sc, ev)
            begin = span << SPAN_BITS
            if begin > until and other > until:
                return min(begin, other)
            if begin <= other:
                open_until(sc, links, channels, packets, ev, span + 1)
                sc.now = begin
                continue
        now = min(now, other)
        if now == NONE or now > until:
            return now
        if (now >> SPAN_BITS) + 2 > sc.horizon:
            open_until(sc, links, channels, packets, ev, (now >> SPAN_BITS) + 2)
        if sc.n_far > 0:
            bring_near(sc, ev)
        return now
