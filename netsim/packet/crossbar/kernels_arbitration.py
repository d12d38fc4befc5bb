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
from netsim.packet.crossbar.tables import NOT_LISTED
from netsim.packet.kernels_credits import collect_credits, when_room
from netsim.packet.kernels_memory import prefetch, row_of
from netsim.packet.kernels_wheel import NONE, add_try, low_bit

ONE = np.uint64(1)


@njit(**PLAIN_KERNEL, inline="always")
def input_port(a, x, q):
    """Return the row of the input port behind a channel."""
    return row_of(x.inputs, q >> a.sc[0].vshift)


@njit(**PLAIN_KERNEL, inline="always")
def look_at(a, x, out):
    """Put an output on its router's list, and the router among those to be visited."""
    port = row_of(x.outputs, out)
    look = x.look
    if port.look_next == NOT_LISTED:
        prefetch(a.links, np.uint64(out))
        r = port.router
        router = row_of(x.routers, r)
        port.look_next = router.look_head
        router.look_head = out
        w = r >> 6
        look[w] |= ONE << np.uint64(r & 63)
        upper = ((len(x.routers) >> 6) + 1) + (w >> 6)
        look[upper] |= ONE << np.uint64(w & 63)


@njit(**PLAIN_KERNEL, inline="always")
def look_later(a, x, out, tick):
    """Have an output looked at by ``tick``; tries from number n_links on are of outputs."""
    sc = a.sc[0]
    add_try(sc, row_of(x.outputs, out), a.events, sc.n_links + out, tick)


@njit(**HOT_KERNEL)
def bid(a, x, slot, p, want):
    """Let the new head of an input FIFO bid for a channel."""
    sc = a.sc[0]
    fifo = row_of(x.slots, slot)
    size = a.wire[np.uint64(row_of(a.packets, p).size_class)]
    out = want >> sc.vshift
    fifo.want = want
    fifo.bytes = size
    if x.counts_bids and out >= 2 * sc.n_nodes:
        row_of(a.channels, want).room -= size
        x.bid_bytes[want] += size
    port = row_of(x.outputs, out)
    word = port.bids_at + (fifo.place >> 6)
    bit = ONE << np.uint64(fifo.place & 63)
    port.heads += 1
    if x.allocates:
        grant = row_of(x.grants, slot)
        tick = max(grant.requests, sc.now)
        grant.requests = tick
        grant.able = NONE
        x.requests[word] |= bit
    else:
        tick = max(input_port(a, x, slot).busy_until, port.busy_until)
        x.bids[word] |= bit
    if tick <= sc.now:
        look_at(a, x, out)
    else:
        look_later(a, x, out, tick)


@njit(**INNER_KERNEL)
def release(a, x, came_over):
    """Free the ports of a crossing that took no time."""
    sc = a.sc[0]
    port = row_of(x.inputs, came_over)
    out = port.crosses_to
    port.busy_until = sc.now
    row_of(x.outputs, out).busy_until = sc.now
    look_at(a, x, out)
    for vc in range(port.n_slots):
        fifo = row_of(x.slots, (came_over << sc.vshift) | vc)
        if fifo.head >= 0:
            look_at(a, x, fifo.want >> sc.vshift)


@njit(**INNER_KERNEL)
def has_credit(a, x, out, want, size):
    """Return whether the buffer behind a channel takes a packet after all in the channel's FIFO.

    If not, the output is looked at when the credits that are known by now suffice.
    """
    sc = a.sc[0]
    if out < 2 * sc.n_nodes:
        return True
    channel = row_of(a.channels, want)
    collect_credits(sc, a.credits, channel)
    # room is without the bids, which the routing sees as if they had crossed; they have not
    free = channel.room + x.bid_bytes[want]
    if free >= size:
        return True
    queued = channel.space - free
    tick = when_room(a.credits, channel, size + queued)
    if tick != NONE:
        add_try(sc, row_of(a.links, out), a.events, out, tick)
    return False


@njit(**PLAIN_KERNEL, inline="always")
def free_space(a, x, out):
    """Free the output space of the packet that a link sent last."""
    sc = a.sc[0]
    port = row_of(x.outputs, out)
    leaves = port.leaves
    if leaves > 0:
        vc = leaves & ((1 << sc.vshift) - 1)
        x.out_space[(out << sc.vshift) | vc] += leaves >> sc.vshift
        port.leaves = 0


