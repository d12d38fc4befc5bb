"""The error when the compiled engine has no event left but is not finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netsim.packet.kernels_wheel import NONE
from netsim.packet.tables import SENDS, Arrays
from netsim.routing.base import Routing
from netsim.traffic import Traffic

if TYPE_CHECKING:
    from netsim.packet.crossbar import tables as x
    from netsim.packet.deadlock import Channel


def raise_stuck(
    routing: Routing, traffic: Traffic, arrays: Arrays, crossbar: x.Crossbar | None
) -> None:
    """Raise NetworkDeadlockError or ProgramStuckError; return if every rank is done."""
    fifos = np.flatnonzero(arrays.channels.fifo_head >= 0)
    if crossbar is not None and crossbar.needs_credit:
        wanted = [q for bids in _bidders(arrays, crossbar).values() for q in bids]
        fifos = np.union1d(fifos, np.array(wanted, dtype=np.int64))
    posting = np.flatnonzero(arrays.nodes.head >= 0)
    group_class, port = np.divmod(posting, int(arrays.sc[0].n_nodes))
    vshift, class_shift = int(arrays.sc[0].vshift), int(arrays.sc[0].class_shift)
    senders = (port << vshift) | (group_class << class_shift)
    if len(fifos) or len(senders):
        holders = _holders(arrays, fifos) if crossbar is None else _bidders(arrays, crossbar)
        from netsim.packet.deadlock import deadlock_error

        raise deadlock_error(routing.topology, _waits(arrays, holders, fifos, senders))
    waiting = np.flatnonzero(arrays.ranks.finish < 0)
    if len(waiting):
        step = int(arrays.ranks.step[waiting[0]])
        from netsim.packet.deadlock import stuck_error

        raise stuck_error(traffic, step, int(arrays.steps.arrived[step]) % SENDS)


def _holders(arrays: Arrays, fifos: NDArray[np.int64]) -> dict[int, set[int]]:
    """Map each channel to those that the packets in the buffer behind it wait for."""
    holders: dict[int, set[int]] = {}
    for q in fifos.tolist():
        p = int(arrays.channels.fifo_head[q])
        while p >= 0:
            holders.setdefault(int(arrays.packets.holds[p]), set()).add(q)
            p = int(arrays.events.chain.next[p])
    return holders


def _bidders(arrays: Arrays, crossbar: x.Crossbar) -> dict[int, set[int]]:
    """Map each channel to those that the head of the input FIFO behind it bids for.

    A head that holds no channel yet waits for all of its class.
    """
    slots, sc = crossbar.slots, arrays.sc[0]
    bidding = np.flatnonzero(slots.head >= 0)
    first = slots.want
    width = np.ones(len(slots), dtype=np.int64)
    if crossbar.allocates:
        requests = crossbar.grants.able == NONE
        to_node = first >> sc.vshift < 2 * sc.n_nodes
        width[requests] = np.where(to_node, sc.node_channels, sc.per_class)[requests]
    return {int(q): set(range(int(first[q]), int(first[q] + width[q]))) for q in bidding}


def _waits(
    arrays: Arrays,
    holders: dict[int, set[int]],
    fifos: NDArray[np.int64],
    senders: NDArray[np.int64],
) -> dict[Channel, set[Channel]]:
    """Return each channel that packets wait for -> those that what is behind it waits for."""
    vshift = int(arrays.sc[0].vshift)

    def channel(q: int) -> Channel:
        return q >> vshift, q & ((1 << vshift) - 1)

    waiting = [*senders.tolist(), *fifos.tolist()]
    return {channel(q): {channel(h) for h in holders.get(q, ())} for q in waiting}
