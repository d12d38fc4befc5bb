# mypy: allow-untyped-defs, allow-untyped-calls
"""Links and routers: route a packet, let it wait, start it (docs/packet-model.md, "Links").

``a`` is the run's `netsim.packet.tables.Arrays`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits, give_credit, use_space, when_room
from netsim.packet.kernels_outbox import send_credit, send_packet
from netsim.packet.kernels_wheel import NONE, add_arrival, add_start, add_try, low_bit, new_packet
from netsim.packet.tables import (
    BANDWIDTH,
    C_BITS,
    CAME_LATENCY,
    CH_BITS,
    CLASS_SHIFT,
    COMMON,
    FIFO_HEAD,
    FIFO_TAIL,
    FREE_AT,
    HEAD_COUNTS,
    HOLDS,
    L_BITS,
    LAST_SHIFT,
    LATENCY,
    M_BITS,
    M_LEFT,
    M_NEXT,
    M_TAIL,
    M_TO,
    MESSAGE,
    MORE_BUSY,
    MORE_BYTES,
    MOST_AHEAD,
    N_BITS,
    N_NODES,
    N_PK,
    NEEDS_CREDIT,
    NEXT,
    NIC_COUNT,
    NIC_HEAD,
    NIC_SENT,
    NODE_CHANNELS,
    NOW,
    PACKETS,
    PK_BITS,
    Q_BITS,
    READY,
    ROOM,
    ROUTER_LATENCY,
    SIZE,
    SPACE,
    STALL_START,
    STALL_TIME,
    STALLS,
    STATE,
    TO_NODE,
    UNTIL,
    VCS,
    VISIT,
    VSHIFT,
    WAITING,
)


@njit(**PLAIN_KERNEL, inline="always")
def stall(links, counters, link, now):
    """Record that the link is free, has a ready packet, and cannot start."""
    row = np.uint64(link) << L_BITS
    if links[row + STALL_START] < 0:
        links[row + STALL_START] = now
        counters[(np.uint64(link) << C_BITS) + STALLS] += 1


@njit(**PLAIN_KERNEL, inline="always")
def occupy(a, link, begin, ser, size_class):
    """Update a link for a packet that starts at tick ``begin``: time, counters, stall."""
    sc = a.sc
    links = a.links
    counters = a.counters
    row = np.uint64(link) << L_BITS
    at = np.uint64(link) << C_BITS
    links[row + FREE_AT] = begin + ser
    links[row + PACKETS] += 1
    common = sc[COMMON]
    # a link's bytes and busy time are PACKETS times those of COMMON, plus these
    if size_class != common:
        counters[at + MORE_BYTES] += a.wire[size_class] - a.wire[common]
        counters[at + MORE_BUSY] += ser - a.ser[links[row + BANDWIDTH], common]
    since = links[row + STALL_START]
    if since >= 0:
        if since == begin:
            counters[at + STALLS] -= 1  # began and ended in one tick
        counters[at + STALL_TIME] += begin - since
        links[row + STALL_START] = -1


@njit(**HOT_KERNEL)
def return_space(a, q, tick, size):
    """Return space to channel ``q`` at ``tick``; a link that waits for it is tried then."""
    if give_credit(a.sc, a.channels, a.channel_ticks, a.credits, q, tick, size):
        link = q >> a.sc[VSHIFT]
        # a router's head may cross with the credit while the link is still busy
        if not a.sc[NEEDS_CREDIT] or link < a.sc[N_NODES]:
            tick = max(tick, a.links[(np.uint64(link) << L_BITS) + FREE_AT])
        add_try(a.sc, a.links, a.events, link, tick)


@njit(**HOT_KERNEL)
def depart(border, a, p, link, tick):
    """Call `add_arrival` for a packet over a link, which may lead into another domain."""
    to = border.link_to[np.uint64(link)]
    if to == border.me:
        add_arrival(a.sc, a.events, p, link, tick)
    else:
        send_packet(border, a.sc, a.packets, a.events.chain, p, tick, to)


@njit(**HOT_KERNEL)
def return_space_to(border, a, q, tick, size):
    """Call `return_space` for a channel that may be another domain's."""
    owner = border.link_from[np.uint64(q >> a.sc[VSHIFT])]
    if owner == border.me:
        return_space(a, q, tick, size)
    else:
        send_credit(border, q, tick, size, owner)


