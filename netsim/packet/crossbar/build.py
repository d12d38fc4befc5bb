"""The arrays of input-queued routers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.packet.build import PacketClock, crossings_ps, rates
from netsim.packet.crossbar import tables as x
from netsim.packet.crossbar.tables import Crossbar
from netsim.packet.kernels_wheel import NONE
from netsim.packet.model import ARBITRATIONS, MERLIN_LRU, PacketConfig
from netsim.packet.tables import Arrays, Table, grown_events, make_table
from netsim.routing.base import Routing
from netsim.topology import Topology


def with_crossbars(
    arrays: Arrays, routing: Routing, config: PacketConfig, clock: PacketClock
) -> tuple[Arrays, Crossbar]:
    """Return the arrays of a run, with larger pools of events, and those of its crossbars."""
    topology = routing.topology
    n_routers, n_links = topology.n_routers, topology.n_links
    sc = arrays.sc[0]
    of_node = np.arange(n_links) < topology.first_router_link
    n_channels = np.where(of_node, sc.node_channels, sc.n_vcs)
    slots, slot_of, n_slots = _slots(arrays.link_router, n_channels, n_routers, int(sc.vshift))
    words = -(-n_slots // 64)
    outputs, n_outputs = _outputs(topology, words)
    n_words = int((words * n_outputs).sum())
    merlin_lru = config.arbitration == MERLIN_LRU
    allocates = config.allocates_channels
    crossbar = Crossbar(
        inputs=make_table(
            n_links,
            x.INPUT_PORT,
            latency=arrays.links.latency,
            bandwidth=arrays.links.bandwidth,
            n_slots=np.where(arrays.link_router >= 0, n_channels, 0),
        ),
        outputs=outputs,
        out_space=np.full(len(arrays.channels), config.output_space, dtype=np.int64),
        slots=slots,
        grants=make_table(len(slots) if allocates else 1, x.GRANT),
        slot_of=slot_of,
        routers=make_table(
            n_routers, x.ROUTER, first_slot=_before(n_slots), words=words, look_head=-1, last=-1
        ),
        bids=np.zeros(n_words, dtype=np.uint64),
        requests=np.zeros(n_words if allocates else 1, dtype=np.uint64),
        look=np.zeros((n_routers >> 6) + 1 + (n_routers >> 12) + 1, dtype=np.uint64),
        cross=crossings_ps(config, clock.sizes.wire, np.tile(clock.bandwidths, len(rates(config))))
        // clock.tick_ps,
        scratch=np.zeros((4, int(n_outputs.max(initial=1))), dtype=np.int64),
        round_robin=int(config.arbitration == ARBITRATIONS[1]),
        unlimited=int(config.unlimited_crossbar),
        bid_bytes=np.zeros(len(arrays.channels), dtype=np.int64),
        # only adaptive routings look at what counts the bids
        counts_bids=int(routing.counts_bids and routing.adaptive),
        merlin_lru=int(merlin_lru),
        needs_credit=int(config.crosses_with_credit),
        allocates=int(allocates),
        at_once=int(
            not (routing.adaptive or config.unlimited_crossbar or config.crosses_with_credit)
            and not (merlin_lru or allocates)
        ),
    )
    return grown_events(arrays), crossbar


def _slots(
    router: NDArray[np.int32], n_channels: NDArray[np.int64], n_routers: int, vshift: int
) -> tuple[Table, NDArray[np.int64], NDArray[np.int64]]:
    """Return the slots, those of each router by place, and how many each router has; from the
    router that each link leads to (below 0 for none) and its channels."""
    by_router = _by_router(router)
    channels = n_channels[by_router]
    n_slots = np.bincount(router[by_router], channels, n_routers).astype(np.int64)
    vc = np.arange(int(n_slots.sum())) - np.repeat(_before(channels), channels)
    slot_of = (np.repeat(by_router, channels) << vshift) | vc
    place = np.arange(len(slot_of)) - np.repeat(_before(n_slots), n_slots)
    slots = make_table(len(router) << vshift, x.SLOT, head=-1, tail=-1)
    slots.place[slot_of] = place
    slots.served[slot_of] = place - len(slot_of)
    return slots, slot_of, n_slots


def _outputs(topology: Topology, words: NDArray[np.int64]) -> tuple[Table, NDArray[np.int64]]:
    """Return the output ports, and how many each router has, from the words of its slots."""
    router = np.maximum(topology.link_src - topology.n_ports, -1)
    n_outputs = np.bincount(router[router >= 0], minlength=topology.n_routers)
    leaving = _by_router(router)
    owner = router[leaving]
    nth = np.arange(len(leaving)) - _before(n_outputs)[owner]
    outputs = make_table(
        topology.n_links,
        x.OUTPUT_PORT,
        try_tick=NONE,
        look_next=x.NOT_LISTED,
        served_last=-1,
        router=router,
    )
    outputs.bids_at[leaving] = _before(words * n_outputs)[owner] + words[owner] * nth
    return outputs, n_outputs


def _by_router(router: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the links that have a router (0 or above), in its order."""
    links = np.flatnonzero(router >= 0)
    return links[np.argsort(router[links], kind="stable")]


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of entries before each."""
    total: NDArray[np.int64] = np.cumsum(counts) - counts
    return total
