"""Everything that has a name, by kind: what ``netcosim list`` and ``describe`` show.

All of it comes from the entries of the registries; docs/reference.md is the output of `reference`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netsim.errors import NetcosimError, need_name
from netsim.parameters import Parameter
from netsim.plugins import plugins_in_use, source_of
from netsim.registry import ROOT, TABLE, Registry, entries_at, facts_of, listed_in, object_at
from netsim.units import format_quantity, quantity_of, short_name

if TYPE_CHECKING:
    from netsim.topology import Topology

Lines = list[str]


def _keys(parameters: Mapping[str, Parameter], where: str) -> Lines:
    """List the keys of a section with their allowed values."""
    if not parameters:
        return []
    return [f"  keys of {where}:", *(f"    {format_key(p)}" for p in parameters.values())]


def format_key(parameter: Parameter) -> str:
    """Format a declared key with its allowed values, quantities with their units."""
    phrase = parameter.help_text
    unit = quantity_of(parameter.name)
    if unit is not None:
        what = "a size" if unit.dimension == "bytes" else f"a {unit.dimension}"
        phrase = phrase.replace("a whole number", what).replace("a number", what)
        if isinstance(parameter.default, (int, float)):
            default = _quantity(parameter.name, parameter.default)
            phrase = phrase.replace(f"default {parameter.default}", f'default "{default}"')
    return f"{short_name(parameter.name)}: {phrase}"


def _quantity(name: str, value: object) -> str:
    unit = quantity_of(name)
    if isinstance(value, bool):
        return str(value).lower()
    if unit is None or not isinstance(value, (int, float)):
        return str(value)
    return format_quantity(value, unit.dimension)


def _topology(name: str, entry: Any) -> Lines:
    from alloc.registry import policies_for
    from netsim.routing.registry import routings_for

    return [
        *_keys(entry.parameters, "[machine]"),
        f"  routings: {', '.join(routings_for(entry.name))} (default {entry.default_routing})",
        f"  policies: {', '.join(policies_for(entry.name))}",
    ]


def _machine(name: str, entry: Any) -> Lines:
    from netsim.topologies.registry import FAMILIES, preset

    topology = preset(name)
    notes = [f"  note: {line}" for line in FAMILIES[entry.family].notes(topology)]
    return [*format_links(topology), "  parameters:", *_settings(entry.params), *notes]


def _settings(keys: Mapping[str, object]) -> Lines:
    return [f"    {short_name(key)} = {_quantity(key, value)}" for key, value in keys.items()]


def format_links(topology: Topology) -> Lines:
    """List family and size of a machine, and its links by kind."""
    import numpy as np

    lines = [
        f"  family {topology.family}: {topology.n_nodes:,} nodes, {topology.n_routers:,} routers, "
        f"{topology.n_links:,} directed links"
    ]
    for i, kind in enumerate(topology.kinds):
        mine = topology.link_kind == i
        if mine.any():
            speeds = np.unique(topology.link_bandwidth_Bps[mine])
            phrase = ", ".join(format_quantity(float(speed), "bandwidth") for speed in speeds)
            lines.append(f"    {kind}: {int(mine.sum()):,} links of {phrase}")
    return lines


def _routing(name: str, entry: Any) -> Lines:
    families = ", ".join(entry.families) or "any"
    return [f"  topologies: {families}", *_keys(entry.parameters, "[machine]")]


def _recipe(name: str, entry: Any) -> Lines:
    from netsim.packet.presets import PACKET_PRESETS

    return [
        f"  topologies: {', '.join(entry.families) or 'any'}",
        f'  in a config: recipe = "{name}" under [machine]',
        f"  routing: {entry.routing or 'the default of the topology'}",
        *_settings(entry.routing_parameters),
        f"  [machine.packet]: {PACKET_PRESETS[entry.packet_preset].description}",
        *_settings(entry.packet_keys),
    ]


def _policy(name: str, entry: Any) -> Lines:
    isolates = "yes, no two jobs share a router-to-router link" if entry.isolates else "no"
    families = ", ".join(entry.families) or "any"
    keys = _keys(entry.declares(), f"[policies.{name}]")
    return [f"  topologies: {families}", f"  isolates: {isolates}", *keys, *_doc(entry)]


def _pattern(name: str, entry: Any) -> Lines:
    where = "parameters (beside message_bytes and iterations)"
    keys = _keys(entry.parameters, where) or ["  no keys beside message_bytes and iterations"]
    return [*keys, *(f"  {line}" for line in (entry.details or list)())]


def _runtime_model(name: str, entry: Any) -> Lines:
    return [*_keys(entry.declares(), f"[queue.{name}]"), *_doc(entry)]


def _log(name: str, entry: Any) -> Lines:
    from workloads.registry import describe as describe_log

    return describe_log(name).splitlines()[1:]


def _importer(name: str, entry: Any) -> Lines:
    from workloads.importers.meanings import MEANINGS

    meanings = MEANINGS.get(name)
    fields = [] if meanings is None else meanings.lines()
    keys = _keys(entry.parameters, f"netcosim trace import {name} (--its-name VALUE)")
    return [*keys, *(f"  {line}" for line in fields)]


def _doc(thing: object) -> Lines:
    """Return the docstring without its sections: parameters, which no config can set, and notes."""
    text = re.split(r"\n\w+\n---", inspect.getdoc(thing) or "")[0].rstrip()
    return ["", *(f"  {line}".rstrip() for line in text.splitlines())] if text else []


@dataclass(frozen=True)
class Kind:
    """One kind of named things."""

    singular: str
    registry: str
    """``module:NAME`` of a mapping from names to entries with a ``description``."""
    details: Callable[[str, Any], Lines] = lambda name, entry: []
    """``details(name, entry)``: further lines on it."""


KINDS: dict[str, Kind] = {
    "topologies": Kind("topology", "netsim.topologies.registry:FAMILIES", _topology),
    "machines": Kind("machine", "netsim.topologies.presets:PRESETS", _machine),
    "routings": Kind("routing", "netsim.routing.registry:ROUTINGS", _routing),
    "recipes": Kind("recipe", "netsim.routing.registry:RECIPES", _recipe),
    "policies": Kind("policy", "alloc.registry:POLICIES", _policy),
    "patterns": Kind("pattern", "patterns.registry:PATTERNS", _pattern),
    "task-mappings": Kind("task-mapping", "patterns.mapping:MAPPINGS"),
    "orders": Kind("order", "queuesim.registry:ORDERS"),
    "backfills": Kind("backfill", "queuesim.registry:BACKFILLS"),
    "deciders": Kind("decider", "queuesim.registry:DECIDERS"),
    "estimates": Kind("estimate", "queuesim.registry:ESTIMATES"),
    "runtime-models": Kind("runtime-model", "cosim.registry:RUNTIME_MODELS", _runtime_model),
    "network-schedulers": Kind(
        "network-scheduler", "cosim.registry:NETWORK_SCHEDULERS", lambda name, entry: _doc(entry)
    ),
    "measures": Kind("measure", "cosim.registry:MEASURES"),
    "observables": Kind("observable", "queuesim.observables.registry:OBSERVABLES"),
    "scenarios": Kind("scenario", "queuesim.registry:SCENARIOS"),
    "mixes": Kind(
        "mix", "workloads.registry:MIXES", lambda name, entry: [f"  {x}" for x in entry.details]
    ),
    "logs": Kind("log", "workloads.registry:LOGS", _log),
    "importers": Kind("importer", "workloads.importers.registry:IMPORTERS", _importer),
    "papers": Kind("paper", "netcosim.papers:PAPERS"),
}


def _registry(kind: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = object_at(KINDS[kind].registry)
    return found


def kinds() -> list[str]:
    """Return what can be listed; without ``papers`` if their folders have been deleted."""
    from netcosim.papers import PAPERS

    return [kind for kind in KINDS if kind != "papers" or PAPERS]


def entries(kind: str) -> dict[str, str]:
    """Return the names of a kind, with one line of description each.

    Parameters
    ----------
    kind : str
        "policies", "machines", ...: what ``netcosim list`` shows.

    Returns
    -------
    dict of str to str

    Raises
    ------
    NetcosimError
        An unknown kind.

    Examples
    --------
    >>> import netcosim as nc
    >>> nc.entries("orders")["fcfs"]
    'first come, first served: by submit time'
    """
    need_name("kind", kind, kinds())
    if plugins_in_use() or kind == "papers":
        registry = _registry(kind)
        return {name: _description(registry, name) for name in registry}
    facts = listed_in(KINDS[kind].registry).values()
    return {name: one.description for entries in facts for name, one in entries.items()}


def _description(registry: Mapping[str, Any], name: str) -> str:
    found = registry.facts(name) if isinstance(registry, Registry) else registry[name]
    description: str = found.description
    return description


def entry_tables() -> dict[Path, str]:
    """Return what is known of entries without importing them, as the packages' files have it."""
    tables: dict[str, list[str]] = {}
    for kind in KINDS.values():
        package, registry = kind.registry.partition(".")[0], object_at(kind.registry)
        if package == "netcosim":
            continue
        places = {kind.registry: registry}
        if isinstance(registry, Registry):
            places = {place: entries_at(place, registry.home) for place in registry.places}
        rows = [
            f"  {json.dumps(place)}: {json.dumps({n: _row(e) for n, e in found.items()})}"
            for place, found in places.items()
        ]
        inside = ",\n".join(rows)
        tables.setdefault(package, []).append(f' "{kind.registry}": {{\n{inside}\n }}')
    return {
        ROOT / package / TABLE: "{\n" + ",\n".join(parts) + "\n}\n"
        for package, parts in tables.items()
    }


