# mypy: allow-untyped-defs, allow-untyped-calls
"""Crossbars: who crosses next (docs/packet-model.md, "Input-queued routers").

An output is *looked at* when a head that bids for it may be able to cross: a head came, one of its
ports came free, or its buffer did. ``a`` is the run's `Arrays`, ``x`` its `Crossbar`.

That ports come free is no event where nothing waits for them. Invariant: after the crossings of a
tick every output that heads bid for has a try ahead, no later than the first of them may find both
ports free; or a try of its link, where heads wait for space or credits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.tables import (
    BIDS_AT,
    BUSY_UNTIL,
    CROSSES_TO,
    G_ABLE,
    G_HELD_UNTIL,
    G_REQUESTS,
    HEADS,
    IN_BANDWIDTH,
    LEAVES,
    LOOK_NEXT,
    N_SLOTS,
    NOT_LISTED,
    P_BITS,
    S_BEFORE,
    S_BITS,
    S_BYTES,
    S_EARLIER,
    S_HEAD,
    S_PLACE,
    S_SERVED,
    S_WANT,
    SERVED_LAST,
    SRC_ROUTER,
    X_BITS,
    X_LAST,
    X_LOOK_HEAD,
    X_ROUND,
    X_SERVES,
    X_SLOTS,
    X_WORDS,
)
from netsim.packet.kernels_credits import collect_credits, when_room
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_wheel import NONE, add_try, low_bit
from netsim.packet.tables import (
    CROSSING_OVERHEAD,
    FREE_AT,
    L_BITS,
    N_LINKS,
    N_NODES,
    NODE_CHANNELS,
    NOW,
    PACKETS,
    PER_CLASS,
    PK_BITS,
    Q_BITS,
    ROOM,
    ROUND,
    SIZE,
    SPACE,
    VSHIFT,
)

ONE = np.uint64(1)


@njit(**PLAIN_KERNEL, inline="always")
def input_port(sc, q):
    """Return the row of the input port behind a channel."""
    return np.uint64(q >> sc[VSHIFT]) << P_BITS


@njit(**PLAIN_KERNEL, inline="always")
def output_port(sc, out):
    """Return the row of the output port at a link's beginning."""
    return np.uint64(sc[N_LINKS] + out) << P_BITS


@njit(**PLAIN_KERNEL, inline="always")
def grant_row(x, q):
    """Return a channel's row of grants."""
    return np.uint64(x.grants) + (np.uint64(q) << S_BITS)


@njit(**PLAIN_KERNEL, inline="always")
def look_at(a, x, out):
    """Put an output on its router's list, and the router among those to be visited."""
    ports = x.ports
    routers = x.routers
    look = x.look
    port = output_port(a.sc, out)
    if ports[port + LOOK_NEXT] == NOT_LISTED:
        prefetch(a.links, np.uint64(out) << L_BITS)
        r = ports[port + SRC_ROUTER]
        router = np.uint64(r) << X_BITS
        ports[port + LOOK_NEXT] = routers[router + X_LOOK_HEAD]
        routers[router + X_LOOK_HEAD] = out
        w = r >> 6
        look[w] |= ONE << np.uint64(r & 63)
        upper = (((len(routers) >> 3) >> 6) + 1) + (w >> 6)
        look[upper] |= ONE << np.uint64(w & 63)


@njit(**PLAIN_KERNEL, inline="always")
def look_later(a, x, out, tick):
    """Have an output looked at by ``tick``."""
    add_try(a.sc, x.ports, a.events, a.sc[N_LINKS] + out, tick)


