"""Every key of a config: what it is, what it may be, its default, an example.

Made from the models of the config's sections and what the parts declare; docs/config.md is
`config_page` as it stands, and ``netcosim describe KEY`` shows one of them.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any

from annotated_types import BaseMetadata

from netcosim.config_words import WORDS, Words
from netsim.parameters import OneOf, Parameter, limit_in_words
from netsim.units import Quantity, format_quantity, quantity_of, short_name

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

Lines = list[str]

_SECTION = {
    "": "top level, before the first section",
    "communication.mix": "[[communication.mix]], once for each kind of job",
    "queue.partitions": "[[queue.partitions]], once for each partition",
}
_LEFT_OUT = ("machine.parameters", "machine.routing_parameters")
"""They stand in ``[machine]`` itself, under their own names."""


@dataclass(frozen=True)
class Key:
    """A key of a config.

    Attributes
    ----------
    path : str
        Dotted, as a file spells it.
    description : str
    allowed : str
        What its value may be, in words.
    default : str
        As TOML; empty where there is none, "needed" where one must be given.
    words : Words
        With the example.
    """

    path: str
    description: str
    allowed: str
    default: str
    words: Words

    @property
    def section(self) -> str:
        """The section that it stands in."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key in its section."""
        return self.path.rpartition(".")[2]

    @property
    def lines(self) -> Lines:
        """An example as TOML."""
        heads = {"": [], **{name: [f"[[{name}]]"] for name in _SECTION if name}}
        head = heads.get(self.section, [f"[{self.section}]"])
        return [*head, f"{self.name} = {self.words.example}"]

    @property
    def format_default(self) -> str:
        """The default in words."""
        if self.default == "needed":
            return "needed; there is no default"
        return f"default {self.default}" if self.default else "may be left out"


def config_keys() -> dict[str, Key]:
    """Every key by its dotted name, in the order of the sections."""
    from experiments.config import config_class

    found = dict(_keys_of(config_class(), ""))
    found["machine.preset"] = _by_hand("machine.preset", "a text")
    found["machine.recipe"] = _by_hand("machine.recipe", "a text")
    found["machine.packet.preset"] = _by_hand("machine.packet.preset", _packet_presets())
    found["sweep.zip"] = _by_hand("sweep.zip", "a list of lists of keys")
    found["sweep.design"] = _by_hand("sweep.design", "a table: method, samples, seed, factors")
    order = ["", *dict.fromkeys(key.section for key in found.values() if key.section)]
    return {k.path: k for section in order for k in found.values() if k.section == section}


def _by_hand(path: str, allowed: str) -> Key:
    words = WORDS[path]
    return Key(path, words.description, _with_names(allowed, words), "", words)


def _packet_presets() -> str:
    from netsim.packet.presets import PACKET_PRESETS

    return " or ".join(f'"{name}"' for name in PACKET_PRESETS)


def _keys_of(model: type[BaseModel], where: str) -> Iterator[tuple[str, Key]]:
    from experiments.config_errors import model_inside
    from experiments.fields import InputFile

    for name, field in model.model_fields.items():
        path = f"{where}{short_name(name)}"
        if path in _LEFT_OUT:
            continue
        inner = model_inside(field.annotation)
        if inner is not None and not issubclass(inner, InputFile):
            yield from _keys_of(inner, f"{path}.")
            continue
        words = WORDS.get(path, Words(_example_of(field, name)))
        described = field.description or words.description or _docstrings().get(path, "")
        allowed = _with_names(_allowed(field.annotation, tuple(field.metadata), name), words)
        yield path, Key(path, described, allowed, _default(field, name), words)


def _with_names(allowed: str, words: Words) -> str:
    if words.allowed:
        return words.allowed
    if not words.names:
        return allowed
    for number in ("texts", "text"):
        name = number.replace("text", "name")
        allowed = allowed.replace(number, f"{name} of `netcosim list {words.names}`", 1)
        if "`" in allowed:
            break
    return allowed


def _example_of(field: FieldInfo, name: str) -> str:
    """For keys of plug-ins, which have no words here: the default."""
    return _default(field, name).replace("needed", "")


# Descriptions that stand in docstrings


def _docstrings() -> Mapping[str, str]:
    from cosim.measuring.pairing import Pairing
    from cosim.measuring.steady import SteadyRules
    from cosim.measuring.steps_measure import StepRules
    from netsim.packet.model import PacketConfig
    from workloads.synthetic import laas_workload

    return {
        f"{where}.{short_name(name)}": text
        for where, thing in (
            ("machine.packet", PacketConfig),
            ("workload.synthetic", laas_workload),
            ("run.paired", Pairing),
            ("run.steady", SteadyRules),
            ("run.steps", StepRules),
        )
        for name, text in described_in(thing).items()
    }


def described_in(thing: object) -> dict[str, str]:
    """The descriptions of a numpydoc docstring's parameters or attributes, each on one line."""
    found: dict[str, str] = {}
    text = inspect.getdoc(thing) or ""
    for names, told in re.findall(r"^([a-z]\w*(?:, \w+)*)(?: : .*)?\n((?:    .+\n?)+)", text, re.M):
        line = " ".join(told.split()).replace("``", "").rstrip(".")
        found |= dict.fromkeys(names.split(", "), line)
    return found


# What a value may be