def _row(entry: Any) -> dict[str, Any]:
    return {key: value for key, value in asdict(facts_of(entry)).items() if value}


def describe(name: str, among: Sequence[str] | None = None) -> Lines:
    """Describe a name under every kind that has it.

    Parameters
    ----------
    name : str
    among : sequence of str, optional
        The kinds to look at; all of them by default.

    Returns
    -------
    list of str
        Lines of text.

    Raises
    ------
    NetcosimError
        A name that no kind has; near ones are listed.

    Examples
    --------
    >>> import netcosim as nc
    >>> print("\\n".join(nc.describe("dragonfly-272")[:2]))
    dragonfly-272 (machine)
      dragonfly of 17 groups of 4 routers of 4 nodes, 8 Gbit/s links
    """
    from netsim.errors import meant
    from netsim.kinds import NONE, need_kinds

    need_kinds("describe", {"name": (name, str), "among": (among, (list, tuple, NONE))})
    for kind in among or ():
        need_name("kind", kind, KINDS)
    found: Lines = []
    names: set[str] = set()
    for kind in kinds() if among is None else among:
        registry = _registry(kind)
        names |= set(registry)
        if name in registry:
            found += [f"{name} ({KINDS[kind].singular})", *_describe_entry(kind, name), ""]
    if not found:
        hint = meant(name, names, 3, 0.5)
        raise NetcosimError(f"nothing is called {name!r}{hint} (see netcosim list KIND)")
    return found[:-1]


