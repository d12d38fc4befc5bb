"""Keys that are set and that nothing reads are refused.

A key at its default has no effect and is not refused; in a sweep a key is read if it is in one of
the points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from netcosim.config.communication import PatternSection
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.config.errors import ConfigError
from netcosim.config.fields import InputFile, matches, shown_key, value_at
from netcosim.config.read_if import ReadByKey
from netcosim.config.toml_text import toml_value
from netsim.inputs import is_input
from netsim.packet.presets import PACKET_PRESETS
from netsim.parameters import Parameter, ReadIf, parameters_of
from netsim.plugins import pinned_plugin, using
from netsim.routing.registry import ROUTINGS
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES
from netsim.units import quantity_of
from patterns.registry import PATTERNS

_OF_IDENTITY = (
    *("reference", "workload", "communication", "run.keep"),
    *("machine.parameters", "machine.routing", "machine.routing_parameters"),
)
"""Keys that belong to a point, read or not: its page shows them, or its draws depend on them."""
PACKET_PRESET = "machine.packet.preset"


class Unread(NamedTuple):
    """A key that nothing reads."""

    key: str
    """Dotted SI name."""
    why: str
    """Where it is read, or why it is not."""
    value: object = None


def refuse_unread(*points: Any) -> None:
    """Raise `ConfigError` for keys that are set in some point of a sweep and read in none.

    Configs of other commands count too, if they have a ``machine``.
    """
    unread = unread_keys(points)
    if not unread:
        return
    key, why, value = unread[0]
    others = dict.fromkeys(shown_key(one.key) for one in unread[1:])
    more = f" (also not read: {', '.join(others)})" if others else ""
    message = f"{_as_written(key, value)}; nothing reads it: {why}{more}"
    raise ConfigError(shown_key(key), None, message)


def _as_written(key: str, value: object) -> str:
    if isinstance(value, InputFile):
        value = value.file
    elif isinstance(value, Mapping) and is_input(value):
        value = value["file"]
    return toml_value(value, quantity_of(key.rpartition(".")[2]))


def unread_keys(points: Sequence[Any]) -> list[Unread]:
    """Return the keys that are set in some point of a sweep and that no point reads."""
    unread: dict[str, Unread] = {}
    for point in points:
        with using(map(pinned_plugin, point.plugins)):
            for key, value in given_keys(point).items():
                if key not in unread and (one := why_unread(point, key)) is not None:
                    unread[key] = one._replace(value=value)
    for point in points if len(points) > 1 and unread else ():
        with using(map(pinned_plugin, point.plugins)):
            unread = {key: one for key, one in unread.items() if why_unread(point, key) is not None}
    return list(unread.values())


def as_read(config: Config) -> Config:
    """Return the config without unread keys, so that they do not make it another point."""
    keys = [one.key for one in unread_keys([config]) if not matches(one.key, _OF_IDENTITY)]
    if not keys:
        return config
    content = config.resolved()
    for key in keys:
        *path, last = key.split(".")
        table: Any = content
        for part in path:
            table = table[int(part)] if isinstance(table, list) else table.get(part, {})
        table.pop(last, None)
    return checked_config(content)


def why_unread(config: BaseModel, key: str) -> Unread | None:
    """Return why nothing reads a key; None if something does."""
    if key.startswith("reference."):
        return _why_unread_there(config, key)
    if key == PACKET_PRESET:
        names = _packet_preset(value_at(config, "machine.packet"))
        unread = [why_unread(config, f"machine.packet.{name}") for name in names]
        return Unread(key, unread[0].why) if unread and unread[0] and all(unread) else None
    try:
        conditions = list(_conditions(config, key))
    except KeyError:
        return Unread(key, "this point does not have it")
    for table, condition in conditions:
        try:
            values = [_value(config, table, name) for name in condition.keys]
        except KeyError:
            continue  # it is on a section that configs of this command lack
        if not condition.holds(*values):
            return Unread(key, f"it is read where {condition.where}")
    return None


def _conditions(config: BaseModel, key: str) -> Iterator[tuple[str, ReadIf]]:
    """Yield the conditions on a key and on the tables that it is in, with their tables.

    Raise KeyError for a key that the config does not have.
    """
    section: Any = config
    table = ""
    for part in key.split("."):
        if isinstance(section, Mapping):
            notes: Sequence[Any] = _declared(config, table)[part].notes
        elif isinstance(section, tuple):
            notes = ()
        else:
            notes = type(section).model_fields[part].metadata
        for note in notes:
            condition = note.of(key) if isinstance(note, ReadByKey) else note
            if isinstance(condition, ReadIf):
                yield table, condition
        table = f"{table}.{part}".lstrip(".")
        section = section.get(part) if isinstance(section, Mapping) else value_at(section, part)


def _value(config: BaseModel, table: str, name: str) -> Any:
    """Return the value of a dotted key, or of one of a table, which may lack it."""
    if "." in name:
        return value_at(config, name)
    try:
        return value_at(config, f"{table}.{name}".lstrip("."))
    except KeyError:
        return _declared(config, table)[name].default


def _why_unread_there(config: Any, key: str) -> Unread | None:
    """Return why the reference's own config does not read a key of ``[reference]``."""
    elsewhere = config.relative_to.elsewhere
    inner = key.removeprefix("reference.")
    if elsewhere is None:
        return None
    names = (name for name in given_keys(elsewhere) if shown_key(name) == shown_key(inner))
    found = next((why_unread(elsewhere, name) for name in names), None)
    return None if found is None else Unread(key, found.why)


