"""A config from its content: SI names, files, and what its parts refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from alloc.registry import POLICIES, policies_for
from cosim.registry import RUNTIME_MODELS
from netcosim.config.config import DECIDER_KEYS, Config, config_class, queue_tables
from netcosim.config.decider import placed_decider
from netcosim.config.errors import ConfigError, by_si_name, config_error, model_inside, show
from netcosim.config.machine import MachineSection, machine_section
from netcosim.config.run import Reference
from netcosim.runs.points import flatten
from netsim.errors import NetcosimError, unknown_name
from netsim.inputs import place_files
from netsim.plugins import Plugin, installed_plugins, plugin_of, used_by, using
from netsim.topologies.registry import FAMILIES
from netsim.units import short_name

Whole = TypeVar("Whole", bound=BaseModel)


def file_keys() -> list[str]:
    """Return the dotted keys whose values name files."""
    tables = [("machine.parameters", FAMILIES.facts(name)) for name in FAMILIES]
    tables += [(f"policies.{name}", POLICIES.facts(name)) for name in POLICIES]
    of_tables = [f"{where}.{key}" for where, facts in tables for key in facts.of_kind("file")]
    for name, keys in queue_tables().items():
        where = f"queue.{name}".rstrip(".")
        of_tables += [f"{where}.{p.name}" for p in keys.values() if p.names_file]
    return ["workload.log", "communication.mix.*.file", "queue.decider_files.*", *of_tables]


_NEW_MACHINE = ("machine.family", "machine.preset", "machine.parameters")


MAX_DEPTH = 50
"""Tables in tables: deeper ones cost the square of their depth to read."""


def too_deeply_nested(content: object) -> bool:
    """Return whether tables and lists are nested too deeply, or contain themselves."""
    level = [content]
    for _ in range(MAX_DEPTH):
        # each once: a table may occur often, and in itself
        inner: dict[int, object] = {}
        for outer in level:
            if isinstance(outer, (Mapping, list, tuple)):
                inside = outer.values() if isinstance(outer, Mapping) else outer
                inner |= {id(one): one for one in inside}
        level = [*inner.values()]
    return bool(level)


def checked_config(raw: Mapping[str, Any], folder: Path | None = None) -> Config:
    """Load as `netcosim.config.load.config_from`, with keys that nothing reads."""
    if too_deeply_nested(raw):
        raise NetcosimError("not a config: tables or lists are nested too deeply")
    config = _without_reference(raw, folder)
    if not config.reference:
        return config
    config_copy = config.model_copy()
    with config.plugged():
        config_copy._reference = _reference_of(config)
    return config_copy


def _without_reference(raw: Mapping[str, Any], folder: Path | None = None) -> Config:
    """Return a config whose ``[reference]`` is not resolved yet."""
    content = dict(raw)
    if isinstance(content.get("reference"), Mapping):
        content["reference"] = flatten(content["reference"])
    tables = content.get("policies")
    with using((*installed_plugins(), *plugins_of(raw, folder))) as plugins:
        content["plugins"] = [*used_by(raw, plugins)]
        named = config_class(tables if isinstance(tables, Mapping) else ())
        config = validated_sections(content, named, file_keys(), folder)
        queue = config.queue
        try:  # values with which the chosen run-time model cannot run
            parameters = queue.model_parameters(lambda named: named.file)
            RUNTIME_MODELS[queue.run_time_model].check(parameters, config.run.snapshots)
        except NetcosimError as error:
            raise ConfigError("queue.run_time_model", None, str(error)) from None
    return config


def plugins_of(raw: Mapping[str, Any], folder: Path | None = None) -> list[Plugin]:
    """Load the plug-ins that a content names."""
    named = raw.get("plugins", [])
    if not isinstance(named, (list, tuple)):
        raise ConfigError("plugins", named, 'must be a list of files and modules, ["mine.py"]')
    try:
        return [plugin_of(one, folder) for one in named]
    except NetcosimError as error:
        raise ConfigError("plugins", None, str(error)) from None


def validated_sections(
    raw: Mapping[str, Any], section_type: type[Whole], files: Iterable[str], folder: Path | None
) -> Whole:
    """Build a model of sections with ``[machine]`` from the content of a file.

    Relative paths at the dotted keys ``files`` are looked up in ``folder`` first.
    """
    content = dict(raw)
    machine = content.get("machine")
    if isinstance(machine, Mapping):
        own = set(MachineSection.model_fields) - {"family", "parameters"}
        keys = own | {short_name(name) for name in own}
        content["machine"] = machine_section(machine, keys)
    spelled: dict[str, str] = {}
    content = _in_si(content, section_type, "", spelled)
    if folder is not None:
        place_files(content, files, folder)
        queue = content.get("queue")
        if isinstance(queue, Mapping) and "decider" in queue:
            content["queue"] = {**queue, "decider": placed_decider(queue["decider"], folder)}
    try:
        return section_type.model_validate(content)
    except ValidationError as error:
        raise config_error(error, content, section_type, spelled) from None


def _in_si(
    raw: Mapping[str, Any], model: type[BaseModel], prefix: str, spelled: dict[str, str]
) -> dict[str, Any]:
    """Rename keys to their SI names; ``spelled`` records how the user wrote them."""
    short, sections = _fields(model)
    in_si, written = by_si_name(raw.items(), short, prefix)
    for name, value in in_si.items():
        dotted = f"{prefix}{name}"
        if name != written[name]:
            spelled[dotted] = f"{prefix}{written[name]}"
        inner = sections.get(name)
        if inner is not None and isinstance(value, Mapping):
            in_si[name] = _in_si(value, inner, f"{dotted}.", spelled)
        elif inner is not None and isinstance(value, (list, tuple)):
            in_si[name] = [
                _in_si(entry, inner, f"{dotted}.{i}.", spelled)
                if isinstance(entry, Mapping)
                else entry
                for i, entry in enumerate(value)
            ]
    return in_si


@lru_cache(maxsize=256)
def _fields(model: type[BaseModel]) -> tuple[dict[str, str], dict[str, type[BaseModel] | None]]:
    """Return a section's fields by their names without units, and the section inside each."""
    short = {short_name(name): name for name in model.model_fields}
    return short, {n: model_inside(field.annotation) for n, field in model.model_fields.items()}


