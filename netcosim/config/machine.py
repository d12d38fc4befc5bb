"""``[machine]``: a preset or a family with its builder's parameters, the routing, the packets.

`build_machine` makes the network of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from netcosim.config.errors import ConfigError, by_si_name
from netcosim.config.fields import (
    DeclaredSection,
    Section,
    Text,
    all_finite,
    declared_by,
    quantity,
)
from netcosim.config.read_if import IF_MEASURED, ReadByKey, if_link_read, if_sent
from netsim.errors import NetcosimError, meant, near, unknown_name
from netsim.faults import Fault, links_of, with_faults
from netsim.inputs import checked_path, input_file, is_input
from netsim.packet.model import PacketConfig
from netsim.packet.presets import PACKET_PRESETS, with_packet_preset
from netsim.parameters import NamesIn, mistake_in, parameters_of
from netsim.routing.base import Routing
from netsim.routing.registry import RECIPES, ROUTINGS, make_routing, routings_for
from netsim.short_repr import short_repr
from netsim.topologies.family import Family, needed
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES, make_topology
from netsim.topology import Topology
from netsim.units import quantity_of, short_name
from queuesim.parameters import Power

if TYPE_CHECKING:
    from netsim.recipes import Recipe
Entry = TypeVar("Entry")
_FIRST_PACKET_KEYS = {
    "packet_bytes", "header_bytes", "buffer_bytes", "router_latency_s", "send_overhead_s",
    "recv_overhead_s", "copy_s_per_byte",
}  # fmt: skip


class PacketPresetKey(Section):
    """The key of ``[machine.packet]`` that sets others."""

    preset: Annotated[Text | None, NamesIn(PACKET_PRESETS)] = Field(
        default=None,
        description="named packet model, whose keys can be replaced",
        examples=["merlin"],
    )


@declared_by(PacketConfig)
class PacketSection(DeclaredSection):
    """``[machine.packet]``, whose keys `netsim.packet.model.PacketConfig` declares."""

    added = parameters_of(PacketConfig).keys() - _FIRST_PACKET_KEYS

    @model_validator(mode="after")
    def _congestion_keys_are_used(self) -> Self:
        if self.congestion_control == "credits":
            for key in self.model_fields_set - {"congestion_control"}:
                if key.startswith("congestion_"):
                    raise NetcosimError(
                        f"{short_name(key)} needs congestion_control; with "
                        '"credits" (the default) there is none'
                    )
        return self

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, given: Any) -> Any:
        return with_packet_preset(given) if isinstance(given, dict) else given


@declared_by(Power)
class PowerSection(DeclaredSection):
    """``[machine.power]``, whose keys `queuesim.parameters.Power` declares."""


class MachineNames(Section):
    """Keys of ``[machine]`` that set others."""

    preset: Annotated[Text | None, NamesIn(PRESETS)] = Field(
        default=None,
        description="named machine, whose parameters can be replaced",
        examples=["cab"],
    )
    recipe: Annotated[Text | None, NamesIn(RECIPES)] = Field(
        default=None,
        description="router and routing of a simulator or machine; keys beside it replace its own",
        examples=["merlin"],
    )


@declared_by(Fault)
class FaultSection(DeclaredSection):
    """A table of ``[[machine.faults]]``, whose keys `netsim.faults.Fault` declares."""

    def fault(self) -> Fault:
        """Return the fault."""
        return Fault(**self.model_dump())


class MachineSection(Section):
    """``[machine]``: a preset or a family with its parameters, the routing, the packets.

    ``parameters`` are those of the family's builder in SI units; in a file they are in
    ``[machine]`` itself. With a preset they replace the preset's.
    ``routing_parameters`` are those of the routing, also in ``[machine]``.
    """

    added = ("power", "faults")
    family: Annotated[Text, NamesIn(FAMILIES)] = Field(
        description="topology family; its parameters are keys of [machine] too",
        examples=["fattree"],
    )
    parameters: Annotated[dict[str, Any], ReadByKey(if_link_read)]
    routing: Annotated[Text | None, NamesIn(ROUTINGS), ReadByKey(if_sent)] = Field(
        default=None,
        description="routing; by default the family's static one",
        examples=["adaptive"],
    )
    routing_parameters: Annotated[dict[str, Any], ReadByKey(if_sent)] = Field(default_factory=dict)
    packet: Annotated[PacketSection, ReadByKey(if_sent)] = PacketSection()
    power: PowerSection | None = Field(
        default=None,
        description="power of nodes, switches and links; its table, which may be empty, adds the "
        "energy of each policy to the results ([energy](observables.md#energy))",
    )
    faults: Annotated[tuple[FaultSection, ...], IF_MEASURED] = Field(
        default=(), description="links that are slow or down for a while"
    )

    @field_validator("parameters")
    @classmethod
    def _known_files(cls, parameters: dict[str, Any], info: Any) -> dict[str, Any]:
        known = FAMILIES[info.data["family"]].parameters
        return {
            name: input_file(value) if known[name].names_file and isinstance(value, str) else value
            for name, value in parameters.items()
        }

    @field_validator("routing")
    @classmethod
    def _known_routing(cls, name: str | None, info: Any) -> str | None:
        family = info.data.get("family", "")
        if name is not None and name not in routings_for(family):
            raise unknown_name(f"routing for {family}", name, routings_for(family))
        return name


_NAMES = {*MachineNames.model_fields, "family"}


def list_parameters() -> set[str]:
    """Return the dotted keys of machine parameters that are lists by nature."""
    return {
        f"machine.{name}" for family in FAMILIES for name in FAMILIES.facts(family).of_kind("list")
    }


def machine_section(raw: Mapping[str, object], own_keys: set[str]) -> dict[str, Any]:
    """Return the input of `MachineSection`: the family named, its parameters in SI.

    ``own_keys`` are keys of the section that are no parameters of a family.
    """
    parameters: dict[str, Any] = {}
    recipe = _named(raw, "recipe", "recipe", RECIPES)
    preset = _named(raw, "preset", "machine", PRESETS)
    family = raw.get("family")
    if preset:
        if family not in (None, preset.family):
            message = f"preset {raw['preset']} is a {preset.family}"
            raise ConfigError("machine.family", family, message)
        family, parameters = preset.family, {**preset.params, "name": raw["preset"]}
        if isinstance(raw.get("power"), Mapping):
            raw = {**raw, "power": {**preset.power, **raw["power"]}}  # type: ignore[dict-item]
    if family is None:
        if "file" in raw:
            how = "needs family beside file; netcosim describe FILE prints both"
            raise ConfigError("machine", None, how)
        for key in raw:
            if hint := meant(key, ("family", "preset")):
                raise ConfigError(f"machine.{key}", None, f"unknown key{hint}")
        raise ConfigError("machine", None, "needs preset or family (netcosim list machines)")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ConfigError("machine.family", family, f"unknown topology;{near(family, FAMILIES)}")
    known = FAMILIES[family].parameters
    keys_in_si = {key: raw[key] for key in raw if key in own_keys}
    given = {key: raw[key] for key in raw if key not in own_keys | _NAMES}
    if recipe is not None:
        keys_in_si = _with_recipe(recipe, keys_in_si, family, set(given))
    routed = _of_routing(given, keys_in_si, family)
    inner = given.pop("parameters", {})
    if not isinstance(inner, Mapping):
        raise ConfigError("machine.parameters", inner, "must be a table")
    values, written = _by_name({**inner, **given}.items(), known)
    for name, key in written.items():
        if name not in known:
            routed_keys = {n for one in routings_for(family) for n in ROUTINGS.facts(one).keys}
            every = {*known, *own_keys, *routed_keys, "preset", "recipe"} - {"routing_parameters"}
            valid = sorted(map(short_name, every))
            packet = parameters_of(PacketConfig)
            of_packets = key in {*packet, *map(short_name, packet)}
            hint = " it is a key of [machine.packet];" if of_packets else ""
            raise ConfigError(f"machine.{key}", None, f"unknown key;{hint}{near(key, valid)}")
    parameters |= values
    _check(FAMILIES[family], parameters, written)
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in parameters.items()}
    return {
        **keys_in_si,
        "family": family,
        "parameters": dict(sorted(plain.items())),
        "routing_parameters": dict(sorted(routed.items())),
    }


def _named(
    raw: Mapping[str, object], key: str, kind: str, registry: Mapping[str, Entry]
) -> Entry | None:
    """Return the entry that a key of the section names; None without the key."""
    if key not in raw:
        return None
    name = raw[key]
    if not isinstance(name, str) or name not in registry:
        raise ConfigError(f"machine.{key}", name, f"unknown {kind};{near(name, registry)}")
    return registry[name]


def _with_recipe(
    recipe: Recipe, keys_in_si: Mapping[str, Any], family: str, beside: set[str]
) -> dict[str, Any]:
    """Return the section's keys with those of a recipe that they and those beside leave open."""
    if not recipe.serves(family):
        allowed = ", ".join(recipe.families)
        raise ConfigError("machine.recipe", recipe.name, f"needs a {allowed}, not a {family}")
    if not isinstance(packet := keys_in_si.get("packet", {}), Mapping):
        return dict(keys_in_si)  # refused by its own name
    preset = packet.get("preset", recipe.packet_preset)
    if preset != recipe.packet_preset:
        message = f'recipe {recipe.name} sets "{recipe.packet_preset}"; leave out one of the two'
        raise ConfigError("machine.packet.preset", preset, message)
    values = {**keys_in_si, "packet": {"preset": recipe.packet_preset, **packet}}
    if recipe.routing is None or keys_in_si.get("routing", recipe.routing) != recipe.routing:
        return values
    parameters = keys_in_si.get("routing_parameters", {})
    if isinstance(parameters, Mapping):
        set_already = beside | set(parameters)
        left = {
            name: value
            for name, value in recipe.routing_parameters.items()
            if not {name, short_name(name)} & set_already
        }
        values["routing_parameters"] = {**left, **parameters}
    return {**values, "routing": recipe.routing}


