"""What jobs send and what is measured: the sections ``[communication]`` and ``[run]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from experiments.fields import (
    Count,
    Flag,
    Positive,
    Section,
    Share,
    ShareRange,
    SizeBytes,
    Text,
    Whole,
    all_finite,
)
from netsim.errors import NetcosimError, unknown_name
from netsim.parameters import checked
from patterns.mapping import MAPPINGS
from patterns.registry import PATTERNS


class PatternSection(Section):
    """One ``[[communication.mix]]`` entry: a pattern and its share of the jobs.

    ``message_bytes`` is the size of the pattern's messages; ``node_bytes`` instead says what a
    node sends in an iteration, in the mean and about, whatever the ranks are.
    ``communication_fraction`` is the part of a job's run time that it spends
    communicating, a number or ``[low, high]``, uniform between them.
    """

    pattern: Text
    weight: Positive = 1.0
    message_bytes: SizeBytes = 1000
    node_bytes: SizeBytes | None = None
    iterations: Count = 1
    communication_fraction: ShareRange = (0.3, 0.3)
    parameters: dict[str, Any] = Field(default_factory=dict)

    @field_validator("pattern")
    @classmethod
    def _known_pattern(cls, name: str) -> str:
        if name not in PATTERNS:
            raise unknown_name("pattern", name, PATTERNS)
        return name

    @field_validator("communication_fraction")
    @classmethod
    def _low_to_high(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] > value[1]:
            raise NetcosimError(f"{list(value)}; must be [low, high]")
        return value

    @model_serializer(mode="wrap")
    def _content(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        content.pop("node_bytes" if self.node_bytes is None else "message_bytes")
        return content

    @model_validator(mode="after")
    def _one_size(self) -> PatternSection:
        if self.node_bytes is not None and "message_bytes" in self.model_fields_set:
            raise NetcosimError("give either message_bytes or node_bytes, the one or the other")
        if self.node_bytes is not None and "cells" in self.parameters:
            raise NetcosimError("node_bytes says how many cells there are; leave parameters.cells")
        return self

    @model_validator(mode="after")
    def _known_parameters(self) -> PatternSection:
        for name, value in self.parameters.items():
            if not all_finite(value):
                raise NetcosimError(f"parameters.{name}: {value}; must be finite")
        checked(f"pattern {self.pattern}", PATTERNS[self.pattern].function, self.parameters)
        return self


class CommunicationSection(Section):
    """``[communication]``: what jobs send, how many ranks a node, which rank sits where."""

    mix: tuple[PatternSection, ...] = Field(
        default=(PatternSection(pattern="all-to-all"),), min_length=1
    )
    ranks_per_node: Count = 1
    task_mapping: Text = "random"

    @field_validator("task_mapping")
    @classmethod
    def _known_mapping(cls, name: str) -> str:
        if name not in MAPPINGS:
            raise unknown_name("task mapping", name, MAPPINGS)
        return name


class PairedSection(Section):
    """``[run.paired]``: see `queuesim.pairing.Pairing`.

    With ``phases`` each job's communication fraction is the share of the time alone in which it
    communicates.
    """

    repeats: Positive = 5.0
    max_iterations: Count = 32
    phases: Flag = True


class RunSection(Section):
    """``[run]``: the seed, the repetition, what is measured and how much is sampled.

    ``measure`` says how (`queuesim.measure.MEASURES`). ``snapshots`` is the number of instants of
    the schedule whose running jobs are sent through the packet engine, 0 for the queue alone;
    ``only_snapshot`` is the one of them (counted from 0) that is, so that a sweep can have one
    point a snapshot. ``repetition`` changes nothing but the draws.
    ``observables`` are more tables on each schedule (`netcosim list observables`).
    """

    name: Text = ""
    seed: Annotated[Whole, Field(ge=0)] = 1
    repetition: Annotated[Whole, Field(ge=0)] = 0
    snapshots: Annotated[Whole, Field(ge=0)] = 10
    only_snapshot: Annotated[Whole, Field(ge=0)] | None = None
    measure: Text = "stretch"
    paired: PairedSection = PairedSection()
    confidence: Share = 0.95
    observables: tuple[Text, ...] = ()

    @field_validator("observables")
    @classmethod
    def _known_observables(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from experiments.observables.registry import OBSERVABLES

        for name in names:
            if name not in OBSERVABLES:
                raise unknown_name("observable", name, OBSERVABLES)
        return names

    @field_validator("measure")
    @classmethod
    def _known_measure(cls, name: str) -> str:
        from queuesim.measure import MEASURES

        if name not in MEASURES:
            raise unknown_name("measure", name, MEASURES)
        return name

    @model_validator(mode="after")
    def _one_of_the_snapshots(self) -> RunSection:
        if self.only_snapshot is not None and self.only_snapshot >= self.snapshots:
            raise NetcosimError(
                f"only_snapshot = {self.only_snapshot}; must be below snapshots = {self.snapshots}"
            )
        return self
