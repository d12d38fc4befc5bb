"""What jobs send: the section ``[communication]``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from cosim.network.communication import BY_SHARE, TOGETHER
from netcosim.config.fields import (
    Count,
    CountRange,
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
from netcosim.config.read_if import IF_MEASURED
from netsim.errors import NetcosimError
from netsim.parameters import ReadIf
from netsim.traffic import PRIORITIES
from patterns.mapping import MAPPINGS
from patterns.registry import PATTERNS
from workloads.registry import DISTRIBUTIONS, MIXES

_OWN_FRACTION = "communication_fraction"
_IF_SEVERAL = ReadIf(
    ("communication.mix",), lambda mix: len(mix) > 1, "there are two or more [[communication.mix]]"
)


class PatternSection(Section):
    """One ``[[communication.mix]]`` entry: a pattern and its share of the jobs."""

    added = ("node_bytes", "nodes", "file", "priority")
    pattern: Annotated[Text, known("pattern", PATTERNS)] = Field(
        description="communication pattern", examples=["halo3d"]
    )
    weight: Annotated[Positive, _IF_SEVERAL] = Field(
        default=1.0, description="share of the jobs, relative to the other entries"
    )
    message_bytes: SizeBytes = Field(
        default=1000, description="size of the pattern's messages", examples=["64 KiB"]
    )
    node_bytes: SizeBytes | None = Field(
        default=None,
        description="mean bytes that a node sends in an iteration, instead of message_bytes",
        examples=["1 MiB"],
    )
    iterations: Count = Field(default=1, description="repetitions of the pattern", examples=[3])
    communication_fraction: ShareRange = Field(
        default=(0.3, 0.3),
        description="part of a job's run time in which it communicates, or the range it is drawn "
        "from",
        examples=[[0.2, 0.6]],
    )
    nodes: CountRange | None = Field(
        default=None, description="job sizes that the entry is for", examples=[[2, 8]]
    )
    priority: Annotated[Whole, Field(ge=0, lt=PRIORITIES)] = Field(
        default=0,
        description="class of its messages on links, which serve the highest first; packets only",
        examples=[3],
    )
    file: Input | None = Field(
        default=None, description="file of a pattern that is read from one", examples=["app.goal"]
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict,
        description="the pattern's own parameters (netcosim describe PATTERN)",
        examples=[{"grid": [2, 2, 4]}],
    )

    @field_validator("communication_fraction", "nodes")
    @classmethod
    def _low_to_high(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and value[0] > value[1]:
            raise NetcosimError(f"{list(value)}; must be [low, high]")
        return value

    def idle(self) -> Collection[str]:
        """Return what is at its default, and the size where something else decides it."""
        sized = self.node_bytes is not None or PATTERNS[self.pattern].recorded_ranks is not None
        return {*super().idle(), *(("message_bytes",) if sized else ())}

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
        """Return the pattern's parameters, including the path of its file."""
        return self.parameters | ({} if self.file is None else {"file": path_of(self.file)})


class FractionSection(Section):
    """``[communication.fraction]``: what communication fractions are drawn from, of all jobs.

    In place of the entries' own `communication_fraction`; see `workloads.shares.law.FractionLaw`.
    """

    added = ("distribution", "mean", "spread", "quantiles", "at")
    distribution: Annotated[Text | None, known("distribution", DISTRIBUTIONS)] = Field(
        default=None,
        description="distribution that all jobs' communication fractions are drawn from",
        examples=["beta"],
        json_schema_extra={"beside": {"mean": 0.3, "spread": 0.1}},
    )
    mean: Share | None = Field(
        default=None,
        description="mean of the fractions",
        examples=[0.2],
        json_schema_extra={"beside": {"distribution": "uniform", "spread": 0.1}},
    )
    spread: Annotated[Number, Field(ge=0, le=0.5)] | None = Field(
        default=None,
        description="standard deviation of the fractions over jobs",
        examples=[0.05],
        json_schema_extra={"beside": {"distribution": "uniform", "mean": 0.3}},
    )
    quantiles: tuple[Share, ...] = Field(
        default=(),
        description="quantiles of the fractions, from the smallest to the largest",
        examples=[[0.0, 0.2, 0.9]],
        json_schema_extra={"beside": {"distribution": "quantiles"}},
    )
    at: tuple[Share, ...] = Field(
        default=(),
        description="probabilities of the quantiles, from 0 to 1; evenly spaced if left out",
        examples=[[0.0, 0.25, 1.0]],
        json_schema_extra={"beside": {"distribution": "quantiles", "quantiles": [0.1, 0.3, 0.9]}},
    )
    size_correlation: Number = Field(
        default=0.0,
        ge=-1,
        le=1,
        description="rank correlation (Spearman's) of a job's fraction with its nodes; the "
        "distribution is unchanged",
        examples=[0.5],
        json_schema_extra={"beside": {"distribution": "uniform", "mean": 0.3, "spread": 0.1}},
    )

    @model_validator(mode="after")
    def _fits_together(self) -> FractionSection:
        if self.model_fields_set - {"size_correlation"}:
            self.made()
        return self

    def made(self) -> Fractions:
        """Build the distribution."""
        from workloads.shares.distributions import make_fractions

        if self.distribution is None:
            raise NetcosimError(f"distribution is needed; valid: {', '.join(DISTRIBUTIONS)}")
        return make_fractions(self.distribution, self.mean, self.spread, self.quantiles, self.at)


