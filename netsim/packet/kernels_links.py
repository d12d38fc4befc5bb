# mypy: allow-untyped-defs, allow-untyped-calls
"""Links and routers: route a packet, let it wait, start it (docs/packet-model.md, "Links")."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import PLAIN_KERNEL
from netsim.packet.kernels_wheel import NONE, add_arrival, add_try
from netsim.packet.tables import (
    BANDWIDTH,
    BLOCKED,
    BUSY,
    BYTES,
    CR_BYTES,
    CR_FREE,
    CR_TICK,
    CR_USED,
    CREDIT_HEAD,
    CREDIT_TAIL,
    FIFO_HEAD,
    FIFO_TAIL,
    FREE_AT,
    HOLDS,
    LAST_VC,
    LATENCY,
    M_LEFT,
    M_NEXT,
    M_RANK,
    M_TAIL,
    MESSAGE,
    N_CR,
    N_NODES,
    N_PK,
    N_VCS,
    NEXT,
    NIC_COUNT,
    NIC_HEAD,
    NIC_SENT,
    NODE,
    NOW,
    PACKETS,
    PK_FREE,
    PK_USED,
    READY,
    ROOM,
    ROUTER_LATENCY,
    SIZE,
    SPACE,
    STALL_START,
    STALL_TIME,
    STALLS,
    STATE,
    TO_NODE,
    VISIT,
    VSHIFT,
    WAITING,
)


@njit(**PLAIN_KERNEL, inline="always")
def take_credits(sc, channels, credits, q):
    """Make the space visible that channel ``q`` has got back by now."""
    now = sc[NOW]
    c = np.int64(channels[q, CREDIT_HEAD])
    while c >= 0 and credits[c, CR_TICK] <= now:
        channels[q, SPACE] += credits[c, CR_BYTES]
        channels[q, ROOM] += credits[c, CR_BYTES]
        after = credits[c, NEXT]
        credits[c, NEXT] = sc[CR_FREE]
        sc[CR_FREE] = c
        sc[N_CR] -= 1
        c = after
    channels[q, CREDIT_HEAD] = c


@njit(**PLAIN_KERNEL, inline="always")
def give_credit(sc, channels, credits, q, tick, size):
    """Channel ``q`` gets ``size`` bytes back at ``tick``; the list stays sorted by tick."""
    c = sc[CR_FREE]
    if c >= 0:
        sc[CR_FREE] = credits[c, NEXT]
    else:
        c = sc[CR_USED]
        sc[CR_USED] = c + 1
    sc[N_CR] += 1
    credits[c, CR_TICK] = tick
    credits[c, CR_BYTES] = size
    credits[c, NEXT] = -1
    head = np.int64(channels[q, CREDIT_HEAD])
    if head < 0:
        channels[q, CREDIT_HEAD] = c
        channels[q, CREDIT_TAIL] = c
    else:
        tail = np.int64(channels[q, CREDIT_TAIL])
        if credits[tail, CR_TICK] <= tick:
            credits[tail, NEXT] = c
            channels[q, CREDIT_TAIL] = c
        elif tick < credits[head, CR_TICK]:
            credits[c, NEXT] = head
            channels[q, CREDIT_HEAD] = c
        else:
            before = head
            while credits[credits[before, NEXT], CR_TICK] <= tick:
                before = credits[before, NEXT]
            credits[c, NEXT] = credits[before, NEXT]
            credits[before, NEXT] = c


@njit(**PLAIN_KERNEL, inline="always")
def when_room(channels, credits, q, size):
    """First tick at which the known credits give ``size`` bytes on ``q``; marks q as blocked."""
    channels[q, BLOCKED] = 1
    have = np.int64(channels[q, SPACE])
    c = np.int64(channels[q, CREDIT_HEAD])
    while c >= 0:
        have += credits[c, CR_BYTES]
        if have >= size:
            return credits[c, CR_TICK]
        c = credits[c, NEXT]
    return NONE


@njit(**PLAIN_KERNEL, inline="always")
def stall(links, link, now):
    """The link is free, has a ready packet, and cannot start."""
    if links[link, STALL_START] < 0:
        links[link, STALL_START] = now
        links[link, STALLS] += 1


@njit(**PLAIN_KERNEL, inline="always")
def occupy(sc, links, channels, packets, link, q, p, ser, size):
    """What every start does: time, counters, stall and space. Returns the time of arrival."""
    now = sc[NOW]
    links[link, FREE_AT] = now + ser
    links[link, PACKETS] += 1
    links[link, BYTES] += size
    links[link, BUSY] += ser
    if links[link, STALL_START] >= 0:
        if links[link, STALL_START] == now:
            links[link, STALLS] -= 1  # began and ended in one tick
        links[link, STALL_TIME] += now - links[link, STALL_START]
        links[link, STALL_START] = -1
    packets[p, HOLDS] = q
    n_nodes = sc[N_NODES]
    tick = now + links[link, LATENCY]
    if link >= n_nodes and link < 2 * n_nodes:
        return tick + ser
    channels[q, BLOCKED] = 0
    channels[q, SPACE] -= size
    return tick + sc[ROUTER_LATENCY]


@njit(**PLAIN_KERNEL, inline="always")
def try_node(
    sc, links, channels, packets, credits, nodes, ranks, messages, ser_of, wire, wheel, occupied,
    far, node,
):  # fmt: skip
    """Let a node's injection link start a packet if it can."""
    now = sc[NOW]
    m = nodes[node, NIC_HEAD]
    q = node << sc[VSHIFT]
    sent = nodes[node, NIC_SENT]
    last = sent + 1 == nodes[node, NIC_COUNT]
    size_class = np.int64(0)
    if last:
        size_class = np.int64(messages[m, M_TAIL])
    size = wire[size_class]
    # always, not only when space is short: a short list keeps the pool of credits in cache
    take_credits(sc, channels, credits, q)
    if channels[q, SPACE] < size:
        stall(links, node, now)
        tick = when_room(channels, credits, q, size)
        if tick != NONE:
            add_try(sc, links, wheel, occupied, far, node, tick)
        return
    p = sc[PK_FREE]
    if p >= 0:
        sc[PK_FREE] = packets[p, NEXT]
    else:
        p = sc[PK_USED]
        sc[PK_USED] = p + 1
    sc[N_PK] += 1
    packets[p, MESSAGE] = m
    packets[p, VISIT] = sent << 16
    packets[p, STATE] = 0
    packets[p, SIZE] = size_class
    packets[p, TO_NODE] = ranks[messages[m, M_RANK], NODE]
    channels[q, ROOM] -= size
    ser = ser_of[links[node, BANDWIDTH], size_class]
    tick = occupy(sc, links, channels, packets, node, q, p, ser, size)
    add_arrival(sc, wheel, occupied, far, packets, p, tick)
    if last:
        after = np.int64(messages[m, M_NEXT])
        nodes[node, NIC_HEAD] = after
        if after >= 0:
            nodes[node, NIC_SENT] = 0
            nodes[node, NIC_COUNT] = messages[after, M_LEFT]
    else:
        nodes[node, NIC_SENT] = sent + 1
    if nodes[node, NIC_HEAD] >= 0:
        add_try(sc, links, wheel, occupied, far, node, now + ser)


