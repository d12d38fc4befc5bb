# mypy: allow-untyped-defs, allow-untyped-calls
"""Events: a time wheel for packets and links, heaps for ranks and for what is far away.

The wheel is a ring of buckets, one a tick, with a bit for every bucket that may hold
something and a second level of bits over the words of the first. A bucket is a linked list;
its order does not matter, since what happens in one tick is put into the model's order later.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.tables import (
    L_BITS,
    MASK,
    N_FAR,
    NEXT,
    NOW,
    PK_BITS,
    TRY_NEXT,
    TRY_PREV,
    TRY_TICK,
)

NONE = 1 << 62
"""A tick that never comes."""

FAR = -2
"""TRY_PREV of a link whose try is in the far heap; an outdated entry there is skipped."""


@njit(**PLAIN_KERNEL, inline="always")
def low_bit(bits):
    """Number of the lowest set bit."""
    return np.int64(trailing_zeros(bits))  # type: ignore[call-arg]


@njit(**PLAIN_KERNEL, inline="always")
def mark(sc, occupied, tick):
    """Set the occupancy bits of a tick's bucket; returns the bucket."""
    bucket = tick & sc[MASK]
    w = bucket >> 6
    occupied[w] |= np.uint64(1) << np.uint64(bucket & 63)
    occupied[((sc[MASK] + 1) >> 6) + (w >> 6)] |= np.uint64(1) << np.uint64(w & 63)
    return bucket


@njit(**PLAIN_KERNEL, inline="always")
def unmark(sc, occupied, bucket):
    """Clear the bits of a bucket that has been worked off."""
    w = bucket >> 6
    occupied[w] &= ~(np.uint64(1) << np.uint64(bucket & 63))
    if occupied[w] == 0:
        occupied[((sc[MASK] + 1) >> 6) + (w >> 6)] &= ~(np.uint64(1) << np.uint64(w & 63))


@njit(**PLAIN_KERNEL, inline="always")
def next_tick(sc, occupied):
    """The first tick >= NOW whose bucket is marked; NONE if there is none."""
    now = sc[NOW]
    size = sc[MASK] + 1
    bucket = now & sc[MASK]
    w = bucket >> 6
    bits = occupied[w] >> np.uint64(bucket & 63)
    if bits != 0:
        return now + low_bit(bits)
    upper = size >> 6
    n_upper = len(occupied) - upper
    g = w >> 6
    k = w & 63
    bits = np.uint64(0)
    if k < 63:
        bits = occupied[upper + g] >> np.uint64(k + 1)
    if bits != 0:
        w += 1 + low_bit(bits)
        return now + (w << 6) + low_bit(occupied[w]) - bucket
    for i in range(1, n_upper + 1):
        g2 = g + i
        if g2 >= n_upper:
            g2 -= n_upper
        bits = occupied[upper + g2]
        if bits != 0:
            w = (g2 << 6) + low_bit(bits)
            ahead = (w << 6) + low_bit(occupied[w]) - bucket
            if ahead <= 0:
                ahead += size
            return now + ahead
    return NONE


@njit(**INNER_KERNEL)
def heap_push(heap, n, tick, item):
    """Push (tick, item) on a binary heap of ``n`` entries sorted by tick, then item."""
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


@njit(**PLAIN_KERNEL, inline="always")
def add_arrival(sc, wheel, occupied, far, packets, p, tick):
    """Let packet ``p`` arrive at ``tick``."""
    if tick - sc[NOW] <= sc[MASK]:
        bucket = mark(sc, occupied, tick)
        packets[(np.uint64(p) << PK_BITS) + NEXT] = wheel[2 * bucket]
        wheel[2 * bucket] = p
    else:
        heap_push(far, sc[N_FAR], tick, np.int64(p) << 1)
        sc[N_FAR] += 1


@njit(**HOT_KERNEL)
def move_try(sc, links, wheel, occupied, far, link, tick):
    """Set the try of ``link`` to ``tick``, taking it out of its bucket if it is in one."""
    before = links[(np.uint64(link) << L_BITS) + TRY_PREV]
    if links[(np.uint64(link) << L_BITS) + TRY_TICK] != NONE and before != FAR:
        after = links[(np.uint64(link) << L_BITS) + TRY_NEXT]
        if before >= 0:
            links[(np.uint64(before) << L_BITS) + TRY_NEXT] = after
        else:
            wheel[2 * (links[(np.uint64(link) << L_BITS) + TRY_TICK] & sc[MASK]) + 1] = after
        if after >= 0:
            links[(np.uint64(after) << L_BITS) + TRY_PREV] = before
    links[(np.uint64(link) << L_BITS) + TRY_TICK] = tick
    if tick - sc[NOW] <= sc[MASK]:
        bucket = mark(sc, occupied, tick)
        head = np.int64(wheel[2 * bucket + 1])
        links[(np.uint64(link) << L_BITS) + TRY_NEXT] = head
        links[(np.uint64(link) << L_BITS) + TRY_PREV] = -1
        if head >= 0:
            links[(np.uint64(head) << L_BITS) + TRY_PREV] = link
        wheel[2 * bucket + 1] = link
    else:
        links[(np.uint64(link) << L_BITS) + TRY_PREV] = FAR
        heap_push(far, sc[N_FAR], tick, (np.int64(link) << 1) | 1)
        sc[N_FAR] += 1


@njit(**PLAIN_KERNEL, inline="always")
def add_try(sc, links, wheel, occupied, far, link, tick):
    """Make sure that ``link`` is tried at ``tick`` or before."""
    if tick < links[(np.uint64(link) << L_BITS) + TRY_TICK]:
        move_try(sc, links, wheel, occupied, far, link, tick)


@njit(**INNER_KERNEL)
def bring_near(sc, links, wheel, occupied, far, packets):
    """Move what the far heap holds within the wheel's reach into the wheel."""
    while sc[N_FAR] > 0 and far[0, 0] - sc[NOW] <= sc[MASK]:
        tick = far[0, 0]
        item = far[0, 1]
        heap_pop(far, sc[N_FAR])
        sc[N_FAR] -= 1
        if item & 1 == 0:
            add_arrival(sc, wheel, occupied, far, packets, item >> 1, tick)
        else:
            link = item >> 1
            if (
                links[(np.uint64(link) << L_BITS) + TRY_PREV] == FAR
                and links[(np.uint64(link) << L_BITS) + TRY_TICK] == tick
            ):
                links[(np.uint64(link) << L_BITS) + TRY_TICK] = NONE
                move_try(sc, links, wheel, occupied, far, link, tick)