def _of_routing(
    given: dict[str, object], keys_in_si: dict[str, Any], family: str
) -> dict[str, object]:
    """Take the routing's parameters out of ``given``, in SI, and see that it takes them."""
    taken = {name: ROUTINGS.facts(name).keys for name in routings_for(family)}
    known = {name for parameters in taken.values() for name in parameters}
    spelled = {*known, *map(short_name, known)}
    inner = keys_in_si.pop("routing_parameters", {})
    if not isinstance(inner, Mapping):
        raise ConfigError("machine.routing_parameters", inner, "must be a table")
    beside = ((key, given.pop(key)) for key in list(given) if key in spelled)
    values, written = _by_name([*inner.items(), *beside], known)
    routing = keys_in_si.get("routing") or FAMILIES[family].default_routing
    if not isinstance(routing, str) or routing not in taken:
        return values  # refused by its own name
    for name, key in written.items():
        if name not in taken[routing]:
            fits = [other for other in taken if name in taken[other]]
            message = f"routing {routing} does not take it; {', '.join(fits) or 'none'} would"
            raise ConfigError(f"machine.{key}", None, message)
    wrong = mistake_in(ROUTINGS[routing].build, values)
    if wrong is not None:
        raise ConfigError(f"machine.{written[wrong[0]]}", values[wrong[0]], wrong[1])
    return values


