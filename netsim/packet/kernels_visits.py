# mypy: allow-untyped-defs, allow-untyped-calls
"""A packet's visit of a router: a random key, credits in sight, and the choice of the next hop."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.packet.kernels_credits import collect_credits
from netsim.packet.kernels_memory import row_of
from netsim.routing.kernels import links_compared, next_hop, pair_compared, pairs_compared
from netsim.routing.kernels_kinds import compiled_by_tables
from netsim.routing.kernels_random import packet_key
from netsim.routing.kernels_tables import flow_key, hashes_flows
from netsim.routing.tables import LinkView, StaticTables, UgalTables


@njit(**PLAIN_KERNEL, inline="always")
def random_key(a, rt, packet):
    """Return the random key of a packet at its present visit ("Random numbers")."""
    sc = a.sc[0]
    m = packet.message
    number = np.int64(packet.number)
    visit = np.int64(packet.visits)
    message = row_of(a.messages, m)
    if hashes_flows(rt):
        return flow_key(rt, sc.seed, message.from_port, message.to_port, number, visit)
    if sc.n_messages > 0:
        number += m // sc.n_messages << 32
        m %= sc.n_messages
    in_group = m + row_of(a.ranks, message.rank).random_shift
    return packet_key(sc.seed, in_group, number, visit)


@njit(**HOT_KERNEL)
def update_credits(a, rt, router, packet, key):
    """Make the space visible that links have got back which the routing will compare."""
    sc = a.sc[0]
    for link in links_compared(rt, router, packet.to_node, packet.state, key):
        if link >= 0:
            for vc in range(sc.n_vcs):
                collect_credits(sc, a.credits, row_of(a.channels, (link << sc.vshift) | vc))


@njit(**HOT_KERNEL)
def update_room(a, rt, router, to_node):
    """Collect credits on the channel ``room_vc`` too, for the routings that have one."""
    sc = a.sc[0]
    for i in range(pairs_compared(rt, router, to_node)):
        for link in pair_compared(rt, router, to_node, i):
            if link >= 0:
                q = (link << sc.vshift) | sc.room_vc
                collect_credits(sc, a.credits, row_of(a.channels, q))


def visit_key(rt, a, router, p):
    """Count a packet's visit of a router and return its random key, 0 if the routing draws nothing.

    What the routing will compare is made visible.
    """
    key = _drawn_key(rt, a, router, p)
    if a.sc[0].room_vc >= 0:
        update_room(a, rt, router, row_of(a.packets, p).to_node)
    return key


@njit(**HOT_KERNEL)
def _drawn_key(rt, a, router, p):
    sc = a.sc[0]
    packet = row_of(a.packets, p)
    key = np.uint64(0)
    if packet.visits < sc.random_visits:
        key = random_key(a, rt, packet)
        if sc.compares_credits:
            update_credits(a, rt, router, packet, key)
    packet.visits += 1
    return key


def _ugal_key(rt, a, router, p):
    return _drawn_key(rt, a, router, p)


def _no_key(rt, a, router, p):
    return np.uint64(0)


compiled_by_tables(visit_key, {StaticTables: _no_key, UgalTables: _ugal_key})


@njit(**HOT_KERNEL)
def choose(a, rt, router, p):
    """Route a packet; return the channel.

    It keeps to the channels of its priority class, and takes the first of those that an
    input-queued router has for each one of the routing.
    """
    sc = a.sc[0]
    packet = row_of(a.packets, p)
    key = visit_key(rt, a, router, p)
    view = LinkView(
        sc.now, a.links.free_at, a.links.waiting, a.channels.space, a.channels.room,
        1 << sc.vshift, sc.buffer_bytes,
    )  # fmt: skip
    size = a.wire[np.uint64(packet.size_class)]
    link, vc, state = next_hop(rt, router, packet.to_node, packet.state, key, size, view)
    packet.state = state
    class_bits = (1 << sc.vshift) - (1 << sc.class_shift)
    return (link << sc.vshift) | (packet.holds & class_bits) | (vc * sc.per_class)
