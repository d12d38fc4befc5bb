"""The small machines of topology families, on which laws are tested."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from netsim.topologies.registry import FAMILIES, make_topology
from netsim.topology import Topology


def n_small(family: str) -> int:
    """Return the number of a family's small machines."""
    return len(FAMILIES[family].small) + len(FAMILIES[family].small_files)


def small_machine(family: str, number: int, params: Mapping[str, object]) -> Topology:
    """Build a small machine of a family, with additional parameters."""
    entry = FAMILIES[family]
    if number < len(entry.small):
        return make_topology(family, {**entry.small[number], **params})
    made = entry.small_files[number - len(entry.small)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / made.name
        path.write_text(made.text, encoding="utf-8")
        return make_topology(family, {**made.params, "file": str(path), **params})
