# mypy: allow-untyped-defs, allow-untyped-calls
"""What a packet's visit of a router needs before it is routed: a key, and credits in sight."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits
from netsim.packet.tables import (
    COMPARES_CREDITS,
    M_BITS,
    M_FROM,
    M_RANK,
    M_TO,
    MESSAGE,
    N_MESSAGES,
    N_VCS,
    PK_BITS,
    R_BITS,
    RANDOM_SHIFT,
    RANDOM_VISITS,
    ROOM_VC,
    SEED,
    STATE,
    TO_NODE,
    VISIT,
    VSHIFT,
)
from netsim.routing.kernels import links_compared, pair_compared, pairs_compared
from netsim.routing.kernels_kinds import compiled_by_tables
from netsim.routing.kernels_random import packet_key
from netsim.routing.kernels_tables import flow_key, hashes_flows
from netsim.routing.tables import StaticTables, UgalTables


@njit(**PLAIN_KERNEL, inline="always")
def random_key(sc, messages, ranks, rt, m, visit):
    """Return the random key of a packet of part ``m``, by number and visits (docs, "Chance")."""
    row = np.uint64(m) << M_BITS
    if hashes_flows(rt):
        ends = messages[row + M_FROM], messages[row + M_TO]
        return flow_key(rt, sc[SEED], ends[0], ends[1], visit >> 16, visit & 0xFFFF)
    rank = np.uint64(messages[row + M_RANK]) << R_BITS
    number = visit >> 16
    if sc[N_MESSAGES] > 0:
        number += m // sc[N_MESSAGES] << 32
        m %= sc[N_MESSAGES]
    known = m + ranks[rank + RANDOM_SHIFT]
    return packet_key(sc[SEED], known, number, visit & 0xFFFF)


@njit(**HOT_KERNEL)
def update_credits(a, rt, router, p, key):
    """Make the space visible that links have got back which the routing will compare for ``p``."""
    sc = a.sc
    packets = a.packets
    packet = np.uint64(p) << PK_BITS
    for link in links_compared(rt, router, packets[packet + TO_NODE], packets[packet + STATE], key):
        if link >= 0:
            for vc in range(sc[N_VCS]):
                q = (link << sc[VSHIFT]) | vc
                collect_credits(sc, a.channels, a.channel_ticks, a.credits, q)


@njit(**HOT_KERNEL)
def update_room(a, rt, router, p):
    """Collect credits on the channel ``room_vc`` too, for the routings that have one."""
    sc = a.sc
    to = a.packets[(np.uint64(p) << PK_BITS) + TO_NODE]
    for i in range(pairs_compared(rt, router, to)):
        for link in pair_compared(rt, router, to, i):
            if link >= 0:
                q = (link << sc[VSHIFT]) | sc[ROOM_VC]
                collect_credits(sc, a.channels, a.channel_ticks, a.credits, q)


def visit_key(rt, a, router, p):
    """Count a packet's visit of a router and return its random key, 0 if the routing draws nothing.

    What the routing will compare is made visible.
    """
    key = _drawn_key(rt, a, router, p)
    if a.sc[ROOM_VC] >= 0:
        update_room(a, rt, router, p)
    return key


@njit(**HOT_KERNEL)
def _drawn_key(rt, a, router, p):
    sc = a.sc
    packet = np.uint64(p) << PK_BITS
    visit = a.packets[packet + VISIT]
    a.packets[packet + VISIT] = visit + 1
    key = np.uint64(0)
    if visit & 0xFFFF < sc[RANDOM_VISITS]:
        key = random_key(sc, a.messages, a.ranks, rt, a.packets[packet + MESSAGE], visit)
        if sc[COMPARES_CREDITS]:
            update_credits(a, rt, router, p, key)
    return key


def _ugal_key(rt, a, router, p):
    return _drawn_key(rt, a, router, p)


def _no_key(rt, a, router, p):
    return np.uint64(0)


compiled_by_tables(visit_key, {StaticTables: _no_key, UgalTables: _ugal_key})
