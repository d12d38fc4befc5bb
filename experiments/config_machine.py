"""The ``[machine]`` section: a preset or a family, and the parameters that its builder takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from experiments.config_errors import ConfigError, near
from experiments.fields import all_finite, quantity
from experiments.inputs import is_input
from experiments.units import quantity_of, short_name
from netsim.errors import NetcosimError

FILE_PARAMETERS = {"file"}
"""Parameters of families that name a file; they enter a point's key with what it holds."""


def family_parameters(family: str) -> dict[str, inspect.Parameter]:
    """Parameters of a family by SI name, those of both its builders.

    Raises
    ------
    NetcosimError
        An unknown family.
    """
    from netsim.errors import unknown_name
    from netsim.topologies.registry import FAMILIES

    if family not in FAMILIES:
        raise unknown_name("topology", family, FAMILIES)
    entry = FAMILIES[family]
    builders = [entry.builder] + ([entry.alternative[1]] if entry.alternative else [])
    found: dict[str, inspect.Parameter] = {}
    for builder in builders:
        found |= dict(inspect.signature(builder).parameters)
    return {name: p for name, p in found.items() if name != "network"}


def list_parameters() -> set[str]:
    """Dotted keys of machine parameters that are lists by nature."""
    from netsim.topologies.registry import FAMILIES

    return {
        f"machine.{name}"
        for family in FAMILIES
        for name, parameter in family_parameters(family).items()
        if "Sequence" in str(parameter.annotation)
    }


def machine_section(raw: Mapping[str, object], own_keys: set[str]) -> dict[str, Any]:
    """The section as `MachineSection` wants it: the family named, its parameters in SI.

    Parameters
    ----------
    raw : mapping
        As in the file.
    own_keys : set of str
        Keys of the section that are no parameters of a family.

    Raises
    ------
    ConfigError
        Names the key.
    """
    from netsim.topologies.registry import FAMILIES, PRESETS

    parameters: dict[str, Any] = {}
    family = raw.get("family")
    if "preset" in raw:
        name = raw["preset"]
        if not isinstance(name, str) or name not in PRESETS:
            raise ConfigError("machine.preset", name, f"unknown machine;{near(name, PRESETS)}")
        preset = PRESETS[name]
        if family not in (None, preset.family):
            raise ConfigError("machine.family", family, f"preset {name} is a {preset.family}")
        family, parameters = preset.family, {**preset.params, "name": name}
    if family is None:
        raise ConfigError("machine", None, "needs preset or family (netcosim list machines)")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ConfigError("machine.family", family, f"unknown topology;{near(family, FAMILIES)}")
    known = family_parameters(family)
    by_key = {short_name(name): name for name in known} | {name: name for name in known}
    own = {key: raw[key] for key in raw if key in own_keys}
    given = {key: raw[key] for key in raw if key not in own_keys | {"preset", "family"}}
    inner = given.pop("parameters", {})
    if not isinstance(inner, Mapping):
        raise ConfigError("machine.parameters", inner, "must be a table")
    written: dict[str, str] = {}
    for key, value in {**inner, **given}.items():
        if key not in by_key:
            shown = sorted(
                {short_name(n) for n in known} | {short_name(n) for n in own_keys} | {"preset"}
            )
            raise ConfigError(f"machine.{key}", None, f"unknown key;{near(key, shown)}")
        name = by_key[key]
        if name in written:
            raise ConfigError(f"machine.{key}", None, f"given twice, also as {written[name]}")
        written[name] = key
        parameters[name] = _value(key, name, value, known[name])
    _check_complete(family, parameters)
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in parameters.items()}
    return {**own, "family": family, "parameters": dict(sorted(plain.items()))}


def _value(key: str, name: str, value: object, parameter: inspect.Parameter) -> object:
    """One parameter in SI; what builders check themselves (ranges of p, a, g) is left to them."""
    if name in FILE_PARAMETERS and is_input(value):
        return value
    if not all_finite(value):
        raise ConfigError(f"machine.{key}", value, "must be finite")
    unit = quantity_of(name)
    if unit is not None:
        if key != name and not isinstance(value, str):
            raise ConfigError(f"machine.{key}", value, f"has no unit; give it one, or write {name}")
        try:
            return quantity(value, unit.dimension, positive=unit.dimension == "bandwidth")
        except NetcosimError as error:
            raise ConfigError(f"machine.{key}", None, str(error)) from None
    wanted = str(parameter.annotation)
    for word, kind, told in (
        ("Sequence", list, "a list"),
        ("bool", bool, "true or false"),
        ("float", (int, float), "a number"),
        ("int", int, "a whole number"),
        ("str", str, "a text"),
    ):
        if word in wanted:
            either = isinstance(value, bool) and "bool" in wanted
            fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
            if not (fits or either):
                raise ConfigError(f"machine.{key}", value, f"must be {told}")
            return value
    return value


def _check_complete(family: str, parameters: Mapping[str, object]) -> None:
    from netsim.topologies.registry import FAMILIES

    alternative = FAMILIES[family].alternative
    # A graph in memory cannot stand in a file, so only its file form is left.
    second = alternative is not None and (alternative[0] in parameters or family == "graph")
    builder = alternative[1] if alternative and second else FAMILIES[family].builder
    signature = inspect.signature(builder).parameters
    for name, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and name not in parameters:
            needed = [n for n, p in signature.items() if p.default is inspect.Parameter.empty]
            either = f" (or {alternative[0]})" if alternative and not second else ""
            told = f"missing; a {family} needs {', '.join(needed)}{either}"
            raise ConfigError(f"machine.{name}", None, told)
    for name in parameters:
        if name not in signature:
            assert alternative is not None
            how = "without" if second else "with"
            raise ConfigError(f"machine.{short_name(name)}", None, f"goes {how} {alternative[0]}")
