"""How messages are cut into packets, and the packet sizes that occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.traffic import Program


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
