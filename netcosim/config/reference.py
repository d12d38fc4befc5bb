"""Every key of a config: what it is, what it may be, its default, an example.

All of it is read from the JSON schema of the config's sections; docs/config.md is the output of
`config_page`, and ``netcosim describe KEY`` shows one key.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from netcosim.catalogue import KINDS
from netcosim.config.toml_text import toml_value
from netsim.parameters import Parameter
from netsim.units import Quantity, quantity_of, short_name

Lines = list[str]
Schema = dict[str, Any]

_SECTION = {
    "": "top level, before the first section",
    "communication.mix": "[[communication.mix]], once for each kind of job",
    "machine.faults": "[[machine.faults]], once for each fault of a link",
    "queue.partitions": "[[queue.partitions]], once for each partition",
}
_LEFT_OUT = ("machine.parameters", "machine.routing_parameters")
"""Their entries are keys of ``[machine]`` itself."""


@dataclass(frozen=True)
class DescribedKey:
    """A key of a config."""

    path: str
    """Dotted, as a file spells it."""
    description: str
    allowed: str
    """Text on its allowed values."""
    default: str
    """As TOML; empty where there is none, "needed" where one must be given."""
    example: str
    """As TOML; empty where the field has none and its default suggests none."""
    beside: tuple[str, ...] = ()
    """Lines of TOML: other keys of the section that the example needs."""

    @property
    def section(self) -> str:
        """The section that it is in."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key in its section."""
        return self.path.rpartition(".")[2]

    @property
    def lines(self) -> Lines:
        """The example as TOML; its own line is the last."""
        heads = {"": [], **{name: [f"[[{name}]]"] for name in _SECTION if name}}
        head = heads.get(self.section, [f"[{self.section}]"])
        return [*head, *self.beside, f"{self.name} = {self.example}"]

    @property
    def format_default(self) -> str:
        """Format the default."""
        if self.default == "needed":
            return "needed; there is no default"
        return f"default {self.default}" if self.default else "may be left out"


def config_keys() -> dict[str, DescribedKey]:
    """Return every key by its dotted name, in the order of the sections."""
    from pydantic.json_schema import GenerateJsonSchema

    from netcosim.config.config import config_class
    from netcosim.config.machine import MachineNames, PacketPresetKey
    from netcosim.config.run import SweepSection

    class AsDeclared(GenerateJsonSchema):
        """With the keys of an example in the order of its declaration."""

        def sort(self, value: Schema, parent_key: str | None = None) -> Schema:
            return value

    keys: list[DescribedKey] = []
    for model, where in (
        (config_class(), ""),
        (MachineNames, "machine."),
        (PacketPresetKey, "machine.packet."),
        (SweepSection, "sweep."),
    ):
        schema = model.model_json_schema(schema_generator=AsDeclared)
        keys += _keys_of(schema, where, schema.get("$defs", {}))
    sections = ["", *dict.fromkeys(key.section for key in keys if key.section)]
    return {key.path: key for section in sections for key in keys if key.section == section}


def _keys_of(section: Schema, where: str, sections: Schema) -> Iterator[DescribedKey]:
    for name, field in section["properties"].items():
        path = f"{where}{short_name(name)}"
        inner = _section_of(field, sections)
        if path in _LEFT_OUT:
            continue
        if inner is not None:
            yield from _keys_of(inner, f"{path}.", sections)
            continue
        unit, needed = quantity_of(name), name in section.get("required", ())
        yield DescribedKey(
            path,
            field.get("description", ""),
            _allowed(field, unit),
            "needed" if needed else _default(field, unit),
            _example(field, unit),
            tuple(f"{k} = {toml_value(v)}" for k, v in field.get("beside", {}).items()),
        )


def _section_of(field: Schema, sections: Schema) -> Schema | None:
    """Return the section in a field, or in a list or an option of it."""
    for one in (field, field.get("items", {}), *field.get("anyOf", ())):
        schema: Schema = sections.get(one.get("$ref", "").removeprefix("#/$defs/"), {})
        if schema and "sha256" not in schema["properties"]:
            return schema
    return None


# What a value may be

_LIMITS = {
    "minimum": "at least",
    "ge": "at least",
    "exclusiveMinimum": "above",
    "gt": "above",
    "maximum": "at most",
    "le": "at most",
    "exclusiveMaximum": "below",
    "lt": "below",
}
"""Limits of JSON Schema, and as pydantic writes those of a value that is converted first."""
_UPPER_LIMITS = ("maximum", "le", "exclusiveMaximum", "lt")
_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "a text",
    "object": "a table",
}


def _allowed(field: Schema, unit: Quantity | None) -> str:
    allowed, names = _kind(field, unit), field.get("names")
    if names is None:
        return allowed
    kind = _listed(names)
    if kind is None:
        return allowed.replace("a text", " or ".join(map(toml_value, names)))
    text, name = ("texts", "names") if "texts" in allowed else ("text", "name")
    return allowed.replace(text, f"{name} of `netcosim list {kind}`")


def _listed(names: list[str]) -> str | None:
    """Return the kind of `netcosim list` that has these names; None for no such list."""
    for kind, entry in KINDS.items():
        module, _, name = entry.registry.partition(":")
        # a registry that a field names has been imported
        if [*getattr(sys.modules.get(module), name, ())] == names:
            return kind
    return None


