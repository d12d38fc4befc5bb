"""Any network that a user brings as a networkx graph."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from netsim.errors import NetcosimError, warn_of_model
from netsim.files import read_bytes
from netsim.kinds import need_kinds
from netsim.parameters import NamesFile
from netsim.topologies.checks import LINK_BANDWIDTH_BPS, LINK_LATENCY_S, need_int, need_size
from netsim.topologies.domains import hierarchy
from netsim.topologies.family import EqualLinks, Family, Name
from netsim.topologies.foreign import refuse_foreign
from netsim.topology import Ports, RouterLinks, Topology, build_topology
from netsim.units import Dimension, parse_quantity

if TYPE_CHECKING:
    import networkx as nx

_HEAD_BYTES = 65_536
MAX_FILE_BYTES = 1 << 26
"""A graph file of more is none: 64 MiB hold a million cables."""

HOSTS = ("nodes", "hosts")
"""Attributes of a router with its number of compute nodes."""
_OF_EDGES: dict[str, tuple[str, Dimension]] = {
    "bandwidth_Bps": ("bandwidth", "bandwidth"),
    "latency_s": ("latency", "time"),
}
"""Attributes of a cable, and those with a unit in their place."""
_OF_DRAWINGS = {"subset", "bipartite", "layer", "x", "y", "z", "id", "key", "label", "name"}


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

    Nodes are numbered router by router. Cables are pairs of routers, (m, 2).
    """
    ends = np.asarray(cables, dtype=np.int64).reshape(-1, 2)
    m = len(ends)
    on_router = np.repeat(np.arange(len(nodes_per_router)), nodes_per_router)
    return build_topology(
        family=family,
        name=name,
        shape=shape,
        n_routers=len(nodes_per_router),
        ports=Ports(on_router, node_bandwidth_Bps, node_latency_s),
        links=RouterLinks(
            src=ends.ravel(),
            dst=ends[:, ::-1].ravel(),
            kind=np.zeros(2 * m, dtype=np.int64),
            kinds=("link",),
            bandwidth_Bps=np.repeat(np.broadcast_to(bandwidth_Bps, m), 2),
            latency_s=np.repeat(np.broadcast_to(latency_s, m), 2),
        ),
    )


def _number(where: str, data: Mapping[str, Any], key: str, default: float) -> float:
    text, dimension = _OF_EDGES[key]
    if text in data:
        if key in data or not isinstance(data[text], str):
            how = f"give {key} or {text}" if key in data else f"give it a unit, or call it {key}"
            raise NetcosimError(f"{where}: {text} = {data[text]!r}; {how}")
        try:
            return float(parse_quantity(data[text], dimension))
        except NetcosimError as error:
            raise NetcosimError(f"{where}: {text}: {error}") from None
    try:
        number = float(data.get(key, default))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NetcosimError(f"{where}: {key} = {data[key]!r}; it must be a number")
    return number


def _n_hosts(name: str, label: object, data: Mapping[str, Any]) -> int:
    given = {key: data[key] for key in HOSTS if key in data} or {"nodes": 1}
    counts = {need_int(name, f"{key} of router {label!r}", n, 0) for key, n in given.items()}
    if len(counts) > 1:
        raise NetcosimError(f"{name}: router {label!r} has nodes and hosts; give one of them")
    return counts.pop()


def _report_unread(name: str, network: nx.Graph[Any]) -> None:
    """Report numbers of a graph that are not read."""
    of_nodes = (data for _, data in network.nodes(data=True))
    of_edges = (data for *_, data in network.edges(data=True))
    read = {"routers": HOSTS, "edges": (*_OF_EDGES, *(text for text, _ in _OF_EDGES.values()))}
    for what, tables in (("routers", of_nodes), ("edges", of_edges)):
        known = {*read[what], *_OF_DRAWINGS}
        unread = {
            key: value
            for data in tables
            for key, value in data.items()
            if key not in known and _is_number(value)
        }
        for key, value in unread.items():
            warn_of_model(
                f"{name}: attribute {key!r} of {what} is not read ({value!r}); read are "
                f"{', '.join(read[what])}"
            )


def _is_number(value: object) -> bool:
    """Return whether a value is a number or begins with one, as "100 Gbit/s"."""
    return isinstance(value, (int, float, np.number)) or (
        isinstance(value, str) and value.strip()[:1].isdigit()
    )


