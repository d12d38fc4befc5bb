"""Bytes that a pattern puts on the links."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_paths
from netsim.flow.paths import FlowPaths, flow_paths
from netsim.routing.base import Routing


class JobLoad(NamedTuple):
    """Load of a pattern on the links."""

    links: NDArray[np.int32]
    """(k,) int32. Links that carry anything, ascending."""
    link_bytes: NDArray[np.float64]
    """(k,) float64."""
    isolated_bound_s: float
    """No schedule of these bytes is faster: the largest bytes over bandwidth."""


def job_link_load(
    routing: Routing,
    src_ranks: ArrayLike,
    dst_ranks: ArrayLike,
    message_bytes: ArrayLike,
    rank_node: ArrayLike,
    *,
    seed: int = 0,
    rail: ArrayLike | None = None,
) -> JobLoad:
    """Return the bytes on every link of a pattern's messages.

    Messages between ranks of one node use no link. Each is on its rail, or by default spread over
    all. For the seed see `flow_paths`.
    """
    src, dst = np.asarray(src_ranks), np.asarray(dst_ranks)
    nodes = np.asarray(rank_node)
    amount = np.broadcast_to(np.asarray(message_bytes, dtype=np.float64), src.shape)
    if src.shape != dst.shape:
        raise NetcosimError(f"{len(src)} sending but {len(dst)} receiving ranks")
    for ranks in (src, dst):
        if len(ranks) and (ranks.min() < 0 or ranks.max() >= len(nodes)):
            raise NetcosimError(f"a rank is outside 0..{len(nodes) - 1}")
    if len(amount) and not (np.all(np.isfinite(amount)) and amount.min() >= 0):
        raise NetcosimError(f"message_bytes = {amount.min()}; it must be >= 0")
    topology = routing.topology
    pair = nodes[src].astype(np.int64) * topology.n_nodes + nodes[dst]
    if rail is not None:
        pair = pair * topology.rails + np.asarray(rail, dtype=np.int64)
    pairs, index = np.unique(pair, return_inverse=True)
    pair_bytes = np.zeros(len(pairs), dtype=np.float64)
    np.add.at(pair_bytes, index.ravel(), amount)
    moving = pair_bytes > 0
    pairs, pair_bytes = pairs[moving], pair_bytes[moving]
    taken = None
    if rail is not None:
        pairs, taken = np.divmod(pairs, topology.rails)
    paths = flow_paths(
        routing,
        pairs // topology.n_nodes,
        pairs % topology.n_nodes,
        pair_bytes,
        seed=seed,
        rail=taken,
    )
    load = path_link_bytes(paths, pair_bytes, topology.n_links)
    links = np.flatnonzero(load).astype(np.int32)
    seconds = load[links] / topology.link_bandwidth_Bps[links]
    return JobLoad(links, load[links], float(seconds.max()) if len(links) else 0.0)


def path_link_bytes(
    paths: FlowPaths, message_bytes: NDArray[np.float64], n_links: int
) -> NDArray[np.float64]:
    """Return the bytes that flows put on each link, (n_links,) float64."""
    paths = paths.check(n_links)
    weights = np.empty(0) if paths.weights is None else paths.weights
    amount = np.array(message_bytes, dtype=np.float64)
    return np.asarray(kernels_paths.link_bytes(paths.ptr, paths.links, weights, amount, n_links))
