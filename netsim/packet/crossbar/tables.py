"""The arrays that input-queued routers add to those of `netsim.packet.tables`. Times are ticks.

A *slot* is the input FIFO behind a channel, and has the channel's number. Its *place* is its number
among the slots of its router, by link and channel, and its bit in the router's words of bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.packet.tables import I64

_COLUMN = np.uint64

# ports: P[port, ...], a cache line each: port ``link`` is the input port at a link's end, port
# ``n_links + link`` the output port at its beginning. BUSY_UNTIL is when its last crossing ends;
# HEADS counts the heads at an input port, and those that bid for an output port. An output port has
# a TRY_TICK, as links have: when a head that bids for it may find both ports free. LEAVES is what
# holds output space until the link is free: bytes << VSHIFT | channel, 0 for nothing
BUSY_UNTIL, HEADS = _COLUMN(0), _COLUMN(1)
IN_LATENCY, IN_BANDWIDTH, FIRST_PLACE, N_SLOTS, CROSSES_TO = (_COLUMN(i) for i in range(3, 8))
LEAVES, BIDS_AT, LOOK_NEXT, SERVED_LAST, SRC_ROUTER = (_COLUMN(i) for i in range(3, 8))
P_BITS, P_WIDTH = _COLUMN(3), 8

# slots: S[slot, ...]; SERVED is smaller the longer ago, BEFORE what it was before the last round;
# EARLIER is the slot before this one in the order of those served in that round
(S_SERVED, S_BEFORE, S_EARLIER, S_PLACE, S_WANT, S_BYTES, S_HEAD,
 S_TAIL) = (_COLUMN(i) for i in range(8))  # fmt: skip
S_BITS, S_WIDTH = _COLUMN(3), 8

# routers: X[router, ...]; X_SLOTS is where its slots begin in ``slot_of``, LOOK_HEAD the list of
# outputs to be looked at, ROUND the last round in which slots were served, LAST the last of them
X_SLOTS, X_WORDS, X_LOOK_HEAD, X_SERVES, X_ROUND, X_LAST = (_COLUMN(i) for i in range(6))
X_BITS, X_WIDTH = _COLUMN(3), 8

# grants: G[channel, ...], rows behind those of the slots. Of the head behind a channel: REQUESTS is
# when it may first be allocated a channel of its output, ABLE when it may first cross, NONE until
# it has one. Of a channel as an output: HELD_UNTIL is when it can be allocated again, NONE while
# the head that holds it waits
G_REQUESTS, G_ABLE, G_HELD_UNTIL = (_COLUMN(i) for i in range(3))

NOT_LISTED = -2
"""LOOK_NEXT of an output that is in no list."""


class Crossbar(NamedTuple):
    """Arrays of input-queued routers in addition to `netsim.packet.tables.Arrays`.

    Attributes
    ----------
    ports, slots, routers
        Rows as described above, flat.
    slot_of : the slots of each router by place
    out_space : (channels,) free bytes of the output buffer
    bits : words of bits over a router's slots: for each output, those whose head bids for it; where
        channels are allocated, then the same for those whose head may not cross yet
    look : words of bits over the routers with outputs to look at, then over those words
    cross : (bandwidths of the input's link, size classes) time in the crossbar
    scratch : (4, outputs of the largest router) for arbitration
    bid_bytes : (channels,) bytes of the heads that bid for the channel, if ROOM counts them; else 0
    round_robin, unlimited, counts_bids, merlin_lru, needs_credit : int
        Whether it is.
    grants : int
        Where grants begin in ``slots``, if heads are allocated channels; else 0.
    at_once : int
        Whether a packet that nothing stops crosses in the phase in which it arrives, and starts in
        the phase in which it crosses.
    """

    ports: I64
    out_space: I64
    slots: I64
    slot_of: I64
    routers: I64
    bits: NDArray[np.uint64]
    look: NDArray[np.uint64]
    cross: I64
    scratch: I64
    round_robin: int
    unlimited: int
    bid_bytes: I64
    counts_bids: int
    merlin_lru: int
    needs_credit: int
    grants: int
    at_once: int
