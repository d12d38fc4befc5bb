"""The JSON schema of a config file, from the sections' models and what registries declare.

Editors complete and check keys and names with it. It knows less than a run: what depends on other
keys is checked when the config is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from netcosim.package_check import has_study, study_module
from netsim.parameters import model_from
from netsim.units import quantity_of, short_name

Schema = dict[str, Any]

_KEPT = (
    *("type", "enum", "const", "description", "examples", "default", "additionalProperties"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
)
_RANGE = {
    "description": "a range of values, for netcosim sweep",
    "type": "object",
    "required": ["from", "to"],
    "properties": {key: {} for key in ("from", "to", "step", "factor", "count", "scale")},
    "additionalProperties": False,
}
_QUANTITY = {"type": "string", "pattern": r"^\s*[+-]?[0-9.].*[A-Za-zµμ]\s*$"}
_SIZE = _QUANTITY | {"type": ["number", "string"]}
_ONE_OR_MORE = ("traffic", "loads", "routings")
_OF_STUDIES = {
    "curve": ("curve.config", "CurveSection"),
    "collective": ("curve.config", "CollectiveSection"),
    "judge": ("judge.config", "JudgeSection"),
    "match": ("machines.match.machine", "MatchSection"),
}
"""Sections of studies' configs: each with its module, and its class."""


def config_schema() -> Schema:
    """Return the schema (draft 7) of configs of all commands."""
    from netcosim.config.config import config_class
    from netcosim.config.machine import MachineNames, PacketPresetKey
    from netcosim.config.run import SweepSection
    from netsim.routing.registry import ROUTINGS
    from netsim.topologies.registry import FAMILIES
    from patterns.registry import PATTERNS

    sections: Schema = {}

    def properties(model: Any) -> Schema:
        schema = model.model_json_schema()
        for name, inner in schema.get("$defs", {}).items():
            sections.setdefault(name, _section(inner))
        return dict(_section(schema)["properties"])

    def declared(*registries: Mapping[str, Any]) -> Schema:
        """Return the keys of all entries; one that several declare may follow any of them."""
        merged: dict[str, list[Schema]] = {}
        for entries in registries:
            for name, entry in entries.items():
                for key, value in properties(model_from(name, entry.parameters)).items():
                    merged.setdefault(key, []).append(value)
        return {key: _either(values) for key, values in merged.items()}

    content = properties(config_class())
    machine = sections["MachineSection"]["properties"]
    machine |= properties(MachineNames) | declared(FAMILIES, ROUTINGS)
    sections["PacketSection"]["properties"] |= properties(PacketPresetKey)
    sections["PatternSection"]["properties"]["parameters"] = _object(declared(PATTERNS))
    own = {
        name: getattr(study_module(f"experiments.{module}"), section)
        for name, (module, section) in _OF_STUDIES.items()
        if has_study(module.partition(".")[0])
    }
    others = {name: _object(properties(section)) for name, section in own.items()}
    for key in _ONE_OR_MORE if "curve" in others else ():
        options = others["curve"]["properties"][key]["anyOf"]
        options.append(options[0]["items"])
    sweep = {"sweep": _object(properties(SweepSection))}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "netcosim config",
        **_object(content | others | sweep),
        "$defs": {**sections, "range": _RANGE},
    }


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _section(schema: Schema) -> Schema:
    """Return the schema of a table, whose quantities may be texts with units."""
    if "properties" not in schema:
        return _leaf(schema)
    properties: Schema = {}
    for name, field in schema["properties"].items():
        value = _field(field)
        properties[name] = value
        if quantity_of(name) is not None:
            unit = _SIZE if short_name(name) == name else _QUANTITY
            properties[short_name(name)] = _axis(_leaf(field, unit))
    return _object(properties)


def _field(field: Schema) -> Schema:
    """Return the schema of a key's value, or of a list or range of such values in a sweep."""
    value = _leaf(field)
    if "$ref" in value or value.get("type") == "object":
        return value
    return _axis(value)


def _axis(value: Schema) -> Schema:
    shown = {key: value[key] for key in ("description", "default") if key in value}
    one = {key: inner for key, inner in value.items() if key not in shown}
    return shown | {
        "anyOf": [one, {"type": "array", "items": one, "minItems": 1}, {"$ref": "#/$defs/range"}]
    }


def _leaf(field: Schema, unit: Schema | None = None) -> Schema:
    """Return the schema of a value without nulls, which TOML lacks, its names as choices."""
    if "or_text" in field:
        other = {key: value for key, value in field.items() if key != "or_text"}
        return _either([_leaf(other, unit), field["or_text"]])
    kept = {key: field[key] for key in _KEPT if key in field}
    if isinstance(kept.get("default"), dict) or kept.get("default", 0) is None:
        del kept["default"]
    names = {"names": field["names"]} if "names" in field else {}
    if "$ref" in field:
        return {"$ref": field["$ref"]}
    if "anyOf" in field:
        options = [o for o in field["anyOf"] if o.get("type") != "null"]
        return kept | _either([_leaf(o | names, unit) for o in options])
    if "prefixItems" in field:
        inner = [_leaf(item, unit) for item in field["prefixItems"]]
        pair = {"type": "array", "items": inner, "minItems": 2, "maxItems": 2}
        return {k: v for k, v in kept.items() if k not in pair} | {"anyOf": [inner[0], pair]}
    if "items" in field:
        return kept | {"items": _leaf(field["items"] | names, unit)}
    if names and kept.get("type") == "string":
        kept["enum"] = field["names"]
    return kept | unit if unit and kept.get("type") in ("integer", "number") else kept


def _either(values: list[Schema]) -> Schema:
    """Return a schema that allows any of several, each once."""
    distinct = [value for i, value in enumerate(values) if value not in values[:i]]
    if len(distinct) == 1:
        return distinct[0]
    shown = {"description": d} if (d := distinct[0].get("description")) else {}
    return shown | {"anyOf": distinct}


def schema_text() -> str:
    """Return the schema as JSON, the same bytes each time."""
    return json.dumps(config_schema(), ensure_ascii=False, sort_keys=True) + "\n"
