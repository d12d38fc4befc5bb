# mypy: allow-untyped-defs, allow-untyped-calls
"""Crossings begin, and links start what has crossed (docs/packet-model.md, "Input-queued routers").

``a`` is the run's `Arrays`, ``x`` its `Crossbar`, ``border`` as in `kernels_engine.run`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL
from netsim.packet.crossbar.kernels_arbitration import (
    bid,
    choose_crossings,
    free_space,
    input_port,
    output_port,
    release,
    serve,
)
from netsim.packet.crossbar.tables import (
    BUSY_UNTIL,
    HEADS,
    IN_BANDWIDTH,
    IN_LATENCY,
    LEAVES,
    S_BITS,
    S_HEAD,
    S_WANT,
)
from netsim.packet.kernels_credits import collect_credits, use_space, when_room
from netsim.packet.kernels_links import depart, occupy, return_space, return_space_to, stall
from netsim.packet.kernels_visits import visit_key
from netsim.packet.kernels_wheel import NONE, add_arrival, add_start, add_try, low_bit
from netsim.packet.tables import (
    BANDWIDTH,
    BUFFER_BYTES,
    CH_BITS,
    CREDIT_BYTES,
    CREDIT_TICK,
    EARLY,
    FIFO_HEAD,
    FIFO_TAIL,
    FREE_AT,
    HEAD_COUNTS,
    HOLDS,
    L_BITS,
    L_WIDTH,
    LAST_SHIFT,
    LATENCY,
    LOOKS_VISITS,
    N_NODES,
    N_VCS,
    NEXT,
    NOW,
    PER_CLASS,
    PK_BITS,
    Q_BITS,
    Q_WIDTH,
    QT_BITS,
    READY,
    ROOM,
    ROUTER_LATENCY,
    SIZE,
    SPACE,
    STATE,
    TO_NODE,
    VCS,
    VSHIFT,
    WAITING,
)
from netsim.routing.kernels import route


@njit(**HOT_KERNEL)
def choose(a, rt, router, p):
    """Route a packet; returns the channel."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    packet = np.uint64(p) << PK_BITS
    key = visit_key(rt, a, router, p)
    size = a.wire[np.uint64(packets[packet + SIZE])]
    out, vc, state = route(
        rt, router, packets[packet + TO_NODE], packets[packet + STATE], key, size, sc[NOW],
        links[np.int64(FREE_AT) :: L_WIDTH], links[np.int64(WAITING) :: L_WIDTH],
        channels[np.int64(SPACE) :: Q_WIDTH], channels[np.int64(ROOM) :: Q_WIDTH],
        1 << sc[VSHIFT], sc[BUFFER_BYTES],
    )  # fmt: skip
    packets[packet + STATE] = state
    return (out << sc[VSHIFT]) | (vc * sc[PER_CLASS])


@njit(**INNER_KERNEL)
def choose_late(a, rt, router, p):
    """Call `choose`; compiled once, separately from the common path."""
    return choose(a, rt, router, p)


@njit(**HOT_KERNEL)
def leave(border, a, x, p, q, size_class, ser):
    """Start a packet of channel ``q`` on its link."""
    sc = a.sc
    link = q >> sc[VSHIFT]
    tick = sc[NOW] + a.links[(np.uint64(link) << L_BITS) + LATENCY]
    if link >= 2 * sc[N_NODES]:
        tick += sc[ROUTER_LATENCY]
    elif not sc[HEAD_COUNTS]:
        tick += ser
    a.packets[(np.uint64(p) << PK_BITS) + HOLDS] = q
    occupy(a, link, sc[NOW], ser, size_class)
    if border is None:
        add_arrival(sc, a.events, p, link, tick)
    else:
        depart(border, a, p, link, tick)
    free_space(a, x, link)
    vc = q & ((1 << sc[VSHIFT]) - 1)
    size = a.wire[np.uint64(size_class)]
    x.ports[output_port(sc, link) + LEAVES] = (size << sc[VSHIFT]) | vc


