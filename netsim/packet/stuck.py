"""What to say when the fast engine has nothing left to do but is not finished."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.packet import tables as t
from netsim.packet.deadlock import Channel, describe_cycle, find_wait_cycle
from netsim.packet.model import NetworkDeadlockError, ProgramStuckError
from netsim.packet.tables import Arrays
from netsim.routing.base import Routing
from netsim.traffic import Traffic


def raise_stuck(routing: Routing, traffic: Traffic, arrays: Arrays) -> None:
    """Raise NetworkDeadlockError or ProgramStuckError; return if every rank is done."""
    vshift = int(arrays.sc[t.VSHIFT])
    fifos = np.flatnonzero(arrays.channels[:, t.FIFO_HEAD] >= 0)
    if len(fifos) or np.any(arrays.nodes[:, t.NIC_HEAD] >= 0):
        cycle = find_wait_cycle(_waits_for(arrays, fifos, vshift))
        raise NetworkDeadlockError(describe_cycle(routing.topology, cycle))
    waiting = np.flatnonzero(arrays.ranks[:, t.FINISH] < 0)
    if len(waiting):
        rank = int(waiting[0])
        step = int(arrays.ranks[rank, t.STEP])
        have, need = int(arrays.steps[step, t.ARRIVED]), int(arrays.steps[step, t.NEED])
        first = int(traffic.program.step_ptr[rank])
        raise ProgramStuckError(stuck_message(traffic, rank, step - first, have, need))


def stuck_message(traffic: Traffic, rank: int, step: int, have: int, need: int) -> str:
    """One line on a rank that waits for ever; ``step`` counts from the rank's first."""
    return (
        f"rank {rank} (group {int(traffic.rank_group[rank])}) waits for ever in its step {step}: "
        f"{have} of {need} messages arrived and none is on its way"
    )


def _waits_for(
    arrays: Arrays, fifos: NDArray[np.int64], vshift: int
) -> dict[Channel, set[Channel]]:
    """(link, vc) of each FIFO -> the FIFOs of the packets that hold the buffer behind it."""

    def channel(q: int) -> Channel:
        return q >> vshift, q & ((1 << vshift) - 1)

    holders: dict[int, set[int]] = {}
    for q in fifos.tolist():
        p = int(arrays.channels[q, t.FIFO_HEAD])
        while p >= 0:
            holders.setdefault(int(arrays.packets[p, t.HOLDS]), set()).add(q)
            p = int(arrays.packets[p, t.NEXT])
    return {channel(q): {channel(h) for h in holders.get(q, ())} for q in fifos.tolist()}
