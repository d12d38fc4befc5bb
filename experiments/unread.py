"""Keys of a config that nothing reads: set by the user, and without any effect.

Each is reported with the reason and with what would read it, and the run goes on. A key at its
default has no effect and is not reported; neither is a key that some point of a sweep
reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from cosim.registry import RUNTIME_MODELS
from experiments.config import Config
from experiments.config_communication import PatternSection
from experiments.config_content import checked_config
from experiments.draws import NEVER
from experiments.fields import InputFile, assigned, matches, shown_key, value_at
from experiments.read_conditions import Condition, conditions_on, packet_preset_values
from netsim.errors import UnreadKeyWarning
from netsim.inputs import is_input
from netsim.parameters import Parameter, ReadIf, parameters_of
from netsim.plugins import pinned_plugin, using
from netsim.routing.registry import ROUTINGS
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES
from patterns.registry import PATTERNS


class Unread(NamedTuple):
    """A key that nothing reads."""

    key: str
    """Dotted SI name."""
    why: str
    """The values that decide, and those with which it is read."""
    table: str = ""
    """The table to report where the same holds for all of its keys; empty: the key."""
    shown: bool = False
    """See `experiments.read_conditions.Condition`."""


def unread_keys(points: Sequence[Any]) -> list[Unread]:
    """Return the keys that are set in some point of a sweep and that no point reads.

    Parameters
    ----------
    points : sequence of Config
        A single one for a run. Configs of other commands count too, if they have a ``machine``.
    """
    found: dict[str, Unread] = {}
    for point in points:
        with using(map(pinned_plugin, point.plugins)):
            unread = (why_unread(point, key) for key in given_keys(point) if key not in found)
            found |= {one.key: one for one in unread if one is not None}
    for point in points if len(points) > 1 and found else ():
        with using(map(pinned_plugin, point.plugins)):
            found = {key: one for key, one in found.items() if why_unread(point, key) is not None}
    return list(found.values())


def unread_lines(points: Sequence[Any]) -> list[str]:
    """Format `unread_keys` as lines; a table replaces its keys if none of those set is read."""
    found = unread_keys(points)
    given = {key for point in points for key in given_keys(point)} if found else set()
    together: dict[tuple[str, str], list[str]] = {}
    for one in found:
        together.setdefault((one.table or one.key.rpartition(".")[0], one.why), []).append(one.key)
    read = given - {one.key for one in found}
    unread_tables = {t for t in {one.table for one in found} if t and not _any_in(t, read)}
    lines = []
    for (table, why), keys in together.items():
        names = list(dict.fromkeys(shown_key(_without_numbers(key)) for key in keys))
        if table in unread_tables:
            inside = ", ".join(name.removeprefix(f"{shown_key(table)}.") for name in names)
            lines.append(f"[{shown_key(table)}] is not read ({inside}): {why}")
        else:
            lines.append(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not read: {why}")
    return lines


def _any_in(table: str, keys: Iterable[str]) -> bool:
    return any(key.startswith(f"{table}.") for key in keys)


def warn_of_unread(config: Config) -> None:
    """Warn about each key that nothing reads; Python shows a line once."""
    for line in unread_lines([config]):
        warnings.warn(line, UnreadKeyWarning, stacklevel=1)


def as_read(config: Config) -> Config:
    """Return the config without unread keys, so that they do not make it another point.

    Keys whose values a page shows, or that random draws depend on, are kept.
    """
    stay = ("reference.", "workload.", "communication.")
    keys = [one.key for one in unread_keys([config]) if not one.shown]
    keys = [key for key in keys if not key.startswith(stay)]
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
    try:
        condition = _own_condition(config, key)
    except KeyError:
        return Unread(key, "this point does not have it")
    for one in conditions_on(key, isinstance(config, Config)):
        if not one.holds(config, key):
            return _unread(config, key, one)
    if condition is not None:
        names = [f"{key.rpartition('.')[0]}.{name}" for name in condition.keys]
        values = [_sibling(config, name) for name in names]
        if not condition.holds(*values):
            here = ", ".join(map(assigned, names, values))
            return Unread(key, f"{here} (read where {condition.words}){_drawn_on(config, key)}")
    if key.startswith("machine.parameters."):
        machine: Any = value_at(config, "machine")
        ignored = FAMILIES[machine.family].ignored_values(_plain_files(machine.parameters))
        why = ignored.get(key.rpartition(".")[2])
        return None if why is None else Unread(key, why)
    return None


def _unread(config: BaseModel, key: str, condition: Condition) -> Unread:
    why = f"{condition.here(config, key)} (read with {condition.needs(config, key)})"
    why += _drawn_on(config, key)
    table = ".".join(key.split(".")[: condition.depth])
    return Unread(key, why, table, condition.shown)


def _drawn_on(config: Any, key: str) -> str:
    """Return a remark if a key is part of a seed for random draws (`experiments.draws`)."""
    model = RUNTIME_MODELS[config.queue.run_time_model]
    drawn = key.startswith("workload.") or (
        key.startswith("communication.") and (config.run.snapshots > 0 or model.reads_traffic())
    )
    # with a named mix, ``communication_fraction`` is no longer part of the seed
    counts = key == "communication.from" or not matches(key, NEVER)
    return "; the random draws depend on it" if drawn and counts else ""


def _why_unread_there(config: Any, key: str) -> Unread | None:
    """Return why the reference's own config does not read a key of ``[reference]``."""
    elsewhere = config.relative_to.elsewhere
    inner = key.removeprefix("reference.")
    if elsewhere is None:
        return None
    names = (name for name in given_keys(elsewhere) if shown_key(name) == shown_key(inner))
    found = next((why_unread(elsewhere, name) for name in names), None)
    return None if found is None else found._replace(key=key, table="")


