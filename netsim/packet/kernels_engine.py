# mypy: allow-untyped-defs, allow-untyped-calls
"""The loop of the packet engine: tick after tick, in the model's order."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_links import (
    chance_key,
    enqueue,
    see_credits,
    take_credits,
    try_link,
    try_node,
)
from netsim.packet.kernels_outbox import outbox_full
from netsim.packet.kernels_ranks import RankArrays, deliver, on_timer, part_arrived, run_ready
from netsim.packet.kernels_throttle import joined, try_paced
from netsim.packet.kernels_wheel import (
    NONE,
    bring_near,
    heap_pop,
    low_bit,
    next_tick,
    unmark,
)
from netsim.packet.tables import (
    BUFFER_BYTES,
    CHANCE_VISITS,
    COMPARES_CREDITS,
    CR_WIDTH,
    DST,
    END,
    FREE_AT,
    HOLDS,
    L_BITS,
    L_WIDTH,
    M_BITS,
    M_LEFT,
    MESSAGE,
    N_CR,
    N_FAR,
    N_LINKS,
    N_NODES,
    N_PK,
    N_TIMERS,
    NEXT,
    NOW,
    PK_BITS,
    PK_FREE,
    PK_WIDTH,
    Q_WIDTH,
    READY_HEAD,
    ROOM,
    ROOM_VC,
    SIZE,
    SPACE,
    STATE,
    TO_NODE,
    TRY_NEXT,
    TRY_PREV,
    TRY_TICK,
    VISIT,
    VSHIFT,
    WAITING,
)
from netsim.routing.kernels import route

# why `run` came back
DONE, UNTIL, GROW, PAUSE = range(4)


@njit(**INNER_KERNEL)
def rank_phase(pr, now):
    """Phase 2: ranks whose time has come, by number."""
    sc = pr.sc
    timers = pr.timers
    while sc[N_TIMERS] > 0 and timers[0, 0] == now:
        r = timers[0, 1]
        heap_pop(timers, sc[N_TIMERS])
        sc[N_TIMERS] -= 1
        on_timer(pr, r)
        run_ready(pr)


@njit(**INNER_KERNEL)
def collect(sc, wheel, packets, arriving, marked, bucket):
    """Mark the links over which a bucket's packets arrive."""
    vshift = sc[VSHIFT]
    upper = (sc[N_LINKS] >> 6) + 1
    p = np.int64(wheel[2 * bucket])
    wheel[2 * bucket] = -1
    while p >= 0:
        packet = np.uint64(p) << PK_BITS
        link = packets[packet + HOLDS] >> vshift
        arriving[link] = p
        w = link >> 6
        marked[w] |= np.uint64(1) << np.uint64(link & 63)
        marked[upper + (w >> 6)] |= np.uint64(1) << np.uint64(w & 63)
        p = packets[packet + NEXT]


