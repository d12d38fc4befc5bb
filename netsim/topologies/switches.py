"""Networks of named switches and nodes from files, with any cabling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.topologies.checks import need_size
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.positions import Layout, by_domains, rows_of_levels
from netsim.topology import Topology, build_topology

LEAF = "leaf"


@dataclass(frozen=True, eq=False)
class SwitchesShape:
    """Further data of a network file, besides its nodes and links.

    Attributes
    ----------
    switches : tuple of str
        Name of each router.
    height : (n_routers,) int64
        Levels above the leaves, which have 0.
    domains : Hierarchy
        Machine, then switches of one level after the other, down to the leaves.
    notes : tuple of str
        What a user should know: what was assumed, what was left out.
    block_sizes : tuple of int
        Nodes planned for a block and for the groups of blocks that are enforced (Slurm's
        BlockSizes); empty where a file names none.
    """

    switches: tuple[str, ...]
    height: NDArray[np.int64]
    domains: Hierarchy
    notes: tuple[str, ...] = ()
    block_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Wiring:
    """Switches, nodes and cables, each under its own name.

    Attributes
    ----------
    switches : sequence of str
    nodes : sequence of str
    node_switch : (n_nodes, rails) int
        Index of the switch of each port.
    cables : (m, 2) int
        Indices of switches, lower level first where there are levels; parallel cables are rows.
    bandwidth_Bps, latency_s : (m,) or scalar
        Of the cables.
    node_bandwidth_Bps : (n_nodes,) or scalar
    node_latency_s : float
    height : (n_switches,) int or None
        Levels above the leaves; None: cables from the nearest switch with nodes.
    notes : tuple of str
    """

    switches: Sequence[str]
    nodes: Sequence[str]
    node_switch: NDArray[np.integer]
    cables: NDArray[np.integer]
    bandwidth_Bps: ArrayLike
    latency_s: ArrayLike
    node_bandwidth_Bps: ArrayLike
    node_latency_s: float
    height: NDArray[np.integer] | None = None
    notes: tuple[str, ...] = ()


def switch_network(family: str, name: str, wiring: Wiring) -> Topology:
    """Build the topology of a wiring. Nodes are numbered leaf by leaf, neighbours side by side.

    Returns
    -------
    Topology
        Link kinds "up" and "down" (between levels) and "level" (within one); cable i is the links
        2i along it and 2i + 1 back.

    Raises
    ------
    NetcosimError
        No node, a network in several pieces, too many links, and as
        `netsim.topology.build_topology`.
    """
    w = wiring
    n = len(w.switches)
    node_switch = np.asarray(w.node_switch, dtype=np.int64).reshape(len(w.nodes), -1)
    cables = np.asarray(w.cables, dtype=np.int64).reshape(-1, 2)
    if not len(w.nodes):
        raise NetcosimError(f"{name}: no node is attached to a switch")
    rails = node_switch.shape[1]
    need_size(name, "the file", len(w.nodes), 2 * (node_switch.size + len(cables)))
    _need_connected(name, w.switches, cables)
    height = _heights(n, cables, node_switch) if w.height is None else np.asarray(w.height)
    order, domains = switch_domains(w.switches, cables, height, node_switch[:, 0])
    ends = height[cables]
    kind = np.where(ends[:, 0] == ends[:, 1], 2, (ends[:, 0] > ends[:, 1]).astype(np.int64))
    back = np.where(kind == 2, 2, 1 - kind)
    node_bandwidth = np.broadcast_to(np.asarray(w.node_bandwidth_Bps), len(w.nodes))[order]
    return build_topology(
        family=family,
        name=name,
        shape=SwitchesShape(tuple(w.switches), height.astype(np.int64), domains, w.notes),
        port_router=node_switch[order].ravel(),
        n_routers=n,
        router_src=cables.ravel(),
        router_dst=cables[:, ::-1].ravel(),
        router_kind=np.stack([kind, back], axis=1).ravel(),
        router_kinds=("up", "down", "level"),
        router_bandwidth_Bps=np.repeat(np.broadcast_to(w.bandwidth_Bps, len(cables)), 2),
        router_latency_s=np.repeat(np.broadcast_to(w.latency_s, len(cables)), 2),
        node_bandwidth_Bps=np.repeat(node_bandwidth, rails),
        node_latency_s=w.node_latency_s,
        rails=rails,
        node_names=[w.nodes[i] for i in order.tolist()],
    )


def pieces(n: int, cables: NDArray[np.integer]) -> NDArray[np.int64]:
    """(n,) int64: the lowest switch that each switch is connected with."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(cables)), (cables[:, 0], cables[:, 1])), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    lowest = np.full(n, n, dtype=np.int64)
    np.minimum.at(lowest, part, np.arange(n))
    return np.asarray(lowest[part])


def _need_connected(name: str, switches: Sequence[str], cables: NDArray[np.int64]) -> None:
    found = np.unique(pieces(len(switches), cables))
    if len(found) > 1:
        some = ", ".join(switches[i] for i in found[:4].tolist())
        more = ", ..." if len(found) > 4 else ""
        raise NetcosimError(
            f"{name}: the network is in {len(found)} pieces; switches {some}{more} are not "
            "connected with each other"
        )


def _heights(
    n: int, cables: NDArray[np.int64], node_switch: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cables from each switch to the nearest one with nodes."""
    height = np.full(n, -1, dtype=np.int64)
    height[node_switch.ravel()] = 0
    level = 0
    while (height < 0).any():
        ends = height[cables]
        for here, there in ((0, 1), (1, 0)):
            next_ones = cables[(ends[:, here] == level) & (ends[:, there] < 0), there]
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
    """The names of the domains of a level, at their lowest switch, after their top switches."""
    found = list(switches)
    for piece in np.unique(part).tolist():
        inside = np.flatnonzero(part == piece)
        tops = inside[height[inside] == height[inside].max()].tolist()
        found[piece] = switches[tops[0]] + (f" and {len(tops) - 1} more" if tops[1:] else "")
    return found


def domains_of(topology: Topology) -> Hierarchy:
    """Return the domains that the shape holds."""
    domains: Hierarchy = topology.shape.domains
    return domains


def layout_of_levels(topology: Topology) -> Layout:
    """Levels as rows, the widest domains side by side; a network of one level by its domains."""
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
        here = (height[src] < height[dst]) & (height[dst] == level)
        for switch in np.unique(dst[here & (band[dst] < 0)]).tolist():
            below = np.unique(band[src[here & (dst == switch)]])
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
    found = sorted(set(numbers))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