def _describe_entry(kind: str, name: str) -> Lines:
    entry = _registry(kind)[name]
    source = source_of(KINDS[kind].registry, name)
    return [
        f"  {entry.description}",
        *([f"  from {source.label}"] if source else []),
        *KINDS[kind].details(name, entry),
    ]


def reference() -> Lines:
    """List every name of every kind with its keys, as Markdown; machines and papers by name."""
    lines = [
        "# Reference: everything that has a name",
        "",
        "This page lists all names that a config or a command takes, with their keys; `netcosim",
        "describe NAME` shows more on one of them. It is generated by `netcosim describe --all`.",
        "Keys of policies and run-time models are described with the [config](config.md), in",
        "`[policies.NAME]` and `[queue]`.",
    ]
    for kind in kinds():
        registry = _registry(kind)
        keys = {name: _declared(kind, entry) for name, entry in registry.items()}
        common = _common(keys.values())
        lines += ["", f"## {kind.replace('-', ' ').capitalize()}", ""]
        if common:
            lines += ["Keys of several:", ""]
            lines += [f"- `{key}`: {phrase}" for key, phrase in common.items()]
            lines += ["", "Names, with the other keys of each:", ""]
        for name, entry in registry.items():
            lines.append(f"- `{name}`: {entry.description}")
            lines += _nested(keys[name], common)
    return lines


Keys = dict[str, str]
"""Texts on the keys of an entry; empty where another page has them."""


def _declared(kind: str, entry: Any) -> Keys:
    if kind in ("runtime-models", "policies"):
        return {short_name(name): "" for name in entry.declares()}
    if kind not in ("topologies", "routings", "patterns", "importers"):
        return {}
    parted = (format_key(parameter).partition(": ") for parameter in entry.parameters.values())
    return {key: phrase for key, _, phrase in parted}


def _common(entries: Iterable[Keys]) -> Keys:
    """Return the texts that several entries have for a key; the most frequent one of each key."""
    found = Counter(item for keys in entries for item in keys.items())
    common: Keys = {}
    for (key, phrase), n in found.most_common():
        if n > 1 and phrase:
            common.setdefault(key, phrase)
    return common


def _nested(keys: Keys, common: Keys) -> Iterable[str]:
    alike = [key for key, phrase in keys.items() if phrase == common.get(key, "")]
    yield from (f"  - `{key}`: {phrase}" for key, phrase in keys.items() if key not in alike)
    if alike:
        yield f"  - {', '.join(f'`{key}`' for key in alike)}"


if __name__ == "__main__":
    for path, text in entry_tables().items():
        path.write_text(text, encoding="utf-8")
