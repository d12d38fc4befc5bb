"""Networks of named switches and nodes from files, with any cabling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.parameters import ReadIf
from netsim.topologies.checks import need_size
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.positions import Layout, by_domains, rows_of_levels
from netsim.topology import Ports, RouterLinks, Topology, build_topology

LEAF = "leaf"
GpusPerNode = Annotated[int | None, "GPUs of a node, which are then the machine's nodes", Ge(1)]
FabricName = Annotated[
    str | None,
    "a switch of the fabric to use, where a file has several that neither cables nor nodes join",
]
ScaleUpBandwidthBps = Annotated[
    int,
    "of a GPU's links to the switch of its node, in each direction",
    Gt(0),
    ReadIf(("gpus_per_node",), lambda gpus: gpus is not None, "machine.gpus_per_node is not given"),
]


@dataclass(frozen=True, eq=False)
class SwitchesShape:
    """Further data of a network file, besides its nodes and links."""

    switches: tuple[str, ...]
    """Name of each router."""
    height: NDArray[np.int64]
    """(n_routers,) int64. Levels above the leaves, which have 0."""
    domains: Hierarchy
    """Machine, then switches of one level after the other, down to the leaves."""
    notes: tuple[str, ...] = ()
    """What a user should know: what was assumed, what was left out."""
    block_sizes: tuple[int, ...] = ()
    """Nodes planned for a block and for the groups of blocks that are enforced (Slurm's
    BlockSizes); empty where a file names none."""
    gpus_per_node: int = 1
    """Consecutive nodes of the topology that are the GPUs of one server; 1: nodes are servers."""


@dataclass(frozen=True)
class Gpus:
    """GPUs of each server, and the switch that joins them."""

    per_node: int
    scale_up_bandwidth_Bps: int
    """Of a GPU's links to that switch, in each direction."""

    @classmethod
    def given(cls, per_node: int | None, scale_up_bandwidth_Bps: int) -> Gpus | None:
        """Return the GPUs of a config, if it has any."""
        return None if per_node is None else cls(per_node, scale_up_bandwidth_Bps)


@dataclass(frozen=True, eq=False)
class Wiring:
    """Switches, nodes and cables, each under its own name."""

    switches: Sequence[str]
    nodes: Sequence[str]
    node_switch: NDArray[np.integer]
    """(n_nodes, rails) int. Index of the switch of each port."""
    cables: NDArray[np.integer]
    """(m, 2) int. Indices of switches, lower level first where there are levels; parallel cables
    are rows."""
    bandwidth_Bps: ArrayLike
    latency_s: ArrayLike
    """bandwidth_Bps, latency_s: (m,) or scalar. Of the cables."""
    node_bandwidth_Bps: ArrayLike
    """(n_nodes,), (n_nodes, rails) or scalar."""
    node_latency_s: float
    height: NDArray[np.integer] | None = None
    """(n_switches,) int or None. Levels above the leaves; None: cables from the nearest switch with
    nodes."""
    notes: tuple[str, ...] = ()
    gpus: Gpus | None = None
    """What the file's nodes are where they are servers of GPUs."""
    fabric: str | None = None
    """See `FabricName`."""
    islands: NDArray[np.integer] | None = None
    """(n_nodes,) int or None. See `Topology.islands`."""


