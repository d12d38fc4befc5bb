# mypy: allow-untyped-defs, allow-untyped-calls
"""Links and routers: route a packet, let it wait, start it.

``a`` is the run's `netsim.packet.tables.Arrays`. The rules are those of docs/packet-model.md,
"Links and channels", where no other section is named.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits, give_credit, use_space, when_room
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_outbox import send_credit, send_packet
from netsim.packet.kernels_queues import resume_next
from netsim.packet.kernels_sends import send_leaves
from netsim.packet.kernels_wheel import NONE, add_arrival, add_start, add_try, low_bit, new_packet


@njit(**PLAIN_KERNEL, inline="always")
def stall(a, link):
    """Record that the link is free, has a ready packet, and cannot start ("Stalls")."""
    link_row = row_of(a.links, link)
    if link_row.stall_start < 0:
        link_row.stall_start = a.sc[0].now
        row_of(a.counters, link).stalls += 1


@njit(**PLAIN_KERNEL, inline="always")
def occupy(a, link, begin, ser, size_class):
    """Update a link for a packet that starts at tick ``begin``: time, counters, stall."""
    link_row = row_of(a.links, link)
    counter = row_of(a.counters, link)
    link_row.free_at = begin + ser
    link_row.packets += 1
    common = a.sc[0].common_class
    # a link's bytes and busy time are its packets times those of the common class, plus these
    if size_class != common:
        counter.more_bytes += a.wire[size_class] - a.wire[common]
        counter.more_busy += ser - a.ser[link_row.bandwidth, common]
    since = link_row.stall_start
    if since >= 0:
        if since == begin:
            counter.stalls -= 1  # began and ended in one tick
        counter.stall_time += begin - since
        link_row.stall_start = -1


@njit(**PLAIN_KERNEL, inline="always")
def arrival_tick(sc, link_row, link, begin, ser):
    """Return when what starts at ``begin`` is routed at the link's end, or has reached its node."""
    tick = begin + link_row.latency
    if link >= 2 * sc.n_nodes:
        return tick + sc.router_latency
    return tick if sc.head_counts else tick + ser


@njit(**HOT_KERNEL)
def return_space(a, q, tick, size):
    """Return space to channel ``q`` at ``tick``; a link that waits for it is tried then."""
    sc = a.sc[0]
    if give_credit(sc, a.credits, row_of(a.channels, q), tick, size):
        link = q >> sc.vshift
        link_row = row_of(a.links, link)
        # a router's head may cross with the credit while the link is still busy
        if not sc.needs_credit or link < sc.n_nodes:
            tick = max(tick, link_row.free_at)
        add_try(sc, link_row, a.events, link, tick)


@njit(**HOT_KERNEL)
def depart(border, a, p, link, tick):
    """Call `add_arrival` for a packet over a link, which may lead into another domain."""
    to = border.link_to[np.uint64(link)]
    if to == border.me:
        add_arrival(a.sc[0], a.events, p, link, tick)
    else:
        send_packet(border, a.sc[0], a.packets, a.events.chain, p, tick, to)


@njit(**HOT_KERNEL)
def return_space_to(border, a, q, tick, size):
    """Call `return_space` for a channel that may be another domain's."""
    owner = border.link_from[np.uint64(q >> a.sc[0].vshift)]
    if owner == border.me:
        return_space(a, q, tick, size)
    else:
        send_credit(border, q, tick, size, owner)


@njit(**INNER_KERNEL)
def ser_both_ways(a, ends, link, size_class, alone):
    """Return how long a packet that starts now takes on a port's link ("Network interfaces").

    Longer than ``alone`` if the port's other link transmits, or has ended in this tick.
    """
    # Invariant: the result does not depend on which of the two links starts first in a tick: what
    # the other one has begun in this tick does not count, and what it ended in it does.
    sc = a.sc[0]
    if ends is None or sc.both_ways == 0:
        return alone
    link_row = row_of(a.links, link)
    own = row_of(ends.ports, link)
    other = row_of(ends.ports, link - sc.n_nodes if link >= sc.n_nodes else link + sc.n_nodes)
    ser = alone
    end = other.end_before if other.began == sc.now else other.end
    # a port on a scale-up switch has its link's own row
    if end >= sc.now and link_row.bandwidth >= sc.both_ways:
        ser = a.ser[link_row.bandwidth + sc.both_ways, size_class]
        if size_class == sc.common_class:
            row_of(a.counters, link).more_busy += ser - alone
    own.end_before = own.end
    own.began = sc.now
    own.end = sc.now + ser
    return ser


