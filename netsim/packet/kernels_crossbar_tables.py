"""The arrays that input-queued routers add to those of `netsim.packet.tables`. Times are ticks.

A *slot* is an input FIFO: the channels of the links into a router have consecutive slots, by link
and channel, and a slot's place among them is its bit in the router's words of bits. A link
has a second row in ``links``, number ``n_links + link``: the input port at its end and the output
port at its beginning. Its TRY_TICK is the end of the crossing from that input port.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.packet.tables import I64

_COLUMN = np.uint64

# a link's second row; column 2 is TRY_TICK
OUT_UNTIL, CROSSES_TO = _COLUMN(0), _COLUMN(1)
FIRST_SLOT, N_SLOTS, BIDS_AT, N_BIDS = _COLUMN(5), _COLUMN(6), _COLUMN(7), _COLUMN(8)
LEAVES_Q, LEAVES_BYTES = _COLUMN(9), _COLUMN(10)
"""What holds output space until the link is free: its channel, and its bytes (0: nothing)."""
LOOK_NEXT, SERVED_LAST, SRC_ROUTER = _COLUMN(11), _COLUMN(12), _COLUMN(13)

# channels: the free bytes of the output buffer
OUT_SPACE = _COLUMN(7)

# slots: S[slot, ...]; SERVED is smaller the longer ago
S_Q, S_SERVED, S_WANT, S_BYTES, S_HEAD, S_TAIL = (_COLUMN(i) for i in range(6))
S_BITS, S_WIDTH = _COLUMN(3), 8

# routers: X[router, ...]; LOOK_HEAD is the list of outputs to be looked at
X_SLOTS, X_WORDS, X_FREE_AT, X_LOOK_HEAD, X_SERVES = (_COLUMN(i) for i in range(5))
X_BITS, X_WIDTH = _COLUMN(3), 8

NOT_LISTED = -2
"""LOOK_NEXT of an output that is in no list."""


class Crossbar(NamedTuple):
    """What input-queued routers need beside `netsim.packet.tables.Arrays`.

    Attributes
    ----------
    slots, routers
        Rows as told above, flat.
    bits : words of bits over a router's slots: for each router, those whose input port is free,
        then for each of its outputs those whose head bids for it
    look : words of bits over the routers with outputs to look at, then over those words
    cross : (bandwidths, size classes) time in the crossbar
    scratch : (3, outputs of the largest router) for arbitration
    round_robin, unlimited : int
        Whether it is.
    """

    slots: I64
    routers: I64
    bits: NDArray[np.uint64]
    look: NDArray[np.uint64]
    cross: I64
    scratch: I64
    round_robin: int
    unlimited: int
