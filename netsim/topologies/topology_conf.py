"""Machines from Slurm's `topology.conf` and `topology.yaml`, and the cables that these leave out.

Such a file names switches and nodes, and does not list cables. A switch is joined to the one
above it by as many cables as make ``taper`` times the bandwidth that comes from below it: with 1,
the default, a leaf of 18 nodes has 18 cables up, as in a full fat-tree whose spines are one large
switch. A switch below several others deals its cables out among them. A block is a leaf below one
core switch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.inputs import is_input
from netsim.parameters import NamesFile, ReadIf
from netsim.topologies.checks import SCALE_UP_BPS, need_size
from netsim.topologies.domains import hierarchy
from netsim.topologies.family import EqualLinks, Family, Name, SmallFile
from netsim.topologies.slurm_files import BLOCK, YAML_SUFFIXES, Declared, SwitchEntry, read_slurm
from netsim.topologies.switches import (
    OF_SWITCHES,
    FabricName,
    Gpus,
    GpusPerNode,
    ScaleUpBandwidthBps,
    Wiring,
    span,
    switch_network,
)
from netsim.topology import Topology
from netsim.units import format_quantity

CORE = "core"
"""The switch above all blocks."""

MAX_LEVELS = 32
"""More than any network has between a node and its top."""

ByLevel = float | Sequence[float]


def _has_levels(values: object, file: Any, topology: str | None) -> bool:
    """Return whether a file has a level of switches with cables up for each value of a list."""
    if not isinstance(values, (list, tuple)) or len(values) < 2:
        return True
    path = Path(file["file"] if is_input(file) else file)
    return len(values) <= int(_heights(path, _below_one_core(read_slurm(path, topology))).max())


def _if_levels(key: str) -> ReadIf:
    where = "machine.file has a level of switches with cables up for each value"
    return ReadIf((key, "file", "topology"), _has_levels, where)


@dataclass(frozen=True)
class Uplinks:
    """How many cables a switch has up; the last value of a list holds for all higher levels too."""

    taper: Annotated[
        float | Sequence[float],
        "bandwidth up for what comes from below a switch; a list is from the leaves up",
        Gt(0),
        ReadIf(("uplinks",), lambda uplinks: uplinks is None, "machine.uplinks is not given"),
        _if_levels("taper"),
    ] = 1.0
    uplinks: Annotated[
        int | Sequence[int] | None,
        "cables up from every switch, instead of taper; a list is from the leaves up",
        Ge(1),
        _if_levels("uplinks"),
    ] = None

    def __str__(self) -> str:
        return f"taper = {self.taper}" if self.uplinks is None else f"uplinks = {self.uplinks}"

    def cables(self, level: int, below_Bps: float, link_Bps: int) -> int:
        """Return the cables up from a switch of a level with this bandwidth from below."""
        if self.uplinks is None:
            return round(min(1e18, _at(self.taper, level) * below_Bps / link_Bps))
        return int(_at(self.uplinks, level))


def topology_conf(
    file: Annotated[
        str, "Slurm's topology.conf, a topology.yaml, or a model of topograph", NamesFile
    ],
    *,
    topology: Annotated[
        str | None, "which one of a topology.yaml; the cluster's default if left out"
    ] = None,
    up: Annotated[Uplinks, "cables between levels"] = Uplinks(),
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    gpus_per_node: GpusPerNode = None,
    scale_up_bandwidth_Bps: ScaleUpBandwidthBps = SCALE_UP_BPS,
    fabric: FabricName = None,
    name: Name = None,
) -> Topology:
    """Build the machine that a Slurm file describes, its nodes leaf by leaf under their names.

    Cables are rounded, at least one from each switch to each above it. The default name is the
    file's. Link kinds are "up", "down" and "level".
    """
    path = Path(file)
    declared = read_slurm(path, topology)
    name = name or path.name
    parts = _below_one_core(declared)
    height = _heights(path, parts)
    gpus = Gpus.given(gpus_per_node, scale_up_bandwidth_Bps)
    nodes, leaves, homes = _homes(parts)
    rails = leaves.shape[1]
    on_a_leaf = 1 if gpus is None else gpus.per_node // rails
    if gpus is not None and gpus.per_node % rails:
        raise NetcosimError(
            f"{name}: gpus_per_node = {gpus.per_node}; nodes are on {rails} leaves, over which the "
            "GPUs cannot be dealt evenly"
        )
    node_Bps, link_Bps = on_a_leaf * links.node_bandwidth_Bps, links.link_bandwidth_Bps
    pairs, counts = _cables(name, parts, height, (node_Bps, link_Bps), up)
    cable = f"{format_quantity(link_Bps, 'bandwidth')} ({up})"
    wiring = Wiring(
        switches=[part.name for part in parts],
        nodes=nodes,
        node_switch=np.repeat(leaves, on_a_leaf, axis=1),
        cables=np.repeat(pairs, counts, axis=0),
        bandwidth_Bps=link_Bps,
        latency_s=links.link_latency_s,
        node_bandwidth_Bps=links.node_bandwidth_Bps,
        node_latency_s=links.node_latency_s,
        height=height,
        notes=(
            _size_note(parts, height, len(nodes)),
            *homes,
            *_cable_notes(name, pairs, counts, height, cable),
            *declared.notes,
            *_block_notes(declared),
        ),
        gpus=gpus,
        fabric=fabric,
    )
    machine = switch_network("topology.conf", name, wiring)
    return (_of_blocks if declared.kind == BLOCK else _with_blocks)(machine, declared)


def _below_one_core(declared: Declared) -> tuple[SwitchEntry, ...]:
    """Return the switches of a tree; the blocks and the core above them."""
    if declared.kind != BLOCK or len(declared.parts) == 1:
        return declared.parts
    names = tuple(part.name for part in declared.parts)
    core = CORE
    while core in names:
        core += "-switch"
    return (*declared.parts, SwitchEntry("", core, (), names))


def _homes(
    parts: Sequence[SwitchEntry],
) -> tuple[list[str], NDArray[np.int64], list[str]]:
    """Return the nodes, (n, rails) int64 the leaves that each is on, and notes on others."""
    on: dict[str, list[int]] = {}
    for i, part in enumerate(parts):
        for node in part.nodes:
            on.setdefault(node, []).append(i)
    rails = min(map(len, on.values()), default=1)
    more = [len(own_leaves) for own_leaves in on.values() if len(own_leaves) > rails]
    notes = [f"nodes are on {rails} leaves, by a port on each"] if rails > 1 else []
    if more:
        notes.append(f"left out: of {len(more):,} nodes on {span(more)} leaves all after {rails}")
    leaves = np.array([own_leaves[:rails] for own_leaves in on.values()], dtype=np.int64)
    return list(on), leaves.reshape(-1, rails), notes


def _heights(path: Path, parts: Sequence[SwitchEntry]) -> NDArray[np.int64]:
    """Return the levels above the leaves: one more than the highest switch below."""
    order = TopologicalSorter({part.name: part.below for part in parts})
    try:
        order.prepare()
    except CycleError as error:
        raise NetcosimError(_cycle(parts, error.args[1])) from None
    height: dict[str, int] = {}
    levels = 0
    while ready := order.get_ready():
        height |= dict.fromkeys(ready, levels)
        order.done(*ready)
        levels += 1
    if levels > MAX_LEVELS:
        raise NetcosimError(f"{path}: more than {MAX_LEVELS} levels of switches")
    return np.array([height[part.name] for part in parts])


def _cycle(parts: Sequence[SwitchEntry], upwards: Sequence[str]) -> str:
    """Describe a cycle of switches, from the first in the file on."""
    ring = upwards[:0:-1]
    first = next(part for part in parts if part.name in ring)
    start = ring.index(first.name)
    named = " > ".join([*ring[start:], *ring[:start], first.name])
    return f"{first.where}: switches below each other in a cycle: {named}"


def _cables(
    name: str,
    parts: Sequence[SwitchEntry],
    height: NDArray[np.int64],
    speeds_Bps: tuple[int, int],
    up: Uplinks,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return connected pairs of switches, (pairs, 2) int64, the lower first, and their cables."""
    index = {part.name: i for i, part in enumerate(parts)}
    above: list[list[int]] = [[] for _ in parts]
    for i, part in enumerate(parts):
        for b in part.below:
            above[index[b]].append(i)
    node_Bps, link_Bps = speeds_Bps
    below_Bps = [float(len(part.nodes) * node_Bps) for part in parts]
    pairs, counts = [], []
    for i in np.argsort(height, kind="stable").tolist():
        if not above[i]:
            continue
        wanted = up.cables(int(height[i]), below_Bps[i], link_Bps)
        need_size(name, "taper or uplinks", 0, 2 * wanted)
        n = max(wanted, len(above[i]))
        for k, top in enumerate(above[i]):
            # dealt out, the first ones get what is left over
            count = n // len(above[i]) + (k < n % len(above[i]))
            pairs.append((i, top))
            counts.append(count)
            below_Bps[top] += count * link_Bps
    need_size(name, "taper or uplinks", len(parts), 2 * sum(counts))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(counts, dtype=np.int64)


