"""When a config's keys are read, in terms of its other keys.

A key that depends on keys of its table declares that itself
(`netsim.parameters.ReadIf`). Here are the conditions across tables. What a plug-in adds declares
itself: the keys of its run-time model, order or policy are read where that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from alloc.registry import POLICIES
from cosim.measuring.campaign import Stretch
from cosim.network.communication import ALWAYS, BY_SHARE, TOGETHER
from cosim.registry import MEASURES, RUNTIME_MODELS
from cosim.run_times.measured_times import Measured
from experiments.config import Config
from experiments.config_decider import UserDecider
from experiments.fields import assigned, assigned_one_of, matches, value_at
from netsim.packet.presets import PACKET_PRESETS
from netsim.topologies.registry import FAMILIES
from patterns.registry import PATTERNS
from queuesim.registry import BACKFILLS, DECIDERS, ORDERS
from queuesim.site.failures import RATES


class Condition(NamedTuple):
    """When some keys are read."""

    keys: tuple[str, ...]
    """Dotted SI names; ``*`` matches anything."""
    holds: Callable[[Any, str], bool]
    """``holds(config, key)``: whether the key is read."""
    here: Callable[[Any, str], str]
    """``here(config, key)``: the values that decide."""
    needs: Callable[[Any, str], str]
    """``needs(config, key)``: the values with which it is read."""
    depth: int = 0
    """Parts of the key that name the table to report instead of each key; 0: the key."""
    shown: bool = False
    """Whether a page shows the value all the same, so that it belongs to a point's identity."""


Holds = Callable[[Any, str], bool]
Words = Callable[[Any, str], str]


def _values(*keys: str) -> Words:
    return lambda config, _: ", ".join(assigned(key, value_at(config, key)) for key in keys)


def _phrase(text: str) -> Words:
    return lambda config, key: text


# Packets and run-time models


def _measured(config: Config) -> bool:
    return config.run.snapshots > 0


def _model_reads(config: Config, key: str) -> bool:
    model = RUNTIME_MODELS[config.queue.run_time_model]
    wanted = not matches(key, model.reads_computing) or any(
        map(_computes, config.communication.mix)
    )
    return wanted and matches(key, model.reads)


def _computes(entry: Any) -> bool:
    """Return whether a pattern may compute: one of a plug-in, or with a ``compute`` that is on."""
    declared = PATTERNS[entry.pattern].parameters.get("compute")
    if declared is None:
        return entry.pattern in PATTERNS.added
    return bool(entry.parameters.get("compute", declared.default))


def _models_reading(key: str) -> list[str]:
    return [
        name
        for name, model in RUNTIME_MODELS.items()
        if matches(key, model.reads) and not matches(key, model.reads_computing)
    ]


def _sent_or_modelled(config: Config, key: str) -> bool:
    # a user's decider gets what jobs send
    observed = isinstance(config.queue.decider, UserDecider) and matches(key, Measured.reads)
    return observed or _measured(config) or _model_reads(config, key)


def packet_preset_values(packet: Any) -> Mapping[str, Any]:
    """Return the preset whose values a ``[machine.packet]`` has; empty if there is none."""
    for preset in PACKET_PRESETS.values():
        if all(getattr(packet, name) == value for name, value in preset.params.items()):
            return preset.params
    return {}


def _packet_key_read(config: Config, key: str) -> bool:
    """Return whether packets or the model read a key, or one that this preset sets."""
    names = packet_preset_values(config.machine.packet) if key.endswith(".preset") else ()
    keys = [f"machine.packet.{name}" for name in names] or [key]
    return any(_sent_or_modelled(config, one) for one in keys)


def _snapshots_or_model(config: Config, key: str) -> str:
    return (
        f"run.snapshots above 0, or {assigned_one_of('queue.run_time_model', _models_reading(key))}"
    )


def _not_ignored(config: Config, key: str) -> bool:
    if _model_reads(config, key) or not _measured(config):
        return True  # the condition on snapshots is another one
    iterations = key.endswith(".iterations") and config.run.keep == "all"
    return iterations or not matches(key, MEASURES[config.run.measure].ignores)


def _other_measures(config: Config, key: str) -> str:
    found = assigned_one_of(
        "run.measure", [n for n, measure in MEASURES.items() if not matches(key, measure.ignores)]
    )
    models = _models_reading(key)
    return f"{found}, or {assigned_one_of('queue.run_time_model', models)}" if models else found


_STRETCH_READS = {
    BY_SHARE: (
        *("communication.mix.*.communication_fraction", "communication.from"),
        "communication.fraction",
    ),
    ALWAYS: ("communication.mix.*.iterations",),
}
"""Keys that the measure "stretch" reads with one value of ``communication.together`` alone."""


def _stretched(together: str) -> Condition:
    def holds(config: Config, key: str) -> bool:
        if _model_reads(config, key) or not _measured(config):
            return True  # the condition on snapshots is another one
        section = config.communication
        return config.run.measure != Stretch.name or section.together == together

    def needs(config: Config, key: str) -> str:
        models = assigned_one_of("queue.run_time_model", _models_reading(key))
        return f"{assigned('communication.together', together)}, or {models}"

    values = _values("run.measure", "communication.together", "queue.run_time_model")
    return Condition(_STRETCH_READS[together], holds, values, needs, shown=True)


