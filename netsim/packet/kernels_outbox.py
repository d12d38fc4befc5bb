# mypy: allow-untyped-defs, allow-untyped-calls
"""Traffic between domains: packets in flight, and freed buffer space.

Each domain has an outbox for each of two parities: it fills one in a window while the others
read what it put into the other in the window before. A row of an outbox is in a list for its
receiver. ``border`` is a domain's `Border`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_wheel import NONE, free_packet
from netsim.packet.tables import I64, PK_BITS, PK_WIDTH

# rows of outboxes: the next one for the same receiver, the tick, then a packet's row or a credit
AFTER, TICK, PACKET = 0, 1, 2
MAIL_WIDTH = PACKET + PK_WIDTH
CREDIT_Q, CREDIT_BYTES = 2, 3
BACK_WIDTH = 4

# a domain's words: its own state, then by parity two counts, the earliest tick, and the
# first packet and the first credit for each receiver
PARITY, WINDOW_END, MAIL_WAITS, UNFINISHED, TURN, COUNTS = 0, 1, 2, 3, 4, 8
N_MAIL, N_BACK, EARLIEST, LISTS = 0, 1, 2, 3


class Border(NamedTuple):
    """A domain's view of what lies beyond it.

    Attributes
    ----------
    me, n : int
        Number of the domain and how many there are.
    capacity, spare : int
        Rows of an outbox, and how many of them one tick can fill.
    link_from, link_to : (n_links,) int16
    words : (n * words_of(n),) int64
        Of all domains, each written by its own.
    mail, back : flat rows
        ``capacity`` packets, or credits, of each parity of each domain.
    """

    me: int
    n: int
    capacity: int
    spare: int
    link_from: NDArray[np.int16]
    link_to: NDArray[np.int16]
    words: I64
    mail: I64
    back: I64


@njit(**PLAIN_KERNEL)
def words_of(n):
    """Return the words of a domain among ``n``, whole cache lines."""
    return ((COUNTS + 2 * (LISTS + 2 * n)) // 8 + 2) * 8


@njit(**INNER_KERNEL)
def box_of(border, domain, parity):
    """Return the offset of an outbox's counts and lists in the words."""
    return domain * words_of(border.n) + COUNTS + parity * (LISTS + 2 * border.n)


@njit(**INNER_KERNEL)
def empty_outbox(border):
    """Begin to fill the own outbox of the present parity."""
    box = box_of(border, border.me, border.words[border.me * words_of(border.n) + PARITY])
    border.words[box + N_MAIL] = 0
    border.words[box + N_BACK] = 0
    border.words[box + EARLIEST] = NONE
    for k in range(2 * border.n):
        border.words[box + LISTS + k] = -1


@njit(**INNER_KERNEL)
def outbox_full(border, most):
    """Return whether the next tick, of up to ``most`` credits, could exceed the capacity."""
    words = border.words
    box = box_of(border, border.me, words[border.me * words_of(border.n) + PARITY])
    sent = max(words[box + N_MAIL], words[box + N_BACK])
    return sent + max(border.spare, most) > border.capacity


@njit(**INNER_KERNEL)
def send_packet(border, sc, packets, chain, p, tick, to):
    """Send a packet to another domain, where it arrives at ``tick``."""
    words = border.words
    parity = words[border.me * words_of(border.n) + PARITY]
    box = box_of(border, border.me, parity)
    k = words[box + N_MAIL]
    words[box + N_MAIL] = k + 1
    words[box + EARLIEST] = min(words[box + EARLIEST], tick)
    row = ((2 * border.me + parity) * border.capacity + k) * MAIL_WIDTH
    border.mail[row + AFTER] = words[box + LISTS + to]
    words[box + LISTS + to] = k
    border.mail[row + TICK] = tick
    packet = np.uint64(p) << PK_BITS
    for i in range(PK_WIDTH):
        border.mail[row + PACKET + i] = packets[packet + np.uint64(i)]
    free_packet(sc, chain, p)


@njit(**INNER_KERNEL)
def send_credit(border, q, tick, size, to):
    """Send a credit: space of channel ``q``, of another domain, comes free at ``tick``."""
    words = border.words
    parity = words[border.me * words_of(border.n) + PARITY]
    box = box_of(border, border.me, parity)
    k = words[box + N_BACK]
    words[box + N_BACK] = k + 1
    words[box + EARLIEST] = min(words[box + EARLIEST], tick)
    row = ((2 * border.me + parity) * border.capacity + k) * BACK_WIDTH
    border.back[row + AFTER] = words[box + LISTS + border.n + to]
    words[box + LISTS + border.n + to] = k
    border.back[row + TICK] = tick
    border.back[row + CREDIT_Q] = q
    border.back[row + CREDIT_BYTES] = size
