# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine with input-queued routers: tick after tick, in the model's order.

`kernels_engine` is the loop without crossbars; the common code is there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits, use_space, when_room
from netsim.packet.kernels_crossbar import ONE, arbitrate, look_at, release, route_head
from netsim.packet.kernels_crossbar_tables import (
    CROSSES_TO,
    FIRST_SLOT,
    LEAVES_BYTES,
    LEAVES_Q,
    N_BIDS,
    P_BITS,
    S_BITS,
    S_HEAD,
    S_TAIL,
    S_WANT,
    X_BITS,
    X_FREE_AT,
    X_SLOTS,
)
from netsim.packet.kernels_engine import (
    AHEAD,
    DONE,
    ENDED,
    GROW,
    PAUSE,
    fetch_channel,
    fetch_receiver,
    rank_phase,
    reach_node,
)
from netsim.packet.kernels_links import depart, occupy, stall, try_node
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import rank_arrays
from netsim.packet.kernels_wheel import (
    FINE_MASK,
    NONE,
    add_arrival,
    add_try,
    collect,
    free_try,
    low_bit,
    next_event,
    unmark,
)
from netsim.packet.tables import (
    BANDWIDTH,
    CH_BITS,
    CH_WIDTH,
    CR_WIDTH,
    CREDIT_BYTES,
    CREDIT_TICK,
    FIFO_HEAD,
    FREE_AT,
    HEAD_COUNTS,
    HOLDS,
    L_BITS,
    LAST_SHIFT,
    LATENCY,
    M_BITS,
    MESSAGE,
    N_BITS,
    N_CR,
    N_FAR,
    N_LINKS,
    N_NODES,
    N_PK,
    N_STARTS,
    N_TIMERS,
    N_TRIES,
    N_VCS,
    NEXT,
    NOW,
    OVER,
    PK_BITS,
    PK_WIDTH,
    Q_BITS,
    QT_BITS,
    READY,
    ROUTER_LATENCY,
    SIZE,
    SPACE,
    TRY_TICK,
    VCS,
    VSHIFT,
    WAITING,
)


@njit(**HOT_KERNEL)
def reach_router(a, x, rt, p, came_over):
    """Append a packet to the input FIFO behind its channel; if it is the head, route it."""
    sc = a.sc
    packets = a.packets
    chain = a.events.chain
    slots = x.slots
    vshift = sc[VSHIFT]
    packet = np.uint64(p) << PK_BITS
    packets[packet + READY] = sc[NOW]
    chain[(np.uint64(p) << CH_BITS) + NEXT] = -1
    vc = packets[packet + HOLDS] & ((1 << vshift) - 1)
    slot = x.ports[(np.uint64(came_over) << P_BITS) + FIRST_SLOT] + vc
    row = np.uint64(slot) << S_BITS
    if slots[row + S_HEAD] >= 0:
        chain[(np.uint64(slots[row + S_TAIL]) << CH_BITS) + NEXT] = p
        slots[row + S_TAIL] = p
        return
    slots[row + S_HEAD] = p
    slots[row + S_TAIL] = p
    route_head(a, x, rt, slot)
    out = slots[row + S_WANT] >> vshift
    router = np.uint64(a.link_router[came_over]) << X_BITS
    place = slot - x.routers[router + X_SLOTS]
    free = x.bits[x.routers[router + X_FREE_AT] + (place >> 6)]
    if (free >> np.uint64(place & 63)) & ONE:
        look_at(a.links, x.ports, x.routers, x.look, out)


@njit(**INNER_KERNEL)
def arrival_phase(border, a, x, pr, rt, bucket):
    """Run phase 3: packets that arrive, by the number of the link they came over.

    What a packet needs is fetched while others are worked on, first the rows that it names, then
    those that these name.
    """
    sc = a.sc
    order = a.order
    chain = a.events.chain
    packets = a.packets
    n = collect(a, 0, bucket)
    ahead = min(n - 1, AHEAD)
    for i in range(n + ahead):
        for stage in range(3):
            k = i - (stage * ahead >> 1)
            if not 0 <= k < n:
                continue
            p = np.int64(order[np.uint64(k)])
            packet = np.uint64(p) << PK_BITS
            link = np.int64(chain[(np.uint64(p) << CH_BITS) + OVER])
            port = np.uint64(link) << P_BITS
            to_node = a.chosen[np.uint64(k)] < 0
            if stage == 2:
                if to_node:
                    reach_node(a, pr, p)
                else:
                    reach_router(a, x, rt, p, link)
            elif stage == 1:
                if to_node:
                    fetch_receiver(a, p)
                else:
                    vc = packets[packet + HOLDS] & ((1 << sc[VSHIFT]) - 1)
                    slot = x.ports[port + FIRST_SLOT] + vc
                    prefetch(x.slots, np.uint64(slot) << S_BITS)
            elif to_node:
                prefetch(a.messages, np.uint64(packets[packet + MESSAGE]) << M_BITS)
            else:
                prefetch(x.ports, port + CROSSES_TO)
                prefetch(a.links, np.uint64(sc[N_LINKS] + link) << L_BITS)
                fetch_channel(border, a.channels, packets[packet + HOLDS], sc[VSHIFT])
    return n