def _by_packets(
    *keys: str, holds: Holds = _sent_or_modelled, depth: int = 0, shown: bool = False
) -> Condition:
    """Return the condition on keys that snapshots and some run-time models read."""
    return Condition(keys, holds, _values(*_DECIDE_PACKETS), _snapshots_or_model, depth, shown)


def _by_snapshots(*keys: str) -> Condition:
    """Return the condition on keys that snapshots alone read."""
    needs = _phrase("run.snapshots above 0")
    return Condition(keys, lambda config, key: _measured(config), _values("run.snapshots"), needs)


_IGNORED = tuple({key: None for measure in MEASURES.values() for key in measure.ignores})
_DECIDE_PACKETS = ("run.snapshots", "queue.run_time_model")


def _read_by_bandwidth(config: Config, key: str) -> bool:
    queue = config.queue
    by_need = any(POLICIES[n].without_need for n in (*queue.policies, *queue.placement_rules))
    return by_need or config.analysis.bounds


def _link_read(config: Config, key: str) -> bool:
    if key.endswith("latency_s"):
        return _sent_or_modelled(config, key)
    links = FAMILIES[config.machine.family].only_links
    if key.rpartition(".")[2] in links and _fails(config):
        return True
    if key.endswith(("bandwidth_Bps", "bandwidth_factor", *(f".{name}" for name in links))):
        return _sent_or_modelled(config, key) or _read_by_bandwidth(config, key)
    return True


# Tables of what has a name


def _owners(key: str) -> dict[str, list[str]]:
    """Return the run-time models and orders that declare a key of ``[queue]``, by their key."""
    _, *path = key.split(".")
    section, name = (path[0], path[1]) if len(path) > 1 else ("", path[0])
    models = [n for n, m in RUNTIME_MODELS.items() if m.section == section and name in m.declares()]
    orders = [n for n, o in ORDERS.items() if o.parameters is not None and o.section == section]
    return {"queue.run_time_model": models, "queue.order": orders}


def _owner_chosen(config: Config, key: str) -> bool:
    owners = _owners(key)
    if not any(owners.values()):
        return True
    return any(value_at(config, k) in names for k, names in owners.items())


def _owners_here(config: Config, key: str) -> str:
    return _values(*(k for k, names in _owners(key).items() if names))(config, key)


def _choose_owner(config: Config, key: str) -> str:
    return " or ".join(assigned_one_of(k, names) for k, names in _owners(key).items() if names)


# The queue


def _fails(config: Config) -> bool:
    queue: Any = config.queue
    return any(getattr(queue.failures, rate) for rate in RATES)


def _windowed(config: Config, key: str) -> bool:
    queue: Any = config.queue
    if queue.decider is not None:
        return not isinstance(queue.decider, str) or DECIDERS[queue.decider].windowed
    on_sets = bool(queue.partitions) or queue.outages.file is not None or _fails(config)
    return on_sets or BACKFILLS[queue.backfill].windowed


def _with_window(config: Config, key: str) -> str:
    return assigned_one_of("queue.backfill", [n for n, one in BACKFILLS.items() if one.windowed])


def _by_walltime(config: Config, key: str) -> bool:
    queue = config.queue
    return any(POLICIES[n].walltime_aware for n in (*queue.policies, *queue.placement_rules))


def _walltime_policies(config: Config, key: str) -> str:
    names = [name for name, policy in POLICIES.items() if policy.walltime_aware]
    return f"a policy that places by walltime: {', '.join(names)}"


def _needs_given(config: Config, key: str) -> bool:
    return not RUNTIME_MODELS[config.queue.run_time_model].knows_needs and any(
        POLICIES[name].without_need
        for name in (*config.queue.policies, *config.queue.placement_rules)
    )


def _need_policies(config: Config, key: str) -> str:
    names = [name for name, policy in POLICIES.items() if policy.without_need]
    knowing = [name for name, model in RUNTIME_MODELS.items() if model.knows_needs]
    return (
        f"a policy that places by bandwidth ({', '.join(names)}) and a run-time model that does "
        f"not know what jobs need (all but {', '.join(knowing)})"
    )


def _partition_weight(config: Any, key: str) -> bool:
    queue = config.queue
    return queue.order == "multifactor" and bool(queue.multifactor.partition_weight)


# Jobs


def _from_log(config: Config, key: str) -> bool:
    return config.workload.log is not None


def _arrive_over_time(config: Config, key: str) -> bool:
    made = config.workload.synthetic
    if key == "workload.start_s" and config.workload.start_s > 0:
        # it leaves out jobs that arrive at 0
        return True
    return made is None or made.load is not None


_ARRIVALS = ("start_s", "end_s", "days", "arrival_factor", "all_at_zero")


MACHINE_CONDITIONS = (
    Condition(
        ("machine.packet.rail_policy",),
        lambda config, key: (
            config.machine.parameters.get("rails", 1) != 1
            or config.machine.family in ("cables", "ibnetdiscover")
        ),
        lambda config, key: assigned("machine.rails", config.machine.parameters.get("rails", 1)),
        _phrase("machine.rails above 1"),
    ),
)
"""Those that hold for any config that has a machine."""

