# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine: tick after tick, in the model's order.

On a large machine every row that a packet needs lies in memory, not in a cache. Both phases
therefore run through what a tick holds with a look ahead: rows that packet ``i + AHEAD`` will need
are fetched while packet ``i`` is worked on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_congestion import arrived, joined, try_paced
from netsim.packet.kernels_links import enqueue, next_vc, start_at_once, try_link, try_node
from netsim.packet.kernels_memory import prefetch, row_of
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import RankMode, arrive, rank_phase, run_ready
from netsim.packet.kernels_sends import is_over
from netsim.packet.kernels_visits import choose
from netsim.packet.kernels_wheel import (
    FINE_MASK,
    NONE,
    collect,
    free_packet,
    free_try,
    next_event,
    unmark,
)

# why `run` came back
DONE, ENDED, GROW, PAUSE = range(4)

AHEAD = 8
"""Packets between the look ahead and the work: as long as a line from memory takes, about."""

KNOWN = 256
"""Most packets of a tick that are all routed before the first of them is worked on: what they need
still fits the nearest caches."""

# what `Arrays.chosen` has of a packet that has no channel yet, or needs none
UNDECIDED, EJECTED = -1, -2


@njit(**HOT_KERNEL)
def reach_node(a, mode, paces, p):
    """Process a packet that has arrived at its node ("Delivery")."""
    sc = a.sc[0]
    if paces is not None:
        arrived(a, paces, p)
    m = row_of(a.packets, p).message
    free_packet(sc, a.events.chain, p)
    sc.end = sc.now
    message = row_of(a.messages, m)
    message.packets_left -= 1
    if message.packets_left == 0:
        arrive(a, mode.in_parts, m)
        if sc.ready_head >= 0:
            run_ready(a, mode)


@njit(**PLAIN_KERNEL, inline="always")
def fetch_channel(border, a, q):
    """Fetch the channel that a packet holds; not one that another domain writes."""
    if border is None or border.link_from[np.uint64(q >> a.sc[0].vshift)] == border.me:
        prefetch(a.channels, np.uint64(q))


@njit(**PLAIN_KERNEL, inline="always")
def fetch_receiver(a, p):
    """Fetch what will be needed if this is the last packet of its message."""
    message = row_of(a.messages, row_of(a.packets, p).message)
    prefetch(a.steps, np.uint64(message.step))
    prefetch(a.ranks, np.uint64(message.rank))


@njit(**HOT_KERNEL)
def list_opened(a):
    """Begin ``order`` with the packets of spans that have just come into the fine wheel."""
    sc = a.sc[0]
    n_opened = sc.n_opened
    for i in range(n_opened):
        p = np.int64(a.events.opened[np.uint64(i)])
        a.order[np.uint64(i)] = p
        a.chosen[np.uint64(i)] = a.link_router[np.uint64(row_of(a.events.chain, p).over)]
    sc.n_opened = 0
    return n_opened


@njit(**HOT_KERNEL)
def list_arrivals(a, n, bucket):
    """Put a bucket's packets, of which there are some, into ``order`` after ``n`` others.

    They are in the order of "Order", 3. Returns how many there are then.
    """
    first = np.int64(bucket.packet)
    chained = row_of(a.events.chain, first)
    if chained.next >= 0:
        return collect(a, n, bucket)
    # one packet is in order
    bucket.packet = -1
    a.order[np.uint64(n)] = first
    a.chosen[np.uint64(n)] = a.link_router[np.uint64(chained.over)]
    return n + 1


@njit(**HOT_KERNEL)
def is_routed_ahead(border, a, k, p):
    """Return whether the look ahead has to route the ``k``-th packet; fetch what the others need.

    Not one at its last router, one routed when its span was opened, or one whose routing looks at
    queues, which packets before it may change.
    """
    sc = a.sc[0]
    packet = row_of(a.packets, p)
    if a.chosen[np.uint64(k)] < 0:
        a.chosen[np.uint64(k)] = EJECTED
        prefetch(a.messages, np.uint64(packet.message))
        return False
    chained = row_of(a.events.chain, p)
    if chained.early > 0:
        q = np.int64(chained.early) - 1
        a.chosen[np.uint64(k)] = q
        a.arriving[np.uint64(q >> sc.vshift)] = k
        chained.early = 0
        return False
    fetch_channel(border, a, packet.holds)
    if packet.visits < sc.looks_visits:
        a.chosen[np.uint64(k)] = UNDECIDED
        return False
    return True


