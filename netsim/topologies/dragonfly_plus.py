"""Dragonfly+ or Megafly: groups of leaf and spine routers (Shpiner 2017; Flajslik 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import OneOf
from netsim.topologies.checks import need_int, need_one_of, need_size
from netsim.topologies.domains import hierarchy
from netsim.topologies.dragonfly import (
    ARRANGEMENTS,
    SEVERAL_GROUPS,
    GroupLinks,
    global_ends,
    place_in_turn,
)
from netsim.topologies.family import Family, Name
from netsim.topologies.positions import Layout, numbered, ring_of_groups
from netsim.topologies.rails import (
    DIFFERENT,
    RailRouters,
    Rails,
    need_rails,
    port_routers,
    routers_a_block,
)
from netsim.topology import Ports, RouterLinks, Topology, build_topology

WHERE = "dragonfly-plus"


@dataclass(frozen=True)
class DragonflyPlusShape:
    """Parameters of a dragonfly+, and the numbering of its parts.

    In a group each leaf router is joined to each spine router: a complete bipartite graph.
    Nodes are attached to leaves, links between groups to spines (Shpiner et al., "Dragonfly+:
    Low Cost Topology for Scaling Datacenters", HiPINEB 2017; Flajslik, Borch, Parker, "Megafly:
    A Topology for Exascale Systems", ISC 2018).

    Node ``(group*leaves + leaf)*p + host``; with several ports a node (``rails``) on different
    leaves, ``rails`` neighbouring leaves are the block of ``p`` nodes, and port r of each is
    attached to the r-th of them: node ``block*p + host``. Routers by group, a group's leaves before
    its spines. Router-to-router links: up (leaf to spine) at ``(group*leaves + leaf)*spines +
    spine``, then down in the same order, then the global ones by group and link number.
    """

    p: int
    leaves: int
    spines: int
    h: int
    g: int
    """p, leaves, spines, h, g: Nodes on a leaf, leaves a group, spines a group, global ports a
    spine, groups."""
    arrangement: str = "absolute"
    """Which link number k of 0..g-2 leads from group s to group d: "absolute", "relative" or
    "circulant", as in `netsim.topologies.dragonfly.DragonflyShape`. Link number k sits on spine k
    div h. Where the ports suffice for several links a pair of groups, the arrangement is repeated
    (k + (g-1), ...), so that from h = g-1 on each spine has a link to every group."""
    rails: int = 1
    """Ports of a node."""
    rail_routers: str = DIFFERENT
    """Either "different" or "same"."""

    def __post_init__(self) -> None:
        for what in ("p", "leaves", "spines", "g"):
            need_int(WHERE, what, getattr(self, what), 1)
        need_int(WHERE, "h", self.h, 0 if self.g == 1 else 1)
        need_one_of(WHERE, "arrangement", self.arrangement, ARRANGEMENTS)
        if self.g > self.spines * self.h + 1:
            raise NetcosimError(
                f"{WHERE}: g = {shown(self.g)} groups; spines*h = {shown(self.spines)}*"
                f"{shown(self.h)} global ports a group allow at most spines*h+1 = "
                f"{shown(self.spines * self.h + 1)}"
            )
        need_rails(WHERE, self.rails, self.rail_routers, "leaves", self.leaves)
        names = ("p", "leaves", "spines", "h", "g")
        given = ", ".join(f"{k} = {shown(getattr(self, k))}" for k in names)
        need_size(WHERE, given, self.n_nodes, self.n_links)

    @property
    def n_nodes(self) -> int:
        """Nodes in all."""
        return self.nodes_per_group * self.g

    @property
    def n_ports(self) -> int:
        """Ports of all nodes."""
        return self.n_nodes * self.rails

    @property
    def nodes_per_group(self) -> int:
        """Nodes of one group."""
        return self.p * self.leaves // routers_a_block(self.rails, self.rail_routers)

    @property
    def routers_per_group(self) -> int:
        """Leaves and spines of one group."""
        return self.leaves + self.spines

    @property
    def n_routers(self) -> int:
        """Routers in all."""
        return self.routers_per_group * self.g

    @property
    def global_links_per_pair(self) -> int:
        """Cables between two groups."""
        return self.spines * self.h // (self.g - 1) if self.g > 1 else 0

    @property
    def global_links_per_group(self) -> int:
        """Global links that leave a group."""
        return (self.g - 1) * self.global_links_per_pair

    @property
    def first_up_link(self) -> int:
        """Number of the first link from a leaf to a spine."""
        return 2 * self.n_ports

    @property
    def first_down_link(self) -> int:
        """Number of the first link from a spine to a leaf."""
        return self.first_up_link + self.g * self.leaves * self.spines

    @property
    def first_global_link(self) -> int:
        """Number of the first link between groups."""
        return self.first_down_link + self.g * self.leaves * self.spines

    @property
    def n_links(self) -> int:
        """Directed links in all."""
        return self.first_global_link + self.g * self.global_links_per_group

    def up_link(self, group: int, leaf: int, spine: int) -> int:
        """Return the number of the link from a leaf up to a spine of its group."""
        return self.first_up_link + (group * self.leaves + leaf) * self.spines + spine

    def down_link(self, group: int, leaf: int, spine: int) -> int:
        """Return the number of the link from that spine down to the leaf."""
        return self.first_down_link + (group * self.leaves + leaf) * self.spines + spine

    def link_number(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the number in ``src`` of its ``copy``-th link to group ``dst``."""
        return copy * (self.g - 1) + place_in_turn(self.arrangement, src, dst, self.g)

    def global_spine(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the spine (0..spines-1) of group ``src`` that holds this global link."""
        return self.link_number(src, dst, copy) // self.h

    def global_link(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the number of the ``copy``-th link from group ``src`` to group ``dst``."""
        first = self.first_global_link + src * self.global_links_per_group
        return first + self.link_number(src, dst, copy)

    def global_router(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the spine of group ``src`` that holds this global link, as a router number."""
        return src * self.routers_per_group + self.leaves + self.global_spine(src, dst, copy)


def dragonfly_plus(
    p: Annotated[int, "nodes on a leaf router", Ge(1)],
    leaves: Annotated[int, "leaf routers a group", Ge(1)],
    spines: Annotated[int, "spine routers a group", Ge(1)],
    g: Annotated[int, "groups", Ge(1)],
    h: Annotated[
        int | None, "global ports a spine; one link a pair if left out", Ge(0), SEVERAL_GROUPS
    ] = None,
    *,
    arrangement: Annotated[
        str, "which spine holds the link to which group", OneOf(ARRANGEMENTS), SEVERAL_GROUPS
    ] = "absolute",
    rails: Rails = 1,
    rail_routers: RailRouters = DIFFERENT,
    links: Annotated[GroupLinks, "bandwidths and latencies"] = GroupLinks(),
    name: Name = None,
) -> Topology:
    """Build a dragonfly+ (Megafly) of link kinds "up", "down" and "global".

    Parameters are those of `DragonflyPlusShape`. By default h = ceil((g-1)/spines), one link a
    pair of groups.
    """
    need_int(WHERE, "spines", spines, 1)
    need_int(WHERE, "g", g, 1)
    ports = -(-(g - 1) // spines) if h is None else h
    s = DragonflyPlusShape(p, leaves, spines, ports, g, arrangement, rails, rail_routers)
    group, leaf, spine = (i.ravel() for i in np.indices((g, leaves, spines)))
    low = group * s.routers_per_group + leaf
    high = group * s.routers_per_group + leaves + spine
    global_src, global_dst = global_ends(s)
    sizes = [2 * len(low), len(global_src)]
    # the leaf of each port counted over all groups, then as a router
    on_leaf = port_routers(g * leaves, p, rails, rail_routers)
    on_router = on_leaf + on_leaf // leaves * spines
    return build_topology(
        family=WHERE,
        name=name or f"dragonfly-plus(p={p}, leaves={leaves}, spines={spines}, h={ports}, g={g})",
        shape=s,
        n_routers=s.n_routers,
        ports=Ports(on_router, links.node_bandwidth_Bps, links.node_latency_s, rails),
        links=RouterLinks(
            src=np.concatenate([low, high, global_src]),
            dst=np.concatenate([high, low, global_dst]),
            kind=np.repeat([0, 1, 2], [len(low), len(low), len(global_src)]),
            kinds=("up", "down", "global"),
            bandwidth_Bps=np.repeat([links.local_bandwidth_Bps, links.global_bandwidth_Bps], sizes),
            latency_s=np.repeat([links.local_latency_s, links.global_latency_s], sizes),
        ),
    )


def groups_in_a_ring(topology: Topology) -> Layout:
    """Return the groups around a ring, each an oval: its leaves on the outer half, its spines on
    the inner."""
    s = topology.shape
    group, place = np.divmod(np.arange(topology.n_routers), s.routers_per_group)
    is_spine = place >= s.leaves
    share = np.where(is_spine, (place - s.leaves + 0.5) / s.spines, (place + 0.5) / s.leaves)
    along, out = -np.cos(np.pi * share), np.sin(np.pi * share)
    return ring_of_groups(group, along, np.where(is_spine, -out, out), numbered("group", s.g))


FAMILY = Family(
    name=WHERE,
    description="dragonfly+ or Megafly: groups of leaf and spine routers (p, leaves, spines, g, h)",
    builders=(dragonfly_plus,),
    default_routing="minimal",
    hierarchy=lambda t: hierarchy(
        ("group", "leaf"), (t.node_router // t.shape.routers_per_group, t.node_router)
    ),
    layout=groups_in_a_ring,
    small=(
        {"p": 1, "leaves": 2, "spines": 2, "g": 5},
        {"p": 1, "leaves": 2, "spines": 3, "g": 4, "h": 1, "arrangement": "relative"},
        {
            "p": 2,
            "leaves": 2,
            "spines": 2,
            "g": 3,
            "h": 3,
            "arrangement": "circulant",
            "name": "three plus links a pair",
        },
        {"p": 1, "leaves": 3, "spines": 2, "g": 2, "h": 1},
        {"p": 2, "leaves": 2, "spines": 2, "g": 1},
        {
            "p": 2,
            "leaves": 2,
            "spines": 2,
            "g": 3,
            "rails": 2,
            "name": "dragonfly-plus of two rails",
        },
    ),
)
