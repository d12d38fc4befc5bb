"""Which flow goes over which links: paths as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_paths
from netsim.limits import need_memory
from netsim.packet.model import PS_PER_S
from netsim.routing.base import Routing
from netsim.routing.fattree import d_mod_k_ports
from netsim.routing.kernels_codes import RULES, RoutingCode, RoutingRule
from netsim.routing.kernels_dragonfly import (
    ADAPTIVE_LOCAL,
    MERLIN_ADAPTIVE,
    MERLIN_UGAL,
    PAR,
    UGAL_G,
    UGAL_L,
)
from netsim.routing.kernels_dragonfly_node import UGAL_NODE
from netsim.routing.kernels_dragonfly_plus import PLUS_UGAL_G, PLUS_UGAL_L
from netsim.routing.kernels_fattree import D_MOD_K, ROW
from netsim.routing.kernels_tables import LEAST_LOADED
from netsim.routing.kernels_torus import MINIMAL_ADAPTIVE
from netsim.routing.pinned import port_flows
from netsim.routing.tables import RouteTables
from netsim.topology import Topology

PIECES = 8
"""Number of pieces into which a flow with several paths is split."""
_SWEEPS = 2
_SHARED_WALKS = 1 << 25  # (router, node) pairs whose walks are cached: 256 MB at most
_ROOM_BYTES = 1 << 40
_LOCAL_UGAL = (UGAL_L, UGAL_NODE, PAR, ADAPTIVE_LOCAL, MERLIN_ADAPTIVE, MERLIN_UGAL)
_WALKED_AS = {**dict.fromkeys(_LOCAL_UGAL, UGAL_G), PLUS_UGAL_L: PLUS_UGAL_G}


def spreads_up(routing: Routing) -> bool:
    """Return whether packets of one flow take all up ports of a fat-tree."""
    rule = RULES[RoutingCode(routing.tables.code)]
    return rule == RoutingRule.FAT_TREE and routing.random_visits > 0


def looks_at_others(routing: Routing) -> bool:
    """Return whether `flow_paths` chooses paths by what others put on the links."""
    return routing.pin is not None or (routing.adaptive and not spreads_up(routing))


def can_detour(routing: Routing) -> bool:
    """Return whether it leaves the minimal path where that is busy: UGAL, PAR, adaptive-local."""
    return routing.tables.code in {*_WALKED_AS, *_WALKED_AS.values()}


def _paths_are_equal(routing: Routing) -> bool:
    """Return whether it chooses only among paths of equal length, where any load counts."""
    return routing.tables.code in (MINIMAL_ADAPTIVE, LEAST_LOADED)


class FlowPaths(NamedTuple):
    """Links of each flow, one flow after the other (CSR)."""

    ptr: NDArray[np.int64]
    """(n_flows+1,) int64. Flow ``f`` has the entries ``ptr[f] .. ptr[f+1]-1``."""
    links: NDArray[np.int32]
    """(n_entries,) int32. Injection and ejection links among them. A flow between ranks of one node
    has none."""
    weights: NDArray[np.float64] | None = None
    """(n_entries,) float64 or None. Part of the flow's rate that the link carries, for flows that
    are split over several paths; None where every part is 1."""

    @property
    def n_flows(self) -> int:
        """Number of flows."""
        return len(self.ptr) - 1

    def only(self, chosen: NDArray[np.bool_]) -> FlowPaths:
        """Return the paths of the flows marked in (n_flows,) ``chosen``."""
        length = np.diff(self.ptr)
        kept = np.repeat(chosen, length)
        ptr = np.concatenate([[0], np.cumsum(length[chosen])]).astype(np.int64)
        weights = None if self.weights is None else self.weights[kept]
        return FlowPaths(ptr, self.links[kept], weights)

    def check(self, n_links: int) -> FlowPaths:
        """Return the same paths with the kernels' dtypes, writable and contiguous."""
        ptr = np.require(self.ptr, np.int64, ["C", "W"])
        links = np.require(self.links, np.int32, ["C", "W"])
        if len(ptr) < 1 or ptr[0] != 0 or ptr[-1] != len(links) or np.any(ptr[1:] < ptr[:-1]):
            raise NetcosimError(f"flow paths: ptr does not cover the {len(links)} links")
        if len(links) and (links.min() < 0 or links.max() >= n_links):
            raise NetcosimError(f"flow paths: a link is outside 0..{n_links - 1}")
        if self.weights is None:
            return FlowPaths(ptr, links)
        weights = np.require(self.weights, np.float64, ["C", "W"])
        if len(weights) != len(links):
            raise NetcosimError(f"flow paths: {len(weights)} weights for {len(links)} links")
        if len(weights) and not (np.all(np.isfinite(weights)) and weights.min() > 0):
            raise NetcosimError("flow paths: a weight is not positive and finite")
        return FlowPaths(ptr, links, weights)


