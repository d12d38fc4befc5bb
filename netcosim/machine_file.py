"""A file that describes a machine: its ``[machine]``, and what ``describe FILE`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netcosim.catalogue import format_links
from netcosim.config.load import parse_toml
from netsim.errors import NetcosimError, near
from netsim.files import read_text
from netsim.hierarchy import hierarchy_of
from netsim.hostlist import compress
from netsim.topologies.foreign import refuse_foreign
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES, family_of, make_topology
from netsim.topologies.switches import span
from netsim.topology import Topology

_HEAD_CHARS = 65_536
_SHOWN = 200
_LEFT_OUT = "left out: "
FAMILY_OF_SUFFIX = {
    **dict.fromkeys((".yaml", ".yml"), "topology.conf"),
    ".csv": "cables",
    **dict.fromkeys((".graphml", ".gml", ".txt", ".edgelist", ".edges"), "graph"),
}
"""Of files that no family recognises by their text; its reader reports what is wrong with them."""


def family_of_file(path: Path) -> tuple[str | None, list[str]]:
    """Return the family that recognises a machine's file by its text, and all that try to."""
    head = read_text(path)[:_HEAD_CHARS]
    refuse_foreign(path, head)
    reading = {name: f.reads for name, f in FAMILIES.items() if f.reads is not None}
    return next((name for name, reads in reading.items() if reads(path, head)), None), [*reading]


def machine_of(given: str) -> dict[str, Any]:
    """Return ``[machine]`` of a preset, a TOML file with that section, or a machine's file."""
    if given in PRESETS:
        return {"preset": given}
    path = Path(given)
    if not path.exists():
        raise NetcosimError(
            f"--machine {given}: no such file, and no preset;{near(given, PRESETS)}"
        )
    if path.suffix == ".toml":
        content = parse_toml(read_text(path), path)
        section = content.get("machine", content)
        if not isinstance(section, Mapping):
            raise NetcosimError(f"{path}: key machine: must be a table")
        return dict(section)
    by_text, reading = family_of_file(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    family = by_text or FAMILY_OF_SUFFIX.get(suffix)
    if family is None:
        raise NetcosimError(
            f"{path}: not known what machine this is; a preset, a .toml with [machine], or a file "
            f"of one of {', '.join([*reading, 'graph'])} (which a [machine] with family and file "
            "can also name)"
        )
    return {"family": family, "file": str(path.absolute())}


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
