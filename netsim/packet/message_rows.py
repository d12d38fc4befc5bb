"""How messages are cut into packets, and rows of messages, steps and streams, for the kernels
(docs/end-points.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.packet import tables as t
from netsim.packet.kernels_ranks import START
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.topology import Topology
from netsim.traffic import Program, Traffic


@dataclass(frozen=True, eq=False)
class MessageBytes:
    """Bytes of each message, or of the first for all if all have one size."""

    sent: NDArray[np.int64]
    """(n,) int64. A signal has a size that occurs anyway: it is never cut into packets."""
    is_signal: NDArray[np.bool_]
    from_nic: NDArray[np.bool_]
    to_nic: NDArray[np.bool_]
    """is_signal, from_nic, to_nic: (n,) bool. The last two have length 1 without NIC streams."""


def message_bytes(program: Program) -> MessageBytes:
    """Return what is sent, and by whom without a processor."""
    sent = program.send_bytes
    from_nic = to_nic = np.zeros(1, dtype=np.bool_)
    if program.nic_stream is not None:
        from_nic, to_nic = program.nic_ends()
    elif len(sent) > 1 and sent.min() == sent.max():
        sent = sent[:1]
    is_signal = sent == 0
    return MessageBytes(np.where(is_signal, sent.max(initial=1), sent), is_signal, from_nic, to_nic)


@dataclass(frozen=True, eq=False)
class PacketSizes:
    """The packets of each message; messages of one size share one value in memory."""

    wire: NDArray[np.int64]
    """(n_classes,) int64. Wire bytes by size class; class 0 is the full packet."""
    has_full: bool
    """Whether any packet is full."""
    packets: NDArray[np.int32]
    tail: NDArray[np.int32]
    """packets, tail: (n_messages,) int32. Packets of each message, and the size class of its
    last."""
    by_rendezvous: NDArray[np.bool_] | None
    """(n_messages,) bool or None. Messages above the eager limit; None if there are none. The last
    size class is that of requests then."""

    def common_class(self) -> int:
        """Return the size class of most packets."""
        last = np.bincount(self.tail, minlength=len(self.wire))
        last[0] += int(self.packets.sum(dtype=np.int64)) - len(self.packets)
        return int(last.argmax())


def packet_sizes(messages: MessageBytes, n_messages: int, config: PacketConfig) -> PacketSizes:
    """Return how these messages are cut into packets."""
    sent, size = messages.sent, config.packet_bytes
    packets = -(-sent // size)
    if len(packets) and packets.max() > np.iinfo(np.int32).max:
        raise NetcosimError(f"a message of {sent.max()} bytes has too many packets of {size} bytes")
    last = sent - (packets - 1) * size
    tails, tail_class = classes(last, size)
    by_rendezvous = None
    if config.eager_limit_bytes is not None:
        above = (sent > config.eager_limit_bytes) & ~(messages.from_nic | messages.to_nic)
        if above.any():
            by_rendezvous = np.broadcast_to(above, n_messages)
            tails = np.append(tails, config.control_bytes)
    tail = np.where(last == size, 0, tail_class + 1)
    return PacketSizes(
        wire=np.concatenate([[size], tails]) + config.header_bytes,
        has_full=bool(np.any(packets > 1) or np.any(last == size)),
        packets=np.broadcast_to(packets.astype(np.int32), n_messages),
        tail=np.broadcast_to(tail.astype(np.int32), n_messages),
        by_rendezvous=by_rendezvous,
    )


def classes(values: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values (1 to ``most``) in order and the index of each among them."""
    if len(values) and values.min() == values.max():
        return values[:1], np.zeros(len(values), dtype=np.int64)
    if most > _COUNTED and most > len(values):
        occurring, place = np.unique(values, return_inverse=True)
        return occurring, place
    # counting is faster than sorting
    occurs = np.zeros(most + 1, dtype=np.int64)
    occurs[values] = 1
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


_COUNTED = 1 << 16


def message_rows(
    routing: Routing, traffic: Traffic, rail_policy: str, sizes: PacketSizes
) -> tuple[t.Table, int, int]:
    """Return the rows of all parts of all messages, the most parts that a message has (requests and
    clear-to-sends among them), and the number of a request among the parts, -1 if there are none.

    Part ``j`` of message ``m`` is row ``m + j * n_messages``, without packets if it is not sent.
    """
    program, rails = traffic.program, routing.topology.n_rails
    n_parts, request = 1, -1
    if routing.topology.rails == 1 and sizes.by_rendezvous is None:
        rows = _undivided_rows(routing, traffic, sizes)
    else:
        n_parts = n_data = rails if rail_policy == "striped" else 1
        if sizes.by_rendezvous is not None:
            n_parts, request = n_data + 2, n_data
        rows = _rows_of_parts(routing.topology, traffic, rail_policy, sizes, n_data, n_parts)
    rows.packets_left[: program.n_messages][program.send_bytes == 0] = 0
    return rows, n_parts, request


def _undivided_rows(routing: Routing, traffic: Traffic, sizes: PacketSizes) -> t.Table:
    """Return the rows of messages that are one part each, on the only rail."""
    program, node = traffic.program, np.asarray(traffic.rank_node)
    rows = t.make_table(
        program.n_messages,
        t.MESSAGE,
        next=-1,
        packets_left=sizes.packets,
        tail_class=sizes.tail,
        rank=program.send_stream(),
        step=program.send_step,
        to_port=node[program.send_dst],
    )
    if routing.queue_pairs:
        rows.from_port = node[program.send_src()]
    return rows


def _rows_of_parts(
    topology: Topology,
    traffic: Traffic,
    rail_policy: str,
    sizes: PacketSizes,
    n_data: int,
    n_parts: int,
) -> t.Table:
    """Return the rows of ``n_data`` parts with data, then of requests and clear-to-sends."""
    program, n, packets = traffic.program, traffic.program.n_messages, sizes.packets
    if n * n_parts > MAX_INDEX:
        raise NetcosimError(
            f"{n:,} messages of up to {n_parts} parts (rails, requests) are more than the "
            f"{MAX_INDEX:,} that can be numbered"
        )
    rows = t.aligned_zeros(n * n_parts, t.MESSAGE)
    from netsim.packet.rails import first_rail

    first = first_rail(traffic, topology.n_rails, rail_policy)
    src = np.asarray(traffic.rank_node)[program.send_src()].astype(np.int64)
    dst = np.asarray(traffic.rank_node)[program.send_dst].astype(np.int64)
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
            part.tail_class = np.where(j == last, sizes.tail, 0)
            rail = (first + j) % topology.n_rails
        else:
            part.packets_left = np.asarray(sizes.by_rendezvous)
            part.tail_class = len(sizes.wire) - 1
            rail = first
        # a clear-to-send goes back
        one, other = (dst, src) if j == n_data + 1 else (src, dst)
        part.from_port, part.to_port = topology.ports_between(one, other, rail)
    return rows


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
