"""The arrays of input-queued routers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.packet import tables as t
from netsim.packet.build import PacketClock, crossings_ps
from netsim.packet.crossbar import tables as x
from netsim.packet.crossbar.tables import Crossbar
from netsim.packet.kernels_wheel import NONE
from netsim.packet.model import ARBITRATIONS, MERLIN_LRU, PacketConfig
from netsim.packet.tables import Arrays, aligned_zeros, grown_events
from netsim.routing.base import Routing


def with_crossbars(
    arrays: Arrays, routing: Routing, config: PacketConfig, clock: PacketClock
) -> tuple[Arrays, Crossbar]:
    """Return the arrays of a run, with larger pools of events, and those of its crossbars."""
    topology = routing.topology
    n_routers, n_links = topology.n_routers, topology.n_links
    vshift = int(arrays.sc[t.VSHIFT])
    to_router = topology.link_dst >= topology.n_ports
    from_router = topology.link_src >= topology.n_ports
    of_node = np.arange(n_links) < topology.first_router_link
    n_channels = np.where(of_node, arrays.sc[t.NODE_CHANNELS], arrays.sc[t.N_VCS])
    into = np.where(to_router, topology.link_dst - topology.n_ports, -1)
    out_of = np.where(from_router, topology.link_src - topology.n_ports, -1)
    n_slots = np.bincount(into[to_router], n_channels[to_router], n_routers).astype(np.int64)
    n_outputs = np.bincount(out_of[from_router], minlength=n_routers)
    words = -(-n_slots // 64)

    ports: NDArray[np.int64] = aligned_zeros((2 * n_links, x.P_WIDTH), np.int64)
    inputs, outputs = ports[:n_links], ports[n_links:]
    inputs[:, x.IN_LATENCY] = arrays.links[:, t.LATENCY]
    inputs[:, x.IN_BANDWIDTH] = arrays.links[:, t.BANDWIDTH]
    inputs[:, x.N_SLOTS] = np.where(to_router, n_channels, 0)
    outputs[:, t.TRY_TICK] = NONE
    outputs[:, x.LOOK_NEXT] = x.NOT_LISTED
    outputs[:, x.SERVED_LAST] = -1
    outputs[:, x.SRC_ROUTER] = out_of

    routers: NDArray[np.int64] = aligned_zeros((n_routers, x.X_WIDTH), np.int64)
    routers[:, x.X_SLOTS] = _before(n_slots)
    routers[:, x.X_WORDS] = words
    routers[:, x.X_LOOK_HEAD] = -1

    by_router = np.flatnonzero(to_router)[np.argsort(into[to_router], kind="stable")]
    channels = n_channels[by_router]
    first = _before(channels)
    inputs[by_router, x.FIRST_PLACE] = first - routers[into[by_router], x.X_SLOTS]
    vc = np.arange(int(n_slots.sum())) - np.repeat(first, channels)
    slot_of = (np.repeat(by_router, channels) << vshift) | vc
    n_rows, allocates = n_links << vshift, config.allocates_channels
    slots: NDArray[np.int64] = aligned_zeros((n_rows << allocates, x.S_WIDTH), np.int64)
    slots[:, [x.S_HEAD, x.S_TAIL]] = -1
    place = np.arange(len(slot_of)) - np.repeat(routers[:, x.X_SLOTS], n_slots)
    slots[slot_of, x.S_PLACE] = place
    slots[slot_of, x.S_SERVED] = place - len(slot_of)

    leaving = np.flatnonzero(from_router)[np.argsort(out_of[from_router], kind="stable")]
    owner = out_of[leaving]
    nth = np.arange(len(leaving)) - _before(n_outputs)[owner]
    outputs[leaving, x.BIDS_AT] = _before(words * n_outputs)[owner] + words[owner] * nth

    merlin_lru = config.arbitration == MERLIN_LRU
    crossbar = Crossbar(
        ports=ports.reshape(-1),
        out_space=np.full(len(arrays.channels), config.output_space, dtype=np.int64),
        slots=slots.reshape(-1),
        slot_of=slot_of,
        routers=routers.reshape(-1),
        bits=np.zeros(int((words * n_outputs).sum()) << allocates, dtype=np.uint64),
        look=np.zeros((n_routers >> 6) + 1 + (n_routers >> 12) + 1, dtype=np.uint64),
        cross=crossings_ps(config, clock.wire, clock.bandwidths) // clock.tick_ps,
        scratch=np.zeros((4, int(n_outputs.max(initial=1))), dtype=np.int64),
        round_robin=int(config.arbitration == ARBITRATIONS[1]),
        unlimited=int(config.unlimited_crossbar),
        bid_bytes=np.zeros(len(arrays.channels), dtype=np.int64),
        # only adaptive routings look at what counts the bids
        counts_bids=int(routing.counts_bids and routing.adaptive),
        merlin_lru=int(merlin_lru),
        needs_credit=int(config.crosses_with_credit),
        grants=n_rows * x.S_WIDTH if allocates else 0,
        at_once=int(
            not (routing.adaptive or config.unlimited_crossbar or config.crosses_with_credit)
            and not (merlin_lru or allocates)
        ),
    )
    return grown_events(arrays), crossbar


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of entries before each."""
    total: NDArray[np.int64] = np.cumsum(counts) - counts
    return total
