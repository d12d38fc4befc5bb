"""The frozen value that every network is: nodes, routers and directed links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.short_repr import short_repr

if TYPE_CHECKING:
    import networkx as nx

IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
_GRAPHS = "netsim.topologies.graph"
"""A family, and so named: it imports this module."""


@short_repr(
    *("name", "family", "n_nodes", "n_routers", "rails", "kinds"),
    *("link_bandwidth_Bps", "link_latency_s"),
)
@dataclass(frozen=True, eq=False)
class Topology:
    """Nodes, their ports, routers and directed links, with no notion of routing.

    A node has ``rails`` network ports: port ``r`` of node ``i`` is port ``i*rails + r`` of the
    machine. Where nodes have one port, ports and nodes are the same numbers. Vertices are numbered
    with the ports first (``0 .. n_ports-1``), then the routers (``n_ports ..
    n_ports+n_routers-1``). Links come in a fixed order: link ``i`` for ``i < n_ports`` is the
    injection link of port ``i`` (port to its router); link ``n_ports + i`` is its ejection link
    (router to port); then the router-to-router links. A cable is two links, one a direction.

    Examples
    --------
    >>> import netcosim as nc
    >>> torus: nc.Topology = nc.make_topology("torus", {"dims": [4, 4]})
    >>> torus.n_nodes, torus.n_routers, torus.kinds
    (16, 16, ('injection', 'ejection', 'd0+', 'd0-', 'd1+', 'd1-'))
    """

    family: str
    """One of "fattree", "dragonfly", "torus", "graph", ..."""
    name: str
    """What a user calls it; a preset's name or the family with its parameters."""
    shape: Any
    """The family's frozen parameters (``FatTreeShape``, ``DragonflyShape``, ...), which also answer
    index questions ("the leaf of node i")."""
    n_nodes: int
    """What allocators and queues count."""
    n_routers: int
    port_router: IntArray
    """(n_ports,) int32. Router index (0-based, *not* vertex number) that a port is attached to."""
    link_src: IntArray
    link_dst: IntArray
    """link_src, link_dst: (n_links,) int32. Vertex numbers."""
    link_bandwidth_Bps: LongArray
    """(n_links,) int64. Whole bytes per second."""
    link_latency_s: FloatArray
    """(n_links,) float64. Wire latency in seconds."""
    link_kind: NDArray[np.int8]
    """(n_links,) int8. Index into ``kinds``."""
    kinds: tuple[str, ...]
    """One of "injection", "ejection", then the family's own ("local", "global", "up", ...)."""
    rails: int = 1
    """Network ports of every node."""
    node_names: tuple[str, ...] = ()
    """What the nodes are called, by number; empty where they are their numbers."""
    scale_up: IntArray | None = None
    """(n_nodes,) int32 or None. Scale-up domain of each node (GPU), for machines that have such.
    Port 0 of each node is on the switch of its domain and has the messages inside the domain;
    messages to other domains take the other ports, those of its NIC. The links of port 0 have kinds
    of their own, "scale-up-injection" and "scale-up-ejection"."""
    nic_rail: IntArray | None = None
    """(n_nodes,) int32 or None. Rail of each node's NIC, where no switch joins the rails. A message
    to another domain and another rail then ends at port 0: the scale-up switch of its receiver
    relays it."""
    islands: IntArray | None = None
    """(n_nodes,) int32 or None. Fabric of each node where nothing joins the fabrics, the largest
    first: no job has nodes of two, and no message goes from one to another."""
    down: NDArray[np.bool_] | None = None
    """(n_links,) bool or None. Links between routers that no route may take (`netsim.faults`)."""

    @staticmethod
    def from_networkx(network: nx.Graph[Any], **parameters: Any) -> Topology:
        """Build a network from an undirected networkx graph; its nodes are the routers.

        Parameters
        ----------
        network : networkx.Graph or MultiGraph
            Attributes ``nodes`` or ``hosts`` of a router: its compute nodes (default 1, may be 0).
            Attributes ``bandwidth_Bps`` and ``latency_s`` of an edge, or ``bandwidth`` and
            ``latency`` with a unit. A `netsim.errors.ModelWarning` reports other numbers.
        **parameters
            ``node_bandwidth_Bps``, ``link_bandwidth_Bps``, ``node_latency_s``, ``link_latency_s``
            for what has no attribute, and ``name``.

        Examples
        --------
        >>> import netcosim as nc
        >>> import networkx as nx
        >>> ring = nx.cycle_graph(4)
        >>> nx.set_node_attributes(ring, 2, "hosts")
        >>> machine = nc.Topology.from_networkx(ring, link_bandwidth_Bps=10**10)
        >>> machine.n_nodes, machine.n_routers
        (8, 4)
        """
        built: Topology = import_module(_GRAPHS).from_networkx(network, **parameters)
        return built

    def to_networkx(self) -> nx.MultiGraph[Any]:
        """Return the routers and cables as a graph, from which `from_networkx` builds the network.

        Routers have the attribute ``nodes``, edges ``bandwidth_Bps``, ``latency_s`` and ``kind``;
        what the links of nodes have in common are attributes of the graph.

        Examples
        --------
        >>> import netcosim as nc
        >>> network = nc.make_topology("torus", {"dims": [4, 4]}).to_networkx()
        >>> network.number_of_nodes(), network.number_of_edges(), network.nodes[0]
        (16, 32, {'nodes': 1})
        """
        graph: nx.MultiGraph[Any] = import_module(_GRAPHS).to_networkx(self)
        return graph

    @property
    def n_rails(self) -> int:
        """Ports of a node among which a rail policy chooses: all, or those of its NIC."""
        return self.rails - (self.scale_up is not None)

    def ports_between(
        self, src_nodes: np.ndarray, dst_nodes: np.ndarray, rail: np.ndarray
    ) -> tuple[LongArray, LongArray]:
        """Return the ports from which and to which messages on these rails go."""
        out = into = np.asarray(rail, dtype=np.int64)
        if self.scale_up is not None:
            out = into = np.where(self.same_domain(src_nodes, dst_nodes), 0, out + 1)
        if self.nic_rail is not None:
            into = np.where(self.nic_rail[src_nodes] == self.nic_rail[dst_nodes], into, 0)
        return src_nodes * self.rails + out, dst_nodes * self.rails + into

    def same_domain(self, src_nodes: np.ndarray, dst_nodes: np.ndarray) -> NDArray[np.bool_]:
        """Return whether messages between nodes stay in a scale-up domain."""
        if self.scale_up is None:
            return np.zeros(len(src_nodes), dtype=np.bool_)
        return np.asarray(self.scale_up[src_nodes] == self.scale_up[dst_nodes])

    @property
    def largest_island(self) -> int:
        """Nodes of the largest fabric, which are the first ones; all of them elsewhere."""
        return self.n_nodes if self.islands is None else int(np.sum(self.islands == 0))

    def need_one_island(self, who: str, nodes: np.ndarray) -> None:
        """Raise NetcosimError if nodes are in several fabrics that nothing joins."""
        if self.islands is not None and len(np.unique(self.islands[nodes])) > 1:
            raise NetcosimError(
                f"{who} has nodes in several fabrics of {self.name}, which nothing joins"
            )

    @property
    def n_ports(self) -> int:
        """Ports of all nodes: the end points of the network."""
        return len(self.port_router)

    @property
    def node_router(self) -> IntArray:
        """(n_nodes,) int32: the router of each node's first port."""
        return self.port_router[:: self.rails]

    @property
    def first_router_link(self) -> int:
        """Number of the first link between routers."""
        return 2 * self.n_ports

    def routers_of(self, nodes: np.ndarray) -> LongArray:
        """Return the routers of all ports of these nodes, ascending."""
        ports = self.port_router.reshape(self.n_nodes, self.rails)[nodes]
        return np.unique(ports).astype(np.int64)

    @property
    def n_links(self) -> int:
        """Directed links, injection and ejection among them."""
        return len(self.link_src)

    def kind_mask(self, kind: str) -> NDArray[np.bool_]:
        """Return which links are of this kind, (n_links,) bool."""
        if kind not in self.kinds:
            raise NetcosimError(f"no link kind {kind!r} in {self.name}; valid: {self.kinds}")
        return np.asarray(self.link_kind == self.kinds.index(kind))

    def router_links(self) -> LongArray:
        """Return the links between routers that routes may take, ascending."""
        links = np.arange(self.first_router_link, self.n_links)
        return links if self.down is None else links[~self.down[links]]

    def router_out_links(self) -> tuple[IntArray, IntArray]:
        """Return the router-to-router links that leave each router as CSR (ptr, link)."""
        links = self.router_links().astype(np.int32)
        routers = self.link_src[links] - self.n_ports
        order = np.argsort(routers, kind="stable")
        ptr = np.zeros(self.n_routers + 1, dtype=np.int32)
        np.cumsum(np.bincount(routers, minlength=self.n_routers), out=ptr[1:])
        return ptr, links[order]


