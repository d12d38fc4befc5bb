# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine: tick after tick, in the model's order.

On a large machine every row that a packet needs lies in memory, not in a cache. Both phases
therefore run through what a tick holds with a look ahead: rows that packet ``i + AHEAD`` will need
are fetched while packet ``i`` is worked on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_links import (
    enqueue,
    next_vc,
    start_at_once,
    try_link,
    try_node,
)
from netsim.packet.kernels_memory import prefetch
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import arrive, on_timer, rank_arrays, run_ready
from netsim.packet.kernels_throttle import joined, try_paced
from netsim.packet.kernels_visits import visit_key
from netsim.packet.kernels_wheel import (
    FINE_MASK,
    NONE,
    collect,
    free_packet,
    free_try,
    heap_pop,
    next_event,
    unmark,
)
from netsim.packet.tables import (
    BUFFER_BYTES,
    CH_BITS,
    CH_WIDTH,
    CLASS_SHIFT,
    CR_WIDTH,
    EARLY,
    END,
    FETCH_STARTS,
    FIFO_HEAD,
    FREE_AT,
    HOLDS,
    L_BITS,
    L_WIDTH,
    LAST_SHIFT,
    LOOKS_VISITS,
    M_BITS,
    M_LEFT,
    M_RANK,
    M_STEP,
    MESSAGE,
    MOST_AHEAD,
    N_BITS,
    N_CR,
    N_FAR,
    N_LINKS,
    N_NODES,
    N_OPENED,
    N_PK,
    N_STARTS,
    N_TIMERS,
    N_TRIES,
    NEXT,
    NIC_HEAD,
    NOW,
    ONE_CHANNEL,
    OVER,
    PK_BITS,
    PK_WIDTH,
    Q_BITS,
    Q_WIDTH,
    R_BITS,
    READY_HEAD,
    ROOM,
    S_BITS,
    SIZE,
    SPACE,
    STATE,
    TO_NODE,
    TRY_TICK,
    UNTIL,
    VCS,
    VISIT,
    VSHIFT,
    WAITING,
)
from netsim.routing.kernels import next_hop

# why `run` came back
DONE, ENDED, GROW, PAUSE = range(4)

AHEAD = 8
"""Packets between the look ahead and the work: as long as a line from memory takes, about."""

KNOWN = 256
"""Most packets of a tick that are all routed before the first of them is worked on: what they need
still fits the nearest caches."""

_UNDECIDED, _EJECTED = -1, -2


@njit(**INNER_KERNEL)
def rank_phase(pr, now):
    """Run phase 2: ranks whose time has come, by number."""
    sc = pr.sc
    timers = pr.timers
    while sc[N_TIMERS] > 0 and timers[0, 0] == now:
        r = timers[0, 1]
        heap_pop(timers, sc[N_TIMERS])
        sc[N_TIMERS] -= 1
        on_timer(pr, r)


@njit(**HOT_KERNEL)
def reach_node(a, pr, p):
    """Process a packet that has arrived at its node."""
    sc = a.sc
    messages = a.messages
    m = a.packets[(np.uint64(p) << PK_BITS) + MESSAGE]
    free_packet(sc, a.events.chain, p)
    sc[END] = sc[NOW]
    message = np.uint64(m) << M_BITS
    messages[message + M_LEFT] -= 1
    if messages[message + M_LEFT] == 0:
        arrive(pr, pr.in_parts, m)
        if sc[READY_HEAD] >= 0:
            run_ready(pr)


@njit(**PLAIN_KERNEL, inline="always")
def fetch_channel(border, channels, q, vshift):
    """Fetch the channel that a packet holds; not one that another domain writes."""
    if border is None or border.link_from[np.uint64(q >> vshift)] == border.me:
        prefetch(channels, np.uint64(q) << Q_BITS)


@njit(**PLAIN_KERNEL, inline="always")
def fetch_receiver(a, p):
    """Fetch what will be needed if this is the last packet of its message."""
    message = np.uint64(a.packets[(np.uint64(p) << PK_BITS) + MESSAGE]) << M_BITS
    prefetch(a.steps, np.uint64(a.messages[message + M_STEP]) << S_BITS)
    prefetch(a.ranks, np.uint64(a.messages[message + M_RANK]) << R_BITS)


