"""What is measured and analysed: the sections ``[run]`` and ``[analysis]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from cosim.measuring.measure import MEASURES
from cosim.measuring.steady import PHASES, SHARES
from cosim.measuring.steps_measure import PERIODS
from experiments.fields import (
    Count,
    Flag,
    Number,
    Positive,
    Section,
    Share,
    Text,
    Whole,
    known,
)
from netsim.errors import NetcosimError
from netsim.packet.thread_count import checked_threads
from queuesim.observables.registry import OBSERVABLES
from queuesim.placing import PLACED, QUEUE


class AnalysisSection(Section):
    """``[analysis]``: with ``bounds``, what `netsim.analysis.bounds` says of the machine."""

    bounds: Flag = Field(
        default=False, description="add the machine's bisection bounds to the tables and the page"
    )


class PairedSection(Section):
    """``[run.paired]``: see `cosim.measuring.pairing.Pairing`."""

    repeats: Positive = Field(
        default=5.0,
        description="length of a job: the link time of this many iterations of the most that a "
        "node sends",
        examples=[8.0],
    )
    max_iterations: Count = Field(default=32, description="most iterations of a job", examples=[16])


class SteadySection(Section):
    """``[run.steady]``: see `cosim.measuring.steady.SteadyRules`."""

    share: Annotated[Text, known("share", SHARES)] = Field(
        default="alone",
        description="what a job's communication fraction is a share of",
        examples=["drive"],
    )
    phases: Annotated[Text, known("phases", PHASES)] = Field(
        default="random", description="when jobs start to communicate"
    )
    noise: Number = Field(
        default=0.0,
        ge=0,
        le=1,
        description="standard deviation of an iteration's computing time over its mean",
        examples=[0.1],
    )
    precision: Number = Field(
        default=0.01,
        gt=0,
        lt=1,
        description="wanted half-width of the mean iteration time under the reference, relative to "
        "it, over all jobs weighted by nodes",
    )
    least_iterations: Whole = Field(
        default=16,
        ge=4,
        description="fewest iterations, warm-up included, of the job with the longest iteration",
    )
    most_iterations: Whole = Field(
        default=256,
        ge=4,
        description="most iterations, warm-up included, of the job with the longest iteration",
    )
    warm_up: Number = Field(
        default=0.25, ge=0, lt=1, description="initial part of a job's iterations that is left out"
    )

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

    phases: Annotated[Text, known("phases", PHASES)] = Field(
        default="random", description="when jobs start to communicate; locked: all at once"
    )
    noise: Number = Field(
        default=0.0,
        ge=0,
        le=1,
        description="standard deviation of an iteration's computing time over its mean",
        examples=[0.1],
    )
    periods: Annotated[Text, known("periods", PERIODS)] = Field(
        default="own", description="periods of the jobs"
    )
    iterations: Whole = Field(
        default=1000,
        ge=10,
        description="iterations of a job of mean period (by nodes)",
        examples=[300],
    )
    redraws: Whole = Field(
        default=0,
        ge=0,
        description="how often the first window is repeated with newly drawn phases",
        examples=[8],
    )


KEEP = {
    "tables": "nothing but tables",
    "schedules": "every job's times and nodes, every link at every snapshot, for pages and exports",
    "all": "the same, and each measured job once more alone: what its neighbours cost it",
}
"""What a run can keep, by name."""


class RunSection(Section):
    """``[run]``: the seed, the repetition, what is measured and how much is sampled.

    ``threads`` and ``keep`` change no result and no point's key.
    """

    name: Text = Field(default="", description="title of the page", examples=["first try"])
    seed: Whole = Field(default=1, ge=0, description="random seed", examples=[7])
    repetition: Whole = Field(
        default=0,
        ge=0,
        description="changes only the random draws",
        examples=[{"from": 0, "to": 4, "step": 1}],
    )
    snapshots: Whole = Field(
        default=10,
        ge=0,
        description="instants of the schedule that the packet engine simulates; 0: the queue alone",
        examples=[5],
    )
    only_snapshot: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None,
        description="simulate only this snapshot, counted from 0; for a sweep over them",
        examples=[0],
    )
    measure: Annotated[Text, known("measure", MEASURES)] = Field(
        default="stretch", description="how snapshots are measured", examples=["paired"]
    )
    paired: PairedSection = PairedSection()
    steady: SteadySection = SteadySection()
    steps: StepsSection = StepsSection()
    placed: Annotated[Text, known("place of jobs", PLACED)] = Field(
        default=QUEUE,
        description="where the jobs of a snapshot are placed",
        examples=["empty-small-first"],
        json_schema_extra={"beside": {"measure": "steady"}},
    )
    confidence: Share = Field(
        default=0.95, description="level of the confidence intervals", examples=[0.9]
    )
    threads: Annotated[Whole | Text, AfterValidator(checked_threads)] = Field(
        default=1,
        description='threads of one packet simulation, a number or "auto"; results do not depend '
        "on it",
        examples=["auto"],
    )
    observables: Annotated[tuple[Text, ...], known("observable", OBSERVABLES)] = Field(
        default=(), description="additional tables on each schedule", examples=[["runs", "bins"]]
    )
    keep: Annotated[Text, known("what to keep", KEEP)] = Field(
        default="schedules", description="what is stored besides the tables", examples=["all"]
    )

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