@njit(**INNER_KERNEL)
def free_channel(a, x, want):
    """Return the first channel in turn of the class of ``want`` that no head holds; -1 if all are
    held, and when the first comes free."""
    sc = a.sc[0]
    out = want >> sc.vshift
    n = sc.per_class if out >= 2 * sc.n_nodes else sc.node_channels
    first = row_of(a.links, out).packets
    free_at = NONE
    for i in range(n):
        q = want + (first + i) % n
        until = row_of(x.grants, q).held_until
        if until <= sc.now:
            return q, NONE
        free_at = min(free_at, until)
    return np.int64(-1), free_at


@njit(**INNER_KERNEL)
def allocate_channels(a, x, r, out):
    """Allocate free channels of an output to heads that ask, in the order of arbitration.

    Those whose overhead is over bid from now on.
    """
    # Invariant: a head that holds no channel wants the first of its class
    sc = a.sc[0]
    now = sc.now
    port = row_of(x.outputs, out)
    router = row_of(x.routers, r)
    while True:
        wake = NONE
        best_slot = np.int64(-1)
        best_channel = np.int64(-1)
        least = NONE
        for w in range(router.words):
            word = port.bids_at + w
            left = x.requests[word]
            while left != 0:
                slot = x.slot_of[router.first_slot + (w << 6) + low_bit(left)]
                bit = left & (~left + ONE)
                left ^= bit
                fifo = row_of(x.slots, slot)
                grant = row_of(x.grants, slot)
                tick = grant.able
                if tick == NONE:
                    tick = grant.requests
                    if tick <= now:
                        q, tick = free_channel(a, x, fifo.want)
                        turn = fifo.served
                        if x.round_robin:
                            turn = fifo.place
                            if turn <= port.served_last:  # those after it come first
                                turn += 1 << 32
                        if q >= 0 and turn < least:
                            best_slot, best_channel, least = slot, q, turn
                elif tick <= now:
                    x.requests[word] ^= bit
                    x.bids[word] |= bit
                if tick > now:
                    wake = min(wake, tick)
        if best_slot < 0:
            look_later(a, x, out, wake)
            return
        fifo = row_of(x.slots, best_slot)
        if x.counts_bids and out >= 2 * sc.n_nodes:
            size = fifo.bytes
            row_of(a.channels, fifo.want).room += size
            row_of(a.channels, best_channel).room -= size
            x.bid_bytes[fifo.want] -= size
            x.bid_bytes[best_channel] += size
        fifo.want = best_channel
        row_of(x.grants, best_slot).able = now + sc.crossing_overhead
        row_of(x.grants, best_channel).held_until = NONE


@njit(**HOT_KERNEL)
def first_to_cross(a, x, r, out):
    """Return the slot whose head an output takes next; -1 if no head can cross to it now."""
    sc = a.sc[0]
    round_robin = x.round_robin
    now = sc.now
    port = row_of(x.outputs, out)
    if port.heads == 0:
        return np.int64(-1)
    if port.busy_until > now:
        look_later(a, x, out, port.busy_until)
        return np.int64(-1)
    link_row = row_of(a.links, out)
    free_at = link_row.free_at
    if free_at <= now:
        free_space(a, x, out)
    router = row_of(x.routers, r)
    first_slot = router.first_slot
    bids_at = port.bids_at
    last = port.served_last if round_robin else np.int64(-1)
    best = np.int64(-1)
    longest_ago = NONE
    short_of_space = False
    free_port = NONE
    for turn in range(1 + round_robin):
        for w in range(router.words):
            left = x.bids[bids_at + w]
            # the places up to the one served last come in the second turn
            passed = min(max(last + 1 - (w << 6), 0), 64)
            up_to_last = ~np.uint64(0) if passed == 64 else (ONE << np.uint64(passed)) - ONE
            left &= ~up_to_last if turn == 0 else up_to_last
            while left != 0:
                slot = x.slot_of[first_slot + (w << 6) + low_bit(left)]
                left &= left - ONE
                fifo = row_of(x.slots, slot)
                if fifo.served < longest_ago:
                    until = input_port(a, x, slot).busy_until
                    want = fifo.want
                    size = fifo.bytes
                    if until > now:
                        free_port = min(free_port, until)
                    elif x.out_space[want] < size:
                        short_of_space = True
                    elif not x.needs_credit or has_credit(a, x, out, want, size):
                        if round_robin:
                            return slot
                        best = slot
                        longest_ago = fifo.served
    if short_of_space and free_at > now:
        add_try(sc, link_row, a.events, out, free_at)
    if best < 0:
        look_later(a, x, out, free_port)
    return best


