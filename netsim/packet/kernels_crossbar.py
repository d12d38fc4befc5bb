# mypy: allow-untyped-defs, allow-untyped-calls
"""Crossbars: who crosses next (docs/packet-model.md, "Input-queued routers").

An output is *looked at* when a head that bids for it may be able to cross: a head came, one of its
ports came free, or its buffer did. ``a`` is the run's `Arrays`, ``x`` its `Crossbar`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits, when_room
from netsim.packet.kernels_crossbar_tables import (
    BIDS_AT,
    CROSSES_TO,
    FIRST_SLOT,
    LEAVES_BYTES,
    LEAVES_Q,
    LOOK_NEXT,
    N_BIDS,
    N_SLOTS,
    NOT_LISTED,
    OUT_UNTIL,
    P_BITS,
    S_BITS,
    S_BYTES,
    S_HEAD,
    S_Q,
    S_SERVED,
    S_WANT,
    SERVED_LAST,
    SRC_ROUTER,
    X_BITS,
    X_FREE_AT,
    X_LOOK_HEAD,
    X_SERVES,
    X_SLOTS,
    X_WORDS,
)
from netsim.packet.kernels_links import return_space, return_space_to
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_visits import visit_key
from netsim.packet.kernels_wheel import NONE, add_start, add_try, low_bit
from netsim.packet.tables import (
    BANDWIDTH,
    BUFFER_BYTES,
    CH_BITS,
    CREDIT_BYTES,
    FIFO_HEAD,
    FIFO_TAIL,
    FREE_AT,
    HEAD_COUNTS,
    L_BITS,
    L_WIDTH,
    LATENCY,
    N_LINKS,
    N_NODES,
    NEXT,
    NOW,
    PK_BITS,
    Q_BITS,
    Q_WIDTH,
    READY,
    ROOM,
    SIZE,
    SPACE,
    STATE,
    TO_NODE,
    VCS,
    VSHIFT,
    WAITING,
)
from netsim.routing.kernels import route

ONE = np.uint64(1)


@njit(**PLAIN_KERNEL, inline="always")
def look_at(links, ports, routers, look, out):
    """Put an output on its router's list, and the router among those to be visited."""
    port = np.uint64(out) << P_BITS
    if ports[port + LOOK_NEXT] == NOT_LISTED:
        prefetch(links, np.uint64(out) << L_BITS)
        r = ports[port + SRC_ROUTER]
        router = np.uint64(r) << X_BITS
        ports[port + LOOK_NEXT] = routers[router + X_LOOK_HEAD]
        routers[router + X_LOOK_HEAD] = out
        w = r >> 6
        look[w] |= ONE << np.uint64(r & 63)
        upper = (((len(routers) >> 3) >> 6) + 1) + (w >> 6)
        look[upper] |= ONE << np.uint64(w & 63)