class IoSection(Section):
    """``[communication.io]``: see `cosim.network.gateways.GatewayIo`."""

    gateways: Text = Field(
        description="nodes reserved for I/O that every job writes to: a host list, or numbers",
        examples=["0-3,81"],
    )
    drive: Annotated[Number, Field(gt=0, le=1), IF_MEASURED] = Field(
        default=0.01,
        description="share of the time for which a job's node keeps its link busy with I/O",
    )
    message_bytes: Annotated[SizeBytes, IF_MEASURED] = Field(
        default=65536,
        description="bytes that a node writes before it waits for an answer",
        examples=["1 MiB"],
    )


_FROM = "from"


class _CommunicationKeys(Section):
    """``[communication]``: what jobs send, how many ranks a node, which rank sits where.

    ``together`` is how jobs communicate while others do (`cosim.network.communication.TOGETHER`).
    Its key ``from``, no name in Python, joins it in `CommunicationSection`.
    """

    added = ("from", "fraction", "io", "together")
    mix: tuple[PatternSection, ...] = Field(
        default=(PatternSection.model_construct(pattern="all-to-all"),), min_length=1
    )
    ranks_per_node: Count = Field(default=1, description="processes on each node", examples=[4])
    task_mapping: Annotated[Text, known("task mapping", MAPPINGS)] = Field(
        default="random",
        description="assignment of ranks to nodes; if left out, by-domain on machines of GPUs",
    )
    fraction: FractionSection | None = None
    io: IoSection | None = None
    together: Annotated[Text, known("way to communicate together", TOGETHER)] = Field(
        default=BY_SHARE,
        description="whether jobs compute between iterations, by their fractions, or always "
        "communicate",
    )

    @model_serializer(mode="wrap")
    def _content(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content = super()._content(dump)
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
                f"mix.{own[0]}.{_OWN_FRACTION} conflicts with communication.{origin}, which has "
                "it for all entries; leave one of them out"
            )
        if origin == _FROM and self.fraction is not None:
            more = sorted(self.fraction.model_fields_set - {"size_correlation"})
            if more:
                raise NetcosimError(
                    f"fraction.{more[0]} conflicts with communication.from, which has the "
                    "distribution; beside it fraction has size_correlation alone"
                )
        self.law()
        return self

    @property
    def drawn_from(self) -> str | None:
        """The value of ``from``: a name of `workloads.registry.MIXES`."""
        name: str | None = getattr(self, _FROM)
        return name

    def law(self) -> FractionLaw | None:
        """Return the distribution of all jobs' fractions; None: the value of each entry."""
        given = self.fraction
        if given is None and self.drawn_from is None:
            return None
        from workloads.shares.law import FractionLaw

        correlation = 0.0 if given is None else given.size_correlation
        if self.drawn_from is not None:
            mix = MIXES[self.drawn_from]
            source = f'{mix.name}, shares "{mix.share}" ({mix.source})'
            return FractionLaw(mix.fractions, correlation, source)
        assert given is not None
        return FractionLaw(given.made(), correlation)


_MixName = Annotated[Text | None, known("mix of communication shares", MIXES)]
_MIX: Any = Field(
    default=None,
    description="published distribution that all jobs' communication fractions are drawn from",
    examples=["seren-links"],
)
if TYPE_CHECKING:
    from workloads.shares.distributions import Fractions
    from workloads.shares.law import FractionLaw

    CommunicationSection = _CommunicationKeys
else:
    CommunicationSection = create_model(
        "CommunicationSection",
        __base__=_CommunicationKeys,
        __doc__=_CommunicationKeys.__doc__,
        __module__=__name__,
        **{_FROM: (_MixName, _MIX)},
    )