@njit(**HOT_KERNEL)
def bid(a, x, slot, p, want):
    """Let the new head of an input FIFO bid for a channel."""
    sc = a.sc
    ports = x.ports
    slots = x.slots
    row = np.uint64(slot) << S_BITS
    size = a.wire[np.uint64(a.packets[(np.uint64(p) << PK_BITS) + SIZE])]
    out = want >> sc[VSHIFT]
    slots[row + S_WANT] = want
    slots[row + S_BYTES] = size
    if x.counts_bids and out >= 2 * sc[N_NODES]:
        a.channels[(np.uint64(want) << Q_BITS) + ROOM] -= size
        x.bid_bytes[want] += size
    port = output_port(sc, out)
    place = slots[row + S_PLACE]
    word = ports[port + BIDS_AT] + (place >> 6)
    tick = max(ports[input_port(sc, slot) + BUSY_UNTIL], ports[port + BUSY_UNTIL])
    if x.grants:
        word += len(x.bits) >> 1
        grant = grant_row(x, slot)
        tick = max(slots[grant + G_REQUESTS], sc[NOW])
        slots[grant + G_REQUESTS] = tick
        slots[grant + G_ABLE] = NONE
    x.bits[word] |= ONE << np.uint64(place & 63)
    ports[port + HEADS] += 1
    if tick <= sc[NOW]:
        look_at(a, x, out)
    else:
        look_later(a, x, out, tick)


@njit(**INNER_KERNEL)
def release(a, x, came_over):
    """Free the ports of a crossing that took no time."""
    sc = a.sc
    ports = x.ports
    port = np.uint64(came_over) << P_BITS
    out = ports[port + CROSSES_TO]
    ports[port + BUSY_UNTIL] = sc[NOW]
    ports[output_port(sc, out) + BUSY_UNTIL] = sc[NOW]
    look_at(a, x, out)
    for vc in range(ports[port + N_SLOTS]):
        row = np.uint64((came_over << sc[VSHIFT]) | vc) << S_BITS
        if x.slots[row + S_HEAD] >= 0:
            look_at(a, x, x.slots[row + S_WANT] >> sc[VSHIFT])


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


@njit(**PLAIN_KERNEL, inline="always")
def free_space(a, x, out):
    """Free the output space of the packet that a link sent last."""
    sc = a.sc
    port = output_port(sc, out)
    leaves = x.ports[port + LEAVES]
    if leaves > 0:
        vc = leaves & ((1 << sc[VSHIFT]) - 1)
        x.out_space[(out << sc[VSHIFT]) | vc] += leaves >> sc[VSHIFT]
        x.ports[port + LEAVES] = 0


@njit(**INNER_KERNEL)
def free_channel(a, x, want):
    """Return the first channel in turn of the class of ``want`` that no head holds; -1 if all are
    held, and when the first comes free."""
    sc = a.sc
    out = want >> sc[VSHIFT]
    n = sc[PER_CLASS] if out >= 2 * sc[N_NODES] else sc[NODE_CHANNELS]
    first = a.links[(np.uint64(out) << L_BITS) + PACKETS]
    free_at = NONE
    for i in range(n):
        q = want + (first + i) % n
        until = x.slots[grant_row(x, q) + G_HELD_UNTIL]
        if until <= sc[NOW]:
            return q, NONE
        free_at = min(free_at, until)
    return np.int64(-1), free_at