def path_latency_s(paths: FlowPaths, link_latency_s: ArrayLike) -> NDArray[np.float64]:
    """Return the total latency of each flow's links, (n_flows,); of split flows by their parts."""
    latency = np.asarray(link_latency_s, dtype=np.float64)[paths.links]
    if paths.weights is not None:
        latency = latency * paths.weights
    flow = np.repeat(np.arange(paths.n_flows), np.diff(paths.ptr))
    return np.bincount(flow, latency, paths.n_flows).astype(np.float64)


def walk_view(routing: Routing) -> kernels_paths.WalkView:
    """Return the network as seen by walks: a few numbers per link, the same for all flows."""
    topology = routing.topology
    end = topology.link_dst.astype(np.int64) - topology.n_ports
    return kernels_paths.WalkView(
        link_router=np.maximum(end, 0),
        link_ticks=1.0 / topology.link_bandwidth_Bps.astype(np.float64),
        waiting=np.zeros(topology.n_links, dtype=np.int64),
        room=np.full(topology.n_links * routing.tables.n_vcs, _ROOM_BYTES, dtype=np.int64),
        busy=np.zeros(topology.n_links, dtype=np.int64),
    )


def flow_paths(
    routing: Routing,
    src_nodes: ArrayLike,
    dst_nodes: ArrayLike,
    message_bytes: ArrayLike = 1e6,
    *,
    pieces: int | None = None,
    seed: int = 0,
    background_s: ArrayLike | None = None,
    rail: ArrayLike | None = None,
    view: kernels_paths.WalkView | None = None,
) -> FlowPaths:
    """Return the paths of flows under a routing, by walking its own kernel.

    A static routing gives one path a flow. Under a routing with draws or loads, which sees the
    bytes, a flow is cut into equal pieces: see "Paths" in docs/flow-model.md. These are by default
    8, on a fat-tree the up ports of a leaf (w2 * w3 pieces use each path once); under "ecmp" there
    is a piece a queue pair, with the path of its packets for the same seed.

    ``background_s`` is how long others keep each link busy while the flows send, for routings that
    look at loads, except on fat-trees; "pinned" flows avoid them. A flow is on its rail, or spread
    evenly over all. A view of `walk_view` may be cached between calls with few flows on a large
    network.
    """
    topology, several = routing.topology, not routing.is_single_path
    src, dst = _checked_nodes(topology, src_nodes, dst_nodes)
    amount = np.array(np.broadcast_to(np.asarray(message_bytes, dtype=np.float64), src.shape))
    parts, src, dst, amount = port_flows(topology, src, dst, amount, rail)
    if routing.queue_pairs:
        pieces = routing.queue_pairs
    elif pieces is None:
        pieces = (topology.shape.w2 if spreads_up(routing) else PIECES) if several else 1
    if pieces < 1:
        raise NetcosimError(f"pieces = {pieces}; it must be at least 1")
    need_memory(
        f"flows: paths of {len(src):,} flows on {topology.name} in {pieces} pieces each",
        paths_bytes(len(src), pieces, several),
    )
    others_s = _checked_background(background_s, topology.n_links)
    if routing.pin is not None:
        routing = routing.pin(src, dst, amount, others_s)
    walks = _Walks(routing, walk_view(routing) if view is None else view, parts, src, dst, amount)
    if not several:
        return walks.single()
    return walks.spread_up(pieces) if spreads_up(routing) else walks.placed(pieces, seed, others_s)