def switch_network(family: str, name: str, wiring: Wiring) -> Topology:
    """Build the topology of a wiring. Nodes are numbered leaf by leaf, neighbours side by side.

    Switches that no node is on or behind are left out. Where planes of switches meet only in the
    nodes, each plane has its own rails. Fabrics that nothing joins are islands. Links are "up" and
    "down" (between levels), "level" (within one) and, between planes, "relay"; cable i is the links
    2i along it and 2i + 1 back.
    """
    if not len(wiring.nodes):
        raise NetcosimError(f"{name}: no node is attached to a switch")
    w = replace(
        wiring,
        node_switch=np.asarray(wiring.node_switch).reshape(len(wiring.nodes), -1),
        cables=np.asarray(wiring.cables).reshape(-1, 2),
    )
    need_size(name, "the file", len(w.nodes), 2 * (w.node_switch.size + len(w.cables)))
    w = _one_fabric(name, w)
    n, rails = len(w.switches), w.node_switch.shape[1]
    node_switch, cables = w.node_switch.astype(np.int64), w.cables.astype(np.int64)
    height = _heights(n, cables, node_switch) if w.height is None else np.asarray(w.height)
    order, domains = switch_domains(w.switches, cables, height, node_switch[:, 0])
    ends = height[cables]
    kind = np.where(ends[:, 0] == ends[:, 1], 2, (ends[:, 0] > ends[:, 1]).astype(np.int64))
    back = np.where(kind == 2, 2, 1 - kind)
    # One cable from plane to plane makes one network of them. A message stays in the plane of its
    # rail: the way to another plane and back would take that cable twice. No message leaves an
    # island.
    joints = np.unique(pieces(n, cables))
    relays = np.column_stack([joints[:-1], joints[1:]])
    joined = np.concatenate([cables, relays])
    speed = np.broadcast_to(_by_node(w.node_bandwidth_Bps), node_switch.shape)[order]
    n_links = len(cables), len(relays)
    machine = build_topology(
        family=family,
        name=name,
        shape=SwitchesShape(tuple(w.switches), height.astype(np.int64), domains, w.notes),
        n_routers=n,
        node_names=[w.nodes[i] for i in order.tolist()],
        islands=None if w.islands is None else w.islands[order].astype(np.int32),
        ports=Ports(node_switch[order].ravel(), speed.ravel(), w.node_latency_s, rails),
        links=RouterLinks(
            src=joined.ravel(),
            dst=joined[:, ::-1].ravel(),
            kind=np.append(np.stack([kind, back], axis=1), np.full(2 * len(relays), 3)),
            kinds=("up", "down", "level", "relay")[: 4 if len(relays) else 3],
            bandwidth_Bps=_both_ways(n_links, w.bandwidth_Bps, speed.min()),
            latency_s=_both_ways(n_links, w.latency_s, w.node_latency_s),
        ),
    )
    return machine if w.gpus is None else gpus_of_servers(machine, w.gpus)


def _both_ways(
    n_links: tuple[int, int], of_cables: ArrayLike, of_relays: float
) -> NDArray[np.number]:
    """Return a value of each directed link, those of cables before those of relays."""
    values = np.broadcast_to(of_cables, n_links[0]), np.full(n_links[1], of_relays)
    return np.repeat(np.append(*values), 2)


def _by_node(bandwidth_Bps: ArrayLike) -> NDArray[np.int64]:
    """Return a column where there is one bandwidth a node."""
    given = np.asarray(bandwidth_Bps)
    return given[:, None] if given.ndim == 1 else given


def _one_fabric(name: str, w: Wiring) -> Wiring:
    """Return the wiring of one fabric or of islands, its ports ordered by plane.

    Planes are pieces of the network that have the same number of ports of every node. Fabrics that
    share no piece are islands; others are refused.
    """
    piece = pieces(len(w.switches), w.cables)
    planes = np.sort(piece[w.node_switch], axis=1)
    inside = _nodes_in_use(name, w, piece, planes)
    fabrics, fabric_of, sizes = np.unique(
        planes[inside], axis=0, return_inverse=True, return_counts=True
    )
    n_pieces = [len(np.unique(row)) for row in fabrics]
    if sum(n_pieces) > len(np.unique(fabrics)):
        first = [int(row[0]) for row in fabrics[:4]]
        some = ", ".join(w.switches[i] for i in first) + ", ..." * (len(fabrics) > 4)
        raise NetcosimError(
            f"{name}: the network is in {len(fabrics)} pieces; switches {some} are not "
            f'connected with each other: fabric = "{w.switches[first[0]]}" takes the one of that '
            "switch"
        )
    used = np.isin(piece, fabrics)
    if used.all() and len(n_pieces) == n_pieces[0] == 1:
        return w
    # the largest fabric first: its nodes are the machine's first
    by_size = np.argsort(-sizes, kind="stable")
    chosen_switches = np.concatenate([np.flatnonzero(np.isin(piece, fabrics[f])) for f in by_size])
    new_index = np.full(len(w.switches), -1)
    new_index[chosen_switches] = np.arange(len(chosen_switches))
    by_plane = np.argsort(piece[w.node_switch], axis=1, kind="stable")
    speed = np.broadcast_to(_by_node(w.node_bandwidth_Bps), w.node_switch.shape)
    in_use = used[w.cables[:, 0]]
    n_out, notes, islands = int(np.count_nonzero(~used)), [], None
    if len(fabrics) > 1:
        islands = np.argsort(by_size)[fabric_of.ravel()]
        largest = w.switches[fabrics[by_size[0]][0]]
        notes.append(
            f"{len(fabrics)} fabrics that nothing joins, of {span(sizes.tolist())} nodes: a job "
            f'gets nodes of one of them; fabric = "{largest}" takes that of a switch'
        )
    if n_out or not inside.all():
        notes.append(
            f"left out: {n_out:,} switches and {int(np.count_nonzero(~inside)):,} nodes that are "
            "not connected with the rest"
        )
    if max(n_pieces) > 1:
        notes.append(f"{span(n_pieces)} planes of switches, which meet in the nodes")
    return replace(
        w,
        switches=[w.switches[i] for i in chosen_switches.tolist()],
        nodes=[node for node, i in zip(w.nodes, inside, strict=True) if i],
        node_switch=new_index[np.take_along_axis(w.node_switch, by_plane, axis=1)[inside]],
        cables=new_index[w.cables[in_use]],
        bandwidth_Bps=np.broadcast_to(w.bandwidth_Bps, len(in_use))[in_use],
        latency_s=np.broadcast_to(w.latency_s, len(in_use))[in_use],
        node_bandwidth_Bps=np.take_along_axis(speed, by_plane, axis=1)[inside],
        height=None if w.height is None else np.asarray(w.height)[chosen_switches],
        islands=islands,
        notes=(*w.notes, *notes),
    )


