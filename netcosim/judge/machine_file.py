"""A machine as an operator names it: a preset, or a file whose kind is seen from the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.config_errors import near
from experiments.config_load import parse_toml
from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.parameters import parameters_of
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES
from netsim.units import short_name

_HEAD_CHARS = 65536
_GRAPHS = (".graphml", ".gml", ".graphml.gz", ".gml.gz", ".txt", ".edgelist", ".edges")


def _slurm(name: str, head: str) -> bool:
    return bool(re.search(r"^\s*(SwitchName|BlockName)\s*=", head, re.I | re.M)) or (
        name.endswith((".yaml", ".yml"))
    )


def _ibnetdiscover(name: str, head: str) -> bool:
    return bool(re.search(r"^(Switch|Ca)\s+\d+\s+\"", head, re.M))


def _cables(name: str, head: str) -> bool:
    return name.endswith((".csv", ".csv.gz"))


def _graph(name: str, head: str) -> bool:
    return name.endswith(_GRAPHS)


KINDS: dict[str, Callable[[str, str], bool]] = {
    "topology.conf": _slurm,
    "ibnetdiscover": _ibnetdiscover,
    "cables": _cables,
    "graph": _graph,
}
"""Families that read a file, by how such a file is known from its name and its beginning."""


def machine_of(given: str) -> dict[str, Any]:
    """``[machine]`` for a preset's name, a TOML file with that section, or a machine's file.

    Raises
    ------
    NetcosimError
        Neither a preset nor a file, or a file of no kind that is known.
    """
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
    head = read_text(path)[:_HEAD_CHARS]
    for family, is_one in KINDS.items():
        if family in FAMILIES and is_one(path.name.lower(), head):
            return {"family": family, "file": str(path.absolute())}
    known = ", ".join(family for family in KINDS if family in FAMILIES)
    raise NetcosimError(
        f"{path}: not known what machine this is; a preset, a .toml with [machine], or a file of "
        f"one of {known} (which a [machine] with family and file can also name)"
    )


def with_bandwidth(machine: Mapping[str, Any], bandwidth: str) -> dict[str, Any]:
    """The section with every link's bandwidth set.

    Raises
    ------
    NetcosimError
        A family that does not take one.
    """
    preset = machine.get("preset")
    family = PRESETS[preset].family if preset in PRESETS else machine.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        # whoever reads the section, with the config's plug-ins, takes it or tells
        return {**machine, "bandwidth": bandwidth}
    entry = FAMILIES[family]
    known = {short_name(name): name for name in entry.parameters}
    given = dict(PRESETS[preset].params) if preset in PRESETS else {}
    given |= {known.get(key, key): value for key, value in machine.items()}
    names = parameters_of(
        entry.builder_for({k: v for k, v in given.items() if k in known.values()})
    )
    links = [name for name in names if name.endswith("bandwidth_Bps")]
    kept = {key: value for key, value in machine.items() if known.get(key, key) not in links}
    return kept | {short_name(name): bandwidth for name in links}