# Walking through a config


def given_keys(config: BaseModel) -> Iterator[str]:
    """Yield dotted SI names of the keys that differ from their defaults or preset."""
    yield from _given(config, "")


def _given(section: BaseModel, where: str) -> Iterator[str]:
    preset = packet_preset_values(section) if where == "machine.packet." else {}
    if preset:
        yield f"{where}preset"
    for name, field in type(section).model_fields.items():
        value, path = getattr(section, name), f"{where}{name}"
        if value == field.default or (name in preset and value == preset[name]):
            continue
        if path == "reference":
            yield from (f"{path}.{key}" for key in value)
        elif isinstance(value, Mapping):
            declares = path in _PARAMETERS or isinstance(section, PatternSection)
            yield from _given_parameters(section, value, path) if declares else value and (path,)
        elif _is_table(value):
            yield from _given(value, f"{path}.")
        elif isinstance(value, tuple) and any(map(_is_table, value)):
            for number, entry in enumerate(value):
                yield from _given(entry, f"{path}.{number}.")
        else:
            yield path


_PARAMETERS = ("machine.parameters", "machine.routing_parameters")


def _is_table(entry: object) -> bool:
    return isinstance(entry, BaseModel) and not isinstance(entry, InputFile)


def _given_parameters(section: BaseModel, values: Mapping[str, Any], path: str) -> Iterator[str]:
    declared = _declared(section, path)
    name = values.get("name") if path == _PARAMETERS[0] else None
    preset = PRESETS[name].params if name in PRESETS else {}
    for key, value in values.items():
        usual = preset.get(key, declared[key].default if key in declared else None)
        if key != "name" and value != usual:
            yield f"{path}.{key}"


# What a key's own table declares


def _declared(section: Any, path: str) -> Mapping[str, Parameter]:
    """Return the parameters that may be in a table that is no model."""
    if path == _PARAMETERS[0]:
        return parameters_of(FAMILIES[section.family].builder_for(section.parameters))
    if path == _PARAMETERS[1]:
        name = section.routing or FAMILIES[section.family].default_routing
        return ROUTINGS[name].parameters
    return PATTERNS[section.pattern].parameters


def _own_condition(config: BaseModel, key: str) -> ReadIf | None:
    """Return the condition in a key's declaration; raise KeyError if there is no such key."""
    table, _, name = key.rpartition(".")
    section = value_at(config, table) if table else config
    if isinstance(section, Mapping):
        declared = _declared(value_at(config, table.rpartition(".")[0]), table)
        return declared[name].read_if
    fields = type(section).model_fields
    if key == "machine.packet.preset":
        return None
    return next((m for m in fields[name].metadata if isinstance(m, ReadIf)), None)


def _sibling(config: BaseModel, key: str) -> Any:
    """Return a value of a table, or the declared default of a parameter that it lacks."""
    try:
        return value_at(config, key)
    except KeyError:
        table, _, name = key.rpartition(".")
        return _declared(value_at(config, table.rpartition(".")[0]), table)[name].default


def _plain_files(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v["file"] if is_input(v) else v for n, v in parameters.items()}


def _without_numbers(key: str) -> str:
    return ".".join(part for part in key.split(".") if not part.isdecimal())
