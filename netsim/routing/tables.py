"""Routings in the form of kernels: an integer code and plain tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RouteTables(NamedTuple):
    """One shape for every routing, so the kernels compile once.

    Attributes
    ----------
    code : int
        Which routing: one of `netsim.routing.kernels_codes.RoutingCode`.
    n_vcs : int
        Virtual channels on every router-to-router link.
    params : (k,) int64
        The routing's scalars, described in the routing's module.
    port_router, eject_link : (n_ports,) int32
    table_a, table_b, table_c : (..., ) int32
        Flat tables, described in the routing's module.
    """

    code: int
    n_vcs: int
    params: NDArray[np.int64]
    port_router: NDArray[np.int32]
    eject_link: NDArray[np.int32]
    table_a: NDArray[np.int32]
    table_b: NDArray[np.int32]
    table_c: NDArray[np.int32]


class LinkView(NamedTuple):
    """What a routing may see of links (docs/packet-model.md, "Link state visible to routings").

    Attributes
    ----------
    now : int64
        Present tick.
    free_at : (n_links,) int64
        Tick from which the link is free.
    waiting : (n_links,) int64
        Ticks of serialisation of all packets in the link's FIFOs.
    space : (n_links * nv,) int64
        Free bytes behind (link, channel) at ``link*nv + vc``.
    room : (n_links * nv,) int64
        The same, less the bytes of the packets that wait; looked at for the adaptive channel of
        links that leave the packet's router, and for all channels of `links_compared`.
    nv : int64
        Channels a link in ``space`` and ``room``.
    buffer_bytes : int64
        Free bytes behind an idle channel; of its output buffer, for routings with
        ``compares_queues``.
    """

    now: int | np.int64
    free_at: NDArray[np.int64]
    waiting: NDArray[np.int64]
    space: NDArray[np.int64]
    room: NDArray[np.int64]
    nv: int
    buffer_bytes: int | np.int64


class StaticTables(RouteTables):
    """Of a routing without draws and loads: kernels that get them have the code of these alone."""


class UgalTables(RouteTables):
    """Of "minimal", "valiant" and UGAL on a dragonfly; see `StaticTables`."""