@njit(**HOT_KERNEL)
def inject(border, a, m, sent, q, size_class, begin):
    """Start packet ``sent`` of a part at ``begin``, with space on ``q``; return its time."""
    sc = a.sc
    links = a.links
    packets = a.packets
    node = q >> sc[VSHIFT]
    row = np.uint64(node) << L_BITS
    size = a.wire[np.uint64(size_class)]
    # Invariant: ROOM is SPACE without what waits in the channel's FIFO; nothing waits in a node's.
    use_space(a.channels, q, size)
    a.channels[(np.uint64(q) << Q_BITS) + ROOM] -= size
    p = new_packet(sc, a.events.chain)
    packet = np.uint64(p) << PK_BITS
    ser = a.ser[np.uint64(links[row + BANDWIDTH]), np.uint64(size_class)]
    packets[packet + MESSAGE] = m
    packets[packet + VISIT] = sent << 16
    packets[packet + STATE] = 0
    packets[packet + SIZE] = size_class
    packets[packet + HOLDS] = q
    packets[packet + READY] = ser
    packets[packet + CAME_LATENCY] = links[row + LATENCY]
    packets[packet + TO_NODE] = a.messages[(np.uint64(m) << M_BITS) + M_TO]
    occupy(a, node, begin, ser, size_class)
    tick = begin + links[row + LATENCY] + sc[ROUTER_LATENCY]
    if border is None:
        add_arrival(sc, a.events, p, node, tick)
    else:
        depart(border, a, p, node, tick)
    return ser


@njit(**HOT_KERNEL)
def leave_at_once(border, a, m, node):
    """Set the start of a message's only packet when it is posted; False if it has to wait."""
    # Invariant: a port whose queue is empty is tried at no tick, and its link serves messages in
    # the order in which they are posted. A tick may add a packet a node to the pool besides.
    sc = a.sc
    links = a.links
    row = np.uint64(node) << L_BITS
    message = np.uint64(m) << M_BITS
    free_at = links[row + FREE_AT]
    if links[row + VCS] != 0 or free_at > min(sc[NOW] + sc[MOST_AHEAD], sc[UNTIL]):
        return False
    several = sc[VSHIFT] > sc[CLASS_SHIFT] or a.messages[message + M_LEFT] != 1
    several |= sc[NODE_CHANNELS] > 1
    if several or sc[N_PK] >= (len(a.packets) >> PK_BITS) - sc[N_NODES]:
        return False
    size_class = np.int64(a.messages[message + M_TAIL])
    q = np.int64(node) << sc[VSHIFT]
    collect_credits(sc, a.channels, a.channel_ticks, a.credits, q)
    if a.channels[(np.uint64(q) << Q_BITS) + SPACE] < a.wire[np.uint64(size_class)]:
        return False
    inject(border, a, m, np.int64(0), q, size_class, max(sc[NOW], free_at))
    return True


@njit(**INNER_KERNEL)
def channel_with_space(a, q, size):
    """Return the first in turn of an injection link's channels that has space, or ``q``.

    If none has, also the first tick at which one may have.
    """
    sc = a.sc
    wake = NONE
    first = a.links[(np.uint64(q >> sc[VSHIFT]) << L_BITS) + PACKETS]
    for i in range(sc[NODE_CHANNELS]):
        other = q + (first + i) % sc[NODE_CHANNELS]
        collect_credits(sc, a.channels, a.channel_ticks, a.credits, other)
        if a.channels[(np.uint64(other) << Q_BITS) + SPACE] >= size:
            return other, NONE
        wake = min(wake, when_room(a.channels, a.channel_ticks, a.credits, other, size))
    return q, wake


