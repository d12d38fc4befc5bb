"""Sizes of packets for messages of any size."""

from __future__ import annotations

import math
from dataclasses import replace

from netsim.packet.model import MAX_PACKET_BYTES, PacketConfig

PACKETS_OF_MESSAGE = 64
"""Larger messages have larger packets: full bandwidth is reached with far fewer."""
PACKETS_OF_BUFFER = 4
"""Packets are no larger than a fourth of a buffer, so that links stay busy."""
MOST_PACKETS = 256
"""Of a message; larger ones have larger packets, and buffers are wider."""


def packets_for(packets: PacketConfig, message_bytes: int, most: float = math.inf) -> PacketConfig:
    """Return packets so large that a message has `PACKETS_OF_MESSAGE` of them, if buffers allow.

    Where ``most`` packets of a message need larger ones than buffers allow, buffers are wider.
    """
    header = packets.header_bytes
    allowed = packets.buffer_bytes // PACKETS_OF_BUFFER - header
    wanted = min(allowed, math.ceil(message_bytes / PACKETS_OF_MESSAGE))
    wanted = min(MAX_PACKET_BYTES, max(wanted, math.ceil(message_bytes / most)))
    if wanted <= packets.packet_bytes:
        return packets
    room = max(packets.buffer_bytes, PACKETS_OF_BUFFER * (wanted + header))
    return replace(packets, packet_bytes=wanted, buffer_bytes=room)