@njit(**HOT_KERNEL)
def inject(border, a, m, number, q, size_class, begin):
    """Start a packet of a part at ``begin``, with space on ``q``; return its serialisation."""
    sc = a.sc[0]
    port = q >> sc.vshift
    link_row = row_of(a.links, port)
    channel = row_of(a.channels, q)
    size = a.wire[np.uint64(size_class)]
    # Invariant: room is space without what waits in the channel's FIFO; nothing waits in a node's.
    use_space(channel, size)
    channel.room -= size
    p = new_packet(sc, a.events.chain)
    ser = a.ser[np.uint64(link_row.bandwidth), np.uint64(size_class)]
    ser = ser_both_ways(a, a.ends, port, size_class, ser)
    packet = row_of(a.packets, p)
    packet.message = m
    packet.number = number
    packet.visits = 0
    packet.state = 0
    packet.size_class = size_class
    packet.holds = q
    packet.ready = ser
    packet.came_latency = link_row.latency
    packet.to_node = row_of(a.messages, m).to_port
    occupy(a, port, begin, ser, size_class)
    tick = begin + link_row.latency + sc.router_latency
    if border is None:
        add_arrival(sc, a.events, p, port, tick)
    else:
        depart(border, a, p, port, tick)
    return ser


@njit(**HOT_KERNEL)
def leave_at_once(border, a, m, port):
    """Set the start of a message's only packet when it is posted; False if it has to wait."""
    # Invariant: a port whose queue is empty is tried at no tick, and its link serves messages in
    # the order in which they are posted. A tick may add a packet a node to the pool besides.
    sc = a.sc[0]
    link_row = row_of(a.links, port)
    message = row_of(a.messages, m)
    free_at = link_row.free_at
    if link_row.waiting_vcs != 0 or free_at > min(sc.now + sc.most_ahead, sc.until):
        return False
    several = sc.vshift > sc.class_shift or message.packets_left != 1
    several |= sc.node_channels > 1
    if several or sc.n_packets >= len(a.packets) - sc.n_nodes:
        return False
    size_class = np.int64(message.tail_class)
    q = np.int64(port) << sc.vshift
    channel = row_of(a.channels, q)
    collect_credits(sc, a.credits, channel)
    if channel.space < a.wire[np.uint64(size_class)]:
        return False
    inject(border, a, m, np.int64(0), q, size_class, max(sc.now, free_at))
    return True


@njit(**INNER_KERNEL)
def channel_with_space(a, q, size):
    """Return the first in turn of an injection link's channels that has space, or ``q``.

    If none has, also the first tick at which one may have.
    """
    sc = a.sc[0]
    wake = np.int64(NONE)
    first = row_of(a.links, q >> sc.vshift).packets
    for i in range(sc.node_channels):
        other = q + (first + i) % sc.node_channels
        channel = row_of(a.channels, other)
        collect_credits(sc, a.credits, channel)
        if channel.space >= size:
            return other, NONE
        wake = min(wake, when_room(a.credits, channel, size))
    return q, wake


@njit(**HOT_KERNEL)
def next_head(a, ends, q, is_last, tick):
    """Return the head of queue ``q`` after a packet of its head, which leaves at ``tick``."""
    queue = row_of(a.nodes, q)
    m = queue.head
    if ends is not None:
        if is_last and a.sc[0].tracks:
            send_leaves(a, m, tick)
        if a.sc[0].resumes:
            return resume_next(a, q, m, queue.sent + 1, is_last)
    if not is_last:
        queue.sent += 1
        return m
    m = np.int64(row_of(a.messages, m).next)
    queue.head = m
    if m >= 0:
        queue.sent = 0
        queue.count = row_of(a.messages, m).packets_left
    return m