@njit(**INNER_KERNEL)
def route_head(a, x, rt, slot):
    """Route the new head of an input FIFO, which bids from now on."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    slots = x.slots
    row = np.uint64(slot) << S_BITS
    p = slots[row + S_HEAD]
    packet = np.uint64(p) << PK_BITS
    vshift = sc[VSHIFT]
    router = np.int64(a.link_router[slots[row + S_Q] >> vshift])
    key = visit_key(rt, a, router, p)
    size = a.wire[packets[packet + SIZE]]
    out, vc, state = route(
        rt, router, packets[packet + TO_NODE], packets[packet + STATE], key, size, sc[NOW],
        links[np.int64(FREE_AT) :: L_WIDTH], links[np.int64(WAITING) :: L_WIDTH],
        channels[np.int64(SPACE) :: Q_WIDTH], channels[np.int64(ROOM) :: Q_WIDTH], 1 << vshift,
        sc[BUFFER_BYTES],
    )  # fmt: skip
    packets[packet + STATE] = state
    want = (out << vshift) | vc
    slots[row + S_WANT] = want
    slots[row + S_BYTES] = size
    if x.counts_bids and out >= 2 * sc[N_NODES]:
        channels[(np.uint64(want) << Q_BITS) + ROOM] -= size
        x.bid_bytes[want] += size
    ports = x.ports
    port = np.uint64(out) << P_BITS
    place = slot - x.routers[(np.uint64(router) << X_BITS) + X_SLOTS]
    x.bits[ports[port + BIDS_AT] + (place >> 6)] |= ONE << np.uint64(place & 63)
    ports[port + N_BIDS] += 1


@njit(**HOT_KERNEL)
def release(a, x, came_over):
    """Free the input port and the output port of a crossing that is over."""
    sc = a.sc
    ports = x.ports
    slots = x.slots
    routers = x.routers
    bits = x.bits
    look = x.look
    vshift = sc[VSHIFT]
    port = np.uint64(came_over) << P_BITS
    router = np.uint64(a.link_router[came_over]) << X_BITS
    # Invariant: the bits at X_FREE_AT are set for the slots of input ports that nothing crosses
    # from. `allocate_ports` clears those of a port, and nothing else does.
    first = ports[port + FIRST_SLOT]
    place = first - routers[router + X_SLOTS]
    free_at = routers[router + X_FREE_AT]
    look_at(a.links, ports, routers, look, ports[port + CROSSES_TO])
    for k in range(ports[port + N_SLOTS]):
        bit = place + k
        bits[free_at + (bit >> 6)] |= ONE << np.uint64(bit & 63)
        row = np.uint64(first + k) << S_BITS
        if slots[row + S_HEAD] >= 0:
            look_at(a.links, ports, routers, look, slots[row + S_WANT] >> vshift)


@njit(**INNER_KERNEL)
def has_credit(a, x, out, want, size):
    """Return whether the buffer behind a channel takes a packet after all in the channel's FIFO.

    If not, the output is looked at when the credits that are known by now suffice.
    """
    sc = a.sc
    channels = a.channels
    if out < 2 * sc[N_NODES]:
        return True
    collect_credits(sc, channels, a.channel_ticks, a.credits, want)
    channel = np.uint64(want) << Q_BITS
    # ROOM is without the bids, which the routing sees as if they had crossed; they have not
    free = channels[channel + ROOM] + x.bid_bytes[want]
    if free >= size:
        return True
    queued = channels[channel + SPACE] - free
    tick = when_room(channels, a.channel_ticks, a.credits, want, size + queued)
    if tick != NONE:
        add_try(sc, a.links, a.events, out, tick)
    return False


@njit(**HOT_KERNEL)
def first_to_cross(a, x, r, out):
    """Return the slot whose head an output takes next; -1 if no head can cross to it now."""
    sc = a.sc
    links = a.links
    ports = x.ports
    slots = x.slots
    routers = x.routers
    bits = x.bits
    round_robin = x.round_robin
    port = np.uint64(out) << P_BITS
    row = np.uint64(out) << L_BITS
    now = sc[NOW]
    if ports[port + OUT_UNTIL] > now or ports[port + N_BIDS] == 0:
        return np.int64(-1)
    # the packet that left last frees its space in the output buffer once its tail is on the link
    if ports[port + LEAVES_BYTES] > 0 and links[row + FREE_AT] <= now:
        x.out_space[ports[port + LEAVES_Q]] += ports[port + LEAVES_BYTES]
        ports[port + LEAVES_BYTES] = 0
    router = np.uint64(r) << X_BITS
    slot_0 = routers[router + X_SLOTS]
    words = routers[router + X_WORDS]
    free_at = routers[router + X_FREE_AT]
    bids_at = ports[port + BIDS_AT]
    last = ports[port + SERVED_LAST] if round_robin else np.int64(-1)
    best = np.int64(-1)
    longest_ago = NONE
    short = False
    for turn in range(1 + round_robin):
        for w in range(words):
            left = bits[bids_at + w] & bits[free_at + w]
            # the places up to the one served last come in the second turn
            passed = min(max(last + 1 - (w << 6), 0), 64)
            up_to_last = ~np.uint64(0) if passed == 64 else (ONE << np.uint64(passed)) - ONE
            left &= ~up_to_last if turn == 0 else up_to_last
            while left != 0:
                slot = slot_0 + (w << 6) + low_bit(left)
                left &= left - ONE
                at = np.uint64(slot) << S_BITS
                if slots[at + S_SERVED] < longest_ago:
                    want = slots[at + S_WANT]
                    size = slots[at + S_BYTES]
                    if x.out_space[want] < size:
                        short = True
                    elif not x.needs_credit or has_credit(a, x, out, want, size):
                        if round_robin:
                            return slot
                        best = slot
                        longest_ago = slots[at + S_SERVED]
    if short and links[row + FREE_AT] > now:
        add_try(sc, links, a.events, out, links[row + FREE_AT])
    return best


@njit(**INNER_KERNEL)
def allocate_ports(a, x, r, slot, out):
    """Give a head its input port and an output port."""
    ports = x.ports
    slots = x.slots
    routers = x.routers
    bits = x.bits
    row = np.uint64(slot) << S_BITS
    router = np.uint64(r) << X_BITS
    out_port = np.uint64(out) << P_BITS
    in_port = np.uint64(slots[row + S_Q] >> a.sc[VSHIFT]) << P_BITS
    slot_0 = routers[router + X_SLOTS]
    free_at = routers[router + X_FREE_AT]
    place = slot - slot_0
    bits[ports[out_port + BIDS_AT] + (place >> 6)] &= ~(ONE << np.uint64(place & 63))
    ports[out_port + N_BIDS] -= 1
    ports[out_port + SERVED_LAST] = place
    slots[row + S_SERVED] = routers[router + X_SERVES]
    routers[router + X_SERVES] += 1 - 2 * x.merlin_lru
    first = ports[in_port + FIRST_SLOT] - slot_0
    for bit in range(first, first + ports[in_port + N_SLOTS]):
        bits[free_at + (bit >> 6)] &= ~(ONE << np.uint64(bit & 63))


@njit(**HOT_KERNEL)
def cross(border, a, x, rt, slot, out):
    """Begin the crossing of a slot's head to an output that `allocate_ports` gave it."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    chain = a.events.chain
    ports = x.ports
    slots = x.slots
    now = sc[NOW]
    n_links = sc[N_LINKS]
    vshift = sc[VSHIFT]
    row = np.uint64(slot) << S_BITS
    from_q = slots[row + S_Q]
    came_over = from_q >> vshift
    want = slots[row + S_WANT]
    size = slots[row + S_BYTES]
    p = slots[row + S_HEAD]
    packet = np.uint64(p) << PK_BITS
    in_row = np.uint64(came_over) << L_BITS
    in_port = np.uint64(came_over) << P_BITS
    out_row = np.uint64(out) << L_BITS
    out_port = np.uint64(out) << P_BITS
    after = chain[(np.uint64(p) << CH_BITS) + NEXT]
    slots[row + S_HEAD] = after
    # before the packet joins: the next one does not see its predecessor at the output
    if after >= 0:
        route_head(a, x, rt, slot)

    size_class = packets[packet + SIZE]
    in_class = links[in_row + BANDWIDTH]
    out_class = links[out_row + BANDWIDTH]
    ser_out = a.ser[out_class, size_class]
    # not slowed down by a slower output: its buffer takes the whole packet
    crossed = now + x.cross[in_class, size_class]
    ports[in_port + CROSSES_TO] = out
    if x.unlimited:
        ports[out_port + OUT_UNTIL] = NONE
    else:
        ports[out_port + OUT_UNTIL] = crossed
        add_try(sc, links, a.events, n_links + came_over, crossed)
    ready = now
    left = crossed
    if not sc[HEAD_COUNTS]:
        tail_in = packets[packet + READY] + a.ser[in_class, size_class]
        ready = max(now, max(tail_in, crossed) - ser_out)
        left = max(crossed, tail_in)
    back = left + links[in_row + LATENCY]
    if border is None:
        return_space(a, from_q, back, size)
    else:
        return_space_to(border, a, from_q, back, size)

    channel = np.uint64(want) << Q_BITS
    x.out_space[want] -= size
    if out >= 2 * sc[N_NODES]:
        if x.counts_bids:
            x.bid_bytes[want] -= size
        else:
            channels[channel + ROOM] -= size
        if x.needs_credit and channels[channel + CREDIT_BYTES] < 0:
            # a head that still waits for the channel's credits registers again when checked
            channels[channel + CREDIT_BYTES] = ~channels[channel + CREDIT_BYTES]
    packets[packet + READY] = ready
    chain[(np.uint64(p) << CH_BITS) + NEXT] = -1
    links[out_row + WAITING] += ser_out
    if channels[channel + FIFO_HEAD] < 0:
        channels[channel + FIFO_HEAD] = p
        links[out_row + VCS] |= np.int64(1) << (want & ((1 << vshift) - 1))
        tick = max(ready, links[out_row + FREE_AT])
        add_start(sc, links, a.events, out, tick)
    else:
        tail = np.uint64(channels[channel + FIFO_TAIL]) << CH_BITS
        chain[tail + NEXT] = p
    channels[channel + FIFO_TAIL] = p


