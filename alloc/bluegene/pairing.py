"""Bisection pairing on partitions of Blue Gene/Q: every node and its furthest, as flows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alloc.bluegene.geometries import partition_dims
from netsim.flow.maxmin import run_flows
from netsim.flow.paths import flow_paths
from netsim.routing.registry import make_routing
from netsim.topologies.family import EqualLinks
from netsim.topologies.torus import torus
from netsim.topology import Topology

LINK_BPS = 2 * 10**9
NODE_BPS = 10 * LINK_BPS
"""A Blue Gene/Q node drives its ten links at the same time."""


def partition(geometry: Sequence[int]) -> Topology:
    """Return a Blue Gene/Q partition, node by node, as a torus of its own."""
    return torus(
        partition_dims(geometry),
        double_links_for_two=True,
        links=EqualLinks(
            node_bandwidth_Bps=NODE_BPS,
            link_bandwidth_Bps=LINK_BPS,
            node_latency_s=0.0,
            link_latency_s=0.0,
        ),
    )


def furthest_nodes(dims: Sequence[int]) -> NDArray[np.int64]:
    """Return each node's partner half a ring away in every dimension, (n,) (Chen et al., SC 2012).

    The mapping is its own inverse where all lengths are even, as in every Blue Gene partition.
    """
    lengths = np.array(dims, dtype=np.int64)
    coords = np.stack(np.unravel_index(np.arange(lengths.prod()), tuple(dims)), axis=1)
    far = (coords + lengths // 2) % lengths
    return np.asarray(np.ravel_multi_index(tuple(far.T), tuple(dims)), dtype=np.int64)


@lru_cache(maxsize=256)
def pairing_s(geometry: tuple[int, ...]) -> float:
    """Return the seconds that a gigabyte from every node to its furthest takes, in the flow
    engine."""
    topology = partition(geometry)
    far = furthest_nodes(topology.shape.dims)
    paths = flow_paths(make_routing(topology), np.arange(topology.n_nodes), far)
    return float(run_flows(paths, 1e9, topology.link_bandwidth_Bps).finish_s.max())