@njit(**HOT_KERNEL)
def forward(border, a, paces, p, q, is_last, latest):
    """Let a routed packet start on its link, if it certainly may, or wait for it."""
    size = a.wire[np.uint64(row_of(a.packets, p).size_class)]
    if paces is None and is_last and start_at_once(border, a, p, q, size, latest):
        return
    enqueue(a, p, q, size)
    if paces is not None:
        joined(a, paces, q >> a.sc[0].vshift, p)


@njit(**HOT_KERNEL)
def arrival_phase(border, a, mode, rt, bucket, paces):
    """Run phase 3 ("Order"): packets that arrive, by the number of the link they came over.

    A packet is routed when the look ahead comes to it, unless the routing looks at queues, which
    the packets before it may change. So are, before them, those of spans that have just come into
    the fine wheel: where ticks are fine, one holds a single packet, and there is no other to work
    on while a row of memory comes.

    A packet that finds its link idle starts here, unless a later packet of the tick, in another of
    the link's channels, may come first.
    """
    # Invariant: where all packets of the tick are routed before the first of them is worked on, and
    # none waits for what those before it change (`known`), the last to go over a link is in
    # ``arriving``. Only for that one, for a packet alone in its tick, and on links of one channel,
    # whose FIFO is in order of arrival, is it certain what the link's round-robin would choose. A
    # routing that looks at queues sees no other state: those of ejection links are not looked at,
    # and with the others nothing is routed in the tick any more.
    sc = a.sc[0]
    order = a.order
    chosen = a.chosen
    now = sc.now
    vshift = sc.vshift
    arriving = a.arriving
    # ejection links have a channel a priority class
    first_many = 2 * sc.n_nodes if vshift == sc.class_shift else np.int64(0)
    one_channel = sc.one_channel
    latest = min(now + sc.most_ahead, sc.until)
    latest_beside = min(now, latest)
    n_opened = list_opened(a)
    n = list_arrivals(a, n_opened, bucket)
    # with one packet in the tick there is nothing to look ahead to
    single = n == n_opened + 1
    known = n - n_opened <= KNOWN
    ahead = n - n_opened - 1 if known else AHEAD
    for i in range(n + max(ahead, sc.fetch_starts * min(n_opened, AHEAD // 2))):
        half = i - AHEAD // 2
        if 0 <= half < n and chosen[np.uint64(half)] == EJECTED:
            fetch_receiver(a, order[np.uint64(half)])
        first = np.int64(i >= n or (single and i >= n_opened))
        last = np.int64(2 if n_opened <= i - ahead < n else 1)
        for late in range(first, last):
            k = i - ahead if late else i
            p = np.int64(order[np.uint64(k)])
            if late:
                q = np.int64(chosen[np.uint64(k)])
                if single:
                    chained = row_of(a.events.chain, p)
                    q = np.int64(EJECTED) if q < 0 else np.int64(chained.early) - 1
                    chained.early = 0
                if q == EJECTED:
                    reach_node(a, mode, paces, p)
                    continue
            else:
                if not is_routed_ahead(border, a, k, p):
                    known = known and (chosen[np.uint64(k)] != UNDECIDED or k < n_opened)
                    continue
                q = np.int64(UNDECIDED)
            # at one place for both, since it is long
            if q == UNDECIDED:
                over = np.uint64(row_of(a.events.chain, p).over)
                q = choose(a, rt, np.int64(a.link_router[over]), p)
            link = q >> vshift
            if late:
                alone = link < first_many or link >= one_channel
                is_last = alone or single or (known and arriving[np.uint64(link)] == k)
                forward(border, a, paces, p, q, is_last, latest if alone else latest_beside)
            else:
                if k < n_opened:
                    row_of(a.events.chain, p).early = q + 1
                # the last of the tick's packets that go over a link stays there
                arriving[np.uint64(link)] = k
                chosen[np.uint64(k)] = q
                prefetch(a.links, np.uint64(link))
                prefetch(a.channels, np.uint64(q))
    return n - n_opened


@njit(**PLAIN_KERNEL, inline="always")
def next_channel(sc, links, link):
    """Return the channel that a link will serve next, or any of its own."""
    link_row = row_of(links, link)
    waiting_vcs = np.int64(link_row.waiting_vcs)
    vc = next_vc(sc, waiting_vcs, np.int64(link_row.served_vcs)) if waiting_vcs != 0 else 0
    return (np.int64(link) << sc.vshift) | vc


@njit(**HOT_KERNEL)
def fetch_ahead(border, a, i, n, ahead):
    """Fetch what the starts after the ``i``-th of ``n`` will need, step by step."""
    n_nodes = a.sc[0].n_nodes
    starts = a.events.starts
    if i < n:
        q = next_channel(a.sc[0], a.links, starts[i])
        a.chosen[i] = q
        prefetch(a.channels, np.uint64(q))
    i -= ahead
    if 0 <= i < n:
        if starts[i] >= n_nodes:
            prefetch(a.packets, np.uint64(row_of(a.channels, a.chosen[i]).fifo_head))
        else:
            prefetch(a.messages, np.uint64(row_of(a.nodes, starts[i]).head))
    i -= ahead
    if 0 <= i < n and starts[i] >= n_nodes:
        p = np.int64(row_of(a.channels, a.chosen[i]).fifo_head)
        if p >= 0:
            fetch_channel(border, a, row_of(a.packets, p).holds)


@njit(**HOT_KERNEL)
def list_starts(a, bucket):
    """Append the links to be tried in this tick to those that start; return how many there are."""
    sc = a.sc[0]
    starts = a.events.starts
    n = sc.n_starts
    sc.n_starts = 0
    entry = np.int64(bucket.entry)
    # there may be no place for all entries of a tick, since stale ones are among them
    while entry >= 0 and n < len(starts):
        tried = row_of(a.events.tries, entry)
        link = np.int64(tried.over)
        after = np.int64(tried.next)
        prefetch(a.links, np.uint64(link))
        free_try(sc, a.events.tries, entry)
        starts[np.uint64(n)] = link
        n += 1
        entry = after
    bucket.entry = entry
    return n


@njit(**HOT_KERNEL)
def start_phase(border, a, bucket, paces):
    """Run phase 5 ("Order"): links start packets; their order does not matter."""
    sc = a.sc[0]
    starts = a.events.starts
    now = sc.now
    while sc.n_starts > 0 or bucket.entry >= 0:
        n = list_starts(a, bucket)
        ahead = min(n - 1, sc.fetch_starts * AHEAD)
        for i in range(n + 3 * ahead):
            if ahead > 0:
                fetch_ahead(border, a, i, n, ahead)
            k = i - 3 * ahead
            if k >= 0:
                link = np.int64(starts[np.uint64(k)])
                link_row = row_of(a.links, link)
                if link_row.try_tick != now:
                    continue  # a stale entry: see `set_try`
                link_row.try_tick = NONE
                if link >= sc.n_nodes:
                    try_link(border, a, link)
                elif paces is None:
                    try_node(border, a, link)
                else:
                    try_paced(a, paces, link)


@njit(**PLAIN_KERNEL)
def run(border, paces, in_parts, a, rt, until, budget):
    """Run until nothing is left (DONE), `until` (ENDED), a full pool (GROW) or `budget` arrivals.

    ENDED also if all groups that do not loop have finished.

    Parameters
    ----------
    border : Border or None
        None where the machine is one domain.
    paces : Paces or None
    in_parts : int64 or None
        None where every message is one part on the only rail.
    a : Arrays
    rt : RouteTables
    until, budget : int64
    """
    # of one type, so that what gets a mode is compiled once
    queuing = RankMode(in_parts, np.int64(0), border)
    starting = RankMode(in_parts, np.int64(1), border)
    sc = a.sc[0]
    events = a.events
    # No pool grows within a tick. So before each tick there is room for all that it can add: a
    # packet a node, a credit a link, and the tries and far events of all of these.
    spare_packets = len(a.packets) - sc.n_nodes
    spare_credits = len(a.credits) - 2 * sc.n_links
    spare_tries = len(events.tries) - 2 * sc.n_nodes - 5 * sc.n_links
    spare_far = len(events.far) - 2 * sc.n_nodes - 5 * sc.n_links
    done = 0
    while True:
        crowded = sc.n_packets > spare_packets or sc.n_credits > spare_credits
        if crowded or sc.n_tries > spare_tries or sc.n_far > spare_far:
            return GROW
        if border is not None and outbox_full(border, 0):
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
        if timer == now:
            rank_phase(a, a.ends, queuing, now)
        bucket = row_of(events.wheel, now & FINE_MASK)
        if bucket.packet >= 0:
            done += arrival_phase(border, a, starting, rt, bucket, paces)
        if sc.n_starts > 0 or bucket.entry >= 0:
            start_phase(border, a, bucket, paces)
        if bucket.packet < 0:  # with no latency at all, packets arrive in the tick they start
            unmark(events.occupied, now & FINE_MASK)