def _at(by_level: ByLevel, level: int) -> float:
    if isinstance(by_level, (int, float)):
        return by_level
    if not len(by_level):
        raise NetcosimError("topology.conf: taper or uplinks is an empty list")
    return by_level[min(level, len(by_level) - 1)]


def _of_blocks(t: Topology, declared: Declared) -> Topology:
    """Return the machine with domains by groups of blocks (by the larger sizes), block, server."""
    gpus = t.shape.gpus_per_node
    # blocks come first among the switches, so the router of a node's last port is its block
    node_block = t.port_router[t.rails - 1 :: t.rails]
    sizes, names = declared.block_sizes, [part.name for part in declared.parts]
    levels, rows, labels = [], [], []
    for size in sizes[:0:-1]:
        each = size // sizes[0]
        if each < len(names):
            levels.append(f"block-{size}")
            rows.append(node_block // each)
            firsts = range(0, len(names), each)
            labels.append(
                [" to ".join(dict.fromkeys((names[i], names[min(i + each, len(names)) - 1])))
                 for i in firsts]
            )  # fmt: skip
    levels, rows, labels = [*levels, "block"], [*rows, node_block], [*labels, names]
    if gpus > 1:
        server = np.arange(len(node_block), dtype=np.int32) // np.int32(gpus)
        levels, rows, labels = [*levels, "node"], [*rows, server], [*labels, []]
    of_gpus = tuple(gpus * size for size in sizes)
    shape = replace(t.shape, domains=hierarchy(levels, rows, labels), block_sizes=of_gpus)
    return replace(t, shape=shape)


def _with_blocks(t: Topology, declared: Declared) -> Topology:
    """Return the machine with the blocks as a level of its domains, where they fit in.

    A level is finer than those above it and coarser than those below.
    """
    blocks = declared.domains
    if not blocks:
        return t
    gpus, h = t.shape.gpus_per_node, t.shape.domains
    names = [name.rpartition(":")[0] if gpus > 1 else name for name in t.node_names]
    block_of = {node: i for i, part in enumerate(blocks) for node in part.nodes}
    unknown = len(block_of.keys() - {*names})
    outside = sum(name not in block_of for name in names) // gpus
    row = np.array([block_of.get(name, -1) for name in names])
    where = next(
        (i for i in range(1, len(h.levels) + 1)
         if not outside and _inside(row, h.domain[i - 1])
         and (i == len(h.levels) or _inside(h.domain[i], row))),
        None,
    )  # fmt: skip
    levels, rows, labels = list(h.levels[1:]), list(h.domain[1:]), list(h.names[1:])
    if where is None:
        why = f"{outside:,} nodes are in none" if outside else "they cross those of switches"
        note = f"left out: {len(blocks):,} blocks are no level of domains: {why}"
    else:
        note = f"{len(blocks):,} blocks are a level of domains"
        if not any(_inside(row, level) and _inside(level, row) for level in h.domain):
            levels.insert(where - 1, "block")
            rows.insert(where - 1, row)
            labels.insert(where - 1, tuple(part.name for part in blocks))
    notes = [*t.shape.notes, note]
    if unknown:
        notes.append(f"left out: {unknown:,} nodes of blocks that are on no switch")
    domains = hierarchy(levels, rows, labels)
    return replace(t, shape=replace(t.shape, domains=domains, notes=tuple(notes)))


def _inside(fine: NDArray[np.integer], coarse: NDArray[np.integer]) -> bool:
    """Return whether each domain of a level is inside one domain of another."""
    pairs = np.unique(np.stack([fine, coarse]), axis=1)
    return len(pairs[0]) == len(np.unique(fine))


# Notes on the machine


def _size_note(parts: Sequence[SwitchEntry], height: NDArray[np.int64], n_nodes: int) -> str:
    sizes = [len(part.nodes) for part in parts if part.nodes]
    return (
        f"{n_nodes:,} nodes on {len(sizes):,} leaves of {span(sizes)}, "
        f"{int(height.max()) + 1} levels of switches"
    )


def _cable_notes(
    name: str,
    pairs: NDArray[np.int64],
    counts: NDArray[np.int64],
    height: NDArray[np.int64],
    cable: str,
) -> list[str]:
    if not len(pairs):
        return []
    cables = np.bincount(pairs[:, 0], counts, len(height)).astype(np.int64)
    some = [
        f"{span(cables[(height == level) & (cables > 0)].tolist())} from each "
        f"{'leaf' if level == 0 else f'switch of level {level}'}"
        for level in range(int(height.max()))
        if np.any((height == level) & (cables > 0))
    ]
    notes = [f"{name} names no cables; assumed: {', '.join(some)} up, of {cable}"]
    several = int(np.sum(np.bincount(pairs[:, 0]) > 1))
    if several:
        notes.append(f"{several:,} switches are below several and distribute their cables")
    return notes


def _block_notes(declared: Declared) -> list[str]:
    if declared.kind != BLOCK:
        return []
    notes = ["a block is taken as one switch below one core; groups of blocks have no network"]
    if declared.block_sizes:
        size = declared.block_sizes[0]
        small = sum(len(part.nodes) < size for part in declared.parts)
        if small:
            notes.append(f"{small:,} blocks have fewer than the block size of {size} nodes")
    return notes


def looks_like(path: Path, text: str) -> bool:
    """Return whether a file declares switches or blocks as Slurm does."""
    if path.suffix.lower() in YAML_SUFFIXES:
        return re.search(r"^\s*(- )?topology:|^(switches|blocks):", text, re.M) is not None
    return re.search(r"^\s*(Switch|Block)Name\s*=", text, re.M | re.I) is not None


FAMILY = Family(
    name="topology.conf",
    description="switch tree or blocks from Slurm's topology.conf or topology.yaml (file)",
    builders=(topology_conf,),
    **OF_SWITCHES,
    reads=looks_like,
    small_files=(
        SmallFile("tree.conf", {"taper": [1.0, 0.5]}),
        SmallFile("two-spines.conf"),
        SmallFile("blocks.conf", {"uplinks": 2}),
    ),
)