@njit(**INNER_KERNEL)
def allocate_channels(a, x, r, out):
    """Allocate free channels of an output to heads that ask, in the order of arbitration.

    Those whose overhead is over bid from now on.
    """
    # Invariant: a head that holds no channel wants the first of its class
    sc = a.sc
    slots = x.slots
    now = sc[NOW]
    port = output_port(sc, out)
    router = np.uint64(r) << X_BITS
    slot_0 = x.routers[router + X_SLOTS]
    last = x.ports[port + SERVED_LAST]
    while True:
        wake = NONE
        best = np.int64(-1)
        given = np.int64(-1)
        least = NONE
        for w in range(x.routers[router + X_WORDS]):
            bids_at = x.ports[port + BIDS_AT] + w
            requests_at = bids_at + (len(x.bits) >> 1)
            left = x.bits[requests_at]
            while left != 0:
                slot = x.slot_of[slot_0 + (w << 6) + low_bit(left)]
                bit = left & (~left + ONE)
                left ^= bit
                at = np.uint64(slot) << S_BITS
                grant = grant_row(x, slot)
                tick = slots[grant + G_ABLE]
                if tick == NONE:
                    tick = slots[grant + G_REQUESTS]
                    if tick <= now:
                        q, tick = free_channel(a, x, slots[at + S_WANT])
                        turn = slots[at + S_SERVED]
                        if x.round_robin:
                            turn = slots[at + S_PLACE]
                            if turn <= last:  # those after it come first
                                turn += 1 << 32
                        if q >= 0 and turn < least:
                            best, given, least = slot, q, turn
                elif tick <= now:
                    x.bits[requests_at] ^= bit
                    x.bits[bids_at] |= bit
                if tick > now:
                    wake = min(wake, tick)
        if best < 0:
            look_later(a, x, out, wake)
            return
        at = np.uint64(best) << S_BITS
        want = slots[at + S_WANT]
        if x.counts_bids and out >= 2 * sc[N_NODES]:
            size = slots[at + S_BYTES]
            a.channels[(np.uint64(want) << Q_BITS) + ROOM] += size
            a.channels[(np.uint64(given) << Q_BITS) + ROOM] -= size
            x.bid_bytes[want] -= size
            x.bid_bytes[given] += size
        slots[at + S_WANT] = given
        slots[grant_row(x, best) + G_ABLE] = now + sc[CROSSING_OVERHEAD]
        slots[grant_row(x, given) + G_HELD_UNTIL] = NONE


@njit(**HOT_KERNEL)
def first_to_cross(a, x, r, out):
    """Return the slot whose head an output takes next; -1 if no head can cross to it now."""
    sc = a.sc
    ports = x.ports
    slots = x.slots
    round_robin = x.round_robin
    now = sc[NOW]
    port = output_port(sc, out)
    if ports[port + HEADS] == 0:
        return np.int64(-1)
    if ports[port + BUSY_UNTIL] > now:
        look_later(a, x, out, ports[port + BUSY_UNTIL])
        return np.int64(-1)
    free_at = a.links[(np.uint64(out) << L_BITS) + FREE_AT]
    if free_at <= now:
        free_space(a, x, out)
    router = np.uint64(r) << X_BITS
    slot_0 = x.routers[router + X_SLOTS]
    bids_at = ports[port + BIDS_AT]
    last = ports[port + SERVED_LAST] if round_robin else np.int64(-1)
    best = np.int64(-1)
    longest_ago = NONE
    short = False
    free_port = NONE
    for turn in range(1 + round_robin):
        for w in range(x.routers[router + X_WORDS]):
            left = x.bits[bids_at + w]
            # the places up to the one served last come in the second turn
            passed = min(max(last + 1 - (w << 6), 0), 64)
            up_to_last = ~np.uint64(0) if passed == 64 else (ONE << np.uint64(passed)) - ONE
            left &= ~up_to_last if turn == 0 else up_to_last
            while left != 0:
                slot = x.slot_of[slot_0 + (w << 6) + low_bit(left)]
                left &= left - ONE
                at = np.uint64(slot) << S_BITS
                if slots[at + S_SERVED] < longest_ago:
                    until = ports[input_port(sc, slot) + BUSY_UNTIL]
                    want = slots[at + S_WANT]
                    size = slots[at + S_BYTES]
                    if until > now:
                        free_port = min(free_port, until)
                    elif x.out_space[want] < size:
                        short = True
                    elif not x.needs_credit or has_credit(a, x, out, want, size):
                        if round_robin:
                            return slot
                        best = slot
                        longest_ago = slots[at + S_SERVED]
    if short and free_at > now:
        add_try(sc, a.links, a.events, out, free_at)
    if best < 0:
        look_later(a, x, out, free_port)
    return best