# Walking through a config


def given_keys(config: BaseModel) -> dict[str, object]:
    """Return the values of keys that differ from their defaults or preset, by dotted SI name."""
    return dict(_given(config, ""))


def _given(section: BaseModel, where: str) -> Iterator[tuple[str, object]]:
    preset = _packet_preset(section) if where == "machine.packet." else {}
    if preset:
        yield PACKET_PRESET, next(n for n, one in PACKET_PRESETS.items() if one.params is preset)
    for name, field in type(section).model_fields.items():
        value, path = getattr(section, name), f"{where}{name}"
        if value == field.default or (name in preset and value == preset[name]):
            continue
        if path == "reference":
            yield from ((f"{path}.{key}", one) for key, one in value.items())
        elif isinstance(value, Mapping):
            declares = path in _PARAMETERS or isinstance(section, PatternSection)
            if declares:
                yield from _given_parameters(section, value, path)
            elif value:
                yield path, value
        elif _is_table(value):
            yield from _given(value, f"{path}.")
        elif isinstance(value, tuple) and any(map(_is_table, value)):
            for number, entry in enumerate(value):
                yield from _given(entry, f"{path}.{number}.")
        else:
            yield path, value


_PARAMETERS = ("machine.parameters", "machine.routing_parameters")


def _is_table(entry: object) -> bool:
    return isinstance(entry, BaseModel) and not isinstance(entry, InputFile)


def _packet_preset(packet: Any) -> Mapping[str, Any]:
    """Return the preset whose values a ``[machine.packet]`` has; empty if there is none."""
    for preset in PACKET_PRESETS.values():
        if all(getattr(packet, name) == value for name, value in preset.params.items()):
            return preset.params
    return {}


def _given_parameters(
    section: Any, values: Mapping[str, Any], path: str
) -> Iterator[tuple[str, object]]:
    declared = _declared_by(section, path)
    name = values.get("name") if path == _PARAMETERS[0] else None
    preset = PRESETS[name].params if name in PRESETS else {}
    for key, value in values.items():
        usual = preset.get(key, declared[key].default if key in declared else None)
        if key != "name" and value != usual:
            yield f"{path}.{key}", value


def _declared(config: BaseModel, table: str) -> Mapping[str, Parameter]:
    return _declared_by(value_at(config, table.rpartition(".")[0]), table)


def _declared_by(section: Any, path: str) -> Mapping[str, Parameter]:
    """Return the parameters that may be in a table that is no model."""
    if path == _PARAMETERS[0]:
        return parameters_of(FAMILIES[section.family].builder_for(section.parameters))
    if path == _PARAMETERS[1]:
        name = section.routing or FAMILIES[section.family].default_routing
        return ROUTINGS[name].parameters
    return PATTERNS[section.pattern].parameters