def _kind(value: Schema, unit: Quantity | None) -> str:
    if "anyOf" in value:
        kinds = (_kind(one, unit) for one in value["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(kinds))
    if words := _words(value):
        return " or ".join(map(toml_value, words))
    if "prefixItems" in value:
        return f"[low, high], each {_kind(value['prefixItems'][0], unit)}"
    if "items" in value:
        return f"a list of {_plural(_kind(value['items'], unit))}"
    kind = _KINDS.get(value.get("type", ""), "a file")
    if unit is not None and "number" in kind:
        kind = f"a {'size' if unit.dimension == 'bytes' else unit.dimension} with its unit"
    limits = " and ".join(f"{_LIMITS[key]} {value[key]:,}" for key in _LIMITS if key in value)
    return f"{kind}, {limits}" if limits else kind


def _words(value: Schema) -> list[str]:
    """Return the words that a text may be."""
    return [*value.get("enum", [value["const"]] if "const" in value else [])]


def _plural(kind: str) -> str:
    word, rest = re.fullmatch(r"a ([\w ]+?)((?: of| with|,).*)?", kind).groups("")  # type: ignore[union-attr]
    return f"{word}s{rest.replace('its unit', 'units')}"


def _default(field: Schema, unit: Quantity | None) -> str:
    value = field.get("default")
    return "" if value in (None, [], {}, "") else toml_value(value, unit)


def _example(field: Schema, unit: Quantity | None) -> str:
    """Return the declared example, another word, the other truth value, or twice the default."""
    default: Any = field.get("default")
    if "examples" in field:
        example = field["examples"][0]
    elif isinstance(default, bool):
        example = not default
    elif isinstance(default, (int, float)) and default:
        most = min((field[key] for key in _UPPER_LIMITS if key in field), default=2 * default)
        example = 2 * default if 2 * default <= most else type(default)(default / 2)
    else:
        example = next((w for w in (*field.get("names", ()), *_words(field)) if w != default), None)
    return "" if example is None else toml_value(example, unit)


# For the command and the page


def describe_key(path: str) -> Lines | None:
    """Describe a key, or the keys of a section; None if there is none.

    Parameters of topologies and routings are under ``machine.NAME``, those of patterns under
    ``communication.mix.parameters.NAME``.
    """
    keys = config_keys()
    if path in keys:
        return _key_lines(keys[path])
    inside = [key for key in keys.values() if key.section == path]
    if inside:
        width = max(len(key.name) for key in inside)
        return [f"[{path}]", *(f"  {k.name:<{width}}  {k.description}" for k in inside)]
    where, _, name = path.rpartition(".")
    matching = [
        line
        for entry, parameter in _parameters(where)
        if short_name(parameter.name) == name
        for line in (f"  {entry}: {parameter.help_text}",)
    ]
    return [f"{path} (config)", *matching] if matching else None


def _parameters(where: str) -> Iterator[tuple[str, Parameter]]:
    """Yield what entries declare for a section, with the entry."""
    if where == "machine":
        from netsim.routing.registry import ROUTINGS
        from netsim.topologies.registry import FAMILIES

        for kind, registry in (("family", FAMILIES), ("routing", ROUTINGS)):
            for name, entry in registry.items():
                yield from ((f"{kind} {name}", p) for p in entry.parameters.values())
    elif where == "communication.mix.parameters":
        from patterns.registry import PATTERNS

        for name, pattern in PATTERNS.items():
            yield from ((f"pattern {name}", p) for p in pattern.parameters.values())


def _key_lines(key: DescribedKey) -> Lines:
    return [
        f"{key.path} (config)",
        f"  {key.description}",
        f"  {key.allowed} ({key.format_default})",
        "  example:",
        *(f"    {line}" for line in key.lines),
    ]


def config_page() -> Lines:
    """List all keys as Markdown."""
    lines = [
        "# Every key of a config",
        "",
        "This page lists all keys of a config file, with their values, defaults and examples;",
        "`netcosim describe queue.window` shows one of them. It is generated by `netcosim describe",
        "--config`. The [reference](reference.md) describes names, and the keys that a family or a",
        "routing adds to [machine] and a pattern to its parameters.",
        "",
        'A quantity is a text with its unit (`"40 ns"`, `"8 Gbit/s"`, `"64 KiB"`); the key with',
        "its SI unit at the end (`latency_s`) takes a plain number instead. In a sweep any value",
        "may be a list or a range ([sweeps](sweeps.md)).",
        "",
        "What has a name (a run-time model, an order, a measure, a policy) has its keys in a table",
        'of that name: `queue.run_time_model = "coupled-packets"` is set up in',
        "`[queue.coupled-packets]`. A key that is set and that no part of a run reads is an error,",
        "which names where it is read; one at its default is not. In a sweep a key must be read in",
        "one of the points, so a list of models may keep a table for each.",
        "",
        "`netcosim config upgrade OLD.toml` rewrites a file of version 0.2.",
    ]
    keys = list(config_keys().values())
    for section in dict.fromkeys(key.section for key in keys):
        lines += ["", f"## {_SECTION.get(section, f'[{section}]')}", ""]
        lines += ["| key | what | value | default | example |", "|---|---|---|---|---|"]
        lines += [_row(key) for key in keys if key.section == section]
    return lines


def _row(key: DescribedKey) -> str:
    default = f"`{key.default}`" if key.default not in ("", "needed") else key.default
    cells = (f"`{key.name}`", key.description, key.allowed, default, f"`{key.example}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
