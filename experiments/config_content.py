"""A config from its content: SI names, files, and what its parts refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cosim.registry import RUNTIME_MODELS
from experiments.config import Config, config_class, file_keys
from experiments.config_decider import placed_decider
from experiments.config_errors import ConfigError, config_error, model_inside
from experiments.config_machine import MachineSection, machine_section
from experiments.points import flatten
from netsim.errors import NetcosimError
from netsim.named_files import place_files
from netsim.plugins import Plugin, installed_plugins, plugin_of, used_by, using
from netsim.units import quantity_of, short_name

Whole = TypeVar("Whole", bound=BaseModel)


def config_alone(raw: Mapping[str, Any], folder: Path | None = None) -> Config:
    """A config from a content whose ``[reference]``, if it has one, nobody has looked at.

    Parameters and errors are those of `experiments.config_load.config_from`.
    """
    with using((*installed_plugins(), *plugins_of(raw, folder))) as plugins:
        return _validated({**raw, "plugins": [*used_by(raw, plugins)]}, folder)


def plugins_of(raw: Mapping[str, Any], folder: Path | None = None) -> list[Plugin]:
    """The plug-ins that a content names, read.

    Raises
    ------
    ConfigError
        No list of files and modules; what `netsim.plugins.load_plugin` refuses.
    """
    named = raw.get("plugins", [])
    if not isinstance(named, (list, tuple)):
        raise ConfigError("plugins", named, 'must be a list of files and modules, ["mine.py"]')
    try:
        return [plugin_of(one, folder) for one in named]
    except NetcosimError as error:
        raise ConfigError("plugins", None, str(error)) from None


def _validated(raw: Mapping[str, Any], folder: Path | None) -> Config:
    content = dict(raw)
    if isinstance(content.get("reference"), Mapping):
        content["reference"] = flatten(content["reference"])
    config = validated_sections(content, config_class(), file_keys(), folder)
    _check_model(config)
    return config


def validated_sections(
    raw: Mapping[str, Any], whole: type[Whole], files: Iterable[str], folder: Path | None
) -> Whole:
    """A model of sections, ``[machine]`` among them, from the content of a file.

    Parameters
    ----------
    raw : mapping
    whole : type
        Of the model.
    files : iterable of str
        Dotted keys that name files.
    folder : path, optional
        Where relative paths are looked up first.

    Raises
    ------
    ConfigError
    """
    content = dict(raw)
    machine = content.get("machine")
    if isinstance(machine, Mapping):
        own = set(MachineSection.model_fields) - {"family", "parameters"}
        keys = own | {short_name(name) for name in own}
        content["machine"] = machine_section(machine, keys)
    spelled: dict[str, str] = {}
    content = _in_si(content, whole, "", spelled)
    if folder is not None:
        place_files(content, files, folder)
        queue = content.get("queue")
        if isinstance(queue, Mapping) and "decider" in queue:
            content["queue"] = {**queue, "decider": placed_decider(queue["decider"], folder)}
    try:
        return whole.model_validate(content)
    except ValidationError as error:
        raise config_error(error, content, whole, spelled) from None


def _check_model(config: Config) -> None:
    """Values that the chosen run-time model cannot run with."""
    queue = config.queue
    try:
        parameters = queue.model_parameters(lambda named: named.file)
        RUNTIME_MODELS[queue.run_time_model].check(parameters, config.run.snapshots)
    except NetcosimError as error:
        raise ConfigError("queue.run_time_model", None, str(error)) from None


def _in_si(
    raw: Mapping[str, Any], model: type[BaseModel], prefix: str, spelled: dict[str, str]
) -> dict[str, Any]:
    """Keys by their SI names; ``spelled`` keeps how the user wrote them."""
    short = {short_name(name): name for name in model.model_fields}
    found: dict[str, Any] = {}
    for key, value in raw.items():
        name = short.get(key, key)
        dotted = f"{prefix}{name}"
        if name in found:
            raise ConfigError(f"{prefix}{key}", None, f"given twice, as {key} and as {name}")
        if name != key:
            spelled[dotted] = f"{prefix}{key}"
            numbers = value if isinstance(value, list) else [value]
            if quantity_of(name) and any(not isinstance(number, str) for number in numbers):
                raise ConfigError(
                    f"{prefix}{key}", value, f"has no unit; give it one, or write {name}"
                )
        field = model.model_fields.get(name)
        inner = None if field is None else model_inside(field.annotation)
        if inner is not None and isinstance(value, Mapping):
            value = _in_si(value, inner, f"{dotted}.", spelled)
        elif inner is not None and isinstance(value, (list, tuple)):
            value = [
                _in_si(entry, inner, f"{dotted}.{i}.", spelled)
                if isinstance(entry, Mapping)
                else entry
                for i, entry in enumerate(value)
            ]
        found[name] = value
    return found
