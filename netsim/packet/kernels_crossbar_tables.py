"""The arrays that input-queued routers add to those of `netsim.packet.tables`. Times are ticks.

A *slot* is an input FIFO: the channels of the links into a router have consecutive slots, by link
and channel, and a slot's place among them is its bit in the router's words of bits. A link
has a second row in ``links``, number ``n_links + link``, of which only TRY_TICK is used: the end
of the crossing from the input port at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.packet.tables import I64

_COLUMN = np.uint64

# ports: P[link, ...]: the output port at a link's beginning, in one cache line, and from CROSSES_TO
# on the input port at its end. LEAVES_Q and LEAVES_BYTES are what holds output space until the link
# is free: its channel, and its bytes (0: nothing)
(OUT_UNTIL, BIDS_AT, N_BIDS, LEAVES_Q, LEAVES_BYTES, LOOK_NEXT, SERVED_LAST, SRC_ROUTER, CROSSES_TO,
 FIRST_SLOT, N_SLOTS) = (_COLUMN(i) for i in range(11))  # fmt: skip
P_BITS, P_WIDTH = _COLUMN(4), 16

# slots: S[slot, ...]; SERVED is smaller the longer ago
S_Q, S_SERVED, S_WANT, S_BYTES, S_HEAD, S_TAIL = (_COLUMN(i) for i in range(6))
S_BITS, S_WIDTH = _COLUMN(3), 8

# routers: X[router, ...]; LOOK_HEAD is the list of outputs to be looked at
X_SLOTS, X_WORDS, X_FREE_AT, X_LOOK_HEAD, X_SERVES = (_COLUMN(i) for i in range(5))
X_BITS, X_WIDTH = _COLUMN(3), 8

NOT_LISTED = -2
"""LOOK_NEXT of an output that is in no list."""


class Crossbar(NamedTuple):
    """Arrays of input-queued routers in addition to `netsim.packet.tables.Arrays`.

    Attributes
    ----------
    ports, slots, routers
        Rows as described above, flat.
    out_space : (channels,) free bytes of the output buffer
    bits : words of bits over a router's slots: for each router, those whose input port is free,
        then for each of its outputs those whose head bids for it
    look : words of bits over the routers with outputs to look at, then over those words
    cross : (bandwidths of the input's link, size classes) time in the crossbar
    scratch : (4, outputs of the largest router) for arbitration
    bid_bytes : (channels,) bytes of the heads that bid for the channel, if ROOM counts them; else 0
    round_robin, unlimited, counts_bids, merlin_lru, needs_credit : int
        Whether it is.
    """

    ports: I64
    out_space: I64
    slots: I64
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
