"""The arrays of input-queued routers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.packet import kernels_crossbar_tables as x
from netsim.packet import tables as t
from netsim.packet.build import PacketClock, crossings_ps
from netsim.packet.kernels_crossbar_tables import Crossbar
from netsim.packet.kernels_wheel import NONE
from netsim.packet.model import ARBITRATIONS, MERLIN_LRU, PacketConfig
from netsim.packet.tables import Arrays, aligned_zeros, grown_events
from netsim.routing.base import Routing


def with_crossbars(
    arrays: Arrays, routing: Routing, config: PacketConfig, clock: PacketClock
) -> tuple[Arrays, Crossbar]:
    """Return the arrays of a run with a second row for every link, and those of its crossbars."""
    topology = routing.topology
    n_routers, n_links = topology.n_routers, topology.n_links
    to_router = topology.link_dst >= topology.n_ports
    from_router = topology.link_src >= topology.n_ports
    n_channels = np.where(np.arange(n_links) < topology.first_router_link, 1, routing.n_vcs)
    into = np.where(to_router, topology.link_dst - topology.n_ports, -1)
    out_of = np.where(from_router, topology.link_src - topology.n_ports, -1)
    n_slots = np.bincount(into[to_router], n_channels[to_router], n_routers).astype(np.int64)
    n_outputs = np.bincount(out_of[from_router], minlength=n_routers)
    words = -(-n_slots // 64)

    links = aligned_zeros((2 * n_links, t.L_WIDTH), np.int64)
    links[:n_links] = arrays.links
    links[n_links:, t.TRY_TICK] = NONE
    own = aligned_zeros((n_links, x.P_WIDTH), np.int64)
    own[:, x.LOOK_NEXT] = x.NOT_LISTED
    own[:, x.SERVED_LAST] = -1
    own[:, x.SRC_ROUTER] = out_of
    own[:, x.N_SLOTS] = np.where(to_router, n_channels, 0)

    routers: NDArray[np.int64] = aligned_zeros((n_routers, x.X_WIDTH), np.int64)
    routers[:, x.X_SLOTS] = _before(n_slots)
    routers[:, x.X_WORDS] = words
    routers[:, x.X_FREE_AT] = _before(words * (1 + n_outputs))
    routers[:, x.X_LOOK_HEAD] = -1

    by_router = np.flatnonzero(to_router)[np.argsort(into[to_router], kind="stable")]
    own[by_router, x.FIRST_SLOT] = _before(n_channels[by_router])
    slots: NDArray[np.int64] = aligned_zeros((int(n_slots.sum()), x.S_WIDTH), np.int64)
    vc = np.arange(len(slots)) - np.repeat(own[by_router, x.FIRST_SLOT], n_channels[by_router])
    slots[:, x.S_Q] = (np.repeat(by_router, n_channels[by_router]) << arrays.sc[t.VSHIFT]) | vc
    slots[:, [x.S_HEAD, x.S_TAIL]] = -1
    router = np.repeat(np.arange(n_routers), n_slots)
    place = np.arange(len(slots)) - routers[router, x.X_SLOTS]
    slots[:, x.S_SERVED] = place - len(slots)

    bits = np.zeros(int((words * (1 + n_outputs)).sum()), dtype=np.uint64)
    at = routers[router, x.X_FREE_AT] + (place >> 6)
    np.bitwise_or.at(bits, at, np.uint64(1) << (place & 63).astype(np.uint64))
    outputs = np.flatnonzero(from_router)[np.argsort(out_of[from_router], kind="stable")]
    owner = out_of[outputs]
    nth = np.arange(len(outputs)) - _before(n_outputs)[owner]
    own[outputs, x.BIDS_AT] = routers[owner, x.X_FREE_AT] + words[owner] * (1 + nth)

    crossbar = Crossbar(
        ports=own.reshape(-1),
        out_space=np.full(len(arrays.channels), config.output_space, dtype=np.int64),
        slots=slots.reshape(-1),
        routers=routers.reshape(-1),
        bits=bits,
        look=np.zeros((n_routers >> 6) + 1 + (n_routers >> 12) + 1, dtype=np.uint64),
        cross=crossings_ps(config, clock.wire, clock.bandwidths) // clock.tick_ps,
        scratch=np.zeros((4, int(n_outputs.max(initial=1))), dtype=np.int64),
        round_robin=int(config.arbitration == ARBITRATIONS[1]),
        unlimited=int(config.unlimited_crossbar),
        bid_bytes=np.zeros(len(arrays.channels), dtype=np.int64),
        # only adaptive routings look at what counts the bids
        counts_bids=int(routing.counts_bids and routing.adaptive),
        merlin_lru=int(config.arbitration == MERLIN_LRU),
        needs_credit=int(config.crosses_with_credit),
    )
    return grown_events(arrays._replace(links=links)), crossbar


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of entries before each."""
    total: NDArray[np.int64] = np.cumsum(counts) - counts
    return total