@njit(**HOT_KERNEL)
def arrival_phase(border, a, pr, rt, bucket, paces):
    """Run phase 3: packets that arrive, by the number of the link they came over.

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
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    messages = a.messages
    chain = a.events.chain
    order = a.order
    chosen = a.chosen
    free_at = links[np.int64(FREE_AT) :: L_WIDTH]
    waiting = links[np.int64(WAITING) :: L_WIDTH]
    space = channels[np.int64(SPACE) :: Q_WIDTH]
    room = channels[np.int64(ROOM) :: Q_WIDTH]
    now = sc[NOW]
    n_nodes = sc[N_NODES]
    vshift = sc[VSHIFT]
    arriving = a.arriving
    # ejection links have a channel a priority class
    first_many = 2 * n_nodes if vshift == sc[CLASS_SHIFT] else np.int64(0)
    one_channel = sc[ONE_CHANNEL]
    latest = min(now + sc[MOST_AHEAD], sc[UNTIL])
    class_bits = (1 << vshift) - (1 << sc[CLASS_SHIFT])
    opened = a.events.opened
    n_opened = sc[N_OPENED]
    for i in range(n_opened):
        p = np.int64(opened[np.uint64(i)])
        order[np.uint64(i)] = p
        chosen[np.uint64(i)] = a.link_router[np.uint64(chain[(np.uint64(p) << CH_BITS) + OVER])]
    sc[N_OPENED] = 0
    first = np.int64(a.events.wheel[2 * bucket])
    row = np.uint64(first) << CH_BITS
    link = np.uint64(chain[row + OVER])
    first_late = 0
    if chain[row + NEXT] < 0:
        # one packet is in order, and if it is alone there is nothing to look ahead to
        a.events.wheel[2 * bucket] = -1
        order[np.uint64(n_opened)] = first
        router = np.int64(a.link_router[link])
        if n_opened == 0:
            first_late = 1
            if router < 0:
                router = np.int64(_EJECTED)
            else:
                router = np.int64(chain[row + EARLY]) - 1
                chain[row + EARLY] = 0
        chosen[np.uint64(n_opened)] = router
        n = n_opened + 1
    else:
        n = collect(a, n_opened, bucket)
    known = n - n_opened <= KNOWN
    ahead = n - n_opened - 1 if known else AHEAD
    for i in range(n + max(ahead, min(n_opened, AHEAD // 2))):
        half = i - AHEAD // 2
        if 0 <= half < n and chosen[np.uint64(half)] == _EJECTED:
            fetch_receiver(a, order[np.uint64(half)])
        for late in range(first_late, 2):
            k = i - ahead if late else i
            if k >= n or (late and k < n_opened):
                continue
            p = np.int64(order[np.uint64(k)])
            packet = np.uint64(p) << PK_BITS
            row = np.uint64(p) << CH_BITS
            # the router, until it is known what comes after it
            router = np.int64(chosen[np.uint64(k)])
            q = np.int64(_UNDECIDED)
            if late:
                if router == _EJECTED:
                    reach_node(a, pr, p)
                    continue
                if router == _UNDECIDED:
                    router = np.int64(a.link_router[np.uint64(chain[row + OVER])])
                else:
                    q = router
            else:
                if router < 0:
                    chosen[np.uint64(k)] = _EJECTED
                    prefetch(messages, np.uint64(packets[packet + MESSAGE]) << M_BITS)
                    continue
                if chain[row + EARLY] > 0:
                    q = np.int64(chain[row + EARLY]) - 1
                    chosen[np.uint64(k)] = q
                    arriving[np.uint64(q >> vshift)] = k
                    chain[row + EARLY] = 0
                    continue
                fetch_channel(border, channels, packets[packet + HOLDS], vshift)
                if packets[packet + VISIT] & 0xFFFF < sc[LOOKS_VISITS]:
                    chosen[np.uint64(k)] = _UNDECIDED
                    known = known and k < n_opened
                    continue
            size = a.wire[np.uint64(packets[packet + SIZE])]
            if q < 0:
                key = visit_key(rt, a, router, p)
                out, vc, state = next_hop(
                    rt, router, packets[packet + TO_NODE], packets[packet + STATE], key, size, now,
                    free_at, waiting, space, room, 1 << vshift, sc[BUFFER_BYTES],
                )  # fmt: skip
                packets[packet + STATE] = state
                # it keeps to the channels of its priority class
                q = (out << vshift) | (packets[packet + HOLDS] & class_bits) | vc
                if not late:
                    if k < n_opened:
                        chain[row + EARLY] = q + 1
                    # the last of the tick's packets that go over a link stays there
                    arriving[np.uint64(out)] = k
                    chosen[np.uint64(k)] = q
                    prefetch(links, np.uint64(out) << L_BITS)
                    prefetch(channels, np.uint64(q) << Q_BITS)
                    continue
            link = np.uint64(q >> vshift)
            if paces is None:
                alone = q >> vshift < first_many or q >> vshift >= one_channel
                last = alone or n == n_opened + 1 or (known and arriving[link] == k)
                if last and start_at_once(border, a, p, q, size, latest if alone else now):
                    continue
            enqueue(a, p, q >> vshift, q, size)
            if paces is not None:  # noqa: SIM102 - left out of what is compiled for None
                if q >> vshift < 2 * n_nodes:
                    joined(a, paces, q >> vshift, packets[packet + MESSAGE])
    return n - n_opened


@njit(**PLAIN_KERNEL, inline="always")
def next_channel(sc, links, link):
    """Return the channel that a link will serve next, or any of its own."""
    row = np.uint64(link) << L_BITS
    waiting = links[row + VCS] & ((1 << LAST_SHIFT) - 1)
    vc = next_vc(sc, waiting, links[row + VCS] >> LAST_SHIFT) if waiting != 0 else 0
    return (np.int64(link) << sc[VSHIFT]) | vc


@njit(**HOT_KERNEL)
def fetch_ahead(border, a, i, n, ahead):
    """Fetch what the starts after the ``i``-th of ``n`` will need, step by step."""
    n_nodes = a.sc[N_NODES]
    vshift = a.sc[VSHIFT]
    links = a.links
    channels = a.channels
    packets = a.packets
    order = a.events.starts
    if i < n:
        q = next_channel(a.sc, links, order[i])
        a.chosen[i] = q
        prefetch(channels, np.uint64(q) << Q_BITS)
    i -= ahead
    if 0 <= i < n:
        if order[i] >= n_nodes:
            q = a.chosen[i]
            p = channels[(np.uint64(q) << Q_BITS) + FIFO_HEAD]
            prefetch(packets, np.uint64(p) << PK_BITS)
        else:
            m = a.nodes[(np.uint64(order[i]) << N_BITS) + NIC_HEAD]
            prefetch(a.messages, np.uint64(m) << M_BITS)
    i -= ahead
    if 0 <= i < n and order[i] >= n_nodes:
        q = a.chosen[i]
        p = np.int64(channels[(np.uint64(q) << Q_BITS) + FIFO_HEAD])
        if p >= 0:
            holds = packets[(np.uint64(p) << PK_BITS) + HOLDS]
            fetch_channel(border, channels, holds, vshift)


@njit(**HOT_KERNEL)
def start_phase(border, a, bucket, paces):
    """Run phase 4: links start packets; their order does not matter."""
    sc = a.sc
    links = a.links
    order = a.events.starts
    wheel = a.events.wheel
    tries = a.events.tries
    now = sc[NOW]
    n_nodes = sc[N_NODES]
    most = len(order)
    # `starts` may be too short for all entries of a tick, since stale ones are among them
    while sc[N_STARTS] > 0 or wheel[2 * bucket + 1] >= 0:
        n = sc[N_STARTS]
        sc[N_STARTS] = 0
        entry = np.int64(wheel[2 * bucket + 1])
        while entry >= 0 and n < most:
            row = np.uint64(entry) << CH_BITS
            link = np.int64(tries[row + OVER])
            after = np.int64(tries[row + NEXT])
            prefetch(links, np.uint64(link) << L_BITS)
            free_try(sc, tries, entry)
            order[np.uint64(n)] = link
            n += 1
            entry = after
        wheel[2 * bucket + 1] = entry
        ahead = min(n - 1, sc[FETCH_STARTS] * AHEAD)
        for i in range(n + 3 * ahead):
            if ahead > 0:
                fetch_ahead(border, a, i, n, ahead)
            k = i - 3 * ahead
            if k >= 0:
                link = np.int64(order[np.uint64(k)])
                row = np.uint64(link) << L_BITS
                if links[row + TRY_TICK] != now:
                    continue  # a stale entry: see `set_try`
                links[row + TRY_TICK] = NONE
                if link >= n_nodes:
                    try_link(border, a, link)
                elif paces is None:
                    try_node(border, a, link)
                else:
                    try_paced(a, paces, link)


@njit(**PLAIN_KERNEL)
def run(border, paces, in_parts, a, rt, until, budget):
    """Run until nothing is left (DONE), `until` (ENDED), a full pool (GROW) or `budget` arrivals.

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
    seldom = rank_arrays(a, in_parts, None, None)
    pr = rank_arrays(a, in_parts, a, border)
    sc = a.sc
    events = a.events
    wheel = events.wheel
    # No pool grows within a tick. So before each tick there is room for all that it can add: a
    # packet a node, a credit a link, and the tries and far events of all of these.
    spare_packets = (len(a.packets) // PK_WIDTH) - sc[N_NODES]
    spare_credits = (len(a.credits) // CR_WIDTH) - 2 * sc[N_LINKS]
    spare_tries = (len(events.tries) // CH_WIDTH) - 2 * sc[N_NODES] - 5 * sc[N_LINKS]
    spare_far = len(events.far) - 2 * sc[N_NODES] - 5 * sc[N_LINKS]
    done = 0
    while True:
        crowded = sc[N_PK] > spare_packets or sc[N_CR] > spare_credits
        if crowded or sc[N_TRIES] > spare_tries or sc[N_FAR] > spare_far:
            return GROW
        if border is not None:  # noqa: SIM102 - left out of what is compiled for None
            if outbox_full(border, 0):
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
            rank_phase(seldom, now)
        bucket = now & FINE_MASK
        if wheel[2 * bucket] >= 0:
            done += arrival_phase(border, a, pr, rt, bucket, paces)
        if sc[N_STARTS] > 0 or wheel[2 * bucket + 1] >= 0:
            start_phase(border, a, bucket, paces)
        if wheel[2 * bucket] < 0:  # with no latency at all, packets arrive in the tick they start
            unmark(events.occupied, bucket)