def _nodes_in_use(
    name: str, w: Wiring, piece: NDArray[np.int64], planes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which nodes have a port on the fabric to use; all where none is named."""
    if w.fabric is None:
        return np.ones(len(planes), dtype=np.bool_)
    if w.fabric not in w.switches:
        raise NetcosimError(f"{name}: fabric = {w.fabric!r} is no switch of it")
    inside = np.asarray((planes == piece[list(w.switches).index(w.fabric)]).any(axis=1))
    if not inside.any():
        raise NetcosimError(f"{name}: fabric = {w.fabric!r}: no node is on or behind it")
    return inside


def gpus_of_servers(servers: Topology, gpus: Gpus) -> Topology:
    """Return the machine whose nodes are the GPUs of these servers.

    The ports of a server are dealt to its GPUs in order; GPUs that share a port have equal parts of
    its bandwidth. Port 0 of a GPU is on the scale-up switch of its server.
    """
    s, g, rails, n = servers, gpus.per_node, servers.rails, servers.n_nodes
    if rails % g and g % rails:
        raise NetcosimError(
            f"{s.name}: gpus_per_node = {g}; servers have {rails} ports, which {g} GPUs cannot "
            "share evenly"
        )
    sharing, own = max(1, g // rails), max(1, rails // g)
    need_size(s.name, "gpus_per_node", n * g, 2 * n * g * (1 + own) + s.n_links)
    column = (np.arange(g)[:, None] // sharing * own + np.arange(own)).ravel()
    port = (rails * np.arange(n)[:, None] + column).ravel()
    server, cables = np.arange(n * g) // g, slice(s.first_router_link, s.n_links)
    ports = np.column_stack([s.n_routers + server, s.port_router[port].reshape(-1, own)])
    speed = np.full(ports.shape, gpus.scale_up_bandwidth_Bps, dtype=np.int64)
    speed[:, 1:] = (s.link_bandwidth_Bps[port] // sharing).reshape(-1, own)
    # as in gpu_cluster: a cable a server joins all switches to one network, no message takes it
    relay = np.stack([s.n_routers + np.arange(n), s.node_router])
    relays = np.zeros(2 * n)
    domains = s.shape.domains
    rows = [*np.repeat(domains.domain[1:], g, axis=1), server]
    names = s.node_names or [str(i) for i in range(n)]
    return build_topology(
        family=s.family,
        name=s.name,
        shape=replace(
            s.shape,
            switches=(*s.shape.switches, *(f"{name} scale-up" for name in names)),
            height=np.concatenate([s.shape.height + 1, np.zeros(n, dtype=np.int64)]),
            domains=hierarchy([*domains.levels[1:], "node"], rows, [*domains.names[1:], names]),
            block_sizes=tuple(g * size for size in s.shape.block_sizes),
            gpus_per_node=g,
            notes=(*s.shape.notes, f"{n * g:,} GPUs, {g} of each of {n:,} servers"),
        ),
        n_routers=s.n_routers + n,
        node_names=[f"{name}:{i}" for name in names for i in range(g)],
        scale_up=server.astype(np.int32),
        islands=None if s.islands is None else np.repeat(s.islands, g),
        ports=Ports(ports.ravel(), speed.ravel(), s.link_latency_s[0], 1 + own),
        links=RouterLinks(
            src=np.concatenate([s.link_src[cables] - s.n_ports, *relay]),
            dst=np.concatenate([s.link_dst[cables] - s.n_ports, *relay[::-1]]),
            kind=np.append(s.link_kind[cables] - 2, np.int64(relays + len(s.kinds) - 2)),
            kinds=(*s.kinds[2:], "relay"),
            bandwidth_Bps=np.append(s.link_bandwidth_Bps[cables], relays + speed.min()),
            latency_s=np.append(s.link_latency_s[cables], relays + s.link_latency_s[0]),
        ),
    )


def pieces(n: int, cables: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the lowest switch that each switch is connected with, (n,) int64."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(cables)), (cables[:, 0], cables[:, 1])), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    lowest = np.full(n, n, dtype=np.int64)
    np.minimum.at(lowest, part, np.arange(n))
    return np.asarray(lowest[part])


def _heights(
    n: int, cables: NDArray[np.int64], node_switch: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cables from each switch to the nearest one with nodes."""
    height = np.full(n, -1, dtype=np.int64)
    height[node_switch.ravel()] = 0
    level = 0
    while (height < 0).any():
        ends = height[cables]
        for one, other in ((0, 1), (1, 0)):
            next_ones = cables[(ends[:, one] == level) & (ends[:, other] < 0), other]
            height[next_ones] = level + 1
        level += 1
    return height


def switch_domains(
    switches: Sequence[str],
    cables: NDArray[np.int64],
    height: NDArray[np.integer],
    node_switch: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Hierarchy]:
    """Return the order of nodes that puts neighbours side by side, and their domains in that order.

    A domain of level h is what switches of height h and less join: below the top of a tree that is
    a switch with all below it; where there are several parallel switches (spines of a pod), all
    that they reach downwards.
    """
    rows, labels, levels = [node_switch], [list(switches)], [LEAF]
    n, n_domains = len(switches), len(np.unique(node_switch))
    for level in range(int(height.max()) + 1):
        inside = np.all(height[cables] <= level, axis=1)
        part = pieces(n, cables[inside])
        row = part[node_switch]
        count = len(np.unique(row))
        if count == 1:
            break
        if count < n_domains:
            rows.append(row)
            labels.append(_tops(switches, height, part, level))
            levels.append(f"level-{level}")
        n_domains = count
    order = np.lexsort([np.arange(len(node_switch)), *rows])
    return order, hierarchy(levels[::-1], [row[order] for row in rows[::-1]], labels[::-1])


def _tops(
    switches: Sequence[str], height: NDArray[np.integer], part: NDArray[np.int64], level: int
) -> list[str]:
    """Name the domains of a level after their top switches, at the index of their lowest switch."""
    names = list(switches)
    for piece in np.unique(part).tolist():
        inside = np.flatnonzero(part == piece)
        tops = inside[height[inside] == height[inside].max()].tolist()
        names[piece] = switches[tops[0]] + (f" and {len(tops) - 1} more" if tops[1:] else "")
    return names


def domains_of(topology: Topology) -> Hierarchy:
    """Return the domains that the shape holds."""
    domains: Hierarchy = topology.shape.domains
    return domains


def layout_of_levels(topology: Topology) -> Layout:
    """Place levels as rows with the widest domains side by side; a single level by domains."""
    height, domains = topology.shape.height, topology.shape.domains
    if not height.any():
        return by_domains(topology, domains)
    top = 1 if len(domains.levels) > 2 else 0
    band = np.full(topology.n_routers, -1, dtype=np.int64)
    nodes = np.arange(topology.n_ports) // topology.rails
    band[topology.port_router[::-1]] = domains.domain[top][nodes[::-1]]
    links = slice(topology.first_router_link, None)
    src, dst = (ends[links] - topology.n_ports for ends in (topology.link_src, topology.link_dst))
    for level in range(1, int(height.max()) + 1):
        links_to_level = (height[src] < height[dst]) & (height[dst] == level)
        for switch in np.unique(dst[links_to_level & (band[dst] < 0)]).tolist():
            below = np.unique(band[src[links_to_level & (dst == switch)]])
            if len(below) == 1 and top:
                band[switch] = below[0]
    names = [domains.name(top, i) for i in range(domains.counts[top])]
    above = [f"level {level}" for level in np.unique(height[band < 0]).tolist()]
    return rows_of_levels(height, band, names, above)


def notes_of(topology: Topology) -> tuple[str, ...]:
    """Return the notes that the shape holds."""
    notes: tuple[str, ...] = topology.shape.notes
    return notes


def span(numbers: Iterable[int]) -> str:
    """Format the range of several numbers as "14 to 40", or "18" where all are equal."""
    distinct = sorted(set(numbers))
    return f"{distinct[0]:,}" if len(distinct) == 1 else f"{distinct[0]:,} to {distinct[-1]:,}"
