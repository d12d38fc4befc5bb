"""Sections of a TOML file as frozen models in SI units.

A key is the name of the SI parameter; where that ends in ``_Bps`` or ``_s``, the file may leave
the ending out and give a quantity with its unit: ``latency = "40 ns"`` is ``latency_s = 40e-9``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)

from alloc.registry import POLICIES, policies_for
from cosim.parameters import QUEUE
from cosim.registry import RUNTIME_MODELS
from netcosim.config.communication import CommunicationSection
from netcosim.config.decider import DeciderKey, DeciderProgram, check_decider
from netcosim.config.errors import ConfigError
from netcosim.config.fields import (
    BandwidthsBps,
    Input,
    InputFile,
    Section,
    Text,
    Whole,
    config_kind,
    each_once,
    known,
    value_at,
    with_keys,
)
from netcosim.config.machine import MachineSection, gpus_per_server
from netcosim.config.read_if import (
    IF_NEED_IS_GIVEN,
    IF_PLACED_BY_TIME,
    IF_RESERVED,
    IF_RULES_ARE_NAMED,
    IF_WINDOWED,
    ReadByKey,
    if_communicating,
    if_measure_reads,
    if_named,
    if_policy,
)
from netcosim.config.run import AnalysisSection, Reference, RunSection
from netcosim.config.workload import WorkloadSection
from netcosim.runs.points import without
from netsim.errors import NetcosimError, near
from netsim.parameters import Parameter, model_from
from netsim.plugins import pinned_plugin, using
from netsim.registry import Registry
from netsim.short_repr import short_repr
from queuesim.parameters import RATES
from queuesim.registry import BACKFILLS, ESTIMATES, ORDERS
from queuesim.setup import checked_partitions, partition_table, setup_tables

_Policies = Annotated[tuple[Text, ...], known("allocation policy", POLICIES), each_once("a policy")]
DECIDER_KEYS = ("decider", "decider_files", "placement_rules")
_CHOSEN: dict[str, Registry[Any]] = {"run_time_model": RUNTIME_MODELS, "order": ORDERS}
"""Keys of ``[queue]`` that choose entries, each of which has a table of its name for its keys."""


class _QueueKeys(Section):
    """``[queue]``: order, backfilling, the policies to compare (the first is the baseline).

    The tables of rules, and those of run-time models and orders, such as ``[queue.coupled-flow]``,
    join them in `QueueSection`, as these declare them.
    """

    added = ("reservations",)

    policies: _Policies = Field(
        min_length=1,
        description="placement policies to compare; the first is the baseline",
        examples=[["random", "jigsaw"]],
    )
    order: Annotated[Text, known("order", ORDERS)] = Field(
        default="fcfs", description="order of the waiting jobs", examples=["wfp"]
    )
    backfill: Annotated[Text, known("backfill", BACKFILLS)] = Field(
        default="easy",
        description="how jobs overtake the first one in the queue",
        examples=["conservative"],
    )
    window: Annotated[Whole | Literal["all"], IF_WINDOWED] = Field(
        default="all",
        description="jobs behind the first one that backfilling considers",
        examples=[50],
    )
    reservations: Annotated[Whole | Literal["all"], IF_RESERVED] = Field(
        default="all",
        description="how many of the first jobs that cannot start have a reservation: 0 (first "
        "fit), 1 (EASY by node count), more, or all",
        examples=[4],
    )
    overrun: Literal["keep", "cut"] = Field(
        default="keep", description="whether a job past its walltime goes on or ends there"
    )
    estimates: Annotated[Text, known("estimates", ESTIMATES), IF_PLACED_BY_TIME] = Field(
        default="requested",
        description="run times that placement policies see",
        examples=["actual"],
    )
    run_time_model: Annotated[Text, known("run time model", RUNTIME_MODELS)] = Field(
        default="measured", description="run-time model", examples=["coupled-flow"]
    )
    bandwidth_need_Bps: Annotated[BandwidthsBps, IF_NEED_IS_GIVEN] = Field(
        default=(),
        description="bandwidth that jobs need, for policies that place by it: one value, or "
        "several of which each job draws one",
        examples=[["0.5 GB/s", "1 GB/s"]],
    )
    decider: DeciderKey = Field(
        default=None,
        description="what decides which job starts next, in place of backfill; or a class in a "
        'file of your own, "agent.py:Agent" ([learning](learning.md)), or a program, '
        '{ command = "./my-scheduler", time_limit = "10 s" } '
        "([external schedulers](coupling.md))",
        examples=["shortest-that-fits"],
    )
    decider_files: tuple[Input, ...] = Field(
        default=(),
        description="files passed to a class of your own",
        examples=[["weights.json"]],
        json_schema_extra={"beside": {"decider": "agent.py:Agent"}},
    )
    placement_rules: Annotated[_Policies, IF_RULES_ARE_NAMED] = Field(
        default=(),
        description="policies that a decider can choose for a job, besides the one it runs under",
        examples=[["random", "slurm-linear"]],
        json_schema_extra={"beside": {"decider": "easy"}},
    )

    def idle(self) -> Collection[str]:
        """Return rules, deciders and tables of entries that are not used."""
        used = {*_QueueKeys.model_fields, *(getattr(self, key) for key in _CHOSEN)}
        used -= {*DECIDER_KEYS}
        fields = type(self).model_fields.items()
        return {k for k, f in fields if k not in used and getattr(self, k) == f.default}

    @field_validator("window", "reservations")
    @classmethod
    def _window(cls, window: int | str) -> int | str:
        if isinstance(window, int) and window < 0:
            raise NetcosimError(f'{window}; must be 0 or more, or "all"')
        return window

    @model_validator(mode="after")
    def _decider_fits(self) -> _QueueKeys:
        section: Any = self
        others = {
            f'backfill = "{self.backfill}"': self.backfill != "easy",
            "partitions": bool(section.partitions),
            "outages": section.outages.file is not None,
            "failures": any(getattr(section.failures, rate) for rate in RATES),
            "preemption": section.preemption.by != "none",
            "quotas": bool(section.quotas.nodes),
        }
        if isinstance(self.decider, DeciderProgram):  # it keeps its own order
            others[f'order = "{self.order}"'] = self.order != "fcfs"
            others[f"window = {self.window}"] = self.window != "all"
        named = self.policies, others
        check_decider(self.decider, self.decider_files, self.placement_rules, *named)
        return self

    def model_parameters(self, path_of: Callable[[InputFile], str] = InputFile.checked) -> Any:
        """Return the parameters of the chosen run-time model, with ``path_of(file)`` for a file."""
        model = RUNTIME_MODELS[self.run_time_model]
        table = getattr(self, self.run_time_model, None)
        values = {name: getattr(table, name) for name in model.declares()}
        return model.read(
            {n: path_of(v) if isinstance(v, InputFile) else v for n, v in values.items()}
        )


def queue_tables() -> dict[str, Mapping[str, Parameter]]:
    """Return what is declared for the tables of ``[queue]``; "": its own keys."""
    return {**setup_tables(), **{name: keys for _, name, keys in _entry_tables()}}


def _entry_tables() -> Iterator[tuple[str, str, Mapping[str, Parameter]]]:
    """Yield what entries declare, after the key that chooses them and their name."""
    for key, registry in _CHOSEN.items():
        for name in registry:
            if keys := registry.parameters(name):
                yield key, name, keys


def _queue_section() -> Any:
    """Build the model of ``[queue]`` with the tables of rules and of all entries."""
    rules = setup_tables()
    base: type[_QueueKeys] = with_keys("queue", _QueueKeys, rules.pop(""))
    tables: Any = {}
    for name, declared in rules.items():
        model = model_from(name, declared, config_kind)
        tables[name] = (model, model())
    listed = model_from("partition", partition_table(), config_kind)
    of_tables: Any = Annotated[tuple[listed, ...], AfterValidator(checked_partitions)]  # type: ignore[valid-type]
    tables["partitions"] = (of_tables, ())
    for key, name, keys in _entry_tables():
        if name in tables or name in base.model_fields:
            raise NetcosimError(f"{_CHOSEN[key].what} {name!r} has the name of a key of [queue]")
        model = model_from(name, keys, config_kind)
        tables[name] = (Annotated[model, if_named(f"queue.{key}", name)], model())
    return create_model("QueueSection", __base__=base, **tables)


if TYPE_CHECKING:
    QueueSection = _QueueKeys
else:
    QueueSection = _queue_section()


class PolicyTables(Section):
    """``[policies.NAME]``: parameters of a policy, as it declares them."""

    def of(self, name: str) -> dict[str, Any]:
        """Return the parameters of a policy that differ from their defaults."""
        table = getattr(self, name, None)
        known = {} if table is None else type(table).model_fields
        values = {k: getattr(table, k) for k, f in known.items() if getattr(table, k) != f.default}
        return {k: v.checked() if isinstance(v, InputFile) else v for k, v in values.items()}

    @model_validator(mode="after")
    def _fit_together(self) -> PolicyTables:
        for name in type(self).model_fields:
            declared: Any = POLICIES[name].parameters
            try:
                declared(**self.of(name))
            except NetcosimError as error:
                raise NetcosimError(f"{name}: {error}") from None
        return self


def policy_tables(policies: Iterable[str]) -> Any:
    """Build the section with a table for each of some policies that declare parameters."""
    tables: Any = {}
    for name in policies:
        table = model_from(name, POLICIES.parameters(name), config_kind)
        tables[name] = (Annotated[table | None, if_policy(name)], None)
    return create_model("policies", __base__=PolicyTables, **tables)


_NO_ANALYSIS = AnalysisSection()
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


@short_repr(
    *("machine.family", "machine.parameters", "queue.policies", "queue.order", "queue.backfill"),
    *("queue.run_time_model", "run.seed", "run.snapshots"),
)
class Config(Section):
    """A whole config, which `netcosim.config_from` and `netcosim.load_config` return.

    Its sections are attributes with the keys of a file, in SI units; nothing can be changed. It can
    be pickled.

    ``plugins`` are Python files or modules that add names (`netsim.plugins`); code that uses a
    config that has some does it inside of `plugged`.

    ``reference`` has dotted keys; `relative_to` is what they resolve to.

    Examples
    --------
    >>> import netcosim as nc
    >>> config: nc.Config = nc.config_from(
    ...     {
    ...         "machine": {"preset": "dragonfly-272"},
    ...         "workload": {"synthetic": {"n_jobs": 200, "mean_nodes": 14}},
    ...         "queue": {"policies": ["rdn"]},
    ...     }
    ... )
    >>> config.queue.backfill, config.run.snapshots
    ('easy', 10)
    >>> nc.config_from(config.resolved()) == config
    True
    """

    machine: MachineSection
    workload: WorkloadSection
    queue: QueueSection
    communication: Annotated[
        CommunicationSection, ReadByKey(if_communicating), ReadByKey(if_measure_reads)
    ] = CommunicationSection()
    run: RunSection = RunSection()
    policies: PolicyTables = PolicyTables()
    reference: dict[str, Any] = Field(
        default_factory=dict,
        description="what results are relative to: a policy, and keys of [machine] and [queue]; by "
        "default the first policy",
        examples=[{"policy": "random"}],
    )
    analysis: AnalysisSection = AnalysisSection()
    plugins: Annotated[tuple[dict[str, str], ...], WithJsonSchema(_TEXTS)] = Field(
        default=(),
        description="Python files or modules that register names of your own ([extend](extend.md))",
        examples=[["my_policy.py"]],
    )
    _reference: Reference[Config] | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _traffic_fits_the_measure(self) -> Config:
        paired = self.run.measure == "paired" and self.run.snapshots > 0
        if paired and any(entry.node_bytes is None for entry in self.communication.mix):
            raise ConfigError(
                "run.measure",
                self.run.measure,
                "it needs node_bytes in every entry of communication.mix, so that jobs of all "
                "sizes can last equally long",
            )
        how = self.run.measure, self.run.placed
        if self.communication.io is not None and how != ("steady", QUEUE):
            setting = f'needs run.measure = "steady" and run.placed = "{QUEUE}"'
            raise ConfigError(
                "communication.io",
                None,
                f"{setting}: else isolated jobs are timed without what others write",
            )
        return self

    @model_validator(mode="after")
    def _policies_fit_the_machine(self) -> Config:
        valid = policies_for(self.machine.family)
        for key in ("policies", "placement_rules"):
            for name in getattr(self.queue, key):
                if name not in valid:
                    what = f"it does not place on a {self.machine.family};{near(name, valid)}"
                    raise ConfigError(f"queue.{key}", name, what)
        return self

    @model_validator(mode="after")
    def _ranks_are_sorted_on_gpus(self) -> Config:
        """Map ranks by domain on machines of GPUs, as launchers do, unless the config maps them."""
        key = "communication.task_mapping"
        given = "task_mapping" in self.communication.model_fields_set
        conditions = filter(None, (if_communicating(key), if_measure_reads(key)))
        # where nothing reads it, the default stays, which is no key that is set
        if (
            not given
            and gpus_per_server(self.machine) > 1
            and all(one.holds(*(value_at(self, name) for name in one.keys)) for one in conditions)
        ):
            mapped = self.communication.model_copy(update={"task_mapping": "by-domain"})
            self.__dict__["communication"] = mapped
        return self

    @model_validator(mode="after")
    def _empty_machine_has_the_queues_rules(self) -> Config:
        queue: Any = self.queue
        if self.run.placed != QUEUE:
            for name in self.queue.policies:
                if POLICIES[name].replays:
                    message = f"does not go with {name}: the log contains the nodes"
                    raise ConfigError("run.placed", self.run.placed, message)
            if queue.partitions:
                message = "does not go with queue.partitions"
                raise ConfigError("run.placed", self.run.placed, message)
        return self

    @model_validator(mode="after")
    def _faults_are_measured(self) -> Config:
        faults, named = self.machine.faults, self.queue.run_time_model
        if not faults:
            return self
        message = ""
        if RUNTIME_MODELS[named].solves_flows:
            message = f'run_time_model = "{named}" has one network for the entire queue; "measured"'
        elif self.run.snapshots and self.run.measure != "stretch":
            message = f'measure = "{self.run.measure}" has one network for all snapshots; "stretch"'
        if message:
            message += " measures each snapshot with the faults of its time"
        isolating = [name for name in self.queue.policies if POLICIES[name].isolates]
        if any(not one.fault().speed for one in faults) and isolating:
            message = f"policy {isolating[0]} keeps jobs to links, which may be down (speed = 0)"
        if message:
            raise ConfigError("machine.faults", None, message)
        return self

    def resolved(self) -> dict[str, Any]:
        """Return the config as plain types in SI units, defaults filled in.

        `netcosim.config.load.config_from` restores it unchanged; a point's
        key is computed from it.
        """
        with self.plugged():
            content = self.model_dump(mode="json")
            tables = self.policies.model_dump(mode="json", exclude_defaults=True)
        content["policies"] = {name: table for name, table in tables.items() if table}
        idle = [key for key in ("plugins", "analysis") if getattr(self, key) in ((), _NO_ANALYSIS)]
        return without(content, idle if content["policies"] else [*idle, "policies"])

    @property
    def relative_to(self) -> Reference[Config]:
        """What results are relative to; by default the first policy."""
        return self._reference or Reference(self.queue.policies[0], (), None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content: the classes of its tables exist only in this process."""
        return _restored, (self.resolved(), self._reference)

    def plugged(self) -> AbstractContextManager[object]:
        """Return a context in which the entries of the config's plug-ins are registered."""
        return using(map(pinned_plugin, self.plugins))


def _restored(content: Mapping[str, Any], reference: Reference[Config] | None) -> Config:
    """Return the config of a pickle."""
    with using(map(pinned_plugin, content.get("plugins", ()))):
        config = config_class(content.get("policies", ())).model_validate(content)
    config._reference = reference
    return config


def config_class(tables: Collection[str] | None = None) -> type[Config]:
    """Return `Config` with tables of policies, and with what plug-ins in use add.

    ``tables`` names the policies whose tables a content has. All have one by default, and if one of
    the names is unknown, so that a message can list them.
    """
    known = [name for name in POLICIES if POLICIES.facts(name).keys]
    named = tables is not None and set(tables) <= set(known)
    policies = tuple(name for name in known if not named or name in (tables or ()))
    models = tuple(entry for one in _CHOSEN.values() for entry in one.added.values())
    added = (*models, *POLICIES.added.values())
    return _with_tables(policies, added) if policies or models else Config


@lru_cache(maxsize=16)
def _with_tables(policies: tuple[str, ...], added: tuple[object, ...]) -> type[Config]:
    tables = policy_tables(policies)
    fields: Any = {"policies": (tables, tables())}
    if added:
        fields["queue"] = (_queue_section(), ...)
    return create_model("Config", __base__=Config, **fields)
