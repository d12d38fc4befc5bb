"""Routes of many jobs on one routing: walked once and looked up then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.flow import kernels_job_routes
from netsim.flow.kernels_message_load import LinkTables
from netsim.flow.paths import (
    PIECES,
    FlowPaths,
    can_detour,
    flow_paths,
    looks_at_others,
    spreads_up,
    walk_view,
)
from netsim.routing.base import Routing
from netsim.routing.kernels_torus import MINIMAL_ADAPTIVE
from netsim.topologies.fattree import FatTreeShape

_MAX_ENTRIES = 1 << 26
_WALKS = 1 << 13  # of a job: many pairs spread over the paths without being split
_DETOUR = 1.5
"""Under UGAL packets take the detour then; under minimal-adaptive another productive link."""

_SCATTERED_WAITS = 0.625
"""Fraction of the waits on its path that delays a message whose packets take separate paths."""

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]


class LoadCost(NamedTuple):
    """Cost of putting a job on the network at flow level."""

    seconds: float
    """Of one core, each time that it starts; a size's first start takes about as long again."""
    memory_bytes: float
    """At its peak."""


def load_cost(routing: Routing, n_pairs: int) -> LoadCost:
    """Estimate the time and memory of placing a job.

    Both are proportional to the pairs of nodes that communicate: n (n - 1) in an all-to-all of
    n nodes, so 25 million and about 10 GB for 5000 nodes.

    Notes
    -----
    Measured with all-to-alls of 1000 and 2000 nodes: 0.4 us and 170 bytes a pair for what is
    sent; where each route has to be walked 1.2 us more a pair, 2.5 us where a route is chosen by
    loads, and 270 bytes.
    """
    walked = not routing.is_single_path or not isinstance(routing.topology.shape, FatTreeShape)
    walk_s = (2.5e-6 if looks_at_others(routing) else 1.2e-6) if walked else 0.1e-6
    return LoadCost(n_pairs * (0.4e-6 + walk_s), n_pairs * (170.0 + (270.0 if walked else 0.0)))


