"""What a router sees when it chooses, and the form of its decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from netsim.routing.base import Hop
from netsim.routing.kernels_common import draw

T = TypeVar("T")


class View(Protocol):
    """State that a router may read when it chooses (all at the present tick)."""

    def load(self, link: int) -> int:
        """Return the ticks until the link could start one more packet, without credit stalls.

        This is the rest of the running transmission plus the serialisation of all packets that wait
        for the link on any channel.
        """

    def room(self, link: int, vc: int) -> int:
        """Return the free bytes in the buffer behind (link, vc), less those of waiting packets."""

    def queued(self, link: int) -> int:
        """Return the wire bytes of all packets that wait for the link."""

    def used(self, link: int) -> int:
        """Return the used credits of a link between routers, in bytes: those that wait for it, or
        whose space in the buffers behind it is not free for the sender."""

    def queue_bytes(self, link: int, vc: int) -> int:
        """Return the wire bytes in the output FIFO of (link, vc), without bidding heads."""

    def queue_free(self, link: int, vc: int) -> int:
        """Return the bytes of the output buffer of (link, vc) that its packets leave free."""


Choose = Callable[[View, int, int, int, int, int], Hop]
"""``choose(view, router, dst_node, state, key, wire_bytes)``: the hop that a packet takes. ``key``
is the visit's 64-bit number, from which all draws follow (`netsim.routing.kernels_random`)."""


def one_of(items: Sequence[T], key: int, i: int) -> T:
    """Return the item that the i-th number of a key picks."""
    return items[int(draw(np.uint64(key), i, len(items)))]
