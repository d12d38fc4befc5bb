"""Run-time models: how long a job runs, and how that changes while it runs.

A `RunTimeModel` is a choice of the user (frozen, no state). `prepare` binds it to a
workload and a policy and gives the live `RunTimes` that the queue asks. A running job
has an amount of work, in seconds at rate 1, that shrinks at the job's rate. Models
without coupling give a fixed work and leave every rate at 1; coupled ones answer each
start and finish with the rates that it changes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from netsim.parameters import Parameter, parameters_of
from workloads.job import Workload

NO_CHANGE: Mapping[int, float] = {}


class RunTimes(ABC):
    """What the queue asks of a run-time model; jobs are workload indices.

    In each instant the queue tells of all finishes, then of the starts one by one, and
    then calls `settle` once (and once before, where a failure has sent jobs back, which may
    start again in the same instant). Rates given by any of the three count from that instant;
    for a job named more than once the last one holds. A model may answer starts and finishes
    with `NO_CHANGE` and work all changes out at once in `settle`.
    """

    @abstractmethod
    def work_s(self, job: int) -> float:
        """Work of a job in seconds at rate 1, > 0; asked once, after the `settle` of its start."""

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        """A job has been placed: rates (>= 0) that change, its own included if not 1."""
        return NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        """A job has ended: rates of running jobs that change."""
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        """All starts and finishes of this instant are told: rates that change."""
        return NO_CHANGE

    def link_use(self) -> NDArray[np.float64] | None:
        """(n_links,) share of the time for which links are busy; None: the model knows no links.

        As of the last `settle`.
        """
        return None

    def report(self) -> Mapping[str, Mapping[str, float]]:
        """What the model has to tell of a run when it is over: one row a table, by table."""
        return {}


class FixedRunTimes(RunTimes):
    """Known run times, whatever else runs.

    Parameters
    ----------
    run_time_s : (n,) float64
        > 0, one a job.
    """

    def __init__(self, run_time_s: NDArray[np.float64]) -> None:
        bad = np.flatnonzero(~(np.isfinite(run_time_s) & (run_time_s > 0)))
        if len(bad):
            raise NetcosimError(
                f"run time {run_time_s[bad[0]]} s of job index {bad[0]}: it must be > 0"
            )
        self._run_time_s: list[float] = run_time_s.tolist()

    def work_s(self, job: int) -> float:
        return self._run_time_s[job]


class RunTimeModel(ABC):
    """A way to tell run times; subclasses are frozen dataclasses."""

    registered_in: ClassVar[str] = "cosim.registry:RUNTIME_MODELS"

    name: str
    description: str
    knows_needs: ClassVar[bool] = False
    """Whether it tells what jobs need of the network: `bandwidth_needs`."""
    section: ClassVar[str] = ""
    """Its table of a config, ``[queue.SECTION]``; empty: its keys stand in ``[queue]`` itself."""
    fixed: ClassVar[bool] = False
    """Whether `prepare` gives `FixedRunTimes`; such queues may be compiled."""
    solves_flows: ClassVar[bool] = False
    """Whether it runs the flow level's kernels, whose compilation takes a while once."""
    reads: ClassVar[tuple[str, ...]] = ("communication", "machine", "run.threads")
    """Keys of a config, or their tables, that it reads beside its own, ``*`` for any name."""
    parameters: ClassVar[type | None] = None
    """The dataclass that declares its keys (`netsim.parameters`); None: the model itself."""

    @property
    def label(self) -> str:
        """The model with its parameters, for tables and legends."""
        return self.name

    @classmethod
    def declares(cls) -> Mapping[str, Parameter]:
        """The keys of a config that it takes."""
        return parameters_of(cls.parameters or cls)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Any:
        """Values of a config as the model's parameters.

        Raises
        ------
        NetcosimError
            A model that needs more than a config can say, and does not say how it is made.
        """
        takes = cls.parameters or cls
        for name, parameter in inspect.signature(takes).parameters.items():
            if parameter.default is parameter.empty and name not in given:
                raise NetcosimError(
                    f"run-time model {cls.name!r} cannot be built from a config: "
                    f"{takes.__name__} needs {name}"
                )
        return takes(**given)

    @classmethod
    def check(cls, parameters: Any, snapshots: int) -> None:
        """`NetcosimError` for parameters that it cannot run with; ``snapshots`` of ``[run]``."""
        return

    @classmethod
    def from_config(cls, context: Any, parameters: Any) -> RunTimeModel:
        """The model that a config asks for by name.

        Parameters
        ----------
        context : cosim.run_times.model_context.ModelContext
            What a run offers to a model that needs more than its parameters.
        parameters
            What `read` gave; the model itself where it declares its own parameters.
        """
        model: RunTimeModel = parameters
        return model

    def bandwidth_needs(
        self, workload: Workload, rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """(n,) bandwidth that jobs need, the hint for policies that place by it; None: unknown.

        The generator is in the state in which `prepare` gets it.
        """
        return None

    @abstractmethod
    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        """Bind to a workload and a policy.

        The generator is used for one key; draws then depend on the key and the job's id
        alone, so every policy prepared with the same seed sees the same draw.
        """


@dataclass(frozen=True)
class AsLogged(RunTimeModel):
    """Jobs run as long as the log says, wherever they are placed."""

    name = "as-logged"
    description = "the log's run times, whatever the placement"
    reads = ()
    fixed = True

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return FixedRunTimes(np.asarray(workload.run_time_s, dtype=np.float64))