@njit(**HOT_KERNEL)
def try_node(border, a, node):
    """Start a packet on a port's injection link if possible."""
    sc = a.sc
    links = a.links
    channels = a.channels
    nodes = a.nodes
    messages = a.messages
    now = sc[NOW]
    row = np.uint64(node) << L_BITS
    left = links[row + VCS]
    wake = NONE
    while True:
        vc = low_bit(np.uint64(left))
        left &= left - 1
        nic = np.uint64(node + (vc >> sc[CLASS_SHIFT]) * sc[N_NODES]) << N_BITS
        q = (node << sc[VSHIFT]) | vc
        channel = np.uint64(q) << Q_BITS
        m = nodes[nic + NIC_HEAD]
        message = np.uint64(m) << M_BITS
        sent = nodes[nic + NIC_SENT]
        last = sent + 1 == nodes[nic + NIC_COUNT]
        size_class = np.int64(0)
        if last:
            size_class = np.int64(messages[message + M_TAIL])
        size = a.wire[np.uint64(size_class)]
        if sc[NODE_CHANNELS] > 1:
            q, wake = channel_with_space(a, q, size)
            channel = np.uint64(q) << Q_BITS
        collect_credits(sc, channels, a.channel_ticks, a.credits, q)
        if channels[channel + SPACE] >= size:
            break
        wake = min(wake, when_room(channels, a.channel_ticks, a.credits, q, size))
        if left == 0:
            stall(links, a.counters, node, now)
            if wake != NONE:
                add_try(sc, links, a.events, node, wake)
            return
    ser = inject(border, a, m, sent, q, size_class, now)
    if not last:
        nodes[nic + NIC_SENT] = sent + 1
    else:
        m = np.int64(messages[message + M_NEXT])
        nodes[nic + NIC_HEAD] = m
        if m < 0:
            links[row + VCS] &= ~(np.int64(1) << vc)
            if links[row + VCS] == 0:
                return
        else:
            nodes[nic + NIC_SENT] = 0
            nodes[nic + NIC_COUNT] = messages[(np.uint64(m) << M_BITS) + M_LEFT]
    add_try(sc, links, a.events, node, now + ser)


@njit(**HOT_KERNEL)
def send_off(border, a, p, q, size_class, begin, ser, tick):
    """Start a packet that holds channel ``q``'s space at ``begin``, to arrive at ``tick``."""
    sc = a.sc
    packets = a.packets
    packet = np.uint64(p) << PK_BITS
    link = q >> sc[VSHIFT]
    size = a.wire[np.uint64(size_class)]
    # the buffer behind gets the space when the tail has left and the credit has gone back
    came_from = packets[packet + HOLDS]
    back = begin + ser + packets[packet + CAME_LATENCY]
    packets[packet + HOLDS] = q
    packets[packet + READY] = ser
    packets[packet + CAME_LATENCY] = a.links[(np.uint64(link) << L_BITS) + LATENCY]
    occupy(a, link, begin, ser, size_class)
    if border is None:
        add_arrival(sc, a.events, p, link, tick)
        return_space(a, came_from, back, size)
    else:
        depart(border, a, p, link, tick)
        return_space_to(border, a, came_from, back, size)


@njit(**PLAIN_KERNEL, inline="always")
def class_mask(sc, vc):
    """Return the channels of a link in the priority class of channel ``vc``, as bits."""
    shift = sc[CLASS_SHIFT]
    return ((np.int64(1) << (np.int64(1) << shift)) - 1) << (vc >> shift << shift)


@njit(**PLAIN_KERNEL, inline="always")
def next_vc(sc, waiting, up_to_last):
    """Return which of the channels in ``waiting`` is tried first, both halves of VCS given.

    Of the highest class, and of these the first after the one served last.
    """
    first = low_bit(np.uint64(waiting))
    behind = waiting & ~up_to_last & class_mask(sc, first)
    return low_bit(np.uint64(behind)) if behind != 0 else first


@njit(**PLAIN_KERNEL, inline="always")
def served(sc, up_to_last, vc):
    """Return the upper half of VCS after channel ``vc`` has been served."""
    mine = class_mask(sc, vc)
    return ((up_to_last & ~mine) | (((np.int64(2) << vc) - 1) & mine)) << LAST_SHIFT


@njit(**HOT_KERNEL)
def start_at_once(border, a, p, q, size, latest):
    """Set the start of a packet when it arrives; False if it is after ``latest`` or not known.

    For a packet that no other can precede on the link up to ``latest``.
    """
    # Invariant: a link whose FIFOs are empty is tried at no tick and no channel of it waits for
    # space. So the start phase of the packet's tick would do nothing but start it. Until then a
    # routing sees the same load: the serialisation is in FREE_AT, not in WAITING.
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    link = q >> sc[VSHIFT]
    row = np.uint64(link) << L_BITS
    if links[row + FREE_AT] > latest or links[row + VCS] & ((1 << LAST_SHIFT) - 1) != 0:
        return False
    packet = np.uint64(p) << PK_BITS
    size_class = packets[packet + SIZE]
    ser = a.ser[np.uint64(links[row + BANDWIDTH]), np.uint64(size_class)]
    begin = max(sc[NOW], links[row + FREE_AT])
    if not sc[HEAD_COUNTS]:
        begin = max(begin, sc[NOW] + packets[packet + READY] - ser)
        if begin > latest:
            return False
    tick = begin + links[row + LATENCY]
    if link < 2 * sc[N_NODES]:
        if not sc[HEAD_COUNTS]:
            tick += ser
    else:
        channel = np.uint64(q) << Q_BITS
        collect_credits(sc, channels, a.channel_ticks, a.credits, q)
        if channels[channel + SPACE] < size:
            return False
        channels[channel + SPACE] -= size
        channels[channel + ROOM] -= size
        tick += sc[ROUTER_LATENCY]
    vc = q & ((1 << sc[VSHIFT]) - 1)
    links[row + VCS] = served(sc, links[row + VCS] >> LAST_SHIFT, vc)
    send_off(border, a, p, q, size_class, begin, ser, tick)
    return True