def _by_name(
    given: Iterable[tuple[object, object]], known: Collection[str]
) -> tuple[dict[str, object], dict[str, str]]:
    """Return values in SI by name, and the key that each name was written as."""
    short = {short_name(name): name for name in known}
    values, written = by_si_name(((str(key), value) for key, value in given), short, "machine.")
    known_ones = {n: _in_si(written[n], n, v) for n, v in values.items() if n in known}
    return values | known_ones, written


def _in_si(key: str, name: str, value: object) -> object:
    """Convert one parameter for the family's builder."""
    if not all_finite(value):
        raise ConfigError(f"machine.{key}", value, "must be finite")
    unit = quantity_of(name)
    if unit is None:
        return value
    try:
        return quantity(value, unit.dimension)
    except NetcosimError as error:
        raise ConfigError(f"machine.{key}", None, str(error)) from None


def _check(family: Family, parameters: Mapping[str, Any], written: Mapping[str, str]) -> None:
    """Check that one builder takes all given parameters and has all that it needs."""
    builder = family.builder_for(parameters)
    for name in needed(builder):
        if name not in parameters:
            others = [needed(other)[0] for other in family.builders if other is not builder]
            either = f" (or {', '.join(others)})" if others else ""
            message = f"missing; a {family.name} needs {', '.join(needed(builder))}{either}"
            raise ConfigError(f"machine.{short_name(name)}", None, message)
    for name in parameters:
        if name not in parameters_of(builder):
            (other,) = (b for b in family.builders if name in parameters_of(b))
            first = builder is family.builders[0]
            how = f"goes with {needed(other)[0]}" if first else f"goes without {needed(builder)[0]}"
            raise ConfigError(f"machine.{short_name(name)}", None, how)
    plain = {n: v["file"] if is_input(v) else v for n, v in parameters.items()}
    wrong = mistake_in(builder, plain)
    if wrong is not None:
        name, why = wrong
        raise ConfigError(f"machine.{written.get(name, short_name(name))}", parameters[name], why)


