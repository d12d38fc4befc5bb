"""Any network that a user brings as a networkx graph."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from netsim.errors import NetcosimError
from netsim.files import read_bytes
from netsim.parameters import NamesFile
from netsim.topologies.checks import LINK_BANDWIDTH_BPS, LINK_LATENCY_S, need_int, need_size
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.family import (
    Family,
    LinkBandwidthBps,
    LinkLatencyS,
    Name,
    NodeBandwidthBps,
    NodeLatencyS,
)
from netsim.topology import Topology, build_topology

if TYPE_CHECKING:
    import networkx as nx

MAX_FILE_BYTES = 1 << 26
"""A graph file of more is none: 64 MiB hold a million cables."""


@dataclass(frozen=True)
class GraphShape:
    """The graph's own labels: router ``i`` is the graph's node ``labels[i]``."""

    labels: tuple[Any, ...]


def topology_from_cables(
    *,
    family: str,
    name: str,
    shape: object,
    nodes_per_router: Sequence[int] | np.ndarray,
    cables: Sequence[tuple[int, int]] | np.ndarray,
    bandwidth_Bps: Sequence[int] | np.ndarray | int,
    latency_s: Sequence[float] | np.ndarray | float,
    node_bandwidth_Bps: int,
    node_latency_s: float,
) -> Topology:
    """Build a topology from undirected cables: link 2i goes along cable i, 2i + 1 back.

    Parameters
    ----------
    nodes_per_router : (n_routers,) int
        Nodes are numbered router by router.
    cables : (m, 2) int
        Router indices.
    bandwidth_Bps, latency_s : (m,) or scalar
    """
    ends = np.asarray(cables, dtype=np.int64).reshape(-1, 2)
    m = len(ends)
    return build_topology(
        family=family,
        name=name,
        shape=shape,
        port_router=np.repeat(np.arange(len(nodes_per_router)), nodes_per_router),
        n_routers=len(nodes_per_router),
        router_src=ends.ravel(),
        router_dst=ends[:, ::-1].ravel(),
        router_kind=np.zeros(2 * m, dtype=np.int64),
        router_kinds=("link",),
        router_bandwidth_Bps=np.repeat(np.broadcast_to(bandwidth_Bps, m), 2),
        router_latency_s=np.repeat(np.broadcast_to(latency_s, m), 2),
        node_bandwidth_Bps=node_bandwidth_Bps,
        node_latency_s=node_latency_s,
    )


def _number(where: str, data: Mapping[str, Any], key: str, default: float) -> float:
    try:
        number = float(data.get(key, default))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NetcosimError(f"{where}: {key} = {data[key]!r}; it must be a number")
    return number


def graph(
    network: nx.Graph[Any],
    *,
    node_bandwidth_Bps: int = LINK_BANDWIDTH_BPS,
    link_bandwidth_Bps: int = LINK_BANDWIDTH_BPS,
    node_latency_s: float = LINK_LATENCY_S,
    link_latency_s: float = LINK_LATENCY_S,
    name: str | None = None,
) -> Topology:
    """Build a topology from an undirected graph; its nodes are the routers.

    Parameters
    ----------
    network : networkx.Graph or MultiGraph
        Node attribute ``nodes``: compute nodes on the router (default 1, may be 0). Edge attributes
        ``bandwidth_Bps`` and ``latency_s`` (optional). Parallel edges are parallel cables.
    node_latency_s, link_latency_s : float
        For edges without attributes of their own.

    Returns
    -------
    Topology
        Link kind "link"; routers and cables in the graph's order.
    """
    name = name or "graph"
    if network.is_directed():
        raise NetcosimError(f"{name}: the graph is directed; it must be undirected")
    labels = tuple(network.nodes)
    if not labels:
        raise NetcosimError(f"{name}: the graph has no nodes")
    import networkx as nx

    if not nx.is_connected(network):
        raise NetcosimError(f"{name}: the graph is not connected")
    index = {label: i for i, label in enumerate(labels)}
    counts = [
        need_int(name, f"nodes of router {label!r}", data.get("nodes", 1), 0)
        for label, data in network.nodes(data=True)
    ]
    cables, bandwidth, latency = [], [], []
    links = 2 * (sum(counts) + network.number_of_edges())
    need_size(name, "the nodes of its routers", sum(counts), links)
    for u, v, data in network.edges(data=True):
        if u == v:
            raise NetcosimError(f"{name}: router {u!r} has a cable to itself")
        where = f"{name}: edge {u!r} to {v!r}"
        cables.append((index[u], index[v]))
        bandwidth.append(_number(where, data, "bandwidth_Bps", link_bandwidth_Bps))
        latency.append(_number(where, data, "latency_s", link_latency_s))
    return topology_from_cables(
        family="graph",
        name=name,
        shape=GraphShape(labels),
        nodes_per_router=counts,
        cables=cables,
        bandwidth_Bps=np.array(bandwidth),
        latency_s=np.array(latency),
        node_bandwidth_Bps=node_bandwidth_Bps,
        node_latency_s=node_latency_s,
    )


def graph_file(
    file: Annotated[str, "GraphML, GML or edge list", NamesFile],
    *,
    node_bandwidth_Bps: NodeBandwidthBps = LINK_BANDWIDTH_BPS,
    link_bandwidth_Bps: LinkBandwidthBps = LINK_BANDWIDTH_BPS,
    node_latency_s: NodeLatencyS = LINK_LATENCY_S,
    link_latency_s: LinkLatencyS = LINK_LATENCY_S,
    name: Name = None,
) -> Topology:
    """Build a topology from a ``.graphml`` or ``.gml`` file, or else an edge list.

    A file may be gzipped (``.gz`` at the end of its name).
    """
    path = Path(file)
    import networkx as nx

    data = io.BytesIO(read_bytes(path, limit_bytes=MAX_FILE_BYTES))
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    try:
        if kind == ".graphml":
            network = nx.read_graphml(data)
        elif kind == ".gml":
            network = nx.read_gml(data)
        else:
            network = nx.read_edgelist(data)
    except Exception as error:
        # The readers let exceptions of their parsers pass.
        raise NetcosimError(
            f"graph file {file}: cannot be read ({error or type(error).__name__})"
        ) from error
    return graph(
        network,
        node_bandwidth_Bps=node_bandwidth_Bps,
        link_bandwidth_Bps=link_bandwidth_Bps,
        node_latency_s=node_latency_s,
        link_latency_s=link_latency_s,
        name=name or path.stem,
    )


def labelled_routers(topology: Topology) -> Hierarchy:
    """Return the hierarchy of machine and router, with the graph's own labels."""
    names = tuple(map(str, topology.shape.labels))
    return hierarchy(("router",), (topology.node_router,), (names,))


FAMILY = Family(
    name="graph",
    description="any undirected networkx graph, or a GraphML, GML or edge-list file",
    builders=(graph_file,),
    hierarchy=labelled_routers,
)
