# mypy: allow-untyped-defs, allow-untyped-calls
"""Links and routers: route a packet, let it wait, start it (docs/packet-model.md, "Links")."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_outbox import send_credit, send_packet
from netsim.packet.kernels_wheel import NONE, add_arrival, add_try, low_bit
from netsim.packet.tables import (
    BANDWIDTH,
    BLOCKED,
    BUSY,
    BYTES,
    CHANCE_SHIFT,
    CR_BITS,
    CR_BYTES,
    CR_FREE,
    CR_TICK,
    CR_USED,
    CREDIT_HEAD,
    CREDIT_TAIL,
    FIFO_HEAD,
    FIFO_TAIL,
    FREE_AT,
    HEAD_COUNTS,
    HOLDS,
    L_BITS,
    LATENCY,
    M_BITS,
    M_LEFT,
    M_NEXT,
    M_RANK,
    M_TAIL,
    M_TO,
    MESSAGE,
    N_BITS,
    N_CR,
    N_MESSAGES,
    N_NODES,
    N_PK,
    N_VCS,
    NEXT,
    NIC_COUNT,
    NIC_HEAD,
    NIC_SENT,
    NOW,
    PACKETS,
    PK_BITS,
    PK_FREE,
    PK_USED,
    Q_BITS,
    R_BITS,
    READY,
    ROOM,
    ROUTER_LATENCY,
    SEED,
    SIZE,
    SPACE,
    STALL_START,
    STALL_TIME,
    STALLS,
    STATE,
    TO_NODE,
    UP_TO_LAST,
    VISIT,
    VSHIFT,
    WAITING,
    WAITING_VCS,
)
from netsim.routing.kernels import links_compared
from netsim.routing.kernels_chance import packet_key


@njit(**PLAIN_KERNEL, inline="always")
def chance_key(sc, messages, ranks, m, visit):
    """The key of a packet of part ``m``, by its number and visits (docs, "Chance")."""
    rank = np.uint64(messages[(np.uint64(m) << M_BITS) + M_RANK]) << R_BITS
    number = visit >> 16
    if sc[N_MESSAGES] > 0:
        number += m // sc[N_MESSAGES] << 32
        m %= sc[N_MESSAGES]
    known = m + ranks[rank + CHANCE_SHIFT]
    return packet_key(sc[SEED], known, number, visit & 0xFFFF)


@njit(**PLAIN_KERNEL, inline="always")
def take_credits(sc, channels, credits, q):
    """Make the space visible that channel ``q`` has got back by now."""
    now = sc[NOW]
    channel = np.uint64(q) << Q_BITS
    c = np.int64(channels[channel + CREDIT_HEAD])
    if c < 0 or credits[(np.uint64(c) << CR_BITS) + CR_TICK] > now:
        return
    back = np.int64(0)
    n = np.int64(0)
    free = sc[CR_FREE]
    while c >= 0 and credits[(np.uint64(c) << CR_BITS) + CR_TICK] <= now:
        row = np.uint64(c) << CR_BITS
        back += credits[row + CR_BYTES]
        after = credits[row + NEXT]
        credits[row + NEXT] = free
        free = c
        n += 1
        c = after
    sc[CR_FREE] = free
    sc[N_CR] -= n
    channels[channel + SPACE] += back
    channels[channel + ROOM] += back
    channels[channel + CREDIT_HEAD] = c


@njit(**HOT_KERNEL)
def see_credits(sc, channels, packets, credits, rt, router, p, key):
    """Make the space visible that links have got back which the routing will compare for ``p``."""
    packet = np.uint64(p) << PK_BITS
    for link in links_compared(rt, router, packets[packet + TO_NODE], packets[packet + STATE], key):
        if link >= 0:
            for vc in range(sc[N_VCS]):
                take_credits(sc, channels, credits, (link << sc[VSHIFT]) | vc)


@njit(**PLAIN_KERNEL, inline="always")
def give_credit(sc, channels, credits, q, tick, size):
    """Channel ``q`` gets ``size`` bytes back at ``tick``; the list stays sorted by tick."""
    c = sc[CR_FREE]
    row = np.uint64(c) << CR_BITS
    if c >= 0:
        sc[CR_FREE] = credits[row + NEXT]
    else:
        c = sc[CR_USED]
        row = np.uint64(c) << CR_BITS
        sc[CR_USED] = c + 1
    sc[N_CR] += 1
    credits[row + CR_TICK] = tick
    credits[row + CR_BYTES] = size
    credits[row + NEXT] = -1
    channel = np.uint64(q) << Q_BITS
    head = np.int64(channels[channel + CREDIT_HEAD])
    if head < 0:
        channels[channel + CREDIT_HEAD] = c
        channels[channel + CREDIT_TAIL] = c
        return
    tail = np.uint64(channels[channel + CREDIT_TAIL]) << CR_BITS
    if credits[tail + CR_TICK] <= tick:
        credits[tail + NEXT] = c
        channels[channel + CREDIT_TAIL] = c
    elif tick < credits[(np.uint64(head) << CR_BITS) + CR_TICK]:
        credits[row + NEXT] = head
        channels[channel + CREDIT_HEAD] = c
    else:
        before = np.uint64(head) << CR_BITS
        after = np.uint64(credits[before + NEXT]) << CR_BITS
        while credits[after + CR_TICK] <= tick:
            before = after
            after = np.uint64(credits[before + NEXT]) << CR_BITS
        credits[row + NEXT] = credits[before + NEXT]
        credits[before + NEXT] = c


@njit(**HOT_KERNEL)
def return_space(sc, links, channels, credits, wheel, occupied, far, q, tick, size):
    """Channel ``q`` gets space back at ``tick``; a link that waits for it is tried then."""
    give_credit(sc, channels, credits, q, tick, size)
    if channels[(np.uint64(q) << Q_BITS) + BLOCKED]:
        link = q >> sc[VSHIFT]
        tick = max(tick, links[(np.uint64(link) << L_BITS) + FREE_AT])
        add_try(sc, links, wheel, occupied, far, link, tick)


@njit(**HOT_KERNEL)
def depart(border, sc, wheel, occupied, far, packets, p, link, tick):
    """`add_arrival` of a packet over ``link``, which may lead into another domain."""
    to = border.link_to[np.uint64(link)]
    if to == border.me:
        add_arrival(sc, wheel, occupied, far, packets, p, tick)
    else:
        send_packet(border, sc, packets, p, tick, to)


@njit(**HOT_KERNEL)
def return_space_to(border, sc, links, channels, credits, wheel, occupied, far, q, tick, size):
    """`return_space` to a channel that may be another domain's."""
    owner = border.link_from[np.uint64(q >> sc[VSHIFT])]
    if owner == border.me:
        return_space(sc, links, channels, credits, wheel, occupied, far, q, tick, size)
    else:
        send_credit(border, q, tick, size, owner)


