"""``[machine]`` with a flag of the judge: servers of GPUs, a bandwidth of all links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsim.errors import NetcosimError
from netsim.parameters import parameters_of
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES
from netsim.units import short_name


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