@njit(**PLAIN_KERNEL, inline="always")
def try_link(sc, links, channels, packets, credits, ser_of, wire, wheel, occupied, far, link):
    """Let a router's link start a packet if it can; round-robin over its channels."""
    now = sc[NOW]
    vshift = sc[VSHIFT]
    n_vcs = sc[N_VCS]
    if link < 2 * sc[N_NODES]:
        n_vcs = 1
    vc = links[link, LAST_VC]
    wake = NONE
    ready = False
    for _ in range(n_vcs):
        vc += 1
        if vc >= n_vcs:
            vc = 0
        q = (link << vshift) | vc
        p = np.int64(channels[q, FIFO_HEAD])
        if p < 0:
            continue
        if packets[p, READY] > now:
            wake = min(wake, packets[p, READY])
            continue
        ready = True
        size_class = packets[p, SIZE]
        size = wire[size_class]
        take_credits(sc, channels, credits, q)
        if channels[q, SPACE] < size:
            wake = min(wake, when_room(channels, credits, q, size))
            continue
        links[link, LAST_VC] = vc
        channels[q, FIFO_HEAD] = packets[p, NEXT]
        came_from = packets[p, HOLDS]
        ser = ser_of[links[link, BANDWIDTH], size_class]
        tick = occupy(sc, links, channels, packets, link, q, p, ser, size)
        add_arrival(sc, wheel, occupied, far, packets, p, tick)
        links[link, WAITING] -= ser
        feeder = came_from >> vshift
        back = now + ser + links[feeder, LATENCY]
        give_credit(sc, channels, credits, came_from, back, size)
        if channels[came_from, BLOCKED]:
            add_try(sc, links, wheel, occupied, far, feeder, max(back, links[feeder, FREE_AT]))
        if links[link, WAITING] > 0:
            add_try(sc, links, wheel, occupied, far, link, now + ser)
        return
    if ready:
        stall(links, link, now)
    if wake != NONE:
        add_try(sc, links, wheel, occupied, far, link, wake)


@njit(**PLAIN_KERNEL, inline="always")
def enqueue(
    sc, links, channels, packets, ser_of, wheel, occupied, far, p, came_over, link, vc, size
):
    """Let a routed packet wait for (link, vc)."""
    now = sc[NOW]
    q = (link << sc[VSHIFT]) | vc
    size_class = packets[p, SIZE]
    ser_out = ser_of[links[link, BANDWIDTH], size_class]
    ready = now + max(0, ser_of[links[came_over, BANDWIDTH], size_class] - ser_out)
    packets[p, READY] = ready
    packets[p, NEXT] = -1
    links[link, WAITING] += ser_out
    if link >= 2 * sc[N_NODES]:
        channels[q, ROOM] -= size
    if channels[q, FIFO_HEAD] < 0:
        channels[q, FIFO_HEAD] = p
        add_try(sc, links, wheel, occupied, far, link, max(ready, links[link, FREE_AT]))
    else:
        packets[channels[q, FIFO_TAIL], NEXT] = p
    channels[q, FIFO_TAIL] = p