def paths_bytes(n_flows: int, pieces: int, several: bool) -> int:
    """Return the bytes that `flow_paths` takes at its peak, about.

    Measured on fat-trees, dragonflies and tori of 1000 nodes, whose paths have 4 to 9 links: 73 to
    106 a flow that has one path, 85 to 150 a piece of one that has several.
    """
    return n_flows * (_PIECE_BYTES * pieces if several else _FLOW_BYTES)


_FLOW_BYTES, _PIECE_BYTES = 90, 110


def _checked_nodes(
    topology: Topology, src_nodes: ArrayLike, dst_nodes: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    src, dst = (np.array(nodes, dtype=np.int64, ndmin=1) for nodes in (src_nodes, dst_nodes))
    if len(src) != len(dst):
        raise NetcosimError(f"{len(src)} source but {len(dst)} destination nodes")
    last = topology.n_nodes - 1
    if len(src) and not 0 <= min(src.min(), dst.min()) <= max(src.max(), dst.max()) <= last:
        raise NetcosimError(f"a flow's node is outside 0..{last} of {topology.name}")
    return src, dst


def _checked_background(background_s: ArrayLike | None, n_links: int) -> NDArray[np.float64]:
    others_s = np.asarray(np.zeros(n_links) if background_s is None else background_s, np.float64)
    if others_s.shape != (n_links,) or not np.all(np.isfinite(others_s) & (others_s >= 0)):
        raise NetcosimError(
            f"background_s: one time >= 0 for each of the {n_links} links is needed"
        )
    return others_s


class _Walks(NamedTuple):
    """Flows between ports to walk: a flow between nodes is ``parts`` of them, one after another."""

    routing: Routing
    view: kernels_paths.WalkView
    parts: int
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    amount: NDArray[np.float64]

    @property
    def limit(self) -> int:
        """Most links of a walk."""
        return 4 * self.routing.topology.n_routers + 8

    def single(self) -> FlowPaths:
        """Return the one path of each flow under a static routing."""
        ptr, links = self._fixed(self.routing.tables)
        return FlowPaths(ptr, links) if self.parts == 1 else self._merged(ptr[:-1], ptr[1:], links)

    def spread_up(self, pieces: int) -> FlowPaths:
        """Route piece k of every flow by D-mod-k with all open up ports shifted by k.

        As many pieces are sent as use all open ports of the leaf equally often.
        """
        shape, tables = self.routing.topology.shape, self.routing.tables
        leaf = tables.port_router[self.src].astype(np.int64)
        n_open = tables.table_c[tables.table_a[leaf * int(tables.params[ROW]) + self.dst]]
        sent = np.where(n_open < pieces, pieces // n_open * n_open, pieces)
        begin, end = np.empty((2, len(self.src), pieces), dtype=np.int64)
        outs, at = [], 0
        leaf_digit, l2_digit = d_mod_k_ports(shape)
        for k in range(pieces):
            turned = tables._replace(
                code=D_MOD_K,
                table_a=_port_of(tables.table_c, tables.table_a, leaf_digit + k),
                table_b=_port_of(tables.table_c, tables.table_b, l2_digit + k + k // shape.w2),
            )
            ptr, links = self._fixed(turned)
            begin[:, k], end[:, k] = ptr[:-1] + at, ptr[1:] + at
            end[k >= sent, k] = begin[k >= sent, k]
            outs.append(links)
            at += len(links)
        paths = self._merged(begin.ravel(), end.ravel(), np.concatenate(outs), pieces)
        if pieces == 1 or paths.weights is None:
            return paths
        scale = np.repeat(pieces / sent[:: self.parts], np.diff(paths.ptr))
        return paths._replace(weights=paths.weights * scale)

    def placed(self, pieces: int, seed: int, others_s: NDArray[np.float64]) -> FlowPaths:
        """Put down pieces in rounds, each where the routing sends it among all others.

        What a link can carry while the flow's own node is busy makes no queue and counts as no load
        for UGAL, which weighs its minimal against its Valiant path at the queues that the flows
        themselves make. A second sweep removes and reroutes every piece.
        """
        tables, topology = self.routing.tables, self.routing.topology
        ticks, calm = np.empty(0, dtype=np.float64), np.empty(0, dtype=np.int64)
        busy = np.zeros(topology.n_links, dtype=np.int64)
        if self.routing.adaptive:
            bandwidth = topology.link_bandwidth_Bps.astype(np.float64)
            # picoseconds, unless the sum over all flows, times a hop count, would overflow
            longest_s = float(self.amount.sum() / bandwidth.min() + others_s.max(initial=0.0))
            scale = min(PS_PER_S, 2.0**56 / max(1.0, longest_s))
            ticks = self.amount * (scale / pieces)
            busy = (others_s * scale).astype(np.int64)
            calm = np.zeros(len(self.src), dtype=np.int64)
            if not _paths_are_equal(self.routing):
                calm = self._node_ticks(scale, bandwidth[: topology.first_router_link])
        begin, end, links, lost = kernels_paths.place(
            tables._replace(code=_WALKED_AS.get(tables.code, tables.code)),
            self.src,
            self.dst,
            seed,
            pieces,
            _SWEEPS if self.routing.adaptive else 1,
            self.limit,
            ticks,
            calm,
            self.view._replace(busy=busy),
        )
        self._check_arrived(lost)
        return self._merged(begin, end, links, pieces)

    def _fixed(self, tables: RouteTables) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (ptr, links) of one path a flow; many flows share walks that are cached."""
        n_walks = self.routing.topology.n_routers * self.routing.topology.n_ports
        walk_once = n_walks <= min(_SHARED_WALKS, 4 * len(self.src) + 4096)
        ptr, links, lost = kernels_paths.fixed_paths(
            tables, self.src, self.dst, self.view, self.limit, walk_once
        )
        self._check_arrived(lost)
        return ptr, links

    def _node_ticks(self, scale: float, bandwidth: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the ticks for which the busier of a flow's node links is busy."""
        n_ports = len(bandwidth) // 2
        load = np.zeros(2 * n_ports, dtype=np.float64)
        away = self.src != self.dst
        np.add.at(load, self.src[away], self.amount[away] * scale)
        np.add.at(load, n_ports + self.dst[away], self.amount[away] * scale)
        load /= bandwidth
        return np.maximum(load[self.src], load[n_ports + self.dst]).astype(np.int64)

    def _merged(
        self,
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
        links: NDArray[np.int32],
        pieces: int = 1,
    ) -> FlowPaths:
        """Return the paths of flows between nodes from those of their pieces."""
        n, n_links = pieces * self.parts, self.routing.topology.n_links
        ptr, links, weights = kernels_paths.merge_pieces(begin, end, links, n, n_links)
        return FlowPaths(ptr, links, weights if n > 1 else None)

    def _check_arrived(self, lost: int) -> None:
        if lost >= 0:
            name, rails = self.routing.name, self.routing.topology.rails
            src, dst = self.src[lost] // rails, self.dst[lost] // rails
            raise NetcosimError(f"routing {name!r} does not get from node {src} to {dst}")


def _port_of(
    lists: NDArray[np.int32], where: NDArray[np.int32], digit: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the port in each node's list by its digit, modulo the length of the list."""
    digits = np.tile(digit, len(where) // len(digit))
    return lists[where + 1 + digits % lists[where]]
