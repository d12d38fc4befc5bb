"""Rows of messages, steps and streams, for the kernels (docs/packet-model.md)."""

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
) -> tuple[NDArray[np.int32], int, int]:
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
    rows : (n_parts * n_messages, M_WIDTH) int32
        Part ``j`` of message ``m`` in row ``m + j * n_messages``; no packets in parts that are
        not sent.
    n_parts : int
        Most that a message has, requests and clear-to-sends among them.
    request : int
        Number of a request among the parts, -1 if there are none.

    Raises
    ------
    NetcosimError
        More parts than can be numbered.
    """
    program, n = traffic.program, traffic.program.n_messages
    dst = np.asarray(traffic.rank_node)[program.send_dst]
    if topology.rails == 1 and by_rendezvous is None:
        rows: NDArray[np.int32] = t.aligned_zeros((n, t.M_WIDTH), np.int32)
        rows[:, t.M_NEXT] = -1
        rows[:, t.M_LEFT] = packets
        rows[:, t.M_TAIL] = tail
        rows[:, t.M_RANK] = program.send_stream()
        rows[:, t.M_STEP] = program.send_step
        rows[:, t.M_TO] = dst
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
    rows = t.aligned_zeros((n * n_parts, t.M_WIDTH), np.int32)
    from netsim.packet.rails import first_rail

    first = first_rail(traffic, rails, rail_policy)
    src = np.asarray(traffic.rank_node)[program.send_src()].astype(np.int64)
    dst = dst.astype(np.int64)
    parts = np.where(topology.same_domain(src, dst), 1, np.minimum(packets, n_data))
    for j in range(n_parts):
        mine = rows[j * n : (j + 1) * n]
        mine[:, t.M_NEXT] = -1
        mine[:, t.M_RANK] = program.send_stream()
        mine[:, t.M_STEP] = program.send_step
        mine[:, t.M_PARTS] = parts
        if j < n_data:
            mine[:, t.M_LEFT] = np.where(j < parts, -((j - packets) // parts), 0)
            mine[:, t.M_TAIL] = np.where((packets - 1) % parts == j, tail, 0)
            rail = (first + j) % rails
        else:
            mine[:, t.M_LEFT] = np.asarray(by_rendezvous)
            mine[:, t.M_TAIL] = control_class
            rail = first
        back = j == request + 1 and request >= 0
        one, other = (dst, src) if back else (src, dst)
        mine[:, t.M_FROM], mine[:, t.M_TO] = topology.ports_between(one, other, rail)
    return rows, n_parts, request


def step_rows(program: Program) -> NDArray[np.int32]:
    """Return a row for each step, and one more."""
    rows: NDArray[np.int32] = t.aligned_zeros((program.n_steps + 1, t.S_WIDTH), np.int32)
    rows[:-1, t.NEED] = program.recv_need
    rows[:, t.PARKED] = -1
    rows[:, t.FIRST_SEND] = program.send_ptr
    return rows


def rank_rows(traffic: Traffic, stream_rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a row for each stream, from the rank of each."""
    program = traffic.program
    ranks: NDArray[np.int64] = t.aligned_zeros((program.n_streams, t.R_WIDTH), np.int64)
    ranks[:, t.STEP] = program.step_ptr[:-1]
    ranks[:, t.STEP_END] = program.step_ptr[1:]
    ranks[:, t.CPU] = START
    ranks[:, [t.RECV_HEAD, t.RECV_TAIL, t.FINISH, t.READY_NEXT]] = -1
    group = traffic.rank_group[stream_rank]
    ranks[:, t.NODE] = traffic.rank_node[stream_rank]
    ranks[:, t.RANDOM_SHIFT] = traffic.random_shift()[group]
    ranks[:, t.CLASS] = traffic.priority_classes()[0][group]
    return ranks
