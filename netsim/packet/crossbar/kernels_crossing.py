# mypy: allow-untyped-defs, allow-untyped-calls
"""Crossings begin, and links start what has crossed (docs/packet-model.md, "Input-queued routers").

``a`` is the run's `Arrays`, ``x`` its `Crossbar`, ``border`` as in `kernels_engine.run`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.kernels_arbitration import (
    bid,
    choose_crossings,
    free_space,
    input_port,
    release,
    serve,
)
from netsim.packet.kernels_credits import collect_credits, use_space, when_room
from netsim.packet.kernels_links import (
    append,
    arrival_tick,
    depart,
    occupy,
    return_space,
    return_space_to,
    stall,
)
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_visits import choose
from netsim.packet.kernels_wheel import NONE, add_arrival, add_try, low_bit


@njit(**INNER_KERNEL)
def choose_late(a, rt, router, p):
    """Call `choose`; compiled once, separately from the common path."""
    return choose(a, rt, router, p)


@njit(**HOT_KERNEL)
def leave(border, a, x, p, q, size_class, ser):
    """Start a packet of channel ``q`` on its link."""
    sc = a.sc[0]
    link = q >> sc.vshift
    tick = arrival_tick(sc, row_of(a.links, link), link, sc.now, ser)
    row_of(a.packets, p).holds = q
    occupy(a, link, sc.now, ser, size_class)
    if border is None:
        add_arrival(sc, a.events, p, link, tick)
    else:
        depart(border, a, p, link, tick)
    free_space(a, x, link)
    vc = q & ((1 << sc.vshift) - 1)
    size = a.wire[np.uint64(size_class)]
    row_of(x.outputs, link).leaves = (size << sc.vshift) | vc


@njit(**PLAIN_KERNEL, inline="always")
def up_to(vc):
    """Return the channels up to ``vc``, as bits: what is served last after it."""
    return (np.int64(2) << vc) - 1


@njit(**HOT_KERNEL)
def cross(border, a, x, p, q, crossed):
    """Begin the crossing of a packet to channel ``q``, which ends at ``crossed``."""
    sc = a.sc[0]
    now = sc.now
    packet = row_of(a.packets, p)
    from_q = packet.holds
    in_port = input_port(a, x, from_q)
    out = q >> sc.vshift
    link_row = row_of(a.links, out)
    channel = row_of(a.channels, q)
    size_class = packet.size_class
    size = a.wire[np.uint64(size_class)]
    ser = a.ser[np.uint64(link_row.bandwidth), np.uint64(size_class)]
    # not slowed down by a slower output: its buffer takes the whole packet
    ready = now
    left = crossed
    if not sc.head_counts:
        ser_in = a.ser[np.uint64(in_port.bandwidth), np.uint64(size_class)]
        left = max(crossed, packet.ready + ser_in)
        ready = max(now, left - ser)
    back = left + in_port.latency
    x.out_space[q] -= size
    if out >= 2 * sc.n_nodes:
        if x.counts_bids:
            x.bid_bytes[q] -= size
        else:
            channel.room -= size
        if x.needs_credit and channel.credit_bytes < 0:
            # a head that still waits for the channel's credits registers again when checked
            channel.credit_bytes = ~channel.credit_bytes
    # Invariant: no channel of an idle link whose FIFOs are empty waits for space, and nothing else
    # crosses to it in this tick. So the start phase would do nothing but start this packet.
    starts = x.at_once and link_row.waiting_vcs == 0 and max(ready, link_row.free_at) <= now
    if starts and out >= 2 * sc.n_nodes:
        collect_credits(sc, a.credits, channel)
        starts = channel.space >= size
        if starts:
            channel.space -= size
    if starts:
        link_row.served_vcs = up_to(q & ((1 << sc.vshift) - 1))
        leave(border, a, x, p, q, size_class, ser)
    else:
        append(a, p, q, ready, ser)
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
    sc = a.sc[0]
    now = sc.now
    packet = row_of(a.packets, p)
    slot = packet.holds
    in_port = input_port(a, x, slot)
    out = q >> sc.vshift
    port = row_of(x.outputs, out)
    if in_port.heads | port.heads != 0:
        return False
    if max(in_port.busy_until, port.busy_until) > now:
        return False
    if row_of(a.links, out).free_at <= now:
        free_space(a, x, out)
    size_class = np.uint64(packet.size_class)
    if x.out_space[q] < a.wire[size_class]:
        return False
    crossed = now + x.cross[np.uint64(in_port.bandwidth), size_class]
    in_port.busy_until = crossed
    port.busy_until = crossed
    serve(a, x, router, slot, out)
    packet.ready = now
    cross(border, a, x, p, q, crossed)
    return True


@njit(**HOT_KERNEL)
def cross_from(border, a, x, rt, r, slot):
    """Let a slot's head cross with the ports that it has been given."""
    sc = a.sc[0]
    fifo = row_of(x.slots, slot)
    p = fifo.head
    want = fifo.want
    in_port = input_port(a, x, slot)
    after = np.int64(row_of(a.events.chain, p).next)
    fifo.head = after
    # before the packet joins: the next one does not see its predecessor at the output
    if after < 0:
        in_port.heads -= 1
    elif sc.looks_visits == 0:
        bid(a, x, slot, after, np.int64(row_of(a.events.chain, after).early))
    else:
        bid(a, x, slot, after, choose_late(a, rt, np.int64(r), after))
    cross(border, a, x, p, want, sc.now if x.unlimited else in_port.busy_until)


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
            release(a, x, x.scratch[2, k] >> a.sc[0].vshift)