@njit(**HOT_KERNEL)
def try_link(border, a, link):
    """Start a packet on a router's link if possible: highest priority, then round-robin."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    ticks = a.channel_ticks
    now = sc[NOW]
    vshift = sc[VSHIFT]
    row = np.uint64(link) << L_BITS
    waiting = links[row + VCS] & ((1 << LAST_SHIFT) - 1)
    up_to_last = links[row + VCS] >> LAST_SHIFT
    left = waiting
    wake = NONE
    ready = False
    while left != 0:
        vc = next_vc(sc, left, up_to_last)
        left &= ~(np.int64(1) << vc)
        q = (link << vshift) | vc
        channel = np.uint64(q) << Q_BITS
        p = np.int64(channels[channel + FIFO_HEAD])
        packet = np.uint64(p) << PK_BITS
        if packets[packet + READY] > now:
            wake = min(wake, packets[packet + READY])
            continue
        ready = True
        size_class = packets[packet + SIZE]
        size = a.wire[np.uint64(size_class)]
        latency = links[row + LATENCY]
        ser = a.ser[np.uint64(links[row + BANDWIDTH]), np.uint64(size_class)]
        tick = now + latency
        if link < 2 * sc[N_NODES]:
            if not sc[HEAD_COUNTS]:
                tick += ser
        else:
            collect_credits(sc, channels, ticks, a.credits, q)
            if channels[channel + SPACE] < size:
                wake = min(wake, when_room(channels, ticks, a.credits, q, size))
                continue
            use_space(channels, q, size)
            tick += sc[ROUTER_LATENCY]
        after = a.events.chain[(np.uint64(p) << CH_BITS) + NEXT]
        channels[channel + FIFO_HEAD] = after
        if after < 0:
            waiting &= ~(np.int64(1) << vc)
        links[row + VCS] = waiting | served(sc, up_to_last, vc)
        links[row + WAITING] -= ser
        send_off(border, a, p, q, size_class, now, ser, tick)
        if waiting != 0:
            add_try(sc, links, a.events, link, now + ser)
        return
    # Invariant: a link with waiting packets has a try ahead. If none of its heads can name a tick,
    # `when_room` has marked their channels, and `return_space` adds the try with the credit.
    if ready:
        stall(links, a.counters, link, now)
    if wake != NONE:
        add_try(sc, links, a.events, link, wake)


@njit(**HOT_KERNEL)
def enqueue(a, p, link, q, size):
    """Append a packet that came over a link to the FIFO of channel ``q`` of ``link``."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    chain = a.events.chain
    now = sc[NOW]
    row = np.uint64(link) << L_BITS
    packet = np.uint64(p) << PK_BITS
    ser_out = a.ser[np.uint64(links[row + BANDWIDTH]), np.uint64(packets[packet + SIZE])]
    ready = now
    if not sc[HEAD_COUNTS]:
        ready += max(0, packets[packet + READY] - ser_out)
    packets[packet + READY] = ready
    chain[(np.uint64(p) << CH_BITS) + NEXT] = -1
    links[row + WAITING] += ser_out
    channel = np.uint64(q) << Q_BITS
    if link >= 2 * sc[N_NODES]:
        channels[channel + ROOM] -= size
    if channels[channel + FIFO_HEAD] < 0:
        channels[channel + FIFO_HEAD] = p
        links[row + VCS] |= np.int64(1) << (q & ((1 << sc[VSHIFT]) - 1))
        add_start(sc, links, a.events, link, max(ready, links[row + FREE_AT]))
    else:
        # the head's try will be followed by others until the FIFO is empty
        tail = np.int64(channels[channel + FIFO_TAIL])
        chain[(np.uint64(tail) << CH_BITS) + NEXT] = p
    channels[channel + FIFO_TAIL] = p