@njit(**INNER_KERNEL)
def fetch_tries(a, x, bucket):
    """Fetch what the tries and the ends of crossings of a tick will need."""
    sc = a.sc
    tries = a.events.tries
    ports = x.ports
    n_links = sc[N_LINKS]
    entry = np.int64(a.events.wheel[2 * bucket + 1])
    while entry >= 0:
        place = np.uint64(entry) << CH_BITS
        row = np.int64(tries[place + OVER])
        prefetch(a.links, np.uint64(row) << L_BITS)
        if row >= n_links:
            prefetch(ports, (np.uint64(row - n_links) << P_BITS) + CROSSES_TO)
        elif row >= sc[N_NODES]:
            prefetch(ports, np.uint64(row) << P_BITS)
            prefetch(a.channels, np.uint64(row << sc[VSHIFT]) << Q_BITS)
        else:
            prefetch(a.nodes, np.uint64(row) << N_BITS)
        entry = np.int64(tries[place + NEXT])
    entry = np.int64(a.events.wheel[2 * bucket + 1])
    while entry >= 0:
        place = np.uint64(entry) << CH_BITS
        row = np.int64(tries[place + OVER])
        if row >= n_links:
            port = np.uint64(row - n_links) << P_BITS
            prefetch(ports, np.uint64(ports[port + CROSSES_TO]) << P_BITS)
            prefetch(x.slots, np.uint64(ports[port + FIRST_SLOT]) << S_BITS)
        entry = np.int64(tries[place + NEXT])


@njit(**INNER_KERNEL)
def crossbar_phase(border, a, x, rt, bucket):
    """Run phase 4: crossings end, and others begin, by router number."""
    sc = a.sc
    links = a.links
    wheel = a.events.wheel
    look = x.look
    n_links = sc[N_LINKS]
    n_nodes = sc[N_NODES]
    tries = a.events.tries
    fetch_tries(a, x, bucket)
    # rows from N_LINKS on are ends of crossings; tries of links are left for phase 5
    entry = np.int64(wheel[2 * bucket + 1])
    kept = np.int64(-1)
    while entry >= 0:
        place = np.uint64(entry) << CH_BITS
        row = np.int64(tries[place + OVER])
        after = np.int64(tries[place + NEXT])
        at = np.uint64(row) << L_BITS
        if row < n_links:
            tries[place + NEXT] = kept
            kept = entry
        else:
            free_try(sc, tries, entry)
        if links[at + TRY_TICK] == sc[NOW]:
            if row >= n_links:
                links[at + TRY_TICK] = NONE
                release(a, x, row - n_links)
            elif row >= n_nodes and x.ports[(np.uint64(row) << P_BITS) + N_BIDS] > 0:
                look_at(links, x.ports, x.routers, look, row)  # its buffer may have come free
        entry = after
    wheel[2 * bucket + 1] = kept
    upper = ((len(x.routers) >> 3) >> 6) + 1
    for g in range(upper, len(look)):
        while look[g] != 0:
            w = ((g - upper) << 6) + low_bit(look[g])
            while look[w] != 0:
                r = (w << 6) + low_bit(look[w])
                arbitrate(border, a, x, rt, r)
                look[w] &= ~(ONE << np.uint64(r & 63))
            look[g] &= ~(ONE << np.uint64(w & 63))


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
    ports = x.ports
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
        tick = now + links[row + LATENCY]
        if link < 2 * sc[N_NODES]:
            if not sc[HEAD_COUNTS]:
                tick += ser
        else:
            collect_credits(sc, channels, a.channel_ticks, a.credits, q)
            if channels[channel + SPACE] < size:
                wake = min(wake, when_room(channels, a.channel_ticks, a.credits, q, size))
                continue
            if x.needs_credit:
                channels[channel + SPACE] -= size  # heads still wait for the channel's credits
            else:
                use_space(channels, q, size)
            tick += sc[ROUTER_LATENCY]
        after = a.events.chain[(np.uint64(p) << CH_BITS) + NEXT]
        channels[channel + FIFO_HEAD] = after
        if after < 0:
            waiting &= ~(np.int64(1) << vc)
        links[row + VCS] = waiting | (((np.int64(2) << vc) - 1) << LAST_SHIFT)
        links[row + WAITING] -= ser
        packets[packet + HOLDS] = q
        occupy(a, link, now, ser, size_class)
        if border is None:
            add_arrival(sc, a.events, p, link, tick)
        else:
            depart(border, a, p, link, tick)
        port = np.uint64(link) << P_BITS
        if ports[port + LEAVES_BYTES] > 0:
            x.out_space[ports[port + LEAVES_Q]] += ports[port + LEAVES_BYTES]
        ports[port + LEAVES_Q] = q
        ports[port + LEAVES_BYTES] = size
        if waiting != 0 or ports[port + N_BIDS] > 0:
            add_try(sc, links, a.events, link, now + ser)
        return
    if ready:
        stall(links, a.counters, link, now)
    if wake != NONE:
        add_try(sc, links, a.events, link, wake)