CONDITIONS = (
    *MACHINE_CONDITIONS,
    Condition(("queue.*",), _owner_chosen, _owners_here, _choose_owner),
    Condition(
        ("queue.window",), _windowed, _values("queue.backfill", "queue.decider"), _with_window
    ),
    Condition(("queue.estimates",), _by_walltime, _values("queue.policies"), _walltime_policies),
    Condition(
        ("queue.bandwidth_need_Bps",),
        _needs_given,
        _values("queue.policies", "queue.run_time_model"),
        _need_policies,
    ),
    Condition(
        ("queue.placement_rules",),
        lambda config, key: (
            not isinstance(config.queue.decider, str) or DECIDERS[config.queue.decider].names_rules
        ),
        _values("queue.decider"),
        _phrase('a user-defined decider that names rules: queue.decider = "FILE.py:CLASS"'),
    ),
    Condition(
        tuple(f"queue.partitions.*.{name}" for name in ("priority", "default", "log_names")),
        lambda config, key: len(config.queue.partitions) > 1,
        _phrase("one partition takes all jobs"),
        _phrase("two or more [[queue.partitions]]"),
    ),
    Condition(
        ("queue.partitions.*.factor",),
        _partition_weight,
        _values("queue.order", "queue.multifactor.partition_weight"),
        _phrase('queue.order = "multifactor" and a partition_weight above 0'),
    ),
    Condition(
        ("queue.multifactor.partition_weight",),
        lambda config, key: bool(config.queue.partitions),
        _values("queue.partitions"),
        _phrase("[[queue.partitions]]"),
    ),
    Condition(
        ("queue.preemption.min_run_s",),
        lambda config, key: config.queue.preemption.by != "none" or bool(config.queue.quotas.nodes),
        _values("queue.preemption.by"),
        _phrase('queue.preemption.by = "order" or "partition", or queue.quotas.nodes'),
    ),
    Condition(("queue.dependencies",), _from_log, _values("workload.log"), _phrase("workload.log")),
    Condition(
        tuple(f"workload.{name}" for name in _ARRIVALS),
        _arrive_over_time,
        _phrase("all generated jobs arrive at 0"),
        _phrase("workload.synthetic.load or workload.log"),
    ),
    Condition(
        ("workload.walltimes",),
        lambda config, key: getattr(config.workload.synthetic, "requested_factor", 1) is not None,
        _phrase("generated jobs request their run times"),
        _phrase("workload.synthetic.requested_factor or workload.log"),
    ),
    Condition(
        ("policies.*",),
        lambda config, key: (
            key.split(".")[1] in (*config.queue.policies, *config.queue.placement_rules)
        ),
        _values("queue.policies"),
        lambda config, key: f'"{key.split(".")[1]}" in queue.policies',
        depth=2,
    ),
    Condition(
        ("communication.*",),
        lambda config, key: key.startswith("communication.io.") or _sent_or_modelled(config, key),
        _values(*_DECIDE_PACKETS),
        lambda config, key: _snapshots_or_model(config, "communication.task_mapping"),
        depth=1,
        shown=True,
    ),
    _by_snapshots("communication.io.drive", "communication.io.message_bytes"),
    Condition(
        ("communication.mix.*.weight",),
        lambda config, key: len(config.communication.mix) > 1,
        _phrase("communication.mix has one entry"),
        _phrase("two or more [[communication.mix]]"),
    ),
    Condition(
        _IGNORED,
        _not_ignored,
        _values("run.measure", "queue.run_time_model"),
        _other_measures,
        shown=True,
    ),
    *map(_stretched, TOGETHER),
    _by_packets("machine.packet.*", holds=_packet_key_read, depth=2),
    _by_packets("machine.routing", "machine.routing_parameters.*", shown=True),
    _by_packets("machine.parameters.*", holds=_link_read, shown=True),
    _by_snapshots("run.measure", "run.placed", "run.confidence"),
    Condition(
        ("run.keep",),
        lambda config, key: _measured(config) or config.run.keep != "all",
        _values("run.snapshots"),
        _phrase('run.snapshots above 0 (here "all" keeps what "schedules" does)'),
        shown=True,
    ),
    _by_packets("run.threads"),
    *(
        Condition(
            (f"run.{name}.*",),
            lambda config, key: config.run.measure == key.split(".")[1] and _measured(config),
            _values("run.measure", "run.snapshots"),
            lambda config, key: f'run.measure = "{key.split(".")[1]}" and run.snapshots above 0',
            depth=2,
        )
        for name in MEASURES
    ),
)
"""All conditions across tables; a key is read if those on it hold."""


@lru_cache(maxsize=4096)
def conditions_on(key: str, is_config: bool) -> tuple[Condition, ...]:
    """Return the conditions on a key of a `Config`, or of another config with a machine."""
    among = CONDITIONS if is_config else MACHINE_CONDITIONS
    return tuple(condition for condition in among if matches(key, condition.keys))
