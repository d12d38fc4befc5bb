"""What ``netcosim describe FILE`` prints on a file that describes a machine."""

from __future__ import annotations

from pathlib import Path

from netcosim.catalogue import format_links
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.hierarchy import hierarchy_of
from netsim.hostlist import compress
from netsim.topologies.registry import FAMILIES, family_of, make_topology
from netsim.topologies.switches import span
from netsim.topology import Topology

_HEAD_CHARS = 65_536
_SHOWN = 200


def family_of_file(path: Path) -> tuple[str | None, list[str]]:
    """Return the family that recognises a machine's file by its text, and all that try to."""
    head = read_text(path)[:_HEAD_CHARS]
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
    """Describe size, links, levels, nodes and notes of a machine."""
    notes = (f"  note: {line}" for line in family_of(topology).notes(topology))
    return [*format_links(topology), *_levels(topology), *notes]


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
