"""Rows of messages, steps and streams, for the kernels (docs/end-points.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.packet import tables as t
from netsim.packet.kernels_ranks import START
from netsim.topology import Topology
from netsim.traffic import Program, Traffic


def message_rows(
    traffic: Traffic,
    topology: Topology,
    rail_policy: str,
    packets: NDArray[np.int32],
    tail: NDArray[np.int32],
    by_rendezvous: NDArray[np.bool_] | None,
    control_class: int,
) -> tuple[t.Table, int, int]:
    """Return the rows of all parts of all messages.

    Parameters
    ----------
    packets, tail : (n_messages,) int32
        Packets of each message, and the size class of its last.
    by_rendezvous : (n_messages,) bool or None
        None if no message is.
    control_class : int
        Size class of requests.

    Returns
    -------
    rows : (n_parts * n_messages,) MESSAGE
        Part ``j`` of message ``m`` in row ``m + j * n_messages``; no packets in parts that are
        not sent.
    n_parts : int
        Most that a message has, requests and clear-to-sends among them.
    request : int
        Number of a request among the parts, -1 if there are none.
    """
    program, n = traffic.program, traffic.program.n_messages
    dst = np.asarray(traffic.rank_node)[program.send_dst]
    if topology.rails == 1 and by_rendezvous is None:
        rows = t.make_table(
            n,
            t.MESSAGE,
            next=-1,
            packets_left=packets,
            tail_class=tail,
            rank=program.send_stream(),
            step=program.send_step,
            to_port=dst,
        )
        return rows, 1, -1
    rails = topology.n_rails
    n_data = rails if rail_policy == "striped" else 1
    request = -1 if by_rendezvous is None else n_data
    n_parts = n_data if by_rendezvous is None else n_data + 2
    if n * n_parts > MAX_INDEX:
        raise NetcosimError(
            f"{n:,} messages of up to {n_parts} parts (rails, requests) are more than the "
            f"{MAX_INDEX:,} that can be numbered"
        )
    rows = t.aligned_zeros(n * n_parts, t.MESSAGE)
    from netsim.packet.rails import first_rail

    first = first_rail(traffic, rails, rail_policy)
    src = np.asarray(traffic.rank_node)[program.send_src()].astype(np.int64)
    dst = dst.astype(np.int64)
    parts = np.where(topology.same_domain(src, dst), 1, np.minimum(packets, n_data))
    each, more = np.divmod(packets, parts)
    # the part of the last packet
    last = np.where(more > 0, more, parts) - 1
    for j in range(n_parts):
        part = rows[j * n : (j + 1) * n]
        part.next = -1
        part.rank = program.send_stream()
        part.step = program.send_step
        part.parts_left = parts
        if j < n_data:
            part.packets_left = np.where(j < parts, each + (j < more), 0)
            part.tail_class = np.where(j == last, tail, 0)
            rail = (first + j) % rails
        else:
            part.packets_left = np.asarray(by_rendezvous)
            part.tail_class = control_class
            rail = first
        back = j == request + 1 and request >= 0
        one, other = (dst, src) if back else (src, dst)
        part.from_port, part.to_port = topology.ports_between(one, other, rail)
    return rows, n_parts, request


def step_rows(program: Program) -> t.Table:
    """Return a row for each step, and one more."""
    need = np.append(program.recv_need, 0).astype(np.int64)
    if program.step_waits_sends is not None:
        need[:-1] += t.SENDS * program.step_waits_sends
    return t.make_table(len(need), t.STEP, need=need, parked=-1, first_send=program.send_ptr)


def track_rows(traffic: Traffic, stream_rank: NDArray[np.int64]) -> t.Table:
    """Return a row for each stream of what it knows of its own sends."""
    program = traffic.program
    waits = np.zeros(program.n_streams, dtype=np.int64)
    if program.step_waits_sends is not None:
        owner = np.repeat(np.arange(program.n_streams), np.diff(program.step_ptr))
        waits[owner[program.step_waits_sends]] = 1
    loops = traffic.loops[traffic.rank_group[stream_rank]]
    first = np.where(loops, program.step_ptr[:-1], -1)
    return t.make_table(program.n_streams, t.TRACK, waits=waits, first=first, began=-1)


def rank_rows(traffic: Traffic, stream_rank: NDArray[np.int64]) -> t.Table:
    """Return a row for each stream, from the rank of each."""
    program = traffic.program
    group = traffic.rank_group[stream_rank]
    return t.make_table(
        program.n_streams,
        t.RANK,
        step=program.step_ptr[:-1],
        step_end=program.step_ptr[1:],
        cpu=START,
        recv_head=-1,
        recv_tail=-1,
        finish=-1,
        ready_next=-1,
        node=traffic.rank_node[stream_rank],
        random_shift=traffic.random_shift()[group],
        priority_class=traffic.priority_classes()[0][group],
    )
