"""Dragonfly: groups of routers, global links between groups (Kim et al., ISCA 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import OneOf, ReadIf
from netsim.topologies.checks import (
    LINK_BANDWIDTH_BPS,
    LINK_LATENCY_S,
    need_int,
    need_one_of,
    need_size,
)
from netsim.topologies.domains import hierarchy
from netsim.topologies.family import Family, Name, NodeLinks
from netsim.topologies.positions import Layout, numbered, oval, places, ring_of_groups
from netsim.topologies.rails import (
    DIFFERENT,
    RailRouters,
    Rails,
    need_rails,
    port_routers,
    routers_a_block,
)
from netsim.topology import Ports, RouterLinks, Topology, build_topology

Links = NDArray[np.int64]
ARRANGEMENTS = ("absolute", "relative", "circulant")
GROUPS = ("all-to-all", "aries")
ARIES_SLOTS, ARIES_CHASSIS = 16, 6
ARIES_COLUMN_CABLES = 3


def place_in_turn(arrangement: str, src: int, dst: int, g: int) -> int:
    """Return which of group ``src``'s g - 1 links leads to group ``dst`` (see `DragonflyShape`)."""
    if arrangement == "absolute":
        return dst if dst < src else dst - 1
    if arrangement == "relative":
        return (dst - src - 1) % g
    ahead = (dst - src) % g
    return 2 * (ahead - 1) if 2 * ahead <= g else 2 * (g - ahead - 1) + 1


SEVERAL_GROUPS = ReadIf(("g",), lambda g: g > 1, "machine.g is above 1")


