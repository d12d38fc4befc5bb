"""What jobs send and what is measured: the sections ``[communication]`` and ``[run]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from cosim.measuring.measure import MEASURES
from cosim.measuring.steady import PHASES, SHARES
from cosim.measuring.steps_measure import PERIODS
from cosim.network.communication import BY_SHARE, TOGETHER
from experiments.fields import (
    Count,
    CountRange,
    Flag,
    Input,
    InputFile,
    Number,
    Positive,
    Section,
    Share,
    ShareRange,
    SizeBytes,
    Text,
    Whole,
    all_finite,
    known,
)
from netsim.errors import NetcosimError
from netsim.packet.thread_count import checked_threads
from patterns.mapping import MAPPINGS
from patterns.registry import PATTERNS
from queuesim.observables.registry import OBSERVABLES
from queuesim.placing import PLACED, QUEUE
from workloads.shares.distributions import DISTRIBUTIONS, Fractions, make_fractions
from workloads.shares.law import FractionLaw
from workloads.shares.mixes import MIXES

_ADDED = ("node_bytes", "nodes", "file")
_OWN_FRACTION = "communication_fraction"


class PatternSection(Section):
    """One ``[[communication.mix]]`` entry: a pattern and its share of the jobs.

    ``message_bytes`` is the size of the pattern's messages; ``node_bytes`` instead says what a
    node sends in an iteration, in the mean and about, whatever the ranks are.
    ``communication_fraction`` is the part of a job's run time that it spends
    communicating, a number or ``[low, high]``, uniform between them. ``nodes``, a number or
    ``[low, high]``, says which jobs it is for; ``file`` is that of a pattern that is read from one.
    """

    pattern: Annotated[Text, known("pattern", PATTERNS)]
    weight: Positive = 1.0
    message_bytes: SizeBytes = 1000
    node_bytes: SizeBytes | None = None
    iterations: Count = 1
    communication_fraction: ShareRange = (0.3, 0.3)
    nodes: CountRange | None = None
    file: Input | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @field_validator("communication_fraction", "nodes")
    @classmethod
    def _low_to_high(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and value[0] > value[1]:
            raise NetcosimError(f"{list(value)}; must be [low, high]")
        return value

    @model_serializer(mode="wrap")
    def _content(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        sized = self.node_bytes is not None or PATTERNS[self.pattern].recorded_ranks is not None
        idle = {"message_bytes": sized, **{k: content[k] is None for k in _ADDED}}
        return {key: value for key, value in content.items() if not idle.get(key)}

    @model_validator(mode="after")
    def _one_size(self) -> PatternSection:
        PATTERNS[self.pattern].check_keys(self.model_fields_set, self.parameters)
        return self

    @model_validator(mode="after")
    def _known_parameters(self) -> PatternSection:
        for name, value in self.parameters.items():
            if not all_finite(value):
                raise NetcosimError(f"parameters.{name}: {value}; must be finite")
        PATTERNS[self.pattern].least_ranks(self.all_parameters(lambda named: named.file))
        return self

    def all_parameters(self, path_of: Callable[[InputFile], str]) -> dict[str, Any]:
        """The pattern's parameters, the file among them by its path."""
        return self.parameters | ({} if self.file is None else {"file": path_of(self.file)})


class FractionSection(Section):
    """``[communication.fraction]``: what communication fractions are drawn from, of all jobs.

    In place of the entries' own `communication_fraction`; see `workloads.shares.law.FractionLaw`.
    """

    distribution: Annotated[Text | None, known("distribution", DISTRIBUTIONS)] = None
    mean: Share | None = None
    spread: Annotated[Number, Field(ge=0, le=0.5)] | None = None
    quantiles: tuple[Share, ...] = ()
    at: tuple[Share, ...] = ()
    size_correlation: Annotated[Number, Field(ge=-1, le=1)] = 0.0

    @model_validator(mode="after")
    def _fits_together(self) -> FractionSection:
        if self.model_fields_set - {"size_correlation"}:
            self.made()
        return self

    @model_serializer(mode="wrap")
    def _if_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        return {key: value for key, value in content.items() if value not in (None, [], ())}

    def made(self) -> Fractions:
        """The distribution.

        Raises
        ------
        NetcosimError
            Keys that are missing, or do not go together.
        """
        if self.distribution is None:
            raise NetcosimError(f"distribution is needed; valid: {', '.join(DISTRIBUTIONS)}")
        return make_fractions(self.distribution, self.mean, self.spread, self.quantiles, self.at)


