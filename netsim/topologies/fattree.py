"""Fat-trees of two and three levels as extended generalised fat-trees (Ohring et al., 1995)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import ReadIf
from netsim.topologies.checks import LINK_BANDWIDTH_BPS, LINK_LATENCY_S, need_int, need_size
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.family import Family, Name, NodeLinks
from netsim.topologies.positions import Layout, numbered, rows_of_levels
from netsim.topologies.rails import (
    DIFFERENT,
    RailRouters,
    Rails,
    need_rails,
    port_routers,
    routers_a_block,
)
from netsim.topology import Ports, RouterLinks, Topology, build_topology


@dataclass(frozen=True)
class FatTreeShape:
    """Parameters of a fat-tree, and the numbering of its parts.

    Node ``(pod*m2 + leaf)*m1 + i``. With several ports a node (``rails``) on different leaves,
    ``rails`` neighbouring leaves are the block of ``m1`` nodes, and port r of each is attached to
    the r-th of them (*rail-optimised*): node ``block*m1 + i``. Routers: all leaves (``pod*m2 +
    leaf``), then the L2 switches (``pod*w2 + position``), then the spines (``position*w3 +
    spine``). The spines of group ``position`` are joined to the L2 switch of that position in every
    pod.

    Links after injection and ejection come in four blocks: up1 (leaf to L2) at ``leaf*w2 +
    position``, down1 with the same order, up2 (L2 to spine) at ``(pod*w2 + position)*w3 + spine``,
    down2 with the same order. All helpers take whole numbers or arrays.
    """

    levels: int
    """2 or 3; with 2 there is one pod (m3 = 1) and no spine (w3 = 0)."""
    m1: int
    m2: int
    m3: int
    """m1, m2, m3: Nodes on a leaf, leaves a pod, pods."""
    w2: int
    w3: int
    """w2, w3: L2 switches a pod (= up-links a leaf); spines a position (= up-links an L2
    switch)."""
    rails: int = 1
    """Ports of a node."""
    rail_routers: str = DIFFERENT
    """Either "different" or "same"."""

    def __post_init__(self) -> None:
        if self.levels not in (2, 3):
            raise NetcosimError(f"fattree: levels = {shown(self.levels)}; it must be 2 or 3")
        for what in ("m1", "m2", "m3", "w2"):
            need_int("fattree", what, getattr(self, what), 1)
        need_int("fattree", "w3", self.w3, 0 if self.levels == 2 else 1)
        if self.levels == 2 and (self.m3, self.w3) != (1, 0):
            raise NetcosimError(
                f"fattree: m3 = {self.m3}, w3 = {self.w3}; two levels need m3 = 1 and w3 = 0"
            )
        need_rails("fattree", self.rails, self.rail_routers, "m2", self.m2)
        given = ", ".join(
            f"{k} = {shown(getattr(self, k))}" for k in ("m1", "m2", "m3", "w2", "w3")
        )
        need_size("fattree", given, self.n_nodes, self.n_links)

    @property
    def n_nodes(self) -> int:
        """Nodes in all."""
        return self.nodes_per_pod * self.m3

    @property
    def nodes_per_pod(self) -> int:
        """Nodes of one pod."""
        return self.m1 * self.m2 // self._block

    @property
    def n_ports(self) -> int:
        """Ports of all nodes."""
        return self.n_nodes * self.rails

    @property
    def _block(self) -> int:
        """Leaves that the ports of one node are attached to."""
        return routers_a_block(self.rails, self.rail_routers)

    @property
    def n_leaves(self) -> int:
        """Leaf switches in all."""
        return self.m2 * self.m3

    @property
    def n_l2(self) -> int:
        """L2 switches in all."""
        return self.w2 * self.m3

    @property
    def n_spines(self) -> int:
        """Spine switches in all."""
        return self.w2 * self.w3

    @property
    def n_routers(self) -> int:
        """Switches in all."""
        return self.n_leaves + self.n_l2 + self.n_spines

    @property
    def n_links(self) -> int:
        """Directed links in all."""
        return 2 * (self.n_ports + self.n_leaves * self.w2 + self.n_l2 * self.w3)

    @property
    def first_up1(self) -> int:
        """Number of the first leaf-to-L2 link."""
        return 2 * self.n_ports

    @property
    def first_down1(self) -> int:
        """Number of the first L2-to-leaf link."""
        return self.first_up1 + self.n_leaves * self.w2

    @property
    def first_up2(self) -> int:
        """Number of the first L2-to-spine link."""
        return self.first_down1 + self.n_leaves * self.w2

    @property
    def first_down2(self) -> int:
        """Number of the first spine-to-L2 link."""
        return self.first_up2 + self.n_l2 * self.w3

    def leaf_of(self, node: Any) -> Any:
        """Return the leaf (0 .. n_leaves-1) of a node's first port."""
        return node // self.m1 * self._block

    def pod_of(self, node: Any) -> Any:
        """Return the pod of a node."""
        return node // self.nodes_per_pod

    def leaf_of_port(self, port: Any) -> Any:
        """Return the leaf of a port."""
        first = port // (self.m1 * self.rails) * self._block
        return first if self._block == 1 else first + port % self.rails

    def place_of_port(self, port: Any) -> Any:
        """Return a port's number counted leaf by leaf: its own unless on different leaves."""
        if self._block == 1:
            return port
        return self.leaf_of_port(port) * self.m1 + port // self.rails % self.m1

    def leaf_up(self, leaf: Any, l2_position: Any) -> Any:
        """Return the link from a leaf up to the L2 switch at a position of its pod."""
        return self.first_up1 + leaf * self.w2 + l2_position

    def leaf_down(self, leaf: Any, l2_position: Any) -> Any:
        """Return the number of the link from that L2 switch down to the leaf."""
        return self.first_down1 + leaf * self.w2 + l2_position

    def l2_up(self, pod: Any, l2_position: Any, spine: Any) -> Any:
        """Return the number of the link from an L2 switch up to spine ``spine`` of its position."""
        return self.first_up2 + (pod * self.w2 + l2_position) * self.w3 + spine

    def l2_down(self, pod: Any, l2_position: Any, spine: Any) -> Any:
        """Return the number of the link from that spine down to the L2 switch."""
        return self.first_down2 + (pod * self.w2 + l2_position) * self.w3 + spine