@njit(**HOT_KERNEL)
def try_node(border, a, port):
    """Start a packet on a port's injection link if possible ("Nodes")."""
    sc = a.sc[0]
    link_row = row_of(a.links, port)
    untried = np.int64(link_row.waiting_vcs)
    wake = np.int64(NONE)
    while True:
        # "Priorities": each has its own queue of messages, the highest is tried first
        vc = low_bit(np.uint64(untried))
        untried &= untried - 1
        own = port + (vc >> sc.class_shift) * sc.n_nodes
        queue = row_of(a.nodes, own)
        q = (port << sc.vshift) | vc
        m = queue.head
        number = queue.sent
        is_last = number + 1 == queue.count
        size_class = np.int64(0)
        if is_last:
            size_class = np.int64(row_of(a.messages, m).tail_class)
        size = a.wire[np.uint64(size_class)]
        if sc.node_channels > 1:
            q, wake = channel_with_space(a, q, size)
        channel = row_of(a.channels, q)
        collect_credits(sc, a.credits, channel)
        if channel.space >= size:
            break
        wake = min(wake, when_room(a.credits, channel, size))
        if untried == 0:
            stall(a, port)
            if wake != NONE:
                add_try(sc, link_row, a.events, port, wake)
            return
    ser = inject(border, a, m, number, q, size_class, sc.now)
    if next_head(a, a.ends, own, is_last, sc.now + ser) < 0:
        link_row.waiting_vcs &= ~(np.int64(1) << vc)
        if link_row.waiting_vcs == 0:
            return
    add_try(sc, link_row, a.events, port, sc.now + ser)


@njit(**HOT_KERNEL)
def send_off(border, a, p, q, size_class, begin, ser, tick):
    """Start a packet that holds channel ``q``'s space at ``begin``, to arrive at ``tick``."""
    sc = a.sc[0]
    packet = row_of(a.packets, p)
    link = q >> sc.vshift
    size = a.wire[np.uint64(size_class)]
    # "Credits": the buffer behind gets the space when the tail has left and the credit has come
    came_from = packet.holds
    back = begin + ser + packet.came_latency
    packet.holds = q
    packet.ready = ser
    packet.came_latency = row_of(a.links, link).latency
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
    shift = sc.class_shift
    return ((np.int64(1) << (np.int64(1) << shift)) - 1) << (vc >> shift << shift)


@njit(**PLAIN_KERNEL, inline="always")
def next_vc(sc, waiting_vcs, served_vcs):
    """Return which of the channels in ``waiting_vcs`` is tried first.

    Of the highest class, and of these the first after the one served last ("Priorities").
    """
    first = low_bit(np.uint64(waiting_vcs))
    behind = waiting_vcs & ~served_vcs & class_mask(sc, first)
    return low_bit(np.uint64(behind)) if behind != 0 else first


@njit(**PLAIN_KERNEL, inline="always")
def after_service(sc, served_vcs, vc):
    """Return ``served_vcs`` after channel ``vc`` has been served."""
    of_class = class_mask(sc, vc)
    return (served_vcs & ~of_class) | (((np.int64(2) << vc) - 1) & of_class)


@njit(**HOT_KERNEL)
def start_at_once(border, a, p, q, size, latest):
    """Set the start of a packet when it arrives; False if it is after ``latest`` or not known.

    For a packet that no other can precede on the link up to ``latest``.
    """
    # Invariant: a link whose FIFOs are empty is tried at no tick and no channel of it waits for
    # space. So the start phase of the packet's tick would do nothing but start it. Until then a
    # routing sees the same load: the serialisation is in ``free_at``, not in ``waiting``.
    sc = a.sc[0]
    link = q >> sc.vshift
    link_row = row_of(a.links, link)
    if link_row.free_at > latest or link_row.waiting_vcs != 0:
        return False
    packet = row_of(a.packets, p)
    size_class = packet.size_class
    ser = a.ser[np.uint64(link_row.bandwidth), np.uint64(size_class)]
    begin = max(sc.now, link_row.free_at)
    # the tail never leaves before it has come in ("Delivery": by the head it need not)
    if not sc.head_counts:
        begin = max(begin, sc.now + packet.ready - ser)
        if begin > latest:
            return False
    if link >= 2 * sc.n_nodes:
        channel = row_of(a.channels, q)
        collect_credits(sc, a.credits, channel)
        if channel.space < size:
            return False
        channel.space -= size
        channel.room -= size
    vc = q & ((1 << sc.vshift) - 1)
    link_row.served_vcs = after_service(sc, np.int64(link_row.served_vcs), vc)
    tick = arrival_tick(sc, link_row, link, begin, ser)
    send_off(border, a, p, q, size_class, begin, ser, tick)
    return True