@njit(**INNER_KERNEL)
def when_room(channels, credits, q, size):
    """First tick at which the known credits give ``size`` bytes on ``q``; marks q as blocked."""
    channel = np.uint64(q) << Q_BITS
    channels[channel + BLOCKED] = 1
    have = np.int64(channels[channel + SPACE])
    c = np.int64(channels[channel + CREDIT_HEAD])
    while c >= 0:
        have += credits[(np.uint64(c) << CR_BITS) + CR_BYTES]
        if have >= size:
            return credits[(np.uint64(c) << CR_BITS) + CR_TICK]
        c = credits[(np.uint64(c) << CR_BITS) + NEXT]
    return NONE


@njit(**PLAIN_KERNEL, inline="always")
def stall(links, row, now):
    """The link of this row is free, has a ready packet, and cannot start."""
    if links[row + STALL_START] < 0:
        links[row + STALL_START] = now
        links[row + STALLS] += 1


@njit(**PLAIN_KERNEL, inline="always")
def occupy(sc, links, row, ser, size):
    """What every start does to its link: time, counters, stall."""
    now = sc[NOW]
    links[row + FREE_AT] = now + ser
    links[row + PACKETS] += 1
    links[row + BYTES] += size
    links[row + BUSY] += ser
    since = links[row + STALL_START]
    if since >= 0:
        if since == now:
            links[row + STALLS] -= 1  # began and ended in one tick
        links[row + STALL_TIME] += now - since
        links[row + STALL_START] = -1


@njit(**HOT_KERNEL)
def try_node(
    border, sc, links, channels, packets, credits, nodes, messages, ser_of, wire, wheel,
    occupied, far, node,
):  # fmt: skip
    """Let a port's injection link start a packet if it can."""
    now = sc[NOW]
    row = np.uint64(node) << L_BITS
    nic = np.uint64(node) << N_BITS
    q = node << sc[VSHIFT]
    channel = np.uint64(q) << Q_BITS
    m = nodes[nic + NIC_HEAD]
    message = np.uint64(m) << M_BITS
    sent = nodes[nic + NIC_SENT]
    last = sent + 1 == nodes[nic + NIC_COUNT]
    size_class = np.int64(0)
    if last:
        size_class = np.int64(messages[message + M_TAIL])
    size = wire[size_class]
    # always, not only when space is short: a short list keeps the pool of credits in cache
    take_credits(sc, channels, credits, q)
    if channels[channel + SPACE] < size:
        stall(links, row, now)
        tick = when_room(channels, credits, q, size)
        if tick != NONE:
            add_try(sc, links, wheel, occupied, far, node, tick)
        return
    channels[channel + SPACE] -= size
    channels[channel + ROOM] -= size
    channels[channel + BLOCKED] = 0
    p = sc[PK_FREE]
    packet = np.uint64(p) << PK_BITS
    if p >= 0:
        sc[PK_FREE] = packets[packet + NEXT]
    else:
        p = sc[PK_USED]
        packet = np.uint64(p) << PK_BITS
        sc[PK_USED] = p + 1
    sc[N_PK] += 1
    packets[packet + MESSAGE] = m
    packets[packet + VISIT] = sent << 16
    packets[packet + STATE] = 0
    packets[packet + SIZE] = size_class
    packets[packet + HOLDS] = q
    packets[packet + TO_NODE] = messages[message + M_TO]
    ser = ser_of[links[row + BANDWIDTH], size_class]
    occupy(sc, links, row, ser, size)
    tick = now + links[row + LATENCY] + sc[ROUTER_LATENCY]
    if border is None:
        add_arrival(sc, wheel, occupied, far, packets, p, tick)
    else:
        depart(border, sc, wheel, occupied, far, packets, p, node, tick)
    if not last:
        nodes[nic + NIC_SENT] = sent + 1
    else:
        m = np.int64(messages[message + M_NEXT])
        nodes[nic + NIC_HEAD] = m
        if m < 0:
            return
        nodes[nic + NIC_SENT] = 0
        nodes[nic + NIC_COUNT] = messages[(np.uint64(m) << M_BITS) + M_LEFT]
    add_try(sc, links, wheel, occupied, far, node, now + ser)