@njit(**HOT_KERNEL)
def cross(border, a, x, p, q, crossed):
    """Begin the crossing of a packet to channel ``q``, which ends at ``crossed``."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    ports = x.ports
    chain = a.events.chain
    now = sc[NOW]
    vshift = sc[VSHIFT]
    packet = np.uint64(p) << PK_BITS
    from_q = packets[packet + HOLDS]
    in_port = input_port(sc, from_q)
    out = q >> vshift
    row = np.uint64(out) << L_BITS
    size_class = packets[packet + SIZE]
    size = a.wire[np.uint64(size_class)]
    ser = a.ser[np.uint64(links[row + BANDWIDTH]), np.uint64(size_class)]
    # not slowed down by a slower output: its buffer takes the whole packet
    ready = now
    left = crossed
    if not sc[HEAD_COUNTS]:
        ser_in = a.ser[np.uint64(ports[in_port + IN_BANDWIDTH]), np.uint64(size_class)]
        left = max(crossed, packets[packet + READY] + ser_in)
        ready = max(now, left - ser)
    back = left + ports[in_port + IN_LATENCY]
    channel = np.uint64(q) << Q_BITS
    x.out_space[q] -= size
    if out >= 2 * sc[N_NODES]:
        if x.counts_bids:
            x.bid_bytes[q] -= size
        else:
            channels[channel + ROOM] -= size
        if x.needs_credit and channels[channel + CREDIT_BYTES] < 0:
            # a head that still waits for the channel's credits registers again when checked
            channels[channel + CREDIT_BYTES] = ~channels[channel + CREDIT_BYTES]
    # Invariant: no channel of an idle link whose FIFOs are empty waits for space, and nothing else
    # crosses to it in this tick. So the start phase would do nothing but start this packet.
    waiting = links[row + VCS] & ((1 << LAST_SHIFT) - 1)
    starts = x.at_once and waiting == 0 and max(ready, links[row + FREE_AT]) <= now
    if starts and out >= 2 * sc[N_NODES]:
        collect_credits(sc, channels, a.channel_ticks, a.credits, q)
        starts = channels[channel + SPACE] >= size
        if starts:
            channels[channel + SPACE] -= size
    vc = q & ((1 << vshift) - 1)
    if starts:
        links[row + VCS] = ((np.int64(2) << vc) - 1) << LAST_SHIFT
        leave(border, a, x, p, q, size_class, ser)
    else:
        packets[packet + READY] = ready
        chain[(np.uint64(p) << CH_BITS) + NEXT] = -1
        links[row + WAITING] += ser
        if channels[channel + FIFO_HEAD] < 0:
            channels[channel + FIFO_HEAD] = p
            links[row + VCS] |= np.int64(1) << vc
            add_start(sc, links, a.events, out, max(ready, links[row + FREE_AT]))
        else:
            tail = np.uint64(channels[channel + FIFO_TAIL]) << CH_BITS
            chain[tail + NEXT] = p
        channels[channel + FIFO_TAIL] = p
    if border is None:
        return_space(a, from_q, back, size)
    else:
        return_space_to(border, a, from_q, back, size)


@njit(**HOT_KERNEL)
def cross_at_once(border, a, x, p, router, q):
    """Let a packet that arrives cross to channel ``q``; False if it may have to wait.

    For a packet that no other of its tick can precede at its output.
    """
    # Invariant: no other head waits at its input or for its output. So this crossing is certain,
    # and changes nothing for any other packet but the order of service (`serve`). No routing looks
    # at queues (`Crossbar.at_once`).
    sc = a.sc
    ports = x.ports
    now = sc[NOW]
    packet = np.uint64(p) << PK_BITS
    slot = a.packets[packet + HOLDS]
    in_port = input_port(sc, slot)
    out = q >> sc[VSHIFT]
    port = output_port(sc, out)
    if ports[in_port + HEADS] | ports[port + HEADS] != 0:
        return False
    if max(ports[in_port + BUSY_UNTIL], ports[port + BUSY_UNTIL]) > now:
        return False
    if a.links[(np.uint64(out) << L_BITS) + FREE_AT] <= now:
        free_space(a, x, out)
    size_class = np.uint64(a.packets[packet + SIZE])
    if x.out_space[q] < a.wire[size_class]:
        return False
    crossed = now + x.cross[np.uint64(ports[in_port + IN_BANDWIDTH]), size_class]
    ports[in_port + BUSY_UNTIL] = crossed
    ports[port + BUSY_UNTIL] = crossed
    serve(a, x, router, slot, out)
    a.packets[packet + READY] = now
    cross(border, a, x, p, q, crossed)
    return True


@njit(**HOT_KERNEL)
def cross_from(border, a, x, rt, r, slot):
    """Let a slot's head cross with the ports that it has been given."""
    sc = a.sc
    chain = a.events.chain
    row = np.uint64(slot) << S_BITS
    p = x.slots[row + S_HEAD]
    want = x.slots[row + S_WANT]
    in_port = input_port(sc, slot)
    after = np.int64(chain[(np.uint64(p) << CH_BITS) + NEXT])
    x.slots[row + S_HEAD] = after
    # before the packet joins: the next one does not see its predecessor at the output
    if after < 0:
        x.ports[in_port + HEADS] -= 1
    elif sc[LOOKS_VISITS] == 0:
        bid(a, x, slot, after, np.int64(chain[(np.uint64(after) << CH_BITS) + EARLY]))
    else:
        bid(a, x, slot, after, choose_late(a, rt, np.int64(r), after))
    cross(border, a, x, p, want, sc[NOW] if x.unlimited else x.ports[in_port + BUSY_UNTIL])