def gpus_per_server(section: MachineSection) -> int:
    """Return the GPUs of a server of a machine whose nodes are GPUs; 1 for other machines."""
    builder = FAMILIES[section.family].builder_for(section.parameters)
    declared = parameters_of(builder).get("gpus_per_node")
    default = 1 if declared is None or declared.default is None else declared.default
    gpus = section.parameters.get("gpus_per_node") or default
    return gpus if isinstance(gpus, int) else 1


@short_repr()
@dataclass(frozen=True, eq=False)
class BuiltMachine:
    """The network of a config."""

    section: MachineSection
    topology: Topology
    packets: PacketConfig

    @cached_property
    def routing(self) -> Routing:
        """The routing, built on first access: a queue alone needs none."""
        return self._routed(self.topology)

    def _routed(self, topology: Topology) -> Routing:
        section = self.section
        return make_routing(topology, section.routing, section.routing_parameters)

    @cached_property
    def _by_faults(self) -> dict[tuple[Fault, ...], Routing]:
        return {(): self.routing}

    def faults_at(self, time_s: float) -> tuple[Fault, ...]:
        """Return the faults of links that hold at a time of the queue."""
        faults = (section.fault() for section in self.section.faults)
        return tuple(fault for fault in faults if fault.holds(time_s))

    def routing_at(self, time_s: float) -> Routing:
        """Return the routing on the network of a time of the queue, with its faults."""
        faults = self.faults_at(time_s)
        if faults not in self._by_faults:
            try:
                self._by_faults[faults] = self._routed(with_faults(self.topology, faults))
            except NetcosimError as error:
                raise ConfigError("machine.faults", None, str(error)) from None
        return self._by_faults[faults]


def build_machine(section: MachineSection) -> BuiltMachine:
    """Build the network of ``[machine]``, whose faults must name links that it has."""
    parameters = {
        name: checked_path(value) if is_input(value) else value
        for name, value in section.parameters.items()
    }
    topology = make_topology(section.family, parameters)
    for one in section.faults:
        try:
            links_of(topology, one.fault())
        except NetcosimError as error:
            raise ConfigError("machine.faults", None, str(error)) from None
    return BuiltMachine(section, topology, section.packet.made())
