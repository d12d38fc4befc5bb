# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine with input-queued routers: tick after tick, in the model's order.

`netsim.packet.kernels_engine` is the loop without crossbars; the common code is there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.kernels_arbitration import ONE, bid, input_port, look_at, output_port
from netsim.packet.crossbar.kernels_crossing import arbitrate, choose, cross_at_once, try_output
from netsim.packet.crossbar.tables import HEADS, P_BITS, S_BITS, S_HEAD, S_TAIL
from netsim.packet.kernels_engine import (
    AHEAD,
    DONE,
    ENDED,
    GROW,
    KNOWN,
    PAUSE,
    fetch_channel,
    fetch_receiver,
    rank_phase,
    reach_node,
)
from netsim.packet.kernels_links import (
    try_node,
)
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import rank_arrays
from netsim.packet.kernels_wheel import (
    FINE_MASK,
    NONE,
    collect,
    free_try,
    low_bit,
    next_event,
    unmark,
)
from netsim.packet.tables import (
    CH_BITS,
    CH_WIDTH,
    CR_WIDTH,
    EARLY,
    HOLDS,
    L_BITS,
    LOOKS_VISITS,
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
    NEXT,
    NOW,
    OVER,
    PK_BITS,
    PK_WIDTH,
    Q_BITS,
    READY,
    ROUND,
    TRY_TICK,
    VCS,
    VSHIFT,
)


@njit(**HOT_KERNEL)
def arrival_phase(border, a, x, pr, rt, bucket):
    """Run phase 3: packets that arrive, by the number of the link they came over.

    A packet is routed when the look ahead comes to it, unless the routing looks at queues; then as
    the head of its input FIFO.
    """
    sc = a.sc
    order = a.order
    chosen = a.chosen
    chain = a.events.chain
    packets = a.packets
    slots = x.slots
    vshift = sc[VSHIFT]
    early = sc[LOOKS_VISITS] == 0
    n = np.int64(1)
    first = np.int64(a.events.wheel[2 * bucket])
    if chain[(np.uint64(first) << CH_BITS) + NEXT] < 0:
        # one packet is in order
        a.events.wheel[2 * bucket] = -1
        order[0] = first
        chosen[0] = a.link_router[np.uint64(chain[(np.uint64(first) << CH_BITS) + OVER])]
    else:
        n = collect(a, 0, bucket)
    # Invariant: where all packets of the tick are routed before the first is worked on, the last
    # that goes to an output is in ``arriving``. Those before it bid when it is worked on.
    known = n <= KNOWN
    ahead = n - 1 if known else AHEAD
    for i in range(n + ahead):
        half = i - AHEAD // 2
        if 0 <= half < n and chosen[np.uint64(half)] < 0:
            fetch_receiver(a, order[np.uint64(half)])
        for late in range(2):
            k = i - ahead if late else i
            if not 0 <= k < n:
                continue
            p = np.int64(order[np.uint64(k)])
            packet = np.uint64(p) << PK_BITS
            row = np.uint64(p) << CH_BITS
            slot = packets[packet + HOLDS]
            # the router, until it is known what comes after it
            router = np.int64(chosen[np.uint64(k)])
            q = np.int64(-1)
            if late:
                if router < 0:
                    reach_node(a, pr, p)
                    continue
                if early:
                    q = router
                    router = np.int64(a.link_router[np.uint64(slot >> vshift)])
                    last = known and x.at_once and a.arriving[np.uint64(q >> vshift)] == k
                    if last and cross_at_once(border, a, x, p, router, q):
                        continue
                    chain[row + EARLY] = q
                packets[packet + READY] = sc[NOW]
                chain[row + NEXT] = -1
                at = np.uint64(slot) << S_BITS
                if slots[at + S_HEAD] >= 0:
                    chain[(np.uint64(slots[at + S_TAIL]) << CH_BITS) + NEXT] = p
                    slots[at + S_TAIL] = p
                    continue
                slots[at + S_HEAD] = p
                slots[at + S_TAIL] = p
                x.ports[input_port(sc, slot) + HEADS] += 1
            else:
                if router < 0:
                    prefetch(a.messages, np.uint64(packets[packet + MESSAGE]) << M_BITS)
                    continue
                prefetch(slots, np.uint64(slot) << S_BITS)
                prefetch(x.ports, input_port(sc, slot))
                fetch_channel(border, a.channels, slot, vshift)
                if not early:
                    continue
            if q < 0:
                q = choose(a, rt, router, p)
                if not late:
                    out = q >> vshift
                    chosen[np.uint64(k)] = q
                    a.arriving[np.uint64(out)] = k
                    prefetch(a.links, np.uint64(out) << L_BITS)
                    prefetch(x.ports, output_port(sc, out))
                    prefetch(a.channels, np.uint64(q) << Q_BITS)
                    continue
            bid(a, x, slot, p, q)
    return n


@njit(**HOT_KERNEL)
def fetch_tries(a, x, bucket):
    """Fetch what the tries of a tick will need."""
    sc = a.sc
    tries = a.events.tries
    n_links = sc[N_LINKS]
    entry = np.int64(a.events.wheel[2 * bucket + 1])
    while entry >= 0:
        place = np.uint64(entry) << CH_BITS
        row = np.int64(tries[place + OVER])
        if row >= n_links:
            prefetch(x.ports, np.uint64(row) << P_BITS)
            prefetch(a.links, np.uint64(row - n_links) << L_BITS)
        else:
            prefetch(a.links, np.uint64(row) << L_BITS)
            if row >= sc[N_NODES]:
                prefetch(x.ports, output_port(sc, row))
                prefetch(a.channels, np.uint64(row << sc[VSHIFT]) << Q_BITS)
            else:
                prefetch(a.nodes, np.uint64(row) << N_BITS)
        entry = np.int64(tries[place + NEXT])


@njit(**HOT_KERNEL)
def crossbar_phase(border, a, x, rt, bucket):
    """Run phase 4: crossings begin, by router number."""
    sc = a.sc
    links = a.links
    wheel = a.events.wheel
    look = x.look
    n_links = sc[N_LINKS]
    n_nodes = sc[N_NODES]
    tries = a.events.tries
    entry = np.int64(wheel[2 * bucket + 1])
    if entry >= 0 and tries[(np.uint64(entry) << CH_BITS) + NEXT] >= 0:
        fetch_tries(a, x, bucket)
    # from N_LINKS on they are of outputs; those of links are left for phase 5
    kept = np.int64(-1)
    while entry >= 0:
        place = np.uint64(entry) << CH_BITS
        row = np.int64(tries[place + OVER])
        after = np.int64(tries[place + NEXT])
        at = (np.uint64(row) << L_BITS) + TRY_TICK
        if row < n_links:
            tries[place + NEXT] = kept
            kept = entry
            its_buffer = row >= n_nodes and x.ports[output_port(sc, row) + HEADS] > 0
            if its_buffer and links[at] == sc[NOW]:
                look_at(a, x, row)  # which may have come free
        else:
            free_try(sc, tries, entry)
            if x.ports[at] == sc[NOW]:
                x.ports[at] = NONE
                look_at(a, x, row - n_links)
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


@njit(**HOT_KERNEL)
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
            # of several channels, one may get space back that the port no longer waits for
            if links[row + VCS] != 0:
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
    spare_tries = (len(events.tries) // CH_WIDTH) - 4 * sc[N_NODES] - 12 * sc[N_LINKS]
    spare_far = len(events.far) - 4 * sc[N_NODES] - 12 * sc[N_LINKS]
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
        sc[ROUND] += 1
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
