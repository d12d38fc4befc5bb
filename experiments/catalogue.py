"""Everything that has a name, by kind: what ``netcosim list`` and ``describe`` show."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from experiments.config_machine import family_parameters, short_name
from experiments.units import format_quantity, quantity_of
from netsim.errors import NetcosimError, unknown_name

Lines = list[str]


def _topologies() -> dict[str, str]:
    from netsim.topologies.registry import FAMILIES

    return {name: entry.description for name, entry in FAMILIES.items()}


def _machines() -> dict[str, str]:
    from netsim.topologies.registry import PRESETS

    return {name: entry.description for name, entry in PRESETS.items()}


def _routings() -> dict[str, str]:
    from netsim.routing.registry import ROUTINGS

    return {n: f"{e.description} ({', '.join(e.families)})" for n, e in ROUTINGS.items()}


def _policies() -> dict[str, str]:
    from alloc.registry import POLICIES

    return {n: f"{e.description} ({e.family})" for n, e in POLICIES.items()}


def _patterns() -> dict[str, str]:
    from patterns.registry import PATTERNS

    return {name: entry.description for name, entry in PATTERNS.items()}


def _mappings() -> dict[str, str]:
    from patterns.mapping import MAPPINGS

    return {name: entry.description for name, entry in MAPPINGS.items()}


def _orders() -> dict[str, str]:
    from queuesim.registry import ORDERS

    return {name: entry.description for name, entry in ORDERS.items()}


def _backfills() -> dict[str, str]:
    from queuesim.registry import BACKFILLS

    return {name: entry.description for name, entry in BACKFILLS.items()}


def _measures() -> dict[str, str]:
    from queuesim.measure import MEASURES

    return {name: entry.description for name, entry in MEASURES.items()}


def _runtime_models() -> dict[str, str]:
    from queuesim.registry import RUNTIME_MODELS

    return {name: entry.description for name, entry in RUNTIME_MODELS.items()}


def _scenarios() -> dict[str, str]:
    from queuesim.registry import SCENARIOS

    return {name: entry.description for name, entry in SCENARIOS.items()}


def _estimates() -> dict[str, str]:
    from queuesim.registry import ESTIMATES

    return {name: entry.description for name, entry in ESTIMATES.items()}


def _observables() -> dict[str, str]:
    from experiments.observables.registry import OBSERVABLES

    return {name: entry.description for name, entry in OBSERVABLES.items()}


def _logs() -> dict[str, str]:
    from workloads.registry import LOGS

    return {name: entry.description for name, entry in LOGS.items()}


def _papers() -> dict[str, str]:
    papers: Mapping[str, Any] = importlib.import_module("experiments.papers").PAPERS
    return {name: entry.description for name, entry in papers.items()}


_KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "topologies": _topologies,
    "machines": _machines,
    "routings": _routings,
    "policies": _policies,
    "patterns": _patterns,
    "task-mappings": _mappings,
    "orders": _orders,
    "backfills": _backfills,
    "runtime-models": _runtime_models,
    "measures": _measures,
    "scenarios": _scenarios,
    "estimates": _estimates,
    "observables": _observables,
    "logs": _logs,
    "papers": _papers,
}


def kinds() -> list[str]:
    """What can be listed; ``papers`` once the package of papers is there."""
    papers = importlib.util.find_spec("experiments.papers") is not None
    return [kind for kind in _KINDS if kind != "papers" or papers]


def entries(kind: str) -> dict[str, str]:
    """Names of a kind, with one line of description each.

    Raises
    ------
    NetcosimError
        An unknown kind.
    """
    if kind not in kinds():
        raise unknown_name("kind", kind, kinds())
    return _KINDS[kind]()


def describe(name: str) -> Lines:
    """All that is known of a name, under every kind that has it.

    Raises
    ------
    NetcosimError
        A name that no kind has; near ones are told.
    """
    import difflib

    found: Lines = []
    names: set[str] = set()
    for kind in kinds():
        listed = entries(kind)
        names |= set(listed)
        if name in listed:
            singular = kind.removesuffix("s") if not kind.endswith("ies") else f"{kind[:-3]}y"
            found += [f"{name} ({singular})", f"  {listed[name]}", *_details(kind, name), ""]
    if not found:
        close = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.5)
        meant = f"; did you mean {' or '.join(close)}?" if close else ""
        raise NetcosimError(f"nothing is called {name!r}{meant} (see netcosim list KIND)")
    return found[:-1]


def _details(kind: str, name: str) -> Lines:
    makers: dict[str, Callable[[str], Lines]] = {
        "topologies": _topology_details,
        "machines": _machine_details,
        "policies": _policy_details,
        "patterns": _pattern_details,
        "logs": _log_details,
    }
    return makers[kind](name) if kind in makers else []


def _shown(name: str, value: object) -> str:
    """A parameter's value with the unit that its SI name tells."""
    unit = quantity_of(name)
    if unit is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f'"{format_quantity(value, unit.dimension)}"'


def _topology_details(name: str) -> Lines:
    lines = ["  parameters (keys of [machine] in a config):"]
    for key, parameter in family_parameters(name).items():
        if parameter.default is inspect.Parameter.empty:
            told = "no default"
        elif parameter.default is None:
            told = "chosen by the rest if left out"
        else:
            told = f"default {_shown(key, parameter.default)}"
        lines.append(f"    {short_name(key)}: {told}")
    from alloc.registry import policies_for
    from netsim.routing.registry import routings_for

    lines.append(f"  routings: {', '.join(routings_for(name))}")
    lines.append(f"  policies: {', '.join(policies_for(name))}")
    return lines


def _machine_details(name: str) -> Lines:
    import numpy as np

    from netsim.topologies.registry import PRESETS, preset

    topology, entry = preset(name), PRESETS[name]
    lines = [
        f"  family {entry.family}: {topology.n_nodes:,} nodes, {topology.n_routers:,} routers, "
        f"{topology.n_links:,} directed links"
    ]
    for i, kind in enumerate(topology.kinds):
        mine = topology.link_kind == i
        if mine.any():
            speeds = np.unique(topology.link_bandwidth_Bps[mine])
            told = ", ".join(format_quantity(float(speed), "bandwidth") for speed in speeds)
            lines.append(f"    {kind}: {int(mine.sum()):,} links of {told}")
    lines.append("  parameters:")
    lines += [f"    {short_name(k)} = {_shown(k, v)}" for k, v in entry.params.items()]
    return lines


def _policy_details(name: str) -> Lines:
    from alloc.registry import POLICIES

    entry = POLICIES[name]
    isolates = "yes, no two jobs share a router-to-router link" if entry.policy.isolates else "no"
    return [f"  topologies: {entry.family}", f"  isolates: {isolates}", *_doc(entry.policy)]


def _pattern_details(name: str) -> Lines:
    from patterns.registry import PATTERNS

    parameters = PATTERNS[name].parameters
    if not parameters:
        return ["  no parameters beside message_bytes and iterations"]
    lines = ["  parameters (beside message_bytes and iterations):"]
    for p in parameters:
        default = "required" if p.required else f"default {p.default}"
        lines.append(f"    {p.name}: {p.description} ({default})")
    return lines


def _log_details(name: str) -> Lines:
    from workloads.registry import describe as describe_log

    return describe_log(name).splitlines()[1:]


def _doc(thing: object) -> Lines:
    text = inspect.getdoc(thing)
    return ["", *(f"  {line}".rstrip() for line in text.splitlines())] if text else []