class IoSection(Section):
    """``[communication.io]``: see `cosim.network.gateways.GatewayIo`.

    ``gateways`` is a host list, or numbers and ranges: nodes that no job gets. ``drive`` is the
    share of the time for which a job's node keeps its link busy with I/O.
    """

    gateways: Text
    drive: Annotated[Number, Field(gt=0, le=1)] = 0.01
    message_bytes: SizeBytes = 65536


_FROM = "from"


class _CommunicationKeys(Section):
    """``[communication]``: what jobs send, how many ranks a node, which rank sits where.

    ``together`` says how jobs communicate while others do (`cosim.network.communication.TOGETHER`).
    Its key ``from``, no name in Python, joins it in `CommunicationSection`.
    """

    mix: tuple[PatternSection, ...] = Field(
        default=(PatternSection(pattern="all-to-all"),), min_length=1
    )
    ranks_per_node: Count = 1
    task_mapping: Annotated[Text, known("task mapping", MAPPINGS)] = "random"
    fraction: FractionSection | None = None
    io: IoSection | None = None
    together: Annotated[Text, known("way to communicate together", TOGETHER)] = BY_SHARE

    @model_serializer(mode="wrap")
    def _without_what_counts_not(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        idle = [key for key in (_FROM, "fraction", "io") if getattr(self, key) is None]
        if self.together == BY_SHARE:
            idle.append("together")
        content = {key: value for key, value in dump(self).items() if key not in idle}
        if self.drawn_from is None and self.fraction is None:
            return content
        mix = [{k: v for k, v in e.items() if k != _OWN_FRACTION} for e in content["mix"]]
        return content | {"mix": mix}

    @model_validator(mode="after")
    def _one_origin_of_fractions(self) -> _CommunicationKeys:
        origin = _FROM if self.drawn_from is not None else "fraction"
        if self.drawn_from is None and self.fraction is None:
            return self
        own = [k for k, entry in enumerate(self.mix) if _OWN_FRACTION in entry.model_fields_set]
        if own:
            raise NetcosimError(
                f"mix.{own[0]}.{_OWN_FRACTION} stands beside communication.{origin}, which says "
                "it for all entries; leave one of them out"
            )
        if origin == _FROM and self.fraction is not None:
            more = sorted(self.fraction.model_fields_set - {"size_correlation"})
            if more:
                raise NetcosimError(
                    f"fraction.{more[0]} stands beside communication.from, which brings the "
                    "distribution; beside it fraction has size_correlation alone"
                )
        self.law()
        return self

    @property
    def drawn_from(self) -> str | None:
        """The value of ``from``: a name of `workloads.shares.mixes.MIXES`."""
        name: str | None = getattr(self, _FROM)
        return name

    def law(self) -> FractionLaw | None:
        """What the fractions of all jobs are drawn from; None: what each entry says."""
        given = self.fraction
        correlation = 0.0 if given is None else given.size_correlation
        if self.drawn_from is not None:
            mix = MIXES[self.drawn_from]
            told = f'{mix.name}, shares "{mix.share}" ({mix.source})'
            return FractionLaw(mix.fractions, correlation, told)
        return None if given is None else FractionLaw(given.made(), correlation)


_MixName = Annotated[Text | None, known("mix of communication shares", MIXES)]
if TYPE_CHECKING:
    CommunicationSection = _CommunicationKeys
else:
    CommunicationSection = create_model(
        "CommunicationSection",
        __base__=_CommunicationKeys,
        __doc__=_CommunicationKeys.__doc__,
        **{_FROM: (_MixName, None)},
    )


class AnalysisSection(Section):
    """``[analysis]``: with ``bounds``, what `netsim.analysis.bounds` says of the machine."""

    bounds: Flag = False


class PairedSection(Section):
    """``[run.paired]``: see `cosim.measuring.pairing.Pairing`."""

    repeats: Positive = 5.0
    max_iterations: Count = 32


class SteadySection(Section):
    """``[run.steady]``: see `cosim.measuring.steady.SteadyRules`."""

    share: Annotated[Text, known("share", SHARES)] = "alone"
    phases: Annotated[Text, known("phases", PHASES)] = "random"
    noise: Annotated[Number, Field(ge=0, le=1)] = 0.0
    precision: Annotated[Number, Field(gt=0, lt=1)] = 0.01
    least_iterations: Annotated[Whole, Field(ge=4)] = 16
    most_iterations: Annotated[Whole, Field(ge=4)] = 256
    warm_up: Annotated[Number, Field(ge=0, lt=1)] = 0.25

    @model_validator(mode="after")
    def _least_to_most(self) -> SteadySection:
        if self.most_iterations < self.least_iterations:
            raise NetcosimError(
                f"most_iterations = {self.most_iterations}; must be at least least_iterations = "
                f"{self.least_iterations}"
            )
        return self


class StepsSection(Section):
    """``[run.steps]``: see `cosim.measuring.steps_measure.StepRules`."""

    phases: Annotated[Text, known("phases", PHASES)] = "random"
    noise: Annotated[Number, Field(ge=0, le=1)] = 0.0
    periods: Annotated[Text, known("periods", PERIODS)] = "own"
    iterations: Annotated[Whole, Field(ge=10)] = 1000
    redraws: Annotated[Whole, Field(ge=0)] = 0


KEEP = {
    "tables": "nothing but tables",
    "schedules": "every job's times and nodes, every link at every snapshot, for pages and exports",
    "all": "the same, and each measured job once more alone: what its neighbours cost it",
}
"""What a run can keep, by name."""


class RunSection(Section):
    """``[run]``: the seed, the repetition, what is measured and how much is sampled.

    ``measure`` says how (`cosim.measuring.measure.MEASURES`). ``snapshots`` is the number of
    instants of the schedule whose running jobs are sent through the packet engine, 0 for the queue
    alone; ``only_snapshot`` is the one of them (counted from 0) that is, so that a sweep can have
    one point a snapshot. ``repetition`` changes nothing but the draws. ``placed`` says where the
    jobs of a snapshot sit (`queuesim.placing.PLACED`). ``threads``, a number or "auto", share a
    packet simulation (`netsim.packet.thread_count`); they change no result and no point's key.
    ``observables`` are more tables on each schedule (`netcosim list observables`). ``keep`` is what
    is stored beside the tables (`KEEP`); it changes no result.
    """

    name: Text = ""
    seed: Annotated[Whole, Field(ge=0)] = 1
    repetition: Annotated[Whole, Field(ge=0)] = 0
    snapshots: Annotated[Whole, Field(ge=0)] = 10
    only_snapshot: Annotated[Whole, Field(ge=0)] | None = None
    measure: Annotated[Text, known("measure", MEASURES)] = "stretch"
    paired: PairedSection = PairedSection()
    steady: SteadySection = SteadySection()
    steps: StepsSection = StepsSection()
    placed: Annotated[Text, known("place of jobs", PLACED)] = QUEUE
    confidence: Share = 0.95
    threads: Annotated[Whole | Text, AfterValidator(checked_threads)] = 1
    observables: Annotated[tuple[Text, ...], known("observable", OBSERVABLES)] = ()
    keep: Annotated[Text, known("what to keep", KEEP)] = "schedules"

    @field_validator("observables")
    @classmethod
    def _each_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise NetcosimError(f"{', '.join(names)}; an observable is listed twice")
        return names

    @model_serializer(mode="wrap")
    def _if_unusual(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        usual = {
            "threads": 1,
            "keep": "schedules",
            "steady": SteadySection().model_dump(),
            "steps": StepsSection().model_dump(),
            "placed": QUEUE,
        }
        return {key: value for key, value in content.items() if value != usual.get(key, ...)}

    @model_validator(mode="after")
    def _one_of_the_snapshots(self) -> RunSection:
        if self.only_snapshot is not None and self.only_snapshot >= self.snapshots:
            raise NetcosimError(
                f"only_snapshot = {self.only_snapshot}; must be below snapshots = {self.snapshots}"
            )
        return self

    @model_validator(mode="after")
    def _steady_places_anew(self) -> RunSection:
        if self.placed != QUEUE and self.measure != "steady":
            raise NetcosimError(
                f'placed = "{self.placed}" needs measure = "steady"; got "{self.measure}"'
            )
        return self
