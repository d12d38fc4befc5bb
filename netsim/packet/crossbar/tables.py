"""The arrays that input-queued routers add to those of `netsim.packet.tables`. Times are ticks.

A *slot* is the input FIFO behind a channel, and has the channel's number. Its *place* is its number
among the slots of its router, by link and channel, and its bit in the router's words of bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.packet.tables import I64, Table, record

# the input port at a link's end and the output port at its beginning, each a cache line. busy_until
# is when its last crossing ends; heads counts the heads at an input port, and those that bid for an
# output port. try_tick is when a head that bids for it may find both ports free; leaves what holds
# output space until the link is free: bytes << vshift | channel, 0 for nothing
INPUT_PORT = record(
    (np.int64, "busy_until heads latency bandwidth n_slots crosses_to"), (np.int64, "_", (2,))
)
OUTPUT_PORT = record(
    (np.int64, "busy_until heads try_tick leaves bids_at look_next served_last router")
)

# served is smaller the longer ago, before what it was before the last round; earlier is the slot
# before this one in the order of those served in that round; want the channel that the head bids
# for, and bytes the head's
SLOT = record((np.int64, "served before earlier place want bytes head tail"))

# first_slot is where its slots begin in ``slot_of``, look_head the list of outputs to be looked at,
# last_round the last round in which slots were served, last the last of them
ROUTER = record(
    (np.int64, "first_slot words look_head serves last_round last"), (np.int64, "_", (2,))
)

# of the head behind a channel: requests is when it may first be allocated a channel of its output,
# able when it may first cross, NONE until it has one. Of a channel as an output: held_until is when
# it can be allocated again, NONE while the head that holds it waits
GRANT = record((np.int64, "requests able held_until _"))

NOT_LISTED = -2
"""``look_next`` of an output that is in no list."""


class Crossbar(NamedTuple):
    """Arrays of input-queued routers in addition to `netsim.packet.tables.Arrays`.

    Attributes
    ----------
    inputs, outputs : (n_links,) INPUT_PORT, OUTPUT_PORT
    slots, grants : (channels,) SLOT, GRANT; a single GRANT if heads are not allocated channels
    routers : (n_routers,) ROUTER
    slot_of : the slots of each router by place
    out_space : (channels,) free bytes of the output buffer
    bids : words of bits over a router's slots: for each output, those whose head bids for it
    requests : the same for those whose head may not cross yet, where channels are allocated
    look : words of bits over the routers with outputs to look at, then over those words
    cross : (bandwidths of the input's link, size classes) time in the crossbar
    scratch : (4, outputs of the largest router) for arbitration
    bid_bytes : (channels,) bytes of the heads that bid for the channel, if ROOM counts them; else 0
    round_robin, unlimited, counts_bids, merlin_lru, needs_credit, allocates : int
        Whether it is.
    at_once : int
        Whether a packet that nothing stops crosses in the phase in which it arrives, and starts in
        the phase in which it crosses.
    """

    inputs: Table
    outputs: Table
    out_space: I64
    slots: Table
    grants: Table
    slot_of: I64
    routers: Table
    bids: NDArray[np.uint64]
    requests: NDArray[np.uint64]
    look: NDArray[np.uint64]
    cross: I64
    scratch: I64
    round_robin: int
    unlimited: int
    bid_bytes: I64
    counts_bids: int
    merlin_lru: int
    needs_credit: int
    allocates: int
    at_once: int
