"""Routings in the form of kernels: an integer code and plain tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RouteTables(NamedTuple):
    """One shape for every routing, so the kernels compile once.

    ``params``, the scalars, and the flat tables are described in the routing's module.
    """

    code: int
    """Which routing: one of `netsim.routing.kernels_codes.RoutingCode`."""
    n_vcs: int
    """Virtual channels on every router-to-router link."""
    params: NDArray[np.int64]
    port_router: NDArray[np.int32]
    eject_link: NDArray[np.int32]
    table_a: NDArray[np.int32]
    table_b: NDArray[np.int32]
    table_c: NDArray[np.int32]


class LinkView(NamedTuple):
    """What a routing may see of links (docs/packet-model.md, "Link state visible to routings")."""

    now: int | np.int64
    """Present tick."""
    free_at: NDArray[np.int64]
    """Tick from which each link is free."""
    waiting: NDArray[np.int64]
    """Ticks of serialisation of all packets in each link's FIFOs."""
    space: NDArray[np.int64]
    """Free bytes behind (link, channel) at ``link*nv + vc``."""
    room: NDArray[np.int64]
    """The same, less the bytes of the packets that wait; looked at for the adaptive channel of
    links that leave the packet's router, and for all channels of `links_compared`."""
    nv: int
    """Channels a link in ``space`` and ``room``."""
    buffer_bytes: int | np.int64
    """Free bytes behind an idle channel; of its output buffer, if a routing compares queues."""


class StaticTables(RouteTables):
    """Of a routing without draws and loads: kernels that get them have the code of these alone."""


class UgalTables(RouteTables):
    """Of "minimal", "valiant" and UGAL on a dragonfly; see `StaticTables`."""