def _check_names(where: str, names: Sequence[str], n_nodes: int) -> None:
    """Raise NetcosimError unless there is no name, or one for each node and none twice."""
    if not names:
        return
    if len(names) != n_nodes:
        raise NetcosimError(f"{where}: {len(names)} node names for {n_nodes} nodes")
    if len(set(names)) < n_nodes:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise NetcosimError(f"{where}: node name {twice!r} is there twice")


def nodes_named(topology: Topology, names: Sequence[str]) -> LongArray:
    """Return the numbers of the nodes with these names.

    Names are compared as written; where none is the same, without case and without what follows
    the first dot, so that ``n001`` is ``n001.cluster.example``. Where the machine names no nodes,
    their numbers are their names.

    Examples
    --------
    >>> import netcosim as nc
    >>> from netsim.topology import nodes_named
    >>> torus = nc.make_topology("torus", {"dims": [4]})
    >>> nodes_named(torus, ["3", "0"]).tolist()
    [3, 0]
    """
    from netsim.hostlist import places_of

    known = topology.node_names or tuple(map(str, range(topology.n_nodes)))
    numbers = places_of(names, known)
    if not topology.node_names:  # a dot in a number begins no domain
        numbers = np.where(["." in name for name in names], -1, numbers)
    missing = list(dict.fromkeys(names[i] for i in np.flatnonzero(numbers < 0).tolist()))
    if missing:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        raise NetcosimError(
            f"{topology.name}: no node {missing[0]!r}{more}; its {topology.n_nodes:,} nodes are "
            f"{known[0]} ... {known[-1]}"
        )
    return numbers


