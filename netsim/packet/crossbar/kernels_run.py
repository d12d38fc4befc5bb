# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine with input-queued routers: tick after tick, in the model's order.

`netsim.packet.kernels_engine` is the loop without crossbars; the common code is there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.kernels_arbitration import ONE, bid, input_port, look_at
from netsim.packet.crossbar.kernels_crossing import arbitrate, cross_at_once, try_output
from netsim.packet.kernels_engine import (
    AHEAD,
    DONE,
    ENDED,
    GROW,
    KNOWN,
    PAUSE,
    fetch_channel,
    fetch_receiver,
    list_arrivals,
    reach_node,
)
from netsim.packet.kernels_links import try_node
from netsim.packet.kernels_memory import prefetch, row_of
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import RankMode, rank_phase
from netsim.packet.kernels_sends import is_over
from netsim.packet.kernels_visits import choose
from netsim.packet.kernels_wheel import FINE_MASK, NONE, free_try, low_bit, next_event, unmark


@njit(**HOT_KERNEL)
def look_ahead(border, a, x, k, p):
    """Fetch what the ``k``-th packet of a tick will need; return whether it goes to an output."""
    packet = row_of(a.packets, p)
    if a.chosen[np.uint64(k)] < 0:
        prefetch(a.messages, np.uint64(packet.message))
        return False
    prefetch(x.slots, np.uint64(packet.holds))
    prefetch(x.inputs, np.uint64(packet.holds >> a.sc[0].vshift))
    fetch_channel(border, a, packet.holds)
    return True


@njit(**HOT_KERNEL)
def becomes_head(a, x, p):
    """Append a packet to the input FIFO behind its channel; return whether it is its head now."""
    packet = row_of(a.packets, p)
    slot = packet.holds
    fifo = row_of(x.slots, slot)
    packet.ready = a.sc[0].now
    row_of(a.events.chain, p).next = -1
    waits = fifo.head >= 0
    if waits:
        row_of(a.events.chain, fifo.tail).next = p
    else:
        fifo.head = p
        input_port(a, x, slot).heads += 1
    fifo.tail = p
    return not waits


@njit(**HOT_KERNEL)
def arrival_phase(border, a, x, mode, rt, bucket):
    """Run phase 3 ("Order"): packets that arrive, by the number of the link they came over.

    A packet is routed when the look ahead comes to it, unless the routing looks at queues; then as
    the head of its input FIFO.
    """
    sc = a.sc[0]
    order = a.order
    chosen = a.chosen
    vshift = sc.vshift
    routes_ahead = sc.looks_visits == 0
    n = list_arrivals(a, np.int64(0), bucket)
    # Invariant: where all packets of the tick are routed before the first is worked on, the last
    # that goes to an output is in ``arriving``. Those before it bid when it is worked on.
    known = n <= KNOWN
    ahead = n - 1 if known else AHEAD
    for i in range(n + ahead):
        half = i - AHEAD // 2
        if 0 <= half < n and chosen[np.uint64(half)] < 0:
            fetch_receiver(a, order[np.uint64(half)])
        for late in range(np.int64(i >= n), np.int64(2 if i >= ahead else 1)):
            k = i - ahead if late else i
            p = np.int64(order[np.uint64(k)])
            slot = row_of(a.packets, p).holds
            # the router, until it is known what comes after it
            router = np.int64(chosen[np.uint64(k)])
            q = np.int64(-1)
            if late:
                if router < 0:
                    reach_node(a, mode, None, p)
                    continue
                if routes_ahead:
                    q = router
                    router = np.int64(a.link_router[np.uint64(slot >> vshift)])
                    is_last = known and x.at_once and a.arriving[np.uint64(q >> vshift)] == k
                    if is_last and cross_at_once(border, a, x, p, router, q):
                        continue
                    row_of(a.events.chain, p).early = q
                if not becomes_head(a, x, p):
                    continue
            elif not look_ahead(border, a, x, k, p) or not routes_ahead:
                continue
            # at one place for both, since it is long
            if q < 0:
                q = choose(a, rt, router, p)
            if late:
                bid(a, x, slot, p, q)
            else:
                out = q >> vshift
                chosen[np.uint64(k)] = q
                a.arriving[np.uint64(out)] = k
                prefetch(a.links, np.uint64(out))
                prefetch(x.outputs, np.uint64(out))
                prefetch(a.channels, np.uint64(q))
    return n


@njit(**HOT_KERNEL)
def fetch_tries(a, x, bucket):
    """Fetch what the tries of a tick will need."""
    sc = a.sc[0]
    n_links = sc.n_links
    entry = np.int64(bucket.entry)
    while entry >= 0:
        tried = row_of(a.events.tries, entry)
        link = np.int64(tried.over)
        if link >= n_links:
            prefetch(x.outputs, np.uint64(link - n_links))
            prefetch(a.links, np.uint64(link - n_links))
        else:
            prefetch(a.links, np.uint64(link))
            if link >= sc.n_nodes:
                prefetch(x.outputs, np.uint64(link))
                prefetch(a.channels, np.uint64(link << sc.vshift))
            else:
                prefetch(a.nodes, np.uint64(link))
        entry = np.int64(tried.next)


