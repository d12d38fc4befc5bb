"""Conditions on keys and tables that depend on other tables (`netsim.parameters.ReadIf`).

A condition is in the annotation of a field; one on a table holds for all its keys. Entries of
registries are imported only where a config names them, and for a message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from alloc.registry import POLICIES
from cosim.network.communication import TOGETHER
from cosim.registry import MEASURES, RUNTIME_MODELS
from netcosim.config.decider import AnyDecider, UserDecider
from netcosim.config.fields import assigned_one_of, matches
from netsim.parameters import ReadIf
from netsim.registry import Registry
from netsim.topologies.registry import FAMILIES
from patterns.registry import PATTERNS
from queuesim.parameters import RATES
from queuesim.registry import BACKFILLS, DECIDERS


@dataclass(frozen=True)
class ReadByKey:
    """Annotate a table whose keys are not all read in the same places."""

    of: Callable[[str], ReadIf | None]
    """``of(dotted SI key)``: its condition; None: it is always read."""


def either(*conditions: ReadIf) -> ReadIf:
    """Return the condition that one of several holds."""

    def holds(*values: Any) -> bool:
        left = iter(values)
        return any(one.holds(*(next(left) for _ in one.keys)) for one in conditions)

    return ReadIf(
        tuple(key for one in conditions for key in one.keys),
        holds,
        lambda: ", or ".join(filter(None, (one.where for one in conditions))),
    )


def if_named(key: str, name: str) -> ReadIf:
    """Return the condition that a dotted key has this name."""
    return ReadIf((key,), lambda given: given == name, f'{key} = "{name}"')


# Packets, and what jobs send

IF_MEASURED = ReadIf(("run.snapshots",), lambda number: number > 0, "run.snapshots is above 0")


def if_sent(key: str) -> ReadIf:
    """Return the condition that snapshots are sent, or that the run-time model reads a key.

    A decider of the user's own observes what jobs send.
    """

    def is_observed() -> bool:
        return matches(key, RUNTIME_MODELS["measured"].reads)

    decides = ReadIf(
        ("queue.decider",),
        lambda decider: isinstance(decider, UserDecider) and is_observed(),
        lambda: "queue.decider is a class of your own" if is_observed() else "",
    )
    return either(IF_MEASURED, _if_modelled(key), decides)


def if_communicating(key: str) -> ReadIf | None:
    """Return the condition on what jobs send to each other; gateways are no longer free."""
    return None if key.startswith("communication.io.") else if_sent(key)


def if_measure_reads(key: str) -> ReadIf:
    """Return the condition that the measure reads a key, or the run-time model."""
    # with "all" each measured job is sent once more, all its iterations
    once_more = key.endswith(".iterations")

    def reads(snapshots: int, measure: str, together: str, keep: str) -> bool:
        # without snapshots it is for `if_sent` to refuse it
        is_kept = once_more and keep == "all"
        return snapshots == 0 or is_kept or _measure_reads(key, measure, together)

    keys = ("run.snapshots", "run.measure", "communication.together", "run.keep")
    return either(ReadIf(keys, reads, lambda: _measures_reading(key)), _if_modelled(key))


def _measure_reads(key: str, measure: str, together: str) -> bool:
    return not matches(key, MEASURES[measure].ignores(together))


def _measures_reading(key: str) -> str:
    words = []
    for measure in MEASURES:
        ways = [together for together in TOGETHER if _measure_reads(key, measure, together)]
        needed = "" if len(ways) > 1 else f' with communication.together = "{"".join(ways)}"'
        words += [f'"{measure}"{needed}'] if ways else []
    return f"run.measure = {' or '.join(words)}"


def _if_modelled(key: str) -> ReadIf:
    """Return the condition that the run-time model reads a key, or the energy of traffic."""

    def reads(name: str, mix: Sequence[Any]) -> bool:
        model = RUNTIME_MODELS[name]
        wanted = not matches(key, model.reads_computing) or any(map(_computes, mix))
        return wanted and matches(key, model.reads)

    def is_of_flows() -> bool:
        return matches(key, RUNTIME_MODELS["coupled-flow"].reads)

    return either(
        ReadIf(("queue.run_time_model", "communication.mix"), reads, lambda: _models(key)),
        ReadIf(
            ("machine.power",),
            # the bytes on links are those of flows
            lambda power: power is not None and power.link_J_per_byte > 0 and is_of_flows(),
            lambda: "machine.power.link_J_per_byte is above 0" if is_of_flows() else "",
        ),
    )


def _models(key: str) -> str:
    reading = {name: model for name, model in RUNTIME_MODELS.items() if matches(key, model.reads)}
    computing = [n for n, model in reading.items() if matches(key, model.reads_computing)]
    words = assigned_one_of("queue.run_time_model", reading) if reading else ""
    return words + "".join(f' ("{name}": if a pattern computes)' for name in computing)


def _computes(entry: Any) -> bool:
    """Return whether a pattern may compute: one of a plug-in, or with a ``compute`` that is on."""
    declared = PATTERNS[entry.pattern].parameters.get("compute")
    if declared is None:
        return entry.pattern in PATTERNS.added
    return bool(entry.parameters.get("compute", declared.default))


# Policies

_NAMED_POLICIES = ("queue.policies", "queue.placement_rules")


def if_policy(name: str) -> ReadIf:
    """Return the condition that jobs are placed by a policy of this name."""
    return ReadIf(
        _NAMED_POLICIES,
        lambda *lists: any(name in names for names in lists),
        f'queue.policies has "{name}"',
    )


def _if_policies_have(attribute: str, what: str) -> ReadIf:
    return ReadIf(
        _NAMED_POLICIES,
        lambda *lists: any(getattr(POLICIES[n], attribute) for names in lists for n in names),
        lambda: f"a policy {what}: {_with(attribute, POLICIES)}",
    )


def _with(attribute: str, registry: Registry[Any]) -> str:
    return ", ".join(name for name, entry in registry.items() if getattr(entry, attribute))


IF_PLACED_BY_TIME = _if_policies_have("walltime_aware", "places by walltime")
_IF_PLACED_BY_NEED = _if_policies_have("without_need", "places by bandwidth")
IF_NEED_IS_GIVEN = ReadIf(
    (*_NAMED_POLICIES, "queue.run_time_model"),
    lambda policies, rules, model: (
        _IF_PLACED_BY_NEED.holds(policies, rules) and not RUNTIME_MODELS[model].knows_needs
    ),
    lambda: (
        f"{_IF_PLACED_BY_NEED.where}; and queue.run_time_model is not "
        f"{_with('knows_needs', RUNTIME_MODELS)}, which knows what jobs need"
    ),
)


# The queue


def _fails(failures: Any) -> bool:
    return any(getattr(failures, rate) for rate in RATES)


def _windowed(
    backfill: str, decider: AnyDecider | None, partitions: Sequence[Any], outages: Any, fails: Any
) -> bool:
    if decider is not None:
        return not isinstance(decider, str) or DECIDERS[decider].windowed
    on_sets = bool(partitions) or outages.file is not None or _fails(fails)
    return on_sets or BACKFILLS[backfill].windowed


IF_WINDOWED = ReadIf(
    ("backfill", "decider", "partitions", "outages", "failures"),
    _windowed,
    lambda: f"queue.backfill is one of {_with('windowed', BACKFILLS)}",
)
IF_RESERVED = ReadIf(
    ("backfill", "decider"),
    lambda backfill, decider: decider is None and backfill == "conservative",
    'queue.backfill is "conservative"',
)
IF_RULES_ARE_NAMED = ReadIf(
    ("decider",),
    lambda decider: not isinstance(decider, str) or DECIDERS[decider].names_rules,
    "queue.decider is a class of your own that names rules",
)


# Links of the machine


def if_link_read(key: str) -> ReadIf:
    """Return the condition on a parameter of the machine, which may be of its links alone."""
    name = key.rpartition(".")[2]
    if name.endswith("latency_s"):
        return if_sent(key)
    is_bandwidth = name.endswith(("bandwidth_Bps", "bandwidth_factor"))

    def is_of_links(family: str) -> bool:
        return name in FAMILIES[family].only_links

    return either(
        ReadIf(("machine.family",), lambda f: not is_bandwidth and not is_of_links(f), ""),
        if_sent(key),
        _IF_PLACED_BY_NEED,
        ReadIf(("analysis.bounds",), bool, "analysis.bounds = true"),
        ReadIf(
            ("machine.family", "queue.failures"),
            lambda family, failures: is_of_links(family) and _fails(failures),
            "",
        ),
    )