@njit(**HOT_KERNEL)
def arbitrate(border, a, x, rt, r):
    """Begin crossings at a router until no more are possible in this tick."""
    while True:
        # Invariant: no crossing changes what another of its round needed to be chosen
        crossings = choose_crossings(a, x, r)
        for k in range(crossings):
            cross_from(border, a, x, rt, r, x.scratch[2, k])
        if not x.unlimited or crossings == 0:
            return
        # crossings that take no time are over now: their ports take part in another round
        for k in range(crossings):
            release(a, x, x.scratch[2, k] >> a.sc[VSHIFT])


@njit(**INNER_KERNEL)
def add_credit_tries(a, link):
    """Schedule a try of a router's link for the next credits that heads wait for."""
    sc = a.sc
    for q in range(link << sc[VSHIFT], (link << sc[VSHIFT]) + sc[N_VCS]):
        tick = a.channel_ticks[(np.uint64(q) << QT_BITS) + CREDIT_TICK]
        if a.channels[(np.uint64(q) << Q_BITS) + CREDIT_BYTES] < 0 and sc[NOW] < tick < NONE:
            add_try(sc, a.links, a.events, link, tick)


@njit(**HOT_KERNEL)
def try_output(border, a, x, link):
    """Start a packet on a router's link if possible; round-robin over its waiting channels."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    now = sc[NOW]
    vshift = sc[VSHIFT]
    row = np.uint64(link) << L_BITS
    if x.needs_credit:
        add_credit_tries(a, link)
        if links[row + FREE_AT] > now:  # tried for a crossing only
            add_try(sc, links, a.events, link, links[row + FREE_AT])
            return
    # channels after the one served last come first, then those up to it
    waiting = links[row + VCS] & ((1 << LAST_SHIFT) - 1)
    up_to_last = links[row + VCS] >> LAST_SHIFT
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
        size = a.wire[size_class]
        ser = a.ser[links[row + BANDWIDTH], size_class]
        if link >= 2 * sc[N_NODES]:
            collect_credits(sc, channels, a.channel_ticks, a.credits, q)
            if channels[channel + SPACE] < size:
                wake = min(wake, when_room(channels, a.channel_ticks, a.credits, q, size))
                continue
            if x.needs_credit:
                channels[channel + SPACE] -= size  # heads still wait for the channel's credits
            else:
                use_space(channels, q, size)
        after = a.events.chain[(np.uint64(p) << CH_BITS) + NEXT]
        channels[channel + FIFO_HEAD] = after
        if after < 0:
            waiting &= ~(np.int64(1) << vc)
        links[row + VCS] = waiting | (((np.int64(2) << vc) - 1) << LAST_SHIFT)
        links[row + WAITING] -= ser
        leave(border, a, x, p, q, size_class, ser)
        if waiting != 0 or x.ports[output_port(sc, link) + HEADS] > 0:
            add_try(sc, links, a.events, link, now + ser)
        return
    if ready:
        stall(links, a.counters, link, now)
    if wake != NONE:
        add_try(sc, links, a.events, link, wake)