def _reference_of(config: Config) -> Reference[Config]:
    """Return what the results of a config with a ``[reference]`` are relative to."""
    keys = dict(config.reference)
    policy = keys.pop("policy", config.queue.policies[0])
    valid = policies_for(config.machine.family)
    if policy not in valid:
        error = unknown_name(f"allocation policy for a {config.machine.family}", policy, valid)
        raise ConfigError("reference.policy", None, str(error))
    if not keys and policy in config.queue.policies:
        return Reference(policy, (), None)
    differs = tuple(f"{k} = {v if isinstance(v, str) else show(v)}" for k, v in keys.items())
    content = config.resolved()
    del content["reference"]
    content["queue"]["policies"] = [policy]
    for key, value in keys.items():
        _replace(content, key, value)
    try:
        elsewhere = _without_reference(content)
    except ConfigError as error:
        message = str(error).removeprefix(f"key {error.key}: ")
        raise ConfigError(f"reference.{error.key}", None, message) from None
    same = {"policies": config.queue.policies}
    same_place = (
        elsewhere.machine == config.machine
        and elsewhere.queue.model_copy(update=same) == config.queue
        and policy in config.queue.policies
    )
    return Reference(policy, differs, None if same_place else elsewhere)


def _replace(content: dict[str, Any], key: str, value: object) -> None:
    """Set a dotted key, spelled as in a file, in a resolved content."""
    section, *path = key.split(".")
    if section not in ("machine", "queue") or not path or key == "queue.policies":
        valid = "policy, machine.KEY (of the same family) and queue.KEY"
        raise ConfigError(f"reference.{key}", None, f"the reference takes {valid}")
    user_class = key == "queue.decider" and ":" in str(value)
    files = (k.replace("machine.parameters.", "machine.").removesuffix(".*") for k in file_keys())
    if key.startswith(tuple(files)) or user_class:
        raise ConfigError(f"reference.{key}", None, "the reference reads the run's files")
    if key.startswith(_NEW_MACHINE):
        raise ConfigError(f"reference.{key}", None, "the reference has the run's network family")
    level = content[section]
    own = {short_name(name) for name in MachineSection.model_fields}
    if section == "machine" and short_name(path[0]) not in own:
        level = level["parameters"]
    for part in path[:-1]:
        level = level.get(part)
        if not isinstance(level, dict):
            raise ConfigError(f"reference.{key}", None, f"{part} has no keys of its own")
    # the resolved content has SI names, the file may have the short ones
    for name in [name for name in level if short_name(name) == short_name(path[-1])]:
        del level[name]
    level[path[-1]] = value
    if key == "queue.decider":
        level.pop("decider_files", None)  # they are the run's own class's
    if key == "queue.backfill":
        for name in DECIDER_KEYS:  # it is the backfilling that runs the reference's queue
            level.pop(name, None)
