"""Link loads of many jobs on one routing: routes are walked once and looked up then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.flow import kernels_loads
from netsim.flow.bundles import JobLoad, job_link_load
from netsim.flow.incidence import flow_paths, takes_one_way
from netsim.routing.base import Routing
from netsim.topologies.fattree import FatTreeShape

_MAX_ENTRIES = 1 << 26


class LinkLoads:
    """What `job_link_load` gives, fast for many jobs.

    Where a route depends on its ends alone (static routings, and adaptive fat-trees, whose
    flows spread evenly over the up ports) all routes from routers with nodes to nodes are
    kept in one table. Other routings, and machines too large for the table, are walked
    job by job.

    Parameters
    ----------
    routing : Routing
    max_entries : int
        Size of the table, in links of routes.
    """

    def __init__(self, routing: Routing, *, max_entries: int = _MAX_ENTRIES) -> None:
        self.routing = routing
        topology = routing.topology
        self._bandwidth = topology.link_bandwidth_Bps.astype(np.float64)
        leaves, first, node_leaf = np.unique(
            topology.node_router, return_index=True, return_inverse=True
        )
        self._node_leaf = np.array(node_leaf.ravel(), dtype=np.int64)
        spread = routing.adaptive and isinstance(topology.shape, FatTreeShape)
        # six links a route: more than any but a long torus has
        wanted = len(leaves) * topology.n_nodes * 6 * (topology.shape.w2 if spread else 1)
        self._table: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]] | None = None
        if (spread or takes_one_way(routing)) and wanted <= max_entries:
            src = np.repeat(first, topology.n_nodes)
            dst = np.tile(np.arange(topology.n_nodes), len(leaves))
            paths = flow_paths(routing, src, dst)
            between = paths.links >= 2 * topology.n_nodes
            kept = np.concatenate([[0], np.cumsum(between)])
            weights = np.empty(0) if paths.weights is None else paths.weights[between]
            self._table = (kept[paths.ptr].astype(np.int64), paths.links[between], weights)

    def of(
        self,
        src_nodes: NDArray[np.int64],
        dst_nodes: NDArray[np.int64],
        message_bytes: NDArray[np.float64],
        *,
        seed: int = 0,
    ) -> JobLoad:
        """Load of messages between nodes.

        Parameters
        ----------
        src_nodes, dst_nodes : (m,) int64
        message_bytes : (m,) float64
        seed : int
            Of routings that draw.
        """
        topology = self.routing.topology
        if self._table is None:
            return job_link_load(
                self.routing,
                src_nodes,
                dst_nodes,
                message_bytes,
                np.arange(topology.n_nodes),
                seed=seed,
            )
        load = np.zeros(topology.n_links)
        ptr, links, weights = self._table
        kernels_loads.add_loads(
            ptr,
            links,
            weights,
            self._node_leaf,
            np.require(src_nodes, np.int64, ["C", "W"]),
            np.require(dst_nodes, np.int64, ["C", "W"]),
            np.require(message_bytes, np.float64, ["C", "W"]),
            load,
        )
        used = np.flatnonzero(load)
        seconds = load[used] / self._bandwidth[used]
        return JobLoad(
            used.astype(np.int32), load[used], float(seconds.max()) if len(used) else 0.0
        )
