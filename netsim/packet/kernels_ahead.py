# mypy: allow-untyped-defs, allow-untyped-calls
"""What is done ahead for packets that will arrive in the next span of ticks."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_links import chance_key
from netsim.packet.kernels_memory import prefetch
from netsim.packet.tables import (
    BUFFER_BYTES,
    CH_BITS,
    CHANCE_VISITS,
    EARLY,
    FREE_AT,
    HOLDS,
    L_BITS,
    L_WIDTH,
    LOOKS_VISITS,
    M_BITS,
    MESSAGE,
    N_OPENED,
    NOW,
    OVER,
    PK_BITS,
    Q_BITS,
    Q_WIDTH,
    ROOM,
    SIZE,
    SPACE,
    STATE,
    TO_NODE,
    VISIT,
    VSHIFT,
    WAITING,
)
from netsim.routing.kernels import route


@njit(**PLAIN_KERNEL, inline="always")
def fetch_channel(border, channels, q, vshift):
    """Fetch the channel that a packet holds; not one that another domain writes."""
    if border is None or border.link_from[np.uint64(q >> vshift)] == border.me:
        prefetch(channels, np.uint64(q) << Q_BITS)


@njit(**INNER_KERNEL)
def look_at_opened(border, a, rt):
    """Route the packets of spans that have come into the fine wheel, where no queue has a say.

    Where ticks are fine one holds a single event, and there is no other to work on while a row of
    memory comes.
    """
    sc = a.sc
    links = a.links
    channels = a.channels
    packets = a.packets
    messages = a.messages
    chain = a.events.chain
    opened = a.events.opened
    free_at = links[np.int64(FREE_AT) :: L_WIDTH]
    waiting = links[np.int64(WAITING) :: L_WIDTH]
    space = channels[np.int64(SPACE) :: Q_WIDTH]
    room = channels[np.int64(ROOM) :: Q_WIDTH]
    vshift = sc[VSHIFT]
    n = sc[N_OPENED]
    sc[N_OPENED] = 0
    for k in range(n):
        p = np.int64(opened[np.uint64(k)])
        row = np.uint64(p) << CH_BITS
        packet = np.uint64(p) << PK_BITS
        router = np.int64(a.link_router[np.uint64(chain[row + OVER])])
        if router < 0:
            prefetch(messages, np.uint64(packets[packet + MESSAGE]) << M_BITS)
            continue
        fetch_channel(border, channels, packets[packet + HOLDS], vshift)
        visit = packets[packet + VISIT]
        if visit & 0xFFFF < sc[LOOKS_VISITS]:
            continue
        size = a.wire[np.uint64(packets[packet + SIZE])]
        packets[packet + VISIT] = visit + 1
        key = np.uint64(0)
        if visit & 0xFFFF < sc[CHANCE_VISITS]:
            key = chance_key(sc, messages, a.ranks, packets[packet + MESSAGE], visit)
        out, vc, state = route(
            rt, router, packets[packet + TO_NODE], packets[packet + STATE], key, size, sc[NOW],
            free_at, waiting, space, room, 1 << vshift, sc[BUFFER_BYTES],
        )  # fmt: skip
        packets[packet + STATE] = state
        q = (out << vshift) | vc
        chain[row + EARLY] = q
        prefetch(links, np.uint64(out) << L_BITS)
        prefetch(channels, np.uint64(q) << Q_BITS)
