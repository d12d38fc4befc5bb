"""What ``netcosim describe FILE`` prints on a file that describes a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netcosim.catalogue import format_links
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.hierarchy import hierarchy_of
from netsim.hostlist import compress
from netsim.topologies.foreign import refuse_foreign
from netsim.topologies.registry import FAMILIES, family_of, make_topology
from netsim.topologies.switches import span
from netsim.topology import Topology

_HEAD_CHARS = 65_536
_SHOWN = 200
_LEFT_OUT = "left out: "


def family_of_file(path: Path) -> tuple[str | None, list[str]]:
    """Return the family that recognises a machine's file by its text, and all that try to."""
    head = read_text(path)[:_HEAD_CHARS]
    refuse_foreign(path, head)
    reading = {name: f.reads for name, f in FAMILIES.items() if f.reads is not None}
    return next((name for name, reads in reading.items() if reads(path, head)), None), [*reading]


def describe_file(path: Path) -> list[str]:
    """Describe size, links, levels, nodes and notes of the machine in a file."""
    family, reading = family_of_file(path)
    if family is None:
        raise NetcosimError(
            f"{path}: not a machine's file; those of {', '.join(reading)} are known, and .toml "
            "with [machine]"
        )
    topology = make_topology(family, {"file": str(path)})
    return [
        f"{path} (a machine's file)",
        *describe_machine(topology),
        "  in a config:",
        "    [machine]",
        f'    family = "{family}"',
        f'    file = "{path}"',
    ]


def describe_machine(topology: Topology) -> list[str]:
    """Describe a machine: what is found and left out, links, levels, nodes and notes."""
    notes = family_of(topology).notes(topology)
    return [
        _found(topology, notes),
        *format_links(topology),
        *_levels(topology),
        *(f"  note: {line}" for line in notes if not line.startswith(_LEFT_OUT)),
    ]


def _found(topology: Topology, notes: Sequence[str]) -> str:
    """Describe in one line what a file has and what of it is left out."""
    links = topology.n_links - topology.first_router_link
    if "relay" in topology.kinds:  # no cables of the file
        links -= int(topology.kind_mask("relay").sum())
    found = f"{topology.n_nodes:,} nodes, {topology.n_routers:,} switches, {links // 2:,} cables"
    if topology.islands is not None:
        found += f", {int(topology.islands.max()) + 1} fabrics that nothing joins"
    left_out = [line.removeprefix(_LEFT_OUT) for line in notes if line.startswith(_LEFT_OUT)]
    return f"  found: {found} between them; left out: {'; '.join(left_out) or 'nothing'}"


def _levels(topology: Topology) -> list[str]:
    levels = hierarchy_of(topology)
    per_level = [
        f"{levels.levels[i]} {levels.counts[i]:,} of {span(levels.sizes(i).tolist())} nodes"
        for i in range(1, len(levels.levels))
    ]
    lines = [f"  levels: {'; '.join(per_level)}"] if per_level else []
    if topology.node_names:
        names = compress(topology.node_names)
        lines.append(f"  nodes: {names if len(names) <= _SHOWN else names[:_SHOWN] + '...'}")
    return lines
