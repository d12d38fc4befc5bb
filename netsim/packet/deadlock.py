"""Deadlocks: packets that wait for each other in a cycle, or ranks that wait forever."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from netsim.packet.model import NetworkDeadlockError, ProgramStuckError
from netsim.topology import Topology
from netsim.traffic import Traffic

Channel = tuple[int, int]


def waiting_cycle(waits: Mapping[Channel, Collection[Channel]]) -> list[Channel]:
    """Return a ring of channels, the smallest first, in which each waits for the next; else none.

    The first packet that waits for ``(l, v)`` wants space in the buffer behind it. That buffer is
    filled by packets that wait at the next router for the channels ``(l2, v2)``: so ``(l, v)``
    waits for each such ``(l2, v2)``.
    """
    # What waits for nothing that waits itself can move: take it away until only rings and
    # what leads into them are left. Then any walk along the waits must come back.
    left = {channel: set(wanted) for channel, wanted in waits.items()}
    while True:
        free = [c for c, wanted in left.items() if not any(w in left for w in wanted)]
        if not free:
            break
        for channel in free:
            del left[channel]
    if not left:
        return []
    walk: list[Channel] = []
    channel = min(left)
    while channel not in walk:
        walk.append(channel)
        channel = min(w for w in left[channel] if w in left)
    ring = walk[walk.index(channel) :]
    start = ring.index(min(ring))
    return ring[start:] + ring[:start]


def _vertex(topology: Topology, vertex: int) -> str:
    n = topology.n_ports
    if vertex >= n:
        return f"router {vertex - n}"
    node, rail = divmod(vertex, topology.rails)
    return f"node {node}" if topology.rails == 1 else f"node {node} port {rail}"


def channel_name(topology: Topology, channel: Channel) -> str:
    """Return the name of a channel for errors: "link 12 (router 3 -> router 4) vc 0"."""
    link, vc = channel
    src = _vertex(topology, int(topology.link_src[link]))
    dst = _vertex(topology, int(topology.link_dst[link]))
    return f"link {link} ({src} -> {dst}) vc {vc}"


def deadlock_error(
    topology: Topology, waits: Mapping[Channel, Collection[Channel]]
) -> NetworkDeadlockError:
    """Return the error of a network whose packets wait in a cycle (see `waiting_cycle`)."""
    ring = waiting_cycle(waits)
    named = " -> ".join(channel_name(topology, c) for c in [*ring, *ring[:1]])
    return NetworkDeadlockError(f"network deadlock in {topology.name}: {named}")


def stuck_error(traffic: Traffic, step: int, counted: int) -> ProgramStuckError:
    """Return the error of a program that waits for messages that no rank sends, from a step that is
    not complete (by custom that of the lowest stream) and the messages counted for it."""
    program = traffic.program
    stream = int(np.searchsorted(program.step_ptr, step, side="right")) - 1
    rank = int(program.stream_rank()[stream])
    local = step - int(program.step_ptr[stream])
    need = int(np.asarray(program.recv_need)[step])
    return ProgramStuckError(
        f"program stuck: rank {rank} (group {int(traffic.rank_group[rank])}) waits for ever in "
        f"step {local} of its steps (step {step} of all): {counted} of {need} messages came"
        f"{', and it waits for its own sends' if counted >= need else ''}; the "
        "schedule's ranks wait for each other, or for messages that no rank sends"
    )