def _allowed(kind: Any, metadata: tuple[Any, ...], name: str) -> str:
    limits = " and ".join(limit_in_words(one) for one in _limits((kind, *metadata)))
    words = next((m.words for m in metadata if isinstance(m, OneOf)), None)
    told = " or ".join(words) if words else _kind(kind, quantity_of(name))
    return f"{told}, {limits}" if limits else told


def _limits(things: tuple[Any, ...]) -> list[BaseMetadata]:
    """Limits anywhere inside of an annotation, each once."""
    found: list[BaseMetadata] = []
    for thing in things:
        inner = getattr(thing, "metadata", ()) if not isinstance(thing, type) else ()
        if isinstance(thing, BaseMetadata):
            try:
                limit_in_words(thing)
            except TypeError:
                continue
            found.append(thing)
        else:
            args = typing.get_args(thing)
            found += _limits((*args, *(m for m in inner if m not in args)))
    return list(dict.fromkeys(found))


def _kind(kind: Any, unit: Quantity | None) -> str:
    from experiments.fields import InputFile

    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _kind(inner[0], unit)
    if origin in (typing.Union, UnionType):
        told = (_kind(one, unit) for one in inner if one is not type(None))
        return " or ".join(dict.fromkeys(told))
    if origin is typing.Literal:
        return " or ".join(f'"{word}"' if isinstance(word, str) else str(word) for word in inner)
    if origin is tuple:
        one = _kind(inner[0], unit)
        if inner[-1] is Ellipsis:
            return f"a list of {_plural(one)}"
        return f"[low, high], each {one}"
    if isinstance(kind, type) and issubclass(kind, InputFile):
        return "a file"
    if origin is dict:
        return "a table"
    if kind in (int, float) and unit is not None:
        return f"a {'size' if unit.dimension == 'bytes' else unit.dimension} with its unit"
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]


def _plural(one: str) -> str:
    word, space, rest = one.removeprefix("a ").partition(" with ")
    return (
        f"{word if one.startswith('[') else word + 's'}{space}{rest.replace('its unit', 'units')}"
    )


def _default(field: FieldInfo, name: str) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, (), {}, "") else toml_value(value, quantity_of(name))


def toml_value(value: object, unit: Quantity | None = None) -> str:
    """A value as a config spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(one, unit) for one in value)}]"
    if isinstance(value, int) and unit is not None and unit.dimension == "bytes":
        return f'"{value // 1024} KiB"' if value and value % 1024 == 0 else str(value)
    if isinstance(value, (int, float)) and unit is not None:
        return f'"{format_quantity(value, unit.dimension, 12)}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


# For the command and the page


def describe_key(path: str) -> Lines | None:
    """All that is known of a key, or of the keys of a section; None if there is none.

    Parameters of topologies and routings stand under ``machine.NAME``, those of patterns under
    ``communication.mix.parameters.NAME``.
    """
    keys = config_keys()
    if path in keys:
        return _told(keys[path])
    inside = [key for key in keys.values() if key.section == path]
    if inside:
        width = max(len(key.name) for key in inside)
        return [f"[{path}]", *(f"  {k.name:<{width}}  {k.description}" for k in inside)]
    where, _, name = path.rpartition(".")
    found = [
        line
        for entry, parameter in _parameters(where)
        if short_name(parameter.name) == name
        for line in (f"  {entry}: {parameter.told}",)
    ]
    return [f"{path} (config)", *found] if found else None


def _parameters(where: str) -> Iterator[tuple[str, Parameter]]:
    """What entries declare for a section, with the entry."""
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


def _told(key: Key) -> Lines:
    return [
        f"{key.path} (config)",
        f"  {key.description}",
        f"  {key.allowed} ({key.format_default})",
        "  example:",
        *(f"    {line}" for line in key.lines),
    ]


def config_page() -> Lines:
    """All keys as Markdown."""
    from netcosim.catalogue import format_key
    from netsim.topologies.registry import FAMILIES

    lines = [
        "# Every key of a config",
        "",
        "Made by `netcosim describe --config` from what the sections and parts declare; one of",
        "them: `netcosim describe queue.window`.",
        "",
        'A quantity is a text with its unit (`"40 ns"`, `"8 Gbit/s"`, `"64 KiB"`); the key with',
        "its SI unit at the end (`latency_s`) takes a plain number instead. In a sweep any value",
        "may be a list or a range ([sweeps](sweeps.md)). What has a name is told in the",
        "[reference](reference.md).",
        "",
        "A key that is set and that no part of a run reads is reported on stderr, with the reason",
        "and with what would read it; the run goes on. In Python it is an `UnreadKeyWarning`.",
        "A key at its default is not reported. In a sweep a key is reported if no point reads it,",
        "and points that differ only in keys that they do not read are one point.",
    ]
    keys = list(config_keys().values())
    for section in dict.fromkeys(key.section for key in keys):
        lines += ["", f"## {_SECTION.get(section, f'[{section}]')}", ""]
        lines += ["| key | what | value | default | example |", "|---|---|---|---|---|"]
        lines += [_row(key) for key in keys if key.section == section]
    lines += ["", "## Keys of [machine] by family", ""]
    for name, family in FAMILIES.items():
        lines += [f"- `{name}`: {family.description}"]
        lines += [f"  - {format_key(parameter)}" for parameter in family.parameters.values()]
    return lines


def _row(key: Key) -> str:
    default = f"`{key.default}`" if key.default not in ("", "needed") else key.default
    cells = (f"`{key.name}`", key.description, key.allowed, default, f"`{key.words.example}`")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
