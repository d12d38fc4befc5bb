"""A machine as an operator names it: a preset, or a file that a family recognises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netcosim.config.load import parse_toml
from netcosim.machine_file import family_of_file
from netsim.errors import NetcosimError, near
from netsim.files import read_text
from netsim.parameters import parameters_of
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES
from netsim.units import short_name

FAMILY_OF_SUFFIX = {
    **dict.fromkeys((".yaml", ".yml"), "topology.conf"),
    ".csv": "cables",
    **dict.fromkeys((".graphml", ".gml", ".txt", ".edgelist", ".edges"), "graph"),
}
"""Of files that no family recognises by their text; its reader reports what is wrong with them."""


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


def _family_of(machine: Mapping[str, Any]) -> str:
    preset = machine.get("preset")
    return PRESETS[preset].family if preset in PRESETS else str(machine.get("family"))


def need_servers(machine: Mapping[str, Any]) -> None:
    """Raise NetcosimError for a family without servers that could have GPUs."""
    family = _family_of(machine)
    takes = [name for name, entry in FAMILIES.items() if "gpus_per_node" in entry.parameters]
    if family in FAMILIES and family not in takes:
        raise NetcosimError(
            f"--gpus-per-node: a {family} has no servers of GPUs; machines that do: "
            f"{', '.join(takes)}"
        )


def with_bandwidth(machine: Mapping[str, Any], bandwidth: str) -> dict[str, Any]:
    """Return the section with the bandwidth of every link set, except those inside servers."""
    preset, family = machine.get("preset"), _family_of(machine)
    if family not in FAMILIES:
        # the section's reader, with the config's plug-ins, accepts it or raises
        return {**machine, "bandwidth": bandwidth}
    entry = FAMILIES[family]
    known = {short_name(name): name for name in entry.parameters}
    given = dict(PRESETS[preset].params) if preset in PRESETS else {}
    given |= {known.get(key, key): value for key, value in machine.items()}
    names = parameters_of(
        entry.builder_for({k: v for k, v in given.items() if k in known.values()})
    )
    links = [
        name for name in names if name.endswith("bandwidth_Bps") and not name.startswith("scale_up")
    ]
    kept = {key: value for key, value in machine.items() if known.get(key, key) not in links}
    return kept | {short_name(name): bandwidth for name in links}