@dataclass(frozen=True)
class DragonflyShape:
    """Parameters of a dragonfly, and the numbering of its parts.

    Node ``(group*a + router)*p + host``; router ``group*a + router``. With several ports a node
    (``rails``) on different routers, ``rails`` neighbouring routers are the block of ``p`` nodes,
    and port r of each is attached to the r-th of them: node ``block*p + host``. Router-to-router
    links: first the local ones, by group, sending router, then receiving router; then the
    global ones, by group and link number (`global_link`).
    """

    p: int
    a: int
    h: int
    g: int
    """p, a, h, g: Nodes on a router, routers a group, global ports a router, groups."""
    arrangement: str = "absolute"
    """Which link number leads from group s to group d. "absolute": d if d < s else d - 1;
    "relative": (d - s - 1) mod g; "circulant": link k leads to s + (-1)^k (k div 2 + 1) (Hastings
    et al., CLUSTER 2015). Link number k sits on router k div h of the group, global port k mod h.
    Where the ports suffice for several links a pair of groups, the arrangement is repeated (k +
    (g-1), ...)."""
    group: str = "all-to-all"
    """Either "all-to-all", or "aries": 6 chassis of 16 routers, all-to-all in a chassis and among
    the routers of the same slot (local router = 16*chassis + slot)."""
    rails: int = 1
    """Ports of a node."""
    rail_routers: str = DIFFERENT
    """Either "different" or "same"."""

    def __post_init__(self) -> None:
        for what, low in (("p", 1), ("a", 1), ("h", 0 if self.g == 1 else 1), ("g", 1)):
            need_int("dragonfly", what, getattr(self, what), low)
        need_one_of("dragonfly", "arrangement", self.arrangement, ARRANGEMENTS)
        need_one_of("dragonfly", "group", self.group, GROUPS)
        if self.g > self.a * self.h + 1:
            raise NetcosimError(
                f"dragonfly: g = {shown(self.g)} groups; a*h = {shown(self.a)}*{shown(self.h)} "
                f"global ports a group allow at most a*h+1 = {shown(self.a * self.h + 1)}"
            )
        if self.group == "aries" and self.a != ARIES_SLOTS * ARIES_CHASSIS:
            raise NetcosimError(
                f"dragonfly: a = {shown(self.a)}; an aries group has "
                f"{ARIES_SLOTS * ARIES_CHASSIS} routers"
            )
        need_rails("dragonfly", self.rails, self.rail_routers, "a", self.a)
        given = ", ".join(f"{k} = {shown(getattr(self, k))}" for k in ("p", "a", "h", "g"))
        need_size("dragonfly", given, self.n_nodes, self.n_links)

    @property
    def n_nodes(self) -> int:
        """Nodes in all."""
        return self.nodes_per_group * self.g

    @property
    def n_ports(self) -> int:
        """Ports of all nodes."""
        return self.n_nodes * self.rails

    @property
    def n_routers(self) -> int:
        """Routers in all."""
        return self.a * self.g

    @property
    def nodes_per_group(self) -> int:
        """Nodes of one group."""
        return self.p * self.a // routers_a_block(self.rails, self.rail_routers)

    @property
    def global_links_per_pair(self) -> int:
        """Cables between two groups."""
        return self.a * self.h // (self.g - 1) if self.g > 1 else 0

    @property
    def local_degree(self) -> int:
        """Local links that leave a router."""
        if self.group == "aries":
            return ARIES_SLOTS - 1 + ARIES_CHASSIS - 1
        return self.a - 1

    @property
    def n_links(self) -> int:
        """Directed links in all."""
        return self.first_global_link + self.g * self.global_links_per_group

    @property
    def first_local_link(self) -> int:
        """Number of the first local link."""
        return 2 * self.n_ports

    @property
    def first_global_link(self) -> int:
        """Number of the first global link."""
        return self.first_local_link + self.n_routers * self.local_degree

    @property
    def global_links_per_group(self) -> int:
        """Global links that leave a group."""
        return (self.g - 1) * self.global_links_per_pair

    def local_neighbours(self, r: int) -> list[int]:
        """Return the local routers (0..a-1) that ``r`` has a link to, ascending."""
        if self.group == "aries":
            chassis, slot = divmod(r, ARIES_SLOTS)
            return [
                t
                for t in range(self.a)
                if t != r and (t // ARIES_SLOTS == chassis or t % ARIES_SLOTS == slot)
            ]
        return [t for t in range(self.a) if t != r]

    def local_step(self, r: int, t: int) -> int:
        """Return the next local router from ``r`` on the path to ``t`` (``r != t``).

        In an aries group, paths follow the chassis first, then the slot.
        """
        if self.group == "aries":
            chassis, slot = divmod(r, ARIES_SLOTS)
            if t % ARIES_SLOTS != slot:
                return chassis * ARIES_SLOTS + t % ARIES_SLOTS
        return t

    def local_hops(self, r: int, t: int) -> int:
        """Return the links on the path within a group from local router ``r`` to ``t``."""
        hops = 0
        while r != t:
            r, hops = self.local_step(r, t), hops + 1
        return hops

    def local_link(self, group: int, r: int, t: int) -> int:
        """Return the number of the link between neighbours ``r`` and ``t`` of a group."""
        place = self.local_neighbours(r).index(t)
        return self.first_local_link + (group * self.a + r) * self.local_degree + place

    def link_number(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the number in group ``src`` of its ``copy``-th link to group ``dst``."""
        return copy * (self.g - 1) + place_in_turn(self.arrangement, src, dst, self.g)

    def global_router(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the router of group ``src``, over all groups, that has this global link."""
        return src * self.a + self.link_number(src, dst, copy) // self.h

    def global_link(self, src: int, dst: int, copy: int = 0) -> int:
        """Return the number of the ``copy``-th link from group ``src`` to group ``dst``."""
        k = self.link_number(src, dst, copy)
        return self.first_global_link + src * self.global_links_per_group + k


@dataclass(frozen=True)
class GroupLinks(NodeLinks):
    """Bandwidths and latencies of a network of groups."""

    local_bandwidth_Bps: Annotated[int, "of a link in a group", Gt(0)] = LINK_BANDWIDTH_BPS
    local_latency_s: Annotated[float, "of a wire in a group", Ge(0)] = LINK_LATENCY_S
    global_bandwidth_Bps: Annotated[int, "of a link between groups", Gt(0), SEVERAL_GROUPS] = (
        LINK_BANDWIDTH_BPS
    )
    global_latency_s: Annotated[float, "of a wire between groups", Ge(0), SEVERAL_GROUPS] = (
        LINK_LATENCY_S
    )


def dragonfly(
    p: Annotated[int, "nodes on a router", Ge(1)],
    a: Annotated[int, "routers a group", Ge(1)],
    g: Annotated[int, "groups", Ge(1)],
    h: Annotated[
        int | None, "global ports a router; one link a pair if left out", Ge(0), SEVERAL_GROUPS
    ] = None,
    *,
    arrangement: Annotated[
        str, "which router holds the link to which group", OneOf(ARRANGEMENTS), SEVERAL_GROUPS
    ] = "absolute",
    group: Annotated[str, "how the routers of a group are joined", OneOf(GROUPS)] = "all-to-all",
    rails: Rails = 1,
    rail_routers: RailRouters = DIFFERENT,
    links: Annotated[GroupLinks, "bandwidths and latencies"] = GroupLinks(),
    name: Name = None,
) -> Topology:
    """Build a dragonfly of link kinds "local" and "global".

    Parameters are those of `DragonflyShape`. By default h = ceil((g-1)/a), one link a pair of
    groups. In an aries group, the three parallel cables of a column are one link of three times
    the local bandwidth.
    """
    need_int("dragonfly", "a", a, 1)
    need_int("dragonfly", "g", g, 1)
    ports = -(-(g - 1) // a) if h is None else h
    s = DragonflyShape(p, a, ports, g, arrangement, group, rails, rail_routers)
    local_src, local_dst = _local_ends(s)
    global_src, global_dst = global_ends(s)
    sizes = [len(local_src), len(global_src)]
    bandwidth_Bps = np.repeat([links.local_bandwidth_Bps, links.global_bandwidth_Bps], sizes)
    if group == "aries":
        column = local_src // ARIES_SLOTS != local_dst // ARIES_SLOTS
        bandwidth_Bps[: sizes[0]][column] *= ARIES_COLUMN_CABLES
    on_router = port_routers(s.n_routers, p, rails, rail_routers)
    return build_topology(
        family="dragonfly",
        name=name or f"dragonfly(p={p}, a={a}, h={ports}, g={g})",
        shape=s,
        n_routers=s.n_routers,
        ports=Ports(on_router, links.node_bandwidth_Bps, links.node_latency_s, rails),
        links=RouterLinks(
            src=np.concatenate([local_src, global_src]),
            dst=np.concatenate([local_dst, global_dst]),
            kind=np.repeat([0, 1], sizes),
            kinds=("local", "global"),
            bandwidth_Bps=bandwidth_Bps,
            latency_s=np.repeat([links.local_latency_s, links.global_latency_s], sizes),
        ),
    )


def _local_ends(s: DragonflyShape) -> tuple[Links, Links]:
    """Return both routers of each local link: by group, sending router, receiving router."""
    src = np.repeat(np.arange(s.a), s.local_degree)
    dst = np.array([t for r in range(s.a) for t in s.local_neighbours(r)], dtype=np.int64)
    first = np.repeat(np.arange(s.g) * s.a, len(src))
    return first + np.tile(src, s.g), first + np.tile(dst, s.g)


def global_ends(shape: Any) -> tuple[Links, Links]:
    """Return both routers of each global link of a dragonfly or dragonfly+, by group and number."""
    between = [
        (src, dst, copy)
        for src, dst in permutations(range(shape.g), 2)
        for copy in range(shape.global_links_per_pair)
    ]
    between.sort(key=lambda link: (link[0], shape.link_number(*link)))
    src = [shape.global_router(a, b, copy) for a, b, copy in between]
    dst = [shape.global_router(b, a, copy) for a, b, copy in between]
    return np.array(src, dtype=np.int64), np.array(dst, dtype=np.int64)


def groups_in_a_ring(topology: Topology) -> Layout:
    """Place groups around a ring, each with its routers in an oval, or by chassis for aries."""
    s = topology.shape
    group, router = np.divmod(np.arange(topology.n_routers), s.a)
    along, out = oval(*places(group))
    if s.group == "aries":
        chassis, slot = np.divmod(router, ARIES_SLOTS)
        along, out = 2 * slot / (ARIES_SLOTS - 1) - 1, 2 * chassis / (ARIES_CHASSIS - 1) - 1
    return ring_of_groups(group, along, out, numbered("group", s.g))


FAMILY = Family(
    name="dragonfly",
    description="groups of routers joined by global links (p, a, g, h)",
    builders=(dragonfly,),
    default_routing="minimal",
    hierarchy=lambda t: hierarchy(("group", "router"), (t.node_router // t.shape.a, t.node_router)),
    layout=groups_in_a_ring,
    small=(
        {"p": 1, "a": 2, "g": 5},
        {"p": 2, "a": 2, "g": 3, "h": 1, "arrangement": "relative"},
        {"p": 1, "a": 2, "g": 4, "h": 3, "arrangement": "circulant", "name": "two links a pair"},
        {"p": 1, "a": 3, "g": 2, "h": 1},
        {"p": 2, "a": 3, "g": 1},
        {"p": 1, "a": 4, "g": 3, "rails": 2, "name": "two rails"},
        {"p": 1, "a": 2, "g": 3, "rails": 3, "rail_routers": "same", "name": "three rails"},
    ),
)