@njit(**INNER_KERNEL)
def add_credit_tries(a, link):
    """Schedule a try of a router's link for the next credits that heads wait for."""
    sc = a.sc[0]
    for q in range(link << sc.vshift, (link << sc.vshift) + sc.n_vcs):
        channel = row_of(a.channels, q)
        tick = channel.credit_tick
        if channel.credit_bytes < 0 and sc.now < tick < NONE:
            add_try(sc, row_of(a.links, link), a.events, link, tick)


@njit(**HOT_KERNEL)
def try_output(border, a, x, link):
    """Start a packet on a router's link if possible; round-robin over its waiting channels."""
    sc = a.sc[0]
    now = sc.now
    link_row = row_of(a.links, link)
    if x.needs_credit:
        add_credit_tries(a, link)
        if link_row.free_at > now:  # tried for a crossing only
            add_try(sc, link_row, a.events, link, link_row.free_at)
            return
    # channels after the one served last come first, then those up to it
    waiting_vcs = np.int64(link_row.waiting_vcs)
    served_vcs = np.int64(link_row.served_vcs)
    untried = waiting_vcs & ~served_vcs
    untried_later = waiting_vcs & served_vcs
    wake = NONE
    ready = False
    while True:
        if untried == 0:
            if untried_later == 0:
                break
            untried = untried_later
            untried_later = np.int64(0)
        vc = low_bit(np.uint64(untried))
        untried &= untried - 1
        q = (link << sc.vshift) | vc
        channel = row_of(a.channels, q)
        p = np.int64(channel.fifo_head)
        packet = row_of(a.packets, p)
        if packet.ready > now:
            wake = min(wake, packet.ready)
            continue
        ready = True
        size_class = packet.size_class
        size = a.wire[size_class]
        ser = a.ser[link_row.bandwidth, size_class]
        if link >= 2 * sc.n_nodes:
            collect_credits(sc, a.credits, channel)
            if channel.space < size:
                wake = min(wake, when_room(a.credits, channel, size))
                continue
            if x.needs_credit:
                channel.space -= size  # heads still wait for the channel's credits
            else:
                use_space(channel, size)
        after = row_of(a.events.chain, p).next
        channel.fifo_head = after
        if after < 0:
            waiting_vcs &= ~(np.int64(1) << vc)
        link_row.waiting_vcs = waiting_vcs
        link_row.served_vcs = up_to(vc)
        link_row.waiting -= ser
        leave(border, a, x, p, q, size_class, ser)
        if waiting_vcs != 0 or row_of(x.outputs, link).heads > 0:
            add_try(sc, link_row, a.events, link, now + ser)
        return
    if ready:
        stall(a, link)
    if wake != NONE:
        add_try(sc, link_row, a.events, link, wake)