@njit(**HOT_KERNEL)
def serve(a, x, r, slot, out):
    """Put a slot last in the order of service, and in the turns of an output."""
    # Invariant: those served in one round of a router keep their order, whichever begins to cross
    # first. They are linked from the last on.
    router = row_of(x.routers, r)
    fifo = row_of(x.slots, slot)
    row_of(x.outputs, out).served_last = fifo.place
    served = router.serves
    router.serves = served + 1 - 2 * x.merlin_lru
    if x.at_once:
        round_number = a.sc[0].round_number
        before = fifo.served
        earlier = router.last if router.last_round == round_number else np.int64(-1)
        later = np.int64(-1)
        while earlier >= 0:
            other = row_of(x.slots, earlier)
            if other.before < before:
                break
            other.served += 1
            served -= 1
            later = earlier
            earlier = other.earlier
        fifo.before = before
        fifo.earlier = earlier
        router.last_round = round_number
        if later < 0:
            router.last = slot
        else:
            row_of(x.slots, later).earlier = slot
    fifo.served = served


@njit(**HOT_KERNEL)
def allocate_ports(a, x, r, slot, out):
    """Give a head its input port and an output port."""
    sc = a.sc[0]
    fifo = row_of(x.slots, slot)
    port = row_of(x.outputs, out)
    in_port = input_port(a, x, slot)
    size_class = row_of(a.packets, fifo.head).size_class
    until = NONE
    if not x.unlimited:
        until = sc.now + x.cross[in_port.bandwidth, size_class]
    in_port.busy_until = until
    in_port.crosses_to = out
    port.busy_until = until
    if x.allocates:
        row_of(x.grants, slot).requests = until
        row_of(x.grants, fifo.want).held_until = until
    x.bids[port.bids_at + (fifo.place >> 6)] &= ~(ONE << np.uint64(fifo.place & 63))
    port.heads -= 1
    if port.heads > 0:
        look_later(a, x, out, until)
    serve(a, x, r, slot, out)


@njit(**INNER_KERNEL)
def sort_by_input(slots, crossings):
    """Sort the slots whose heads cross in a round, so that crossings begin in this order."""
    for i in range(crossings):
        for k in range(i + 1, crossings):
            if slots[k] < slots[i]:
                slots[i], slots[k] = slots[k], slots[i]


@njit(**HOT_KERNEL)
def list_outputs(a, x, r):
    """Take a router's outputs that are to be looked at into scratch; return how many there are."""
    router = row_of(x.routers, r)
    outs = x.scratch[0]
    candidates = x.scratch[1]
    n = 0
    out = router.look_head
    router.look_head = -1
    while out >= 0:
        port = row_of(x.outputs, out)
        after = port.look_next
        port.look_next = NOT_LISTED
        outs[n] = out
        candidates[n] = -1
        n += 1
        if x.allocates:
            allocate_channels(a, x, r, out)
        out = after
    return n


@njit(**HOT_KERNEL)
def choose_crossings(a, x, r):
    """Give ports to heads at a router that can cross; returns how many, their slots in scratch."""
    vshift = a.sc[0].vshift
    outs = x.scratch[0]
    candidates = x.scratch[1]
    if x.merlin_lru:
        # above all places given before: those of this round count down from here
        router = row_of(x.routers, r)
        router.serves += 128 * router.words
    n = list_outputs(a, x, r)
    crossings = np.int64(0)
    last_input = np.int64(-1)
    begun = False
    while True:
        # an output whose candidate's input port has just been allocated chooses again
        chosen = -1
        least = NONE
        k = 0
        while k < n:
            slot = candidates[k]
            if not begun or slot >> vshift == last_input:
                slot = first_to_cross(a, x, r, outs[k])
                if slot < 0:
                    n -= 1
                    outs[k] = outs[n]
                    candidates[k] = candidates[n]
                    continue
                candidates[k] = slot
            turn = outs[k] if x.round_robin else row_of(x.slots, slot).served
            if turn < least:
                least = turn
                chosen = k
            k += 1
        if chosen < 0:
            break
        begun = True
        slot = candidates[chosen]
        last_input = slot >> vshift
        x.scratch[2, crossings] = slot
        crossings += 1
        allocate_ports(a, x, r, slot, outs[chosen])
        n -= 1
        outs[chosen] = outs[n]
        candidates[chosen] = candidates[n]
    if x.merlin_lru:
        sort_by_input(x.scratch[2], crossings)
    return crossings