@njit(**INNER_KERNEL)
def start_phase(border, a, x, bucket):
    """Run phase 5: links start packets; their order does not matter."""
    sc = a.sc
    links = a.links
    wheel = a.events.wheel
    tries = a.events.tries
    while sc[N_STARTS] > 0 or wheel[2 * bucket + 1] >= 0:
        if sc[N_STARTS] > 0:
            sc[N_STARTS] -= 1
            link = np.int64(a.events.starts[sc[N_STARTS]])
        else:
            entry = np.int64(wheel[2 * bucket + 1])
            place = np.uint64(entry) << CH_BITS
            link = np.int64(tries[place + OVER])
            wheel[2 * bucket + 1] = tries[place + NEXT]
            free_try(sc, tries, entry)
        row = np.uint64(link) << L_BITS
        if links[row + TRY_TICK] != sc[NOW]:
            continue
        links[row + TRY_TICK] = NONE
        if link < sc[N_NODES]:
            try_node(border, a, link)
        else:
            try_output(border, a, x, link)


@njit(**PLAIN_KERNEL)
def run(border, x, in_parts, a, rt, until, budget):
    """Run as `kernels_engine.run` does, with the crossbars ``x``."""
    pr = rank_arrays(a, in_parts, None, None)
    sc = a.sc
    events = a.events
    wheel = events.wheel
    spare_packets = (len(a.packets) // PK_WIDTH) - sc[N_NODES]
    n_credits = len(a.credits) // CR_WIDTH
    spare_tries = (len(events.tries) // CH_WIDTH) - 4 * sc[N_NODES] - 8 * sc[N_LINKS]
    spare_far = len(events.far) - 4 * sc[N_NODES] - 8 * sc[N_LINKS]
    done = 0
    while True:
        # without a bound on crossings, all packets may give space back in one tick
        crowded = sc[N_PK] > spare_packets or sc[N_CR] + sc[N_PK] > n_credits
        if crowded or sc[N_TRIES] > spare_tries or sc[N_FAR] > spare_far:
            return GROW
        if border is not None:  # noqa: SIM102 - left out of what is compiled for None
            if outbox_full(border, sc[N_PK]):
                return GROW
        if done > budget:
            # before the wheel is turned to what comes next: it is read from NOW on
            return PAUSE
        timer = a.timers[0, 0] if sc[N_TIMERS] > 0 else NONE
        now = next_event(sc, a.links, a.packets, events, timer, until)
        if now == NONE:
            return DONE
        if now > until:
            return ENDED
        sc[NOW] = now
        if timer == now:
            rank_phase(pr, now)
        bucket = now & FINE_MASK
        if wheel[2 * bucket] >= 0:
            done += arrival_phase(border, a, x, pr, rt, bucket)
        crossbar_phase(border, a, x, rt, bucket)
        if sc[N_STARTS] > 0 or wheel[2 * bucket + 1] >= 0:
            start_phase(border, a, x, bucket)
        if wheel[2 * bucket] < 0:  # with no latency at all, packets arrive in the tick they start
            unmark(events.occupied, bucket)
