"""Clusters of GPUs: scale-up networks inside nodes or racks, and a leaf-spine fabric between."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isclose
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import OneOf, ReadIf
from netsim.topologies.checks import SCALE_UP_BPS, need_int, need_one_of, need_size
from netsim.topologies.domains import Hierarchy, hierarchy
from netsim.topologies.family import Family, Name
from netsim.topologies.positions import Layout, numbered, rows_of_levels
from netsim.topology import Ports, RouterLinks, Topology, build_topology

WHERE = "gpu-cluster"
RAIL, LEAF, RAIL_ONLY = FABRICS = ("rail", "leaf", "rail-only")

NIC_BPS = 50 * 10**9
"""A NIC of 400 Gbit/s."""

SCALE_UP_LATENCY_S, NIC_LATENCY_S = 25e-9, 500e-9
"""Of a wire (SimAI)."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class GpuClusterShape:
    """Parameters of a GPU cluster, and the numbering of its parts.

    GPU ``node*gpus_per_node + r`` has rail ``r``. A *segment* is the nodes that share leaves: with
    fabric "rail" and "rail-only" it has one leaf a rail, with "leaf" one in all. Spines join the
    leaves of a pod, with "rail-only" those of each rail separately; cores join the spines of one
    position of all pods. Each of the ``planes`` has leaves, spines and cores of its own.

    Routers: scale-up switches, one a domain; leaves ``(plane*n_segments + segment)*n_rails +
    rail``; spines ``((plane*n_pods + pod)*n_groups + group)*spines + position``; cores ``((plane*
    n_groups + group)*spines + position)*cores + i``. A group is a rail of "rail-only", else all.
    """

    fabric: str
    """One of `FABRICS`."""
    nodes: int
    gpus_per_node: int
    scale_up_domain: int
    """GPUs on a scale-up switch."""
    nodes_per_leaf: int
    nodes_per_pod: int
    """nodes_per_leaf, nodes_per_pod: Nodes of a segment and of a pod; the last ones may have
    fewer."""
    spines: int
    """Up-links of a leaf; 0 where each pod (and rail) has one leaf."""
    cores: int
    """Up-links of a spine; 0 with one pod."""
    planes: int
    notes: tuple[str, ...] = ()
    """Ratios that whole spines and cores do not meet exactly."""

    @property
    def n_gpus(self) -> int:
        """GPUs in all, the nodes of the topology."""
        return self.nodes * self.gpus_per_node

    @property
    def n_domains(self) -> int:
        """Scale-up switches."""
        return ceil(self.n_gpus / self.scale_up_domain)

    @property
    def n_rails(self) -> int:
        """Leaves of a segment and plane."""
        return 1 if self.fabric == LEAF else self.gpus_per_node

    @property
    def n_groups(self) -> int:
        """Separate sets of spines of a pod and plane."""
        return self.gpus_per_node if self.fabric == RAIL_ONLY else 1

    @property
    def n_segments(self) -> int:
        """Sets of nodes that share leaves."""
        return ceil(self.nodes / self.nodes_per_leaf)

    @property
    def n_pods(self) -> int:
        """Sets of nodes below the same spines."""
        return ceil(self.nodes / self.nodes_per_pod)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Number of scale-up switches, leaves, spines and cores."""
        above = self.planes * self.n_groups * self.spines
        leaves = self.planes * self.n_segments * self.n_rails
        return self.n_domains, leaves, above * self.n_pods, above * self.cores

    def leaf(self, gpu: Any, plane: Any) -> Any:
        """Return the leaf of a GPU in a plane, as a router number."""
        node, rail = np.divmod(gpu, self.gpus_per_node)
        segment = plane * self.n_segments + node // self.nodes_per_leaf
        return self.n_domains + segment * self.n_rails + rail % self.n_rails

    def leaf_links(self) -> tuple[Numbers, Numbers]:
        """Return the leaf and the spine of each cable between them."""
        leaves = np.arange(self.sizes[1])
        segment, rail = np.divmod(leaves, self.n_rails)
        plane, segment = np.divmod(segment, self.n_segments)
        pod = segment * self.nodes_per_leaf // self.nodes_per_pod
        first = ((plane * self.n_pods + pod) * self.n_groups + rail % self.n_groups) * self.spines
        spine = (first[:, None] + np.arange(self.spines)).ravel()
        return self.n_domains + np.repeat(leaves, self.spines), sum(self.sizes[:2]) + spine

    def spine_links(self) -> tuple[Numbers, Numbers]:
        """Return the spine and the core of each cable between them."""
        spines = np.arange(self.sizes[2])
        group, position = np.divmod(spines, max(self.spines, 1))
        pod, group = np.divmod(group, self.n_groups)
        first = (pod // self.n_pods * self.n_groups + group) * self.spines + position
        core = (first[:, None] * self.cores + np.arange(self.cores)).ravel()
        return sum(self.sizes[:2]) + np.repeat(spines, self.cores), sum(self.sizes[:3]) + core

    def relays(self) -> tuple[Numbers, Numbers]:
        """Return both ends of each cable between scale-up switch and leaf, or between planes."""
        step = 1 if self.fabric == RAIL_ONLY else self.scale_up_domain
        gpus = np.arange(0, self.n_gpus, step)
        # one cable a plane joins it with plane 0: a second one could close a ring of waits
        plane = np.arange(1, self.planes)
        low = np.concatenate([gpus // self.scale_up_domain, self.leaf(0 * plane, 0)])
        return low, np.concatenate([self.leaf(gpus, 0), self.leaf(0 * plane, plane)])


@dataclass(frozen=True)
class ScaleUp:
    """Network that joins neighbouring GPUs by one switch, such as NVLink."""

    scale_up_domain: Annotated[
        int | None, "GPUs that a scale-up switch joins; those of a node if left out", Ge(1)
    ] = None
    scale_up_bandwidth_Bps: Annotated[
        int, "of a GPU's links to the scale-up switch, in each direction", Gt(0)
    ] = SCALE_UP_BPS
    scale_up_latency_s: Annotated[
        float, "of the wire between a GPU and the scale-up switch", Ge(0)
    ] = SCALE_UP_LATENCY_S


@dataclass(frozen=True)
class Nics:
    """NICs of a node."""

    nics_per_node: Annotated[int | None, "NICs of a node; one a GPU if left out", Ge(1)] = None
    nic_bandwidth_Bps: Annotated[int, "of a NIC, all its ports together", Gt(0)] = NIC_BPS
    nic_latency_s: Annotated[float, "of the wire between a NIC and a leaf", Ge(0)] = NIC_LATENCY_S
    planes: Annotated[int, "ports of a NIC, each in a fabric of its own", Ge(1)] = 1

    def port_bandwidth(self, gpus_per_node: int) -> int:
        """Return the bandwidth of a GPU in each plane, in bytes a second."""
        nics = gpus_per_node if self.nics_per_node is None else self.nics_per_node
        return self.nic_bandwidth_Bps * nics // (gpus_per_node * self.planes)


_SEVERAL_LEAVES = ReadIf(
    ("fabric", "nodes", "nodes_per_leaf"),
    lambda fabric, nodes, some: fabric == RAIL or (some is not None and some < nodes),
    'machine.nodes_per_leaf is below machine.nodes, or machine.fabric = "rail"',
)
_SEVERAL_PODS = ReadIf(
    ("nodes", "nodes_per_pod"),
    lambda nodes, some: some is not None and some < nodes,
    "machine.nodes_per_pod is below machine.nodes",
)


@dataclass(frozen=True)
class GpuFabric:
    """Switches that join the NICs."""

    fabric: Annotated[
        str,
        "rail: GPU r of each node on leaf r; leaf: all GPUs of a node on one leaf; rail-only: as "
        "rail, without a switch that joins rails",
        OneOf(FABRICS),
    ] = RAIL
    nodes_per_leaf: Annotated[int | None, "nodes that share leaves; all if left out", Ge(1)] = None
    nodes_per_pod: Annotated[int | None, "nodes below the same spines; all if left out", Ge(1)] = (
        None
    )
    spines: Annotated[
        int | None, "up-links of a leaf; by oversubscription if left out", Ge(1), _SEVERAL_LEAVES
    ] = None
    oversubscription: Annotated[
        float,
        "bandwidth to GPUs over bandwidth to spines, of a leaf",
        Gt(0),
        ReadIf(("spines",), lambda spines: spines is None, "machine.spines is not given"),
        _SEVERAL_LEAVES,
    ] = 1.0
    core_oversubscription: Annotated[
        float, "bandwidth to leaves over bandwidth to cores, of a spine", Gt(0), _SEVERAL_PODS
    ] = 1.0
    fabric_bandwidth_Bps: Annotated[
        int | None, "of a link between switches; a NIC's port if left out", Gt(0)
    ] = None
    fabric_latency_s: Annotated[float, "of a wire between switches", Ge(0)] = NIC_LATENCY_S


def gpu_cluster(
    nodes: Annotated[int, "servers or trays of GPUs", Ge(1)],
    *,
    gpus_per_node: Annotated[int, "GPUs of a node", Ge(1)] = 8,
    scale_up: Annotated[ScaleUp, "see the class"] = ScaleUp(),
    nics: Annotated[Nics, "see the class"] = Nics(),
    fabric: Annotated[GpuFabric, "see the class"] = GpuFabric(),
    name: Name = None,
) -> Topology:
    """Build a cluster whose nodes, in the topology, are GPUs.

    Port 0 of a GPU is on the scale-up switch of its domain, the others on leaves, one in each
    plane. GPUs that share a NIC have an equal part of its bandwidth each; several NICs of a GPU are
    one of their bandwidth.

    Links are "relay", "leaf-up", "leaf-down", "spine-up" and "spine-down"; see
    `netsim.topology.Topology` for those of GPUs. With fabric "rail-only" relays from leaves to
    scale-up switches carry messages to other rails. Otherwise one a domain, and one a plane, only
    join all switches to one network; they carry no message.
    """
    s = _shape(nodes, gpus_per_node, scale_up, nics, fabric)
    planes, kind = s.planes, s.fabric
    port_Bps = nics.port_bandwidth(gpus_per_node)
    link_Bps = port_Bps if fabric.fabric_bandwidth_Bps is None else fabric.fabric_bandwidth_Bps
    cables = s.sizes[1] * s.spines + s.sizes[2] * s.cores + s.n_gpus
    need_size(WHERE, f"nodes = {shown(nodes)}", s.n_gpus, 2 * (s.n_gpus * (1 + planes) + cables))
    gpus = np.arange(s.n_gpus)
    domain = (gpus // s.scale_up_domain).astype(np.int32)
    ends = [s.relays(), s.leaf_links(), s.spine_links()]
    sizes = 2 * np.array([len(low) for low, _ in ends])
    return build_topology(
        family=WHERE,
        name=name or f"{WHERE}(nodes={nodes}, gpus_per_node={gpus_per_node}, fabric={kind})",
        shape=s,
        n_routers=sum(s.sizes),
        ports=Ports(
            router=np.column_stack([domain, s.leaf(gpus[:, None], np.arange(planes))]).ravel(),
            bandwidth_Bps=np.tile(
                [scale_up.scale_up_bandwidth_Bps, *planes * [port_Bps]], len(gpus)
            ),
            latency_s=np.tile(
                [scale_up.scale_up_latency_s, *planes * [nics.nic_latency_s]], len(gpus)
            ),
            rails=1 + planes,
        ),
        links=RouterLinks(
            src=np.concatenate([part for low, high in ends for part in (low, high)]),
            dst=np.concatenate([part for low, high in ends for part in (high, low)]),
            kind=np.repeat([0, 0, 1, 2, 3, 4], np.repeat(sizes // 2, 2)),
            kinds=("relay", "leaf-up", "leaf-down", "spine-up", "spine-down"),
            bandwidth_Bps=np.repeat([port_Bps, link_Bps, link_Bps], sizes),
            latency_s=np.repeat([nics.nic_latency_s, *2 * [fabric.fabric_latency_s]], sizes),
        ),
        scale_up=domain,
        nic_rail=(gpus % gpus_per_node).astype(np.int32) if kind == RAIL_ONLY else None,
    )


def _shape(
    nodes: int, gpus_per_node: int, scale_up: ScaleUp, nics: Nics, fabric: GpuFabric
) -> GpuClusterShape:
    """Return the shape of a cluster, its spines and cores counted from the oversubscription."""
    domain, per_leaf, per_pod = _sizes(nodes, gpus_per_node, scale_up, nics, fabric)
    kind = fabric.fabric
    leaves = ceil(per_pod / per_leaf) * (gpus_per_node if kind == RAIL else 1)
    pods = ceil(nodes / per_pod)
    spines = cores = 0
    notes = []
    if leaves * pods > 1:
        port_Bps = nics.port_bandwidth(gpus_per_node)
        gpus_on_leaf = per_leaf * (gpus_per_node if kind == LEAF else 1)
        even = gpus_on_leaf * port_Bps / (fabric.fabric_bandwidth_Bps or port_Bps)
        wanted = fabric.oversubscription
        spines = fabric.spines or max(1, ceil(even / wanted))
        if fabric.spines is None:
            notes.append(_reached("oversubscription", wanted, spines, "spine", even))
    if pods > 1:
        wanted = fabric.core_oversubscription
        cores = max(1, ceil(leaves / wanted))
        notes.append(_reached("core_oversubscription", wanted, cores, "core", leaves))
    return GpuClusterShape(
        *(kind, nodes, gpus_per_node, domain, per_leaf, per_pod, spines, cores, nics.planes),
        tuple(filter(None, notes)),
    )


def _sizes(
    nodes: int, gpus_per_node: int, scale_up: ScaleUp, nics: Nics, fabric: GpuFabric
) -> tuple[int, int, int]:
    """Return the GPUs of a domain, the nodes of a leaf and those of a pod, all checked."""
    need_one_of(WHERE, "fabric", fabric.fabric, FABRICS)
    domain = gpus_per_node if scale_up.scale_up_domain is None else scale_up.scale_up_domain
    per_leaf = nodes if fabric.nodes_per_leaf is None else fabric.nodes_per_leaf
    per_pod = nodes if fabric.nodes_per_pod is None else fabric.nodes_per_pod
    for what, value in (
        ("nodes", nodes),
        ("gpus_per_node", gpus_per_node),
        ("scale_up_domain", domain),
        ("nodes_per_leaf", per_leaf),
        ("nodes_per_pod", per_pod),
        ("nics_per_node", 1 if nics.nics_per_node is None else nics.nics_per_node),
        ("planes", nics.planes),
    ):
        need_int(WHERE, what, value, 1)
    per_leaf, per_pod = min(per_leaf, nodes), min(per_pod, nodes)
    for what, value, part_of, part in (
        ("scale_up_domain", domain, "gpus_per_node", gpus_per_node),
        ("nodes_per_leaf", per_leaf, "the nodes of a scale-up domain", domain // gpus_per_node),
        ("nodes_per_pod", per_pod, "nodes_per_leaf", per_leaf),
    ):
        if value % part and (what == "scale_up_domain" or value < nodes):
            raise NetcosimError(
                f"{WHERE}: {what} = {shown(value)}; it must be a multiple of {part_of}, "
                f"{shown(part)}"
            )
    if fabric.fabric == RAIL_ONLY and nics.planes > 1:
        raise NetcosimError(f"{WHERE}: planes = {nics.planes}; a rail-only fabric has 1")
    return domain, per_leaf, per_pod


def _reached(key: str, wanted: float, n: int, what: str, even: float) -> str:
    """Return a note on the ratio that ``n`` spines or cores give; empty if it is the wanted one."""
    exact = isclose(even / n, wanted, rel_tol=1e-6)
    return (
        ""
        if exact
        else f"{key} = {wanted:g} is {even / n:.3g} with {n:,} whole {what}{'s' * (n > 1)}"
    )


def pods_and_nodes(topology: Topology) -> Hierarchy:
    """Return the hierarchy of machine, pod, segment (shared leaves), scale-up domain and node."""
    s = topology.shape
    gpus = np.arange(s.n_gpus)
    node = gpus // s.gpus_per_node
    pod, segment = node // s.nodes_per_pod, node // s.nodes_per_leaf
    rows = {"pod": pod, "segment": segment, "domain": gpus // s.scale_up_domain, "node": node}
    finer = [
        (level, row) for level, row in rows.items() if level == "node" or len(np.unique(row)) > 1
    ]
    if s.scale_up_domain == s.gpus_per_node:
        finer = [(level, row) for level, row in finer if level != "domain"]
    return hierarchy(*zip(*finer, strict=True))


def switches_by_level(topology: Topology) -> Layout:
    """Place scale-up switches at the bottom, then leaves and spines by pod, cores at the top."""
    s = topology.shape
    height = np.repeat([0, 1, 2, 3], s.sizes)
    per_pod = s.nodes_per_pod * s.gpus_per_node // s.scale_up_domain
    domain = np.arange(s.n_domains) // max(1, per_pod)
    segment = np.arange(s.sizes[1]) // s.n_rails % s.n_segments
    spine = np.arange(s.sizes[2]) // max(1, s.spines * s.n_groups) % s.n_pods
    band = np.concatenate(
        [
            domain,
            segment * s.nodes_per_leaf // s.nodes_per_pod,
            spine,
            np.full(s.sizes[3], -1, dtype=np.int64),
        ]
    )
    return rows_of_levels(height, band, numbered("pod", s.n_pods), ("cores",) * bool(s.sizes[3]))


FAMILY = Family(
    name=WHERE,
    description="GPUs with scale-up domains (NVLink) and a rail-optimised, leaf-spine or rail-only "
    "fabric of two or three levels",
    builders=(gpu_cluster,),
    default_routing="min-hop",
    hierarchy=pods_and_nodes,
    layout=switches_by_level,
    notes=lambda topology: topology.shape.notes,
    only_links=(
        *("fabric", "planes", "nics_per_node", "spines", "oversubscription"),
        "core_oversubscription",
    ),
    small=(
        {"nodes": 4, "gpus_per_node": 2, "nodes_per_leaf": 2, "name": "two rails"},
        {
            "nodes": 4,
            "gpus_per_node": 2,
            "fabric": "leaf",
            "nodes_per_leaf": 1,
            "nodes_per_pod": 2,
            "planes": 2,
            "core_oversubscription": 2.0,
            "name": "two planes of three levels",
        },
        {"nodes": 3, "gpus_per_node": 2, "fabric": "rail-only", "name": "rail-only"},
        {
            "nodes": 4,
            "gpus_per_node": 2,
            "scale_up_domain": 4,
            "nodes_per_leaf": 2,
            "nics_per_node": 1,
            "name": "domains of two nodes",
        },
    ),
)
