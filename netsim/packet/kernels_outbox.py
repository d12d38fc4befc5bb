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
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_wheel import NONE, free_packet
from netsim.packet.tables import I64, PACKET_FIELDS, Table, record

# rows of outboxes; after is the next one for the same receiver
MAIL = record((np.int64, "after tick"), *PACKET_FIELDS)
CREDIT_MAIL = record((np.int64, "after tick channel bytes"))

# a domain's own state, and an outbox, each a cache line
DOMAIN = record((np.int64, "parity window_end mail_waits unfinished turn"), (np.int64, "_", (3,)))
OUTBOX = record((np.int64, "n_packets n_credits earliest"), (np.int64, "_", (5,)))


class Border(NamedTuple):
    """A domain's view of what lies beyond it. Rows of a domain are written by it alone.

    Attributes
    ----------
    me, n : int
        Number of the domain and how many there are.
    capacity, spare : int
        Rows of an outbox, and how many of them one tick can fill.
    link_from, link_to : (n_links,) int16
    domains : (n,) DOMAIN
    boxes : (2 * n,) OUTBOX
        Of domain d and a parity: number 2 * d + parity.
    first_packet, first_credit : (2 * n, at least n) int64
        By outbox and receiver; rows are whole cache lines.
    mail, back : (2 * n * capacity,) MAIL and CREDIT_MAIL
    """

    me: int
    n: int
    capacity: int
    spare: int
    link_from: NDArray[np.int16]
    link_to: NDArray[np.int16]
    domains: Table
    boxes: Table
    first_packet: I64
    first_credit: I64
    mail: Table
    back: Table


@njit(**PLAIN_KERNEL, inline="always")
def own_box(border):
    """Return the number of the own outbox of the present parity."""
    return 2 * border.me + row_of(border.domains, border.me).parity


@njit(**PLAIN_KERNEL, inline="always")
def copy_packet(to, packet):
    """Copy a packet's row to another row that has its fields."""
    to.message = packet.message
    to.number = packet.number
    to.visits = packet.visits
    to.state = packet.state
    to.holds = packet.holds
    to.ready = packet.ready
    to.size_class = packet.size_class
    to.to_node = packet.to_node
    to.came_latency = packet.came_latency


@njit(**INNER_KERNEL)
def empty_outbox(border):
    """Begin to fill the own outbox of the present parity."""
    number = own_box(border)
    box = row_of(border.boxes, number)
    box.n_packets = 0
    box.n_credits = 0
    box.earliest = NONE
    for to in range(border.n):
        border.first_packet[number, to] = -1
        border.first_credit[number, to] = -1


@njit(**INNER_KERNEL)
def outbox_full(border, most):
    """Return whether the next tick, of up to ``most`` credits, could exceed the capacity."""
    box = row_of(border.boxes, own_box(border))
    return max(box.n_packets, box.n_credits) + max(border.spare, most) > border.capacity


@njit(**PLAIN_KERNEL, inline="always")
def next_mail(border, number, k, rows, first, to, tick):
    """Return row ``k`` of an outbox, put into the list for a receiver."""
    mail = row_of(rows, number * border.capacity + k)
    mail.after = first[number, to]
    first[number, to] = k
    mail.tick = tick
    return mail


@njit(**INNER_KERNEL)
def send_packet(border, sc, packets, chain, p, tick, to):
    """Send a packet to another domain, where it arrives at ``tick``."""
    number = own_box(border)
    box = row_of(border.boxes, number)
    mail = next_mail(border, number, box.n_packets, border.mail, border.first_packet, to, tick)
    box.n_packets += 1
    box.earliest = min(box.earliest, tick)
    copy_packet(mail, row_of(packets, p))
    free_packet(sc, chain, p)


@njit(**INNER_KERNEL)
def send_credit(border, q, tick, size, to):
    """Send a credit: space of channel ``q``, of another domain, comes free at ``tick``."""
    number = own_box(border)
    box = row_of(border.boxes, number)
    mail = next_mail(border, number, box.n_credits, border.back, border.first_credit, to, tick)
    box.n_credits += 1
    box.earliest = min(box.earliest, tick)
    mail.channel = q
    mail.bytes = size