class JobRoutes:
    """Paths of messages between nodes over router-to-router links, fast for many jobs.

    Where a route depends only on its ends (static routings, and fat-trees whose flows
    spread evenly over the up ports) all routes from routers with nodes to nodes are stored in one
    table. Other routings, and machines too large for the table, are walked job by job.

    Parameters
    ----------
    max_entries : int
        Size of the table, in links of routes.

    Attributes
    ----------
    bandwidth_Bps : (n_links,) float64
    machine : Machine
        The links for the kernels, and room for their look-ups: of one job at a time.
    waits : (n_links,) bool
        Where packets wait for those of others; on an adaptive fat-tree not on the path up,
        where each takes the shortest queue.
    most_slow : float
        The most that a busy link slows a job down: 1.5 under UGAL and its kin, which detour
        then, and under minimal-adaptive.
    felt_waits : float
        Fraction of the waits on its path that delays a message: 0.625 where packets select own
        paths.
    looks_at_others : bool
        Whether paths depend on what others put on the links (`of`'s ``background_s``).
    """

    def __init__(self, routing: Routing, *, max_entries: int = _MAX_ENTRIES) -> None:
        self.routing = routing
        topology, shape = routing.topology, routing.topology.shape
        # nodes whose ports are attached to the same routers
        routers = topology.port_router.reshape(topology.n_nodes, topology.rails)
        leaves, first, node_leaf = np.unique(
            routers, axis=0, return_index=True, return_inverse=True
        )
        self._node_leaf = np.array(node_leaf.ravel(), dtype=np.int64)
        self.bandwidth_Bps = topology.link_bandwidth_Bps.astype(np.float64)
        self.waits = np.ones(topology.n_links, dtype=np.bool_)
        avoids = can_detour(routing) or routing.tables.code == MINIMAL_ADAPTIVE
        self.most_slow = _DETOUR if avoids else np.inf
        self.looks_at_others = looks_at_others(routing)
        self.felt_waits = 1.0
        self._view = walk_view(routing)
        # all 0 between two jobs: none pays for the links that it does not use
        self._scratch_load = np.zeros(topology.n_links)
        self._scratch_links = np.empty(topology.n_links, dtype=np.int32)
        n_paths = 1
        if spreads_up(routing):
            n_paths = shape.w2
            if routing.adaptive:
                self.waits[shape.first_up1 : shape.first_down1] = False
                self.waits[shape.first_up2 : shape.first_down2] = False
            else:
                self.felt_waits = _SCATTERED_WAITS
        elif not routing.is_single_path and not routing.queue_pairs:
            self.felt_waits = _SCATTERED_WAITS
        self.machine = LinkTables(
            self.bandwidth_Bps,
            topology.link_latency_s.astype(np.float64),
            topology.link_src.astype(np.int64),
            topology.link_dst.astype(np.int64),
            column=np.empty(topology.n_links, dtype=np.int32),
            first=np.empty(topology.n_nodes, dtype=np.int32),
            scale_up=_copy_or_empty(topology.scale_up),
            nic_rail=_copy_or_empty(topology.nic_rail),
            rails=topology.rails,
            felt=self.felt_waits,
        )
        # six links a route: more than any but a long torus has
        wanted = len(leaves) * topology.n_nodes * 6 * n_paths * topology.rails
        self._table: tuple[LongArray, NDArray[np.int32], FloatArray] | None = None
        if (n_paths > 1 or routing.is_single_path) and wanted <= max_entries:
            src = np.repeat(first, topology.n_nodes)
            dst = np.tile(np.arange(topology.n_nodes), len(leaves))
            paths = self._between_routers(flow_paths(routing, src, dst))
            weights = np.empty(0) if paths.weights is None else paths.weights
            self._table = (paths.ptr, paths.links, weights)

    def _between_routers(self, paths: FlowPaths) -> FlowPaths:
        between = paths.links >= self.routing.topology.first_router_link
        kept = np.concatenate([[0], np.cumsum(between)])
        weights = None if paths.weights is None else paths.weights[between]
        return FlowPaths(kept[paths.ptr].astype(np.int64), paths.links[between], weights)

    def of(
        self,
        src_nodes: LongArray,
        dst_nodes: LongArray,
        message_bytes: FloatArray,
        wanted: LongArray,
        *,
        seed: int = 0,
        background_s: FloatArray | None = None,
    ) -> tuple[NDArray[np.int32], FloatArray, FlowPaths]:
        """Return the load of pairs of nodes, and the paths of the wanted ones of them.

        The load is on links between routers, ascending, in bytes of all pairs. The seed is of
        routings that draw; ``background_s`` is as in `flow_paths`.
        """
        topology = self.routing.topology
        src, dst = (np.require(x, np.int64, ["C", "W"]) for x in (src_nodes, dst_nodes))
        amount = np.require(message_bytes, np.float64, ["C", "W"])
        if self._table is None:
            pieces = None
            if self.felt_waits < 1 and not spreads_up(self.routing):
                pieces = max(1, min(PIECES, _WALKS // max(1, len(src))))
            walked = flow_paths(
                self.routing,
                src,
                dst,
                amount,
                pieces=pieces,
                seed=seed,
                background_s=background_s,
                view=self._view,
            )
            weights = np.empty(0) if walked.weights is None else walked.weights
            every = np.arange(len(src))
            used, link_bytes = self._loads(*walked[:2], weights, every, amount)
            between = slice(int(np.searchsorted(used, topology.first_router_link)), None)
            rows_of = self._between_routers(_rows(*walked[:2], weights, wanted))
            return used[between], link_bytes[between], rows_of
        ptr, links, weights = self._table
        rows = np.where(src == dst, -1, self._node_leaf[src] * topology.n_nodes + dst)
        found = self._loads(ptr, links, weights, rows, amount)
        rows = self._node_leaf[src[wanted]] * topology.n_nodes + dst[wanted]
        return *found, _rows(ptr, links, weights, rows)

    def _loads(
        self,
        ptr: LongArray,
        links: NDArray[np.int32],
        weights: FloatArray,
        rows: LongArray,
        amount: FloatArray,
    ) -> tuple[NDArray[np.int32], FloatArray]:
        """Return the links that carry the traffic of some rows, and the bytes on each of them."""
        load = self._scratch_load
        n = kernels_job_routes.add_loads(
            ptr, links, weights, rows, amount, load, self._scratch_links
        )
        used = np.sort(self._scratch_links[:n])
        link_bytes = load[used]
        load[used] = 0.0
        return used, link_bytes


def _copy_or_empty(values: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Return a writable copy for the kernels."""
    return np.array([] if values is None else values, dtype=np.int32)


def _rows(
    ptr: LongArray, links: NDArray[np.int32], weights: FloatArray, rows: LongArray
) -> FlowPaths:
    """Return some rows of paths."""
    new = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(ptr[rows + 1] - ptr[rows], out=new[1:])
    n = int(new[-1])
    few = np.empty(n, dtype=np.int32), np.empty(n if len(weights) else 0)
    kernels_job_routes.copy_rows(ptr, links, weights, rows, *few)
    return FlowPaths(new, few[0], few[1] if len(weights) else None)