@njit(**HOT_KERNEL)
def try_link(
    border, sc, links, channels, packets, credits, ser_of, wire, wheel, occupied, far, link
):
    """Let a router's link start a packet if it can; round-robin over its waiting channels."""
    now = sc[NOW]
    vshift = sc[VSHIFT]
    row = np.uint64(link) << L_BITS
    # channels after the one served last come first, then those up to it
    waiting = links[row + WAITING_VCS]
    up_to_last = links[row + UP_TO_LAST]
    left = waiting & ~up_to_last
    rest = waiting & up_to_last
    wake = NONE
    ready = False
    while True:
        if left == 0:
            if rest == 0:
                break
            left = rest
            rest = np.int64(0)
        vc = low_bit(np.uint64(left))
        left &= left - 1
        q = (link << vshift) | vc
        channel = np.uint64(q) << Q_BITS
        p = np.int64(channels[channel + FIFO_HEAD])
        packet = np.uint64(p) << PK_BITS
        if packets[packet + READY] > now:
            wake = min(wake, packets[packet + READY])
            continue
        ready = True
        size_class = packets[packet + SIZE]
        size = wire[size_class]
        ser = ser_of[links[row + BANDWIDTH], size_class]
        tick = now + links[row + LATENCY]
        if link < 2 * sc[N_NODES]:
            if not sc[HEAD_COUNTS]:
                tick += ser
        else:
            take_credits(sc, channels, credits, q)
            if channels[channel + SPACE] < size:
                wake = min(wake, when_room(channels, credits, q, size))
                continue
            channels[channel + SPACE] -= size
            channels[channel + BLOCKED] = 0
            tick += sc[ROUTER_LATENCY]
        after = packets[packet + NEXT]
        channels[channel + FIFO_HEAD] = after
        if after < 0:
            waiting &= ~(np.int64(1) << vc)
            links[row + WAITING_VCS] = waiting
        links[row + UP_TO_LAST] = (np.int64(2) << vc) - 1
        links[row + WAITING] -= ser
        came_from = packets[packet + HOLDS]
        packets[packet + HOLDS] = q
        occupy(sc, links, row, ser, size)
        back = now + ser + links[(np.uint64(came_from >> vshift) << L_BITS) + LATENCY]
        if border is None:
            add_arrival(sc, wheel, occupied, far, packets, p, tick)
            return_space(sc, links, channels, credits, wheel, occupied, far, came_from, back, size)
        else:
            depart(border, sc, wheel, occupied, far, packets, p, link, tick)
            return_space_to(
                border, sc, links, channels, credits, wheel, occupied, far, came_from, back,
                size,
            )  # fmt: skip
        if waiting != 0:
            add_try(sc, links, wheel, occupied, far, link, now + ser)
        return
    if ready:
        stall(links, row, now)
    if wake != NONE:
        add_try(sc, links, wheel, occupied, far, link, wake)


@njit(**HOT_KERNEL)
def enqueue(
    sc, links, channels, packets, ser_of, wheel, occupied, far, p, came_over, link, vc, size
):
    """Let a routed packet wait for (link, vc)."""
    now = sc[NOW]
    row = np.uint64(link) << L_BITS
    packet = np.uint64(p) << PK_BITS
    size_class = packets[packet + SIZE]
    ser_out = ser_of[links[row + BANDWIDTH], size_class]
    ser_in = ser_of[links[(np.uint64(came_over) << L_BITS) + BANDWIDTH], size_class]
    ready = now + max(0, ser_in - ser_out)
    if sc[HEAD_COUNTS]:
        ready = now
    packets[packet + READY] = ready
    packets[packet + NEXT] = -1
    links[row + WAITING] += ser_out
    channel = np.uint64((link << sc[VSHIFT]) | vc) << Q_BITS
    if link >= 2 * sc[N_NODES]:
        channels[channel + ROOM] -= size
    if channels[channel + FIFO_HEAD] < 0:
        channels[channel + FIFO_HEAD] = p
        links[row + WAITING_VCS] |= np.int64(1) << vc
        add_try(sc, links, wheel, occupied, far, link, max(ready, links[row + FREE_AT]))
    else:
        tail = np.int64(channels[channel + FIFO_TAIL])
        packets[(np.uint64(tail) << PK_BITS) + NEXT] = p
    channels[channel + FIFO_TAIL] = p