@njit(**HOT_KERNEL)
def serve(a, x, r, slot, out):
    """Put a slot last in the order of service, and in the turns of an output."""
    # Invariant: those served in one round of a router keep their order, whichever begins to cross
    # first. They are linked from the last on.
    slots = x.slots
    routers = x.routers
    router = np.uint64(r) << X_BITS
    row = np.uint64(slot) << S_BITS
    x.ports[output_port(a.sc, out) + SERVED_LAST] = slots[row + S_PLACE]
    served = routers[router + X_SERVES]
    routers[router + X_SERVES] = served + 1 - 2 * x.merlin_lru
    before = slots[row + S_SERVED]
    if x.at_once:
        earlier = np.int64(-1)
        if routers[router + X_ROUND] == a.sc[ROUND]:
            earlier = routers[router + X_LAST]
        later = np.int64(-1)
        while earlier >= 0:
            other = np.uint64(earlier) << S_BITS
            if slots[other + S_BEFORE] < before:
                break
            slots[other + S_SERVED] += 1
            served -= 1
            later = earlier
            earlier = slots[other + S_EARLIER]
        slots[row + S_BEFORE] = before
        slots[row + S_EARLIER] = earlier
        routers[router + X_ROUND] = a.sc[ROUND]
        if later < 0:
            routers[router + X_LAST] = slot
        else:
            slots[(np.uint64(later) << S_BITS) + S_EARLIER] = slot
    slots[row + S_SERVED] = served


@njit(**HOT_KERNEL)
def allocate_ports(a, x, r, slot, out):
    """Give a head its input port and an output port."""
    sc = a.sc
    ports = x.ports
    row = np.uint64(slot) << S_BITS
    port = output_port(sc, out)
    in_port = input_port(sc, slot)
    size_class = a.packets[(np.uint64(x.slots[row + S_HEAD]) << PK_BITS) + SIZE]
    until = NONE
    if not x.unlimited:
        until = sc[NOW] + x.cross[ports[in_port + IN_BANDWIDTH], size_class]
    ports[in_port + BUSY_UNTIL] = until
    ports[in_port + CROSSES_TO] = out
    ports[port + BUSY_UNTIL] = until
    if x.grants:
        x.slots[grant_row(x, slot) + G_REQUESTS] = until
        x.slots[grant_row(x, x.slots[row + S_WANT]) + G_HELD_UNTIL] = until
    place = x.slots[row + S_PLACE]
    x.bits[ports[port + BIDS_AT] + (place >> 6)] &= ~(ONE << np.uint64(place & 63))
    ports[port + HEADS] -= 1
    if ports[port + HEADS] > 0:
        look_later(a, x, out, until)
    serve(a, x, r, slot, out)


@njit(**INNER_KERNEL)
def sort_by_input(chosen, crossings):
    """Sort the slots whose heads cross in a round, so that crossings begin in this order."""
    for i in range(crossings):
        for k in range(i + 1, crossings):
            if chosen[k] < chosen[i]:
                chosen[i], chosen[k] = chosen[k], chosen[i]


@njit(**HOT_KERNEL)
def choose_crossings(a, x, r):
    """Give ports to heads at a router that can cross; returns how many, their slots in scratch."""
    sc = a.sc
    ports = x.ports
    slots = x.slots
    routers = x.routers
    vshift = sc[VSHIFT]
    router = np.uint64(r) << X_BITS
    outs = x.scratch[0]
    firsts = x.scratch[1]
    if x.merlin_lru:
        # above all places given before: those of this round count down from here
        routers[router + X_SERVES] += 128 * routers[router + X_WORDS]
    n = 0
    out = routers[router + X_LOOK_HEAD]
    routers[router + X_LOOK_HEAD] = -1
    while out >= 0:
        port = output_port(sc, out)
        after = ports[port + LOOK_NEXT]
        ports[port + LOOK_NEXT] = NOT_LISTED
        outs[n] = out
        firsts[n] = -1
        n += 1
        if x.grants:
            allocate_channels(a, x, r, out)
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
            if not begun or slot >> vshift == last_input:
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
        last_input = slot >> vshift
        x.scratch[2, crossings] = slot
        crossings += 1
        allocate_ports(a, x, r, slot, outs[chosen])
        n -= 1
        outs[chosen] = outs[n]
        firsts[chosen] = firsts[n]
    if x.merlin_lru:
        sort_by_input(x.scratch[2], crossings)
    return crossings
