"""Run-time models: how long a job runs, and how that changes while it runs.

A `RunTimeModel` is a choice of the user (frozen, no state). `prepare` binds it to a workload and a
policy and gives the live `RunTimes` that the queue calls. A running job has an amount of work, in
seconds at rate 1, that shrinks at the job's rate. Models without coupling give a fixed work and
leave every rate at 1; coupled ones answer each start and finish with the rates that it changes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from netsim.parameters import Parameter, parameters_of
from workloads.job import Workload

NO_CHANGE: Mapping[int, float] = {}


class RunTimes(ABC):
    """Interface between the queue and a run-time model; jobs are workload indices.

    In each instant the queue reports all finishes, then of the starts one by one, and
    then calls `settle` once (and once before, where a failure has sent jobs back, which may
    start again in the same instant). Rates given by any of the three count from that instant;
    for a job named more than once the last one holds. A model may answer starts and finishes
    with `NO_CHANGE` and work all changes out at once in `settle`.
    """

    @abstractmethod
    def work_s(self, job: int) -> float:
        """Return the work of a job in seconds at rate 1, > 0; called once, after the `settle` of
        its start."""

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        """Return the rates (>= 0) that change when a job is placed, including its own if not 1."""
        return NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        """Return the rates of running jobs that change after a job has ended."""
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        """Return the rates that change after all starts and finishes of this instant."""
        return NO_CHANGE

    def link_use(self) -> NDArray[np.float64] | None:
        """Return the share of time that links are busy, (n_links,); None: the model has no links.

        As of the last `settle`.
        """
        return None

    def report(self) -> Mapping[str, Mapping[str, float]]:
        """Return the model's reports at the end of a run: one row per table, by table."""
        return {}


class FixedRunTimes(RunTimes):
    """Run times > 0, one a job, independent of other jobs."""

    def __init__(self, run_time_s: NDArray[np.float64]) -> None:
        bad = np.flatnonzero(~(np.isfinite(run_time_s) & (run_time_s > 0)))
        if len(bad):
            raise NetcosimError(
                f"run time {run_time_s[bad[0]]} s of job index {bad[0]}: it must be > 0"
            )
        self.all_s = run_time_s

    @cached_property
    def _listed_s(self) -> list[float]:
        """For a run by events: a list is read faster, but a compiled queue reads the array."""
        listed_s: list[float] = self.all_s.tolist()
        return listed_s

    def work_s(self, job: int) -> float:
        return self._listed_s[job]


class RunTimeModel(ABC):
    """A run-time model; subclasses are frozen dataclasses."""

    registered_in: ClassVar[str] = "cosim.registry:RUNTIME_MODELS"

    name: str
    description: str
    knows_needs: ClassVar[bool] = False
    """Whether it provides the bandwidth that jobs need: `bandwidth_needs`."""
    fixed: ClassVar[bool] = False
    """Whether `prepare` gives `FixedRunTimes`; such queues may be compiled."""
    solves_flows: ClassVar[str] = ""
    """The kernels of the flow level that it runs, by the name with which their compilation is
    announced; empty: none."""
    reads: ClassVar[tuple[str, ...]] = ("communication", "machine", "run.threads")
    """Keys of a config, or their tables, that it reads beside its own, ``*`` for any name."""
    reads_computing: ClassVar[tuple[str, ...]] = ()
    """Those of `reads` that it reads only where a pattern of the mix computes."""
    parameters: ClassVar[type | None] = None
    """The dataclass that declares the keys of its table, ``[queue.NAME]`` (`netsim.parameters`);
    None: the model itself."""

    @property
    def label(self) -> str:
        """The model with its parameters, for tables and legends."""
        return self.name

    @classmethod
    def reads_traffic(cls) -> bool:
        """Return whether it reads a key of ``[communication]``."""
        return any(key.split(".")[0] == "communication" for key in cls.reads)

    @classmethod
    def declares(cls) -> Mapping[str, Parameter]:
        """Return the keys of a config that it takes."""
        return parameters_of(cls.parameters or cls)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Any:
        """Convert values of a config to the model's parameters."""
        factory = cls.parameters or cls
        for name, parameter in inspect.signature(factory).parameters.items():
            if parameter.default is parameter.empty and name not in given:
                raise NetcosimError(
                    f"run-time model {cls.name!r} cannot be built from a config: "
                    f"{factory.__name__} needs {name}"
                )
        return factory(**given)

    @classmethod
    def check(cls, parameters: Any, snapshots: int) -> None:
        """Raise `NetcosimError` for parameters that cannot run with ``snapshots`` of ``[run]``."""
        return

    @classmethod
    def from_config(cls, context: Any, parameters: Any) -> RunTimeModel:
        """Return the model that a config names, for what `read` gave.

        ``context`` (`cosim.run_times.model_context.ModelContext`) is what a run offers to a model
        that needs more than its parameters.
        """
        model: RunTimeModel = parameters
        return model

    def bandwidth_needs(
        self, workload: Workload, rng: np.random.Generator
    ) -> NDArray[np.float64] | None:
        """Return the bandwidth that jobs need, (n,), as a hint for policies; None: unknown.

        The generator is in the state in which `prepare` gets it.
        """
        return None

    @abstractmethod
    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        """Bind to a workload and a policy.

        The generator is used for one key; draws then depend on the key and the job's id
        only, so every policy prepared with the same seed sees the same draw.
        """


@dataclass(frozen=True)
class AsLogged(RunTimeModel):
    """Jobs have their logged run times, wherever they are placed."""

    name = "as-logged"
    description = "the log's run times, independent of the placement"
    reads = ()
    fixed = True

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return FixedRunTimes(np.asarray(workload.run_time_s, dtype=np.float64))