Levels = Annotated[int, "levels of switches", Ge(2), Le(3)]
_THREE_LEVELS = ReadIf(("levels",), lambda levels: levels == 3, "machine.levels = 3")


@dataclass(frozen=True)
class FatTreeLinks(NodeLinks):
    """Bandwidths and latencies by level."""

    level1_bandwidth_Bps: Annotated[int, "of a link leaf to L2", Gt(0)] = LINK_BANDWIDTH_BPS
    level1_latency_s: Annotated[float, "of a wire leaf to L2", Ge(0)] = LINK_LATENCY_S
    level2_bandwidth_Bps: Annotated[int, "of a link L2 to spine", Gt(0), _THREE_LEVELS] = (
        LINK_BANDWIDTH_BPS
    )
    level2_latency_s: Annotated[float, "of a wire L2 to spine", Ge(0), _THREE_LEVELS] = (
        LINK_LATENCY_S
    )


def xgft(
    m1: Annotated[int, "nodes on a leaf", Ge(1)],
    m2: Annotated[int, "leaves a pod", Ge(1)],
    m3: Annotated[int, "pods", Ge(1)] = 1,
    w2: Annotated[int | None, "up-links a leaf; its ports to nodes if left out", Ge(1)] = None,
    w3: Annotated[int | None, "up-links an L2 switch; m2 if left out", Ge(0)] = None,
    *,
    levels: Levels = 3,
    rails: Rails = 1,
    rail_routers: RailRouters = DIFFERENT,
    links: Annotated[FatTreeLinks, "bandwidths and latencies"] = FatTreeLinks(),
    name: Name = None,
) -> Topology:
    """Build a fat-tree from its level sizes, of link kinds "up1", "down1", "up2" and "down2".

    Parameters are those of `FatTreeShape`. By default w2 = ports to nodes of a leaf (m1 with one
    port a node) and w3 = m2 (full bandwidth).
    """
    spines = (m2 if levels == 3 else 0) if w3 is None else w3
    need_rails("fattree", rails, rail_routers, "m2", m2)
    ups = m1 * rails // routers_a_block(rails, rail_routers) if w2 is None else w2
    s = FatTreeShape(levels, m1, m2, m3, ups, spines, rails, rail_routers)
    leaf = np.repeat(np.arange(s.n_leaves), s.w2)
    l2_of_leaf = s.n_leaves + (leaf // s.m2) * s.w2 + np.tile(np.arange(s.w2), s.n_leaves)
    l2 = np.repeat(s.n_leaves + np.arange(s.n_l2), s.w3)
    spine = s.n_leaves + s.n_l2 + np.tile(np.arange(s.n_spines), s.m3)
    sizes = [2 * len(leaf), 2 * len(l2)]
    on_leaf = port_routers(s.n_leaves, m1, rails, rail_routers)
    return build_topology(
        family="fattree",
        name=name or f"fattree(m1={s.m1}, m2={s.m2}, m3={s.m3}, w2={s.w2}, w3={s.w3})",
        shape=s,
        n_routers=s.n_routers,
        ports=Ports(on_leaf, links.node_bandwidth_Bps, links.node_latency_s, rails),
        links=RouterLinks(
            src=np.concatenate([leaf, l2_of_leaf, l2, spine]),
            dst=np.concatenate([l2_of_leaf, leaf, spine, l2]),
            kind=np.repeat(np.arange(4), np.array(sizes).repeat(2) // 2),
            kinds=("up1", "down1", "up2", "down2"),
            bandwidth_Bps=np.repeat(
                [links.level1_bandwidth_Bps, links.level2_bandwidth_Bps], sizes
            ),
            latency_s=np.repeat([links.level1_latency_s, links.level2_latency_s], sizes),
        ),
    )


def fat_tree(
    radix: Annotated[int, "ports of every switch, an even number", Ge(2)],
    pods: Annotated[int | None, "pods; as many as ports if left out", Ge(1)] = None,
    *,
    levels: Levels = 3,
    rails: Rails = 1,
    rail_routers: RailRouters = DIFFERENT,
    taper: Annotated[float, "up-links for each down-link of a switch", Gt(0), Le(1)] = 1.0,
    bandwidth_Bps: Annotated[int, "of every link", Gt(0)] = LINK_BANDWIDTH_BPS,
    node_bandwidth_Bps: Annotated[
        int | None, "of a link to a node; with radix, bandwidth if left out", Gt(0)
    ] = None,
    latency_s: Annotated[float, "of every wire", Ge(0)] = LINK_LATENCY_S,
    name: Name = None,
) -> Topology:
    """Build a fat-tree of switches of one radix, all links alike but those to nodes.

    Three levels: m1 = m2 = w2 = w3 = radix/2 and ``radix`` pods; with fewer pods the spines stay
    and only their links to the missing pods go. Two levels: m1 = w2 = radix/2 and ``radix`` leaves.
    With a taper below 1, w2 and w3 are rounded to whole links, at least 1. For ``rails`` and
    ``rail_routers`` see `FatTreeShape`; half the ports of a leaf go to nodes.
    """
    need_int("fattree", "radix", radix, 2)
    if radix % 2:
        raise NetcosimError(f"fattree: radix = {radix}; it must be even")
    if not 0 < taper <= 1:
        raise NetcosimError(f"fattree: taper = {taper}; it must be above 0 and at most 1")
    half = radix // 2
    up = max(1, round(half * taper))
    need_rails("fattree", rails, rail_routers, "leaves a pod", half if levels == 3 else radix)
    ports_on_leaf = rails // routers_a_block(rails, rail_routers)
    if half % ports_on_leaf:
        raise NetcosimError(
            f"fattree: rails = {rails} on the same leaf do not divide its {half} ports to nodes"
        )
    if levels == 3:
        m3 = radix if pods is None else need_int("fattree", "pods", pods, 1)
        if m3 > radix:
            raise NetcosimError(f"fattree: pods = {m3}; radix {radix} allows at most {radix}")
        m2, w3 = half, up
    else:
        if pods not in (None, 1):
            raise NetcosimError(f"fattree: pods = {pods}; two levels have no pods")
        m2, m3, w3 = radix, 1, 0
    node_Bps = bandwidth_Bps if node_bandwidth_Bps is None else node_bandwidth_Bps
    links = FatTreeLinks(node_Bps, latency_s, *2 * (bandwidth_Bps, latency_s))
    name = name or f"fattree(radix={radix}, pods={m3}, levels={levels})"
    sizes = half // ports_on_leaf, m2, m3, up, w3
    return xgft(
        *sizes, levels=levels, rails=rails, rail_routers=rail_routers, links=links, name=name
    )


def pods_and_leaves(topology: Topology) -> Hierarchy:
    """Return the hierarchy of machine, pod and leaf; a node's leaves are one domain."""
    s = topology.shape
    nodes = np.arange(s.n_nodes)
    leaf, pod = nodes // s.m1, s.pod_of(nodes)
    if s.levels == 2:
        return hierarchy(("leaf",), (leaf,))
    return hierarchy(("pod", "leaf"), (pod, leaf))


def pods_side_by_side(topology: Topology) -> Layout:
    """Place leaves at the bottom, L2 switches above them pod by pod, and spines at the top."""
    s = topology.shape
    height = np.repeat([0, 1, 2], [s.n_leaves, s.n_l2, s.n_spines])
    if s.levels == 2:
        return rows_of_levels(height, -np.ones(len(height)), (), ("leaves", "spines"))
    leaf, l2 = np.arange(s.n_leaves) // s.m2, np.arange(s.n_l2) // s.w2
    band = np.concatenate([leaf, l2, np.full(s.n_spines, -1)])
    return rows_of_levels(height, band, numbered("pod", s.m3), ("spines",))


FAMILY = Family(
    name="fattree",
    description="two- or three-level fat-tree, by radix or by level sizes (m1, m2, m3, w2, w3)",
    builders=(xgft, fat_tree),
    default_routing="d-mod-k",
    hierarchy=pods_and_leaves,
    layout=pods_side_by_side,
    keeps_jobs_to_links=True,
    small=(
        {"radix": 4},
        {"radix": 4, "pods": 3, "taper": 0.5},
        {"radix": 4, "levels": 2},
        {"m1": 2, "m2": 3, "m3": 2, "w2": 3, "w3": 2},
        {"radix": 4, "pods": 3, "rails": 2, "name": "rail-optimised"},
        {"radix": 4, "levels": 2, "rails": 2, "rail_routers": "same", "name": "two ports a leaf"},
    ),
)