@njit(**INNER_KERNEL)
def begin_by_input(border, a, x, rt, crossings):
    """Begin the crossings of a round, by the number of the link that they come from."""
    used = x.scratch[2]
    chosen = x.scratch[3]
    for i in range(crossings):
        least = i
        for k in range(i + 1, crossings):
            if used[k] < used[least]:
                least = k
        used[i], used[least] = used[least], used[i]
        chosen[i], chosen[least] = chosen[least], chosen[i]
        want = x.slots[(np.uint64(chosen[i]) << S_BITS) + S_WANT]
        cross(border, a, x, rt, chosen[i], want >> a.sc[VSHIFT])


@njit(**HOT_KERNEL)
def arbitrate(border, a, x, rt, r):
    """Begin crossings at a router until no more are possible in this tick."""
    sc = a.sc
    ports = x.ports
    slots = x.slots
    routers = x.routers
    vshift = sc[VSHIFT]
    router = np.uint64(r) << X_BITS
    outs = x.scratch[0]
    firsts = x.scratch[1]
    used = x.scratch[2]
    chosen_slots = x.scratch[3]
    while True:
        if x.merlin_lru:
            # above all places given before: those of this round count down from here
            routers[router + X_SERVES] += 128 * routers[router + X_WORDS]
        n = 0
        out = routers[router + X_LOOK_HEAD]
        routers[router + X_LOOK_HEAD] = -1
        while out >= 0:
            port = np.uint64(out) << P_BITS
            after = ports[port + LOOK_NEXT]
            ports[port + LOOK_NEXT] = NOT_LISTED
            outs[n] = out
            firsts[n] = -1
            n += 1
            out = after
        crossings = np.int64(0)
        last_input = np.int64(-1)
        begun = False
        while True:
            # an output whose candidate's input port has just been allocated chooses again
            chosen = -1
            least = NONE
            k = 0
            while k < n:
                slot = firsts[k]
                taken = begun and slots[(np.uint64(slot) << S_BITS) + S_Q] >> vshift == last_input
                if not begun or taken:
                    slot = first_to_cross(a, x, r, outs[k])
                    if slot < 0:
                        n -= 1
                        outs[k] = outs[n]
                        firsts[k] = firsts[n]
                        continue
                    firsts[k] = slot
                place = outs[k]
                if not x.round_robin:
                    place = slots[(np.uint64(slot) << S_BITS) + S_SERVED]
                if place < least:
                    least = place
                    chosen = k
                k += 1
            if chosen < 0:
                break
            begun = True
            slot = firsts[chosen]
            out = outs[chosen]
            last_input = slots[(np.uint64(slot) << S_BITS) + S_Q] >> vshift
            used[crossings] = last_input
            chosen_slots[crossings] = slot
            crossings += 1
            n -= 1
            outs[chosen] = outs[n]
            firsts[chosen] = firsts[n]
            allocate_ports(a, x, r, slot, out)
            if not x.merlin_lru:
                cross(border, a, x, rt, slot, out)
        if x.merlin_lru:
            begin_by_input(border, a, x, rt, crossings)
        if not x.unlimited or crossings == 0:
            return
        # crossings that take no time are over now: their ports take part in another round
        for k in range(crossings):
            port = np.uint64(used[k]) << P_BITS
            out = ports[port + CROSSES_TO]
            ports[(np.uint64(out) << P_BITS) + OUT_UNTIL] = sc[NOW]
            release(a, x, used[k])
