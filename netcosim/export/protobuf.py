"""Protocol Buffers on the wire: as much of the encoding as a Perfetto trace needs.

A field is its number and kind as a varint, then its value: a varint, eight bytes, or bytes with
their length before them (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import struct

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """A number of 0 to 2**64 - 1, seven bits a byte, the least first.

    Examples
    --------
    >>> varint(150).hex()
    '9601'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uint(field: int, value: int) -> bytes:
    """A field of a whole number (an int64 below 0 as 2**64 more)."""
    return varint(field << 3 | _VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF)


def double(field: int, value: float) -> bytes:
    """A field of a floating-point number."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, *parts: bytes) -> bytes:
    """A field of a message, given by its own fields."""
    inside = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(inside)) + inside


def text(field: int, value: str) -> bytes:
    """A field of text; what is no UTF-8 becomes escapes."""
    return message(field, value.encode("utf-8", errors="backslashreplace"))