@njit(**HOT_KERNEL)
def try_link(border, a, link):
    """Start a packet on a router's link if possible: highest priority, then round-robin."""
    sc = a.sc[0]
    link_row = row_of(a.links, link)
    waiting_vcs = np.int64(link_row.waiting_vcs)
    served_vcs = np.int64(link_row.served_vcs)
    untried = waiting_vcs
    wake = np.int64(NONE)
    ready = False
    while untried != 0:
        vc = next_vc(sc, untried, served_vcs)
        untried &= ~(np.int64(1) << vc)
        q = (link << sc.vshift) | vc
        channel = row_of(a.channels, q)
        p = np.int64(channel.fifo_head)
        packet = row_of(a.packets, p)
        if packet.ready > sc.now:
            wake = min(wake, packet.ready)
            continue
        ready = True
        size_class = packet.size_class
        size = a.wire[np.uint64(size_class)]
        ser = a.ser[np.uint64(link_row.bandwidth), np.uint64(size_class)]
        if link >= 2 * sc.n_nodes:
            collect_credits(sc, a.credits, channel)
            if channel.space < size:
                wake = min(wake, when_room(a.credits, channel, size))
                continue
            use_space(channel, size)
        after = row_of(a.events.chain, p).next
        channel.fifo_head = after
        if after < 0:
            waiting_vcs &= ~(np.int64(1) << vc)
        link_row.waiting_vcs = waiting_vcs
        link_row.served_vcs = after_service(sc, served_vcs, vc)
        link_row.waiting -= ser
        if link < 2 * sc.n_nodes:
            ser = ser_both_ways(a, a.ends, link, size_class, ser)
        tick = arrival_tick(sc, link_row, link, sc.now, ser)
        send_off(border, a, p, q, size_class, sc.now, ser, tick)
        if waiting_vcs != 0:
            add_try(sc, link_row, a.events, link, sc.now + ser)
        return
    # Invariant: a link with waiting packets has a try ahead. If none of its heads can name a tick,
    # `when_room` has marked their channels, and `return_space` adds the try with the credit.
    if ready:
        stall(a, link)
    if wake != NONE:
        add_try(sc, link_row, a.events, link, wake)


@njit(**PLAIN_KERNEL, inline="always")
def append(a, p, q, ready, ser):
    """Append a packet, ready at a tick, to the FIFO of channel ``q``."""
    sc = a.sc[0]
    link = q >> sc.vshift
    link_row = row_of(a.links, link)
    channel = row_of(a.channels, q)
    row_of(a.packets, p).ready = ready
    row_of(a.events.chain, p).next = -1
    link_row.waiting += ser
    if channel.fifo_head < 0:
        channel.fifo_head = p
        link_row.waiting_vcs |= np.int64(1) << (q & ((1 << sc.vshift) - 1))
        add_start(sc, link_row, a.events, link, max(ready, link_row.free_at))
    else:
        # the head's try will be followed by others until the FIFO is empty
        row_of(a.events.chain, channel.fifo_tail).next = p
    channel.fifo_tail = p


@njit(**HOT_KERNEL)
def enqueue(a, p, q, size):
    """Let a packet that has been routed wait in the FIFO of channel ``q``."""
    sc = a.sc[0]
    link = q >> sc.vshift
    packet = row_of(a.packets, p)
    ser = a.ser[np.uint64(row_of(a.links, link).bandwidth), np.uint64(packet.size_class)]
    ready = sc.now
    # the tail never leaves before it has come in ("Delivery": by the head it need not)
    if not sc.head_counts:
        ready += max(0, packet.ready - ser)
    if link >= 2 * sc.n_nodes:
        row_of(a.channels, q).room -= size
    append(a, p, q, ready, ser)