def graph(
    network: nx.Graph[Any],
    *,
    node_bandwidth_Bps: int = LINK_BANDWIDTH_BPS,
    link_bandwidth_Bps: int = LINK_BANDWIDTH_BPS,
    node_latency_s: float = LINK_LATENCY_S,
    link_latency_s: float = LINK_LATENCY_S,
    name: str | None = None,
) -> Topology:
    """Build a topology from an undirected graph; its nodes are the routers, in its order.

    Node attribute ``nodes`` or ``hosts``: compute nodes on the router (default 1, may be 0). Edge
    attributes ``bandwidth_Bps`` and ``latency_s``, or with a unit ``bandwidth`` and ``latency``
    (optional). Parallel edges are parallel cables. Other numbers are reported by a
    `netsim.errors.ModelWarning`.
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
    counts = [_n_hosts(name, label, data) for label, data in network.nodes(data=True)]
    _report_unread(name, network)
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
    file: Annotated[str, "GraphML, GML, node-link JSON or edge list", NamesFile],
    *,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    name: Name = None,
) -> Topology:
    """Build a topology from a file in GraphML, GML or node-link JSON, or else an edge list.

    A file may be gzipped (``.gz`` at the end of its name).
    """
    path = Path(file)
    import networkx as nx

    content = read_bytes(path, limit_bytes=MAX_FILE_BYTES)
    head = content[:_HEAD_BYTES].decode("utf-8", "replace")
    refuse_foreign(path, head)
    data = io.BytesIO(content)
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    try:
        if kind == ".graphml" or "<graphml" in head:
            network = nx.read_graphml(data)
        elif kind == ".gml":
            network = nx.read_gml(data)
        elif kind == ".json" or head.lstrip().startswith("{"):
            network = _from_json(json.load(data))
        else:
            network = nx.read_edgelist(data)
    except Exception as error:
        # The readers let exceptions of their parsers pass.
        raise NetcosimError(
            f"graph file {file}: cannot be read ({error or type(error).__name__})"
        ) from error
    for key in ("node_bandwidth_Bps", "node_latency_s"):
        used = getattr(links, key)
        if network.graph.get(key, used) != used:
            line = f"{file}: {key} = {network.graph[key]} of the graph is not read ({used} is used)"
            warn_of_model(line)
    return graph(network, **asdict(links), name=name or path.stem)


def _from_json(content: dict[str, Any]) -> nx.Graph[Any]:
    """Return a graph of `networkx.node_link_data`, whose list of edges has had two names."""
    import networkx as nx

    edges = "edges" if "edges" in content else "links"
    network: nx.Graph[Any] = nx.node_link_graph(content, edges=edges)
    return network


def to_networkx(topology: Topology) -> nx.MultiGraph[Any]:
    """Return the routers of a network as a graph; see `Topology.to_networkx`."""
    import networkx as nx

    t, n = topology, 2 * topology.n_ports
    ends = [np.unique(values[:n]) for values in (t.link_bandwidth_Bps, t.link_latency_s)]
    if t.rails > 1 or any(len(values) > 1 for values in ends):
        raise NetcosimError(
            f"{t.name}: a graph of routers has a number of nodes on each: it cannot express "
            "several ports of a node, or links of nodes that differ"
        )
    labels: Sequence[Any] = range(t.n_routers)
    for key in ("labels", "switches"):
        labels = getattr(t.shape, key, labels)
    network: nx.MultiGraph[Any] = nx.MultiGraph(
        name=t.name, node_bandwidth_Bps=int(ends[0][0]), node_latency_s=float(ends[1][0])
    )
    hosts = np.bincount(t.port_router, minlength=t.n_routers).tolist()
    network.add_nodes_from((label, {"nodes": n}) for label, n in zip(labels, hosts, strict=True))
    src, dst = t.link_src[n:] - t.n_ports, t.link_dst[n:] - t.n_ports
    speed, wire = t.link_bandwidth_Bps[n:], t.link_latency_s[n:]
    forth, back = np.flatnonzero(src < dst), np.flatnonzero(src > dst)
    forth = forth[np.lexsort((wire[forth], speed[forth], dst[forth], src[forth]))]
    back = back[np.lexsort((wire[back], speed[back], src[back], dst[back]))]
    pairs = ((src, dst), (dst, src), (speed, speed), (wire, wire))
    if len(forth) != len(back) or any(np.any(a[forth] != b[back]) for a, b in pairs):
        raise NetcosimError(f"{t.name}: its links differ by direction; a graph has cables")
    for i in np.sort(forth).tolist():
        of_edge = {"bandwidth_Bps": int(speed[i]), "latency_s": float(wire[i])}
        kind = t.kinds[int(t.link_kind[n + i])]
        network.add_edge(labels[int(src[i])], labels[int(dst[i])], **of_edge, kind=kind)
    return network


def from_networkx(network: nx.Graph[Any], **parameters: Any) -> Topology:
    """Return the topology of a graph; see `Topology.from_networkx`."""
    import networkx as nx

    need_kinds("from_networkx", {"network": (network, nx.Graph)})
    of_nodes = {"node_bandwidth_Bps", "node_latency_s", "name"} & {*network.graph}
    return graph(network, **{key: network.graph[key] for key in of_nodes} | parameters)


def looks_like(path: Path, text: str) -> bool:
    """Return whether a file is GraphML, GML or node-link JSON."""
    links = '"nodes"' in text and ('"links"' in text or '"edges"' in text)
    return "<graphml" in text or links or re.search(r"^\s*graph\s*\[", text, re.M) is not None


FAMILY = Family(
    name="graph",
    description="any undirected networkx graph, or a GraphML, GML, JSON or edge-list file",
    builders=(graph_file,),
    from_object=from_networkx,
    hierarchy=lambda t: hierarchy(("router",), (t.node_router,), ([*map(str, t.shape.labels)],)),
    reads=looks_like,
)
