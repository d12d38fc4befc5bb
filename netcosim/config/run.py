"""What is measured and analysed: ``[run]``, ``[analysis]``, and what results are relative to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from cosim.parameters import PLACED, QUEUE, SteadyRules
from cosim.registry import MEASURES
from netcosim.config.fields import (
    Count,
    DeclaredSection,
    Flag,
    Positive,
    Section,
    Share,
    Text,
    Whole,
    declared_by,
    each_once,
    known,
)
from netcosim.config.read_if import IF_MEASURED, ReadByKey, if_named, if_sent
from netsim.errors import NetcosimError
from netsim.packet.thread_count import checked_threads
from netsim.parameters import ReadIf
from queuesim.observables.registry import OBSERVABLES


class AnalysisSection(Section):
    """``[analysis]``: with ``bounds``, the bounds of the machine by `netsim.analysis.bounds`."""

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


@declared_by(SteadyRules)
class SteadySection(DeclaredSection):
    """``[run.steady]``, whose keys `cosim.parameters.SteadyRules` declares."""

    @model_validator(mode="after")
    def _least_to_most(self) -> Self:
        if self.most_iterations < self.least_iterations:
            raise NetcosimError(
                f"most_iterations = {self.most_iterations}; must be at least "
                f"least_iterations = {self.least_iterations}"
            )
        return self


KEEP = {
    "tables": "nothing but tables",
    "schedules": "every job's times and nodes, every link at every snapshot, for pages and exports "
    "(without snapshots the nodes of at most 100,000 jobs)",
    "all": "the same for any number of jobs, and each measured job once more alone: what its "
    "neighbours cost it",
}
"""What a run can keep, by name."""

MOST_PLACED = 100_000
"""Jobs of a run without snapshots whose nodes are kept under "schedules"."""


class SweepSection(Section):
    """``[sweep]``: how the lists and ranges of a file become points."""

    zip: tuple[tuple[Text, ...], ...] = Field(
        default=(),
        description="keys that run together; all other lists and ranges are combined",
        examples=[[["machine.radix", "run.seed"]]],
    )


def keeps_nodes(run: RunSection, n_jobs: int) -> bool:
    """Return whether a run without snapshots keeps the nodes of its jobs."""
    return run.keep == "all" or (run.keep == "schedules" and n_jobs <= MOST_PLACED)


class RunSection(Section):
    """``[run]``: the seed, the repetition, what is measured and how much is sampled.

    ``threads`` and ``keep`` change no result and no point's key.
    """

    added = ("threads", "keep", "steady", "placed", "redraw_log")
    name: Text = Field(default="", description="title of the page", examples=["first try"])
    seed: Whole = Field(default=1, ge=0, description="random seed", examples=[7])
    repetition: Whole = Field(
        default=0,
        ge=0,
        description="changes only the random draws; above 0 also the log, whose blocks are redrawn",
        examples=[{"from": 0, "to": 4, "step": 1}],
    )
    redraw_log: Annotated[
        Flag,
        ReadIf(
            ("workload.log", "run.repetition"),
            lambda log, repetition: log is not None and repetition > 0,
            "workload.log is given and run.repetition is above 0",
        ),
    ] = Field(
        default=True,
        description="whether a repetition redraws blocks of the log; false: the log as it is",
        examples=[False],
        json_schema_extra={"beside": {"repetition": 1}},
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
    measure: Annotated[Text, known("measure", MEASURES), IF_MEASURED] = Field(
        default="stretch", description="how snapshots are measured", examples=["paired"]
    )
    paired: Annotated[PairedSection, IF_MEASURED, if_named("run.measure", "paired")] = (
        PairedSection()
    )
    steady: Annotated[SteadySection, IF_MEASURED, if_named("run.measure", "steady")] = (
        SteadySection()
    )
    placed: Annotated[Text, known("place of jobs", PLACED), IF_MEASURED] = Field(
        default=QUEUE,
        description="where the jobs of a snapshot are placed",
        examples=["empty-small-first"],
        json_schema_extra={"beside": {"measure": "steady"}},
    )
    confidence: Annotated[Share, IF_MEASURED] = Field(
        default=0.95, description="level of the confidence intervals", examples=[0.9]
    )
    threads: Annotated[Whole | Text, AfterValidator(checked_threads), ReadByKey(if_sent)] = Field(
        default=1,
        description='threads of one packet simulation, a number or "auto"; results do not depend '
        "on it",
        examples=["auto"],
    )
    observables: Annotated[
        tuple[Text, ...], known("observable", OBSERVABLES), each_once("an observable")
    ] = Field(
        default=(), description="additional tables on each schedule", examples=[["runs", "bins"]]
    )
    keep: Annotated[Text, known("what to keep", KEEP)] = Field(
        default="schedules", description="what is stored besides the tables", examples=["all"]
    )

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


Run = TypeVar("Run")
"""A config; the class is generic, since a config contains its reference."""


@dataclass(frozen=True)
class Reference(Generic[Run]):
    """What the numbers of a run are relative to: a policy, here or where some keys differ.

    By default the config's first policy. ``[reference]`` names another one, or a place that differs
    in keys of ``[machine]`` and ``[queue]``: all points of a sweep over routings then share one.
    """

    policy: str
    differs: tuple[str, ...]
    """``"KEY = VALUE"`` of what ``[reference]`` sets."""
    elsewhere: Run | None
    """The reference's own config, of that one policy; None if it is a policy of the run."""

    @property
    def label(self) -> str:
        """``rdn``, or ``rdn with machine.routing = minimal``."""
        return f"{self.policy} with {', '.join(self.differs)}" if self.differs else self.policy

    @property
    def label_at_point(self) -> str:
        """The label as a table of many points has it: ``rdn at the same point``."""
        return self.label if self.differs else f"{self.policy} at the same point"

    @property
    def column(self) -> str:
        """The reference's name beside the run's own policies."""
        return self.policy if self.elsewhere is None else self.label