@njit(**INNER_KERNEL)
def arrival_phase(a, pr, rt, bucket, paces):
    """Phase 3: packets that arrive, by the number of the link they came over."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    credits = a.credits
    messages = a.messages
    ranks = a.ranks
    ser_of = a.ser
    wire = a.wire
    wheel = a.wheel
    occupied = a.occupied
    far = a.far
    arriving = a.arriving
    marked = a.marked
    out_ptr = a.out_ptr
    out_link = a.out_link
    free_at = links[np.int64(FREE_AT) :: L_WIDTH]
    waiting = links[np.int64(WAITING) :: L_WIDTH]
    space = channels[np.int64(SPACE) :: Q_WIDTH]
    room = channels[np.int64(ROOM) :: Q_WIDTH]
    now = sc[NOW]
    n_nodes = sc[N_NODES]
    vshift = sc[VSHIFT]
    room_vc = sc[ROOM_VC]
    chance_visits = sc[CHANCE_VISITS]
    compares_credits = sc[COMPARES_CREDITS]
    collect(sc, wheel, packets, arriving, marked, bucket)
    upper = (sc[N_LINKS] >> 6) + 1
    done = 0
    for g in range(upper, len(marked)):
        while marked[g] != 0:
            w = ((g - upper) << 6) + low_bit(marked[g])
            marked[g] &= marked[g] - np.uint64(1)
            bits = marked[w]
            marked[w] = np.uint64(0)
            while bits != 0:
                link = (w << 6) + low_bit(bits)
                bits &= bits - np.uint64(1)
                done += 1
                p = np.int64(arriving[link])
                packet = np.uint64(p) << PK_BITS
                m = packets[packet + MESSAGE]
                if link >= n_nodes and link < 2 * n_nodes:
                    packets[packet + NEXT] = sc[PK_FREE]
                    sc[PK_FREE] = p
                    sc[N_PK] -= 1
                    sc[END] = now
                    message = np.uint64(m) << M_BITS
                    messages[message + M_LEFT] -= 1
                    if messages[message + M_LEFT] == 0:
                        if pr.in_parts is None:
                            deliver(pr, m)
                        else:
                            part_arrived(pr, m)
                        if sc[READY_HEAD] >= 0:
                            run_ready(pr)
                    continue
                router = links[(np.uint64(link) << L_BITS) + DST] - n_nodes
                visit = packets[packet + VISIT]
                packets[packet + VISIT] = visit + 1
                key = np.uint64(0)
                if visit & 0xFFFF < chance_visits:
                    key = chance_key(sc, messages, ranks, m, visit)
                    if compares_credits:
                        see_credits(sc, channels, packets, credits, rt, router, p, key)
                if room_vc >= 0:
                    for k in range(out_ptr[router], out_ptr[router + 1]):
                        q = (np.int64(out_link[k]) << vshift) | room_vc
                        take_credits(sc, channels, credits, q)
                size = wire[packets[packet + SIZE]]
                out, vc, state = route(
                    rt, router, packets[packet + TO_NODE], packets[packet + STATE], key, size,
                    now, free_at, waiting, space, room, 1 << vshift, sc[BUFFER_BYTES],
                )  # fmt: skip
                packets[packet + STATE] = state
                enqueue(
                    sc, links, channels, packets, ser_of, wheel, occupied, far, p, link, out, vc,
                    size,
                )  # fmt: skip
                if paces is not None:  # noqa: SIM102 - left out of what is compiled for None
                    if out < 2 * n_nodes:
                        joined(a, paces, out, packets[packet + MESSAGE])
    return done


@njit(**INNER_KERNEL)
def start_phase(a, bucket, border, paces):
    """Phase 4: links start packets; their order does not matter."""
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    credits = a.credits
    nodes = a.nodes
    messages = a.messages
    ser_of = a.ser
    wire = a.wire
    wheel = a.wheel
    occupied = a.occupied
    far = a.far
    n_nodes = sc[N_NODES]
    link = np.int64(wheel[2 * bucket + 1])
    while link >= 0:
        after = links[(np.uint64(link) << L_BITS) + TRY_NEXT]
        wheel[2 * bucket + 1] = after
        if after >= 0:
            links[(np.uint64(after) << L_BITS) + TRY_PREV] = -1
        links[(np.uint64(link) << L_BITS) + TRY_TICK] = NONE
        if link < n_nodes:
            if paces is not None:
                try_paced(a, paces, link)
            else:
                try_node(
                    border, sc, links, channels, packets, credits, nodes, messages, ser_of,
                    wire, wheel, occupied, far, link,
                )  # fmt: skip
        else:
            try_link(
                border, sc, links, channels, packets, credits, ser_of, wire, wheel, occupied,
                far, link,
            )  # fmt: skip
        link = np.int64(wheel[2 * bucket + 1])


@njit(**HOT_KERNEL)
def next_event(a):
    """The first tick in which something will happen; NONE if nothing will."""
    now = next_tick(a.sc, a.occupied)
    if a.sc[N_TIMERS] > 0:
        now = min(now, a.timers[0, 0])
    if a.sc[N_FAR] > 0:
        now = min(now, a.far[0, 0])
    return now


@njit(**PLAIN_KERNEL)
def run(border, paces, in_parts, a, rt, until, budget):
    """Run until nothing is left (DONE), `until` (UNTIL), a full pool (GROW) or `budget` arrivals.

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
    pr = RankArrays(
        a.sc, a.ranks, a.messages, a.steps, a.compute, a.recv_cost,
        a.message_post, a.message_finish, a.timers, a.nodes, a.links, a.wheel, a.occupied, a.far,
        in_parts,
    )  # fmt: skip
    sc = a.sc
    wheel = a.wheel
    occupied = a.occupied
    spare_packets = (len(a.packets) // PK_WIDTH) - sc[N_NODES]
    spare_credits = (len(a.credits) // CR_WIDTH) - sc[N_LINKS]
    spare_far = len(a.far) - sc[N_NODES] - 2 * sc[N_LINKS]
    mask = (len(wheel) >> 1) - 1
    done = 0
    while True:
        if sc[N_PK] > spare_packets or sc[N_CR] > spare_credits or sc[N_FAR] > spare_far:
            return GROW
        if border is not None:  # noqa: SIM102 - left out of what is compiled for None
            if outbox_full(border, 0):
                return GROW
        now = next_event(a)
        if now == NONE:
            return DONE
        if now > until:
            return UNTIL
        if done > budget:
            return PAUSE
        sc[NOW] = now
        if sc[N_FAR] > 0:
            bring_near(sc, a.links, wheel, occupied, a.far, a.packets)
        if sc[N_TIMERS] > 0 and a.timers[0, 0] == now:
            rank_phase(pr, now)
        bucket = now & mask
        if wheel[2 * bucket] >= 0:
            done += arrival_phase(a, pr, rt, bucket, paces)
        if wheel[2 * bucket + 1] >= 0:
            start_phase(a, bucket, border, paces)
        if wheel[2 * bucket] < 0:  # with no latency at all, packets arrive in the tick they start
            unmark(sc, occupied, bucket)