@dataclass(frozen=True, eq=False)
class Ports:
    """Ports of the nodes, all ports of a node side by side."""

    router: np.ndarray
    """(n_nodes * rails,) int. Router index of each."""
    bandwidth_Bps: np.ndarray | int
    latency_s: np.ndarray | float
    """bandwidth_Bps, latency_s: (n_nodes * rails,) or scalar. Of the links to and from it."""
    rails: int = 1
    """Ports of every node."""


@dataclass(frozen=True, eq=False)
class RouterLinks:
    """Directed links between routers."""

    src: np.ndarray
    dst: np.ndarray
    """src, dst: (m,) int. Router indices."""
    kind: np.ndarray
    """(m,) int. Index into ``kinds``."""
    kinds: tuple[str, ...]
    bandwidth_Bps: np.ndarray | int
    latency_s: np.ndarray | float
    """bandwidth_Bps, latency_s: (m,) or scalar."""


def build_topology(
    *,
    family: str,
    name: str,
    shape: object,
    n_routers: int,
    ports: Ports,
    links: RouterLinks,
    node_names: Sequence[str] = (),
    scale_up: np.ndarray | None = None,
    nic_rail: np.ndarray | None = None,
    islands: np.ndarray | None = None,
) -> Topology:
    """Put nodes, routers and router links into the standard order, checked.

    Names of nodes are different, or there are none. For the last arguments, (n_nodes,) int32, see
    `Topology`; ``scale_up`` needs at least two ports a node, ``nic_rail`` exactly two.
    """
    port_router = np.asarray(ports.router, dtype=np.int32)
    n, rails = len(port_router), ports.rails
    if n < 1:
        raise NetcosimError(f"{name}: a topology needs at least 1 node, got {n}")
    if rails < 1 or n % rails:
        raise NetcosimError(f"{name}: {n} ports cannot be {shown(rails)} rails of whole nodes")
    _check_names(name, node_names, n // rails)
    _check_indices(name, n_routers, ports, links)
    bandwidth, latency = _speeds(name, ports, links)
    numbers, routers = np.arange(n, dtype=np.int32), n + port_router
    kinds = ("injection", "ejection", *links.kinds)
    kind = np.concatenate([np.zeros(n), np.ones(n), 2 + np.asarray(links.kind)]).astype(np.int8)
    if scale_up is not None:
        kind[:n:rails], kind[n : 2 * n : rails] = len(kinds), len(kinds) + 1
        kinds = (*kinds, "scale-up-injection", "scale-up-ejection")
    src = np.concatenate([numbers, routers, n + np.asarray(links.src)]).astype(np.int32)
    dst = np.concatenate([routers, numbers, n + np.asarray(links.dst)]).astype(np.int32)
    for array in (port_router, src, dst, bandwidth, latency, kind):
        array.flags.writeable = False
    return Topology(
        family=family,
        name=name,
        shape=shape,
        n_nodes=n // rails,
        n_routers=n_routers,
        port_router=port_router,
        link_src=src,
        link_dst=dst,
        link_bandwidth_Bps=bandwidth,
        link_latency_s=latency,
        link_kind=kind,
        kinds=kinds,
        rails=rails,
        node_names=tuple(node_names),
        scale_up=scale_up,
        nic_rail=nic_rail,
        islands=islands,
    )


def _check_indices(name: str, n_routers: int, ports: Ports, links: RouterLinks) -> None:
    """Raise NetcosimError for an index of a router or link kind that does not exist."""
    for what, index, top in (
        ("ports.router", ports.router, n_routers),
        ("links.src", links.src, n_routers),
        ("links.dst", links.dst, n_routers),
        ("links.kind", links.kind, max(1, len(links.kinds))),
    ):
        if len(index) and (np.min(index) < 0 or np.max(index) >= top):
            raise NetcosimError(f"{name}: {what} has an index outside 0..{top - 1}")


def _speeds(name: str, ports: Ports, links: RouterLinks) -> tuple[LongArray, FloatArray]:
    """Return bandwidth and latency of all links in the standard order, checked."""
    n, m = len(ports.router), len(links.src)
    bandwidth = np.empty(2 * n + m, dtype=np.int64)
    latency = np.empty(2 * n + m, dtype=np.float64)
    bandwidth[: 2 * n].reshape(2, n)[:] = ports.bandwidth_Bps
    latency[: 2 * n].reshape(2, n)[:] = ports.latency_s
    fastest = np.max(links.bandwidth_Bps, initial=0.0)
    if not fastest < 2**63:
        raise NetcosimError(f"{name}: link bandwidth {fastest:g} bytes/s cannot be counted")
    bandwidth[2 * n :] = np.rint(links.bandwidth_Bps).astype(np.int64)
    latency[2 * n :] = links.latency_s
    if bandwidth.min() < 1:
        raise NetcosimError(
            f"{name}: link bandwidth {int(bandwidth.min())} bytes/s; it must be at least 1"
        )
    if not np.all(np.isfinite(latency)) or latency.min() < 0:
        raise NetcosimError(f"{name}: link latency {latency.min()} s; it must be >= 0")
    return bandwidth, latency