@njit(**HOT_KERNEL)
def look_at_tried(a, x, bucket):
    """Take the tries of outputs, from number n_links on, out of a bucket and look at these.

    Those of links are left for phase 5.
    """
    sc = a.sc[0]
    tries = a.events.tries
    entry = np.int64(bucket.entry)
    if entry >= 0 and row_of(tries, entry).next >= 0:
        fetch_tries(a, x, bucket)
    of_links = np.int64(-1)
    while entry >= 0:
        tried = row_of(tries, entry)
        link = np.int64(tried.over)
        after = np.int64(tried.next)
        if link < sc.n_links:
            tried.next = of_links
            of_links = entry
            its_buffer = link >= sc.n_nodes and row_of(x.outputs, link).heads > 0
            if its_buffer and row_of(a.links, link).try_tick == sc.now:
                look_at(a, x, link)  # which may have come free
        else:
            free_try(sc, tries, entry)
            port = row_of(x.outputs, link - sc.n_links)
            if port.try_tick == sc.now:
                port.try_tick = NONE
                look_at(a, x, link - sc.n_links)
        entry = after
    bucket.entry = of_links


@njit(**HOT_KERNEL)
def crossbar_phase(border, a, x, rt, bucket):
    """Run phase 4 ("Order"): crossings begin, by router number."""
    look = x.look
    look_at_tried(a, x, bucket)
    first_upper = (len(x.routers) >> 6) + 1
    for upper in range(first_upper, len(look)):
        while look[upper] != 0:
            w = ((upper - first_upper) << 6) + low_bit(look[upper])
            while look[w] != 0:
                r = (w << 6) + low_bit(look[w])
                arbitrate(border, a, x, rt, r)
                look[w] &= ~(ONE << np.uint64(r & 63))
            look[upper] &= ~(ONE << np.uint64(w & 63))


@njit(**HOT_KERNEL)
def start_phase(border, a, x, bucket):
    """Run phase 5 ("Order"): links start packets; their order does not matter."""
    sc = a.sc[0]
    tries = a.events.tries
    while sc.n_starts > 0 or bucket.entry >= 0:
        if sc.n_starts > 0:
            sc.n_starts -= 1
            link = np.int64(a.events.starts[sc.n_starts])
        else:
            entry = np.int64(bucket.entry)
            tried = row_of(tries, entry)
            link = np.int64(tried.over)
            bucket.entry = tried.next
            free_try(sc, tries, entry)
        link_row = row_of(a.links, link)
        if link_row.try_tick != sc.now:
            continue
        link_row.try_tick = NONE
        if link < sc.n_nodes:
            # of several channels, one may get space back that the port no longer waits for
            if link_row.waiting_vcs != 0:
                try_node(border, a, link)
        else:
            try_output(border, a, x, link)


@njit(**PLAIN_KERNEL)
def run(border, x, in_parts, a, rt, until, budget):
    """Run as `kernels_engine.run` does, with the crossbars ``x``."""
    mode = RankMode(in_parts, None, None)
    sc = a.sc[0]
    events = a.events
    spare_packets = len(a.packets) - sc.n_nodes
    n_credits = len(a.credits)
    spare_tries = len(events.tries) - 4 * sc.n_nodes - 12 * sc.n_links
    spare_far = len(events.far) - 4 * sc.n_nodes - 12 * sc.n_links
    done = 0
    while True:
        # without a bound on crossings, all packets may give space back in one tick
        crowded = sc.n_packets > spare_packets or sc.n_credits + sc.n_packets > n_credits
        if crowded or sc.n_tries > spare_tries or sc.n_far > spare_far:
            return GROW
        if border is not None and outbox_full(border, sc.n_packets):
            return GROW
        if done > budget:
            # before the wheel is turned to what comes next: it is read from now on
            return PAUSE
        timer = row_of(a.timers, 0).tick if sc.n_timers > 0 else NONE
        now = next_event(sc, a.links, a.channels, a.packets, events, timer, until)
        if now == NONE:
            return DONE
        if is_over(sc, a.ends, now, until):
            return ENDED
        sc.now = now
        sc.round_number += 1
        if timer == now:
            rank_phase(a, a.ends, mode, now)
        bucket = row_of(events.wheel, now & FINE_MASK)
        if bucket.packet >= 0:
            done += arrival_phase(border, a, x, mode, rt, bucket)
        crossbar_phase(border, a, x, rt, bucket)
        if sc.n_starts > 0 or bucket.entry >= 0:
            start_phase(border, a, x, bucket)
        if bucket.packet < 0:  # with no latency at all, packets arrive in the tick they start
            unmark(events.occupied, now & FINE_MASK)
