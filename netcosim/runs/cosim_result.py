"""Result of a co-simulation run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.snapshots import Measurement, Measurements, Ratio, Study
from netcosim.config.config import Config
from netcosim.config.machine import BuiltMachine
from netcosim.config.run import Reference
from netcosim.runs.schedules import Queues
from netsim.short_repr import short_repr
from queuesim.metrics import QueueSummary, summarise
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel
from workloads.job import Workload

if TYPE_CHECKING:
    from cosim.measuring.neighbours import Neighbours


@short_repr(
    *("machine.topology.name", "workload.name", "run_time_model.name", "reference.policy"),
    *("schedules", "measured"),
)
@dataclass(frozen=True, eq=False)
class CosimResult:
    """What a run gave, by policy in the config's order."""

    config: Config
    machine: BuiltMachine
    queues: Queues
    """What the policies place, and the rules of the queue."""
    logged: dict[str, QueueResult]
    """Schedules with logged run times; empty unless the model has them measured."""
    schedules: dict[str, QueueResult]
    """Schedules with the config's run-time model."""
    measurement: Measurement | None
    """None with ``snapshots = 0``."""
    run_time_model: RunTimeModel
    """Of the schedules."""
    reference: Reference[Config]
    reference_schedule: QueueResult
    """With the config's run-time model."""
    share: NDArray[np.int64]
    fraction: NDArray[np.float64]
    """share, fraction: (n_jobs,) int64, float64. Index of each job's communication, and the share
    of its run time that it takes."""
    study: Study | None = None
    """What was measured, of which schedules; None with ``snapshots = 0``."""
    neighbours: Mapping[str, Neighbours] = field(default_factory=dict)
    """By policy, if ``run.keep`` requests them."""

    @property
    def workload(self) -> Workload:
        """The jobs: those that every policy can place."""
        return self.queues.jobs

    @property
    def flow_classes(self) -> list[tuple[str, str]]:
        """Classes of the jobs that communicate under "coupled-flow", by traffic and nodes."""
        from cosim.run_times.coupled import CoupledFlow
        from cosim.run_times.flow_errors import classes_of

        if not isinstance(self.run_time_model, CoupledFlow):
            return []
        talks = self.fraction > 0
        n_nodes = self.workload.n_nodes[talks]
        return classes_of(self.run_time_model.network, self.share[talks], n_nodes)

    @property
    def measured(self) -> dict[str, Measurements]:
        """Communication times, by policy; empty with ``snapshots = 0``."""
        found = {} if self.measurement is None else self.measurement.jobs
        return {name: found[name] for name in self.schedules if name in found}

    @property
    def ratios(self) -> dict[str, Ratio]:
        """Mean communication time over the reference's, all jobs together."""
        found = {} if self.measurement is None else self.measurement.ratios
        return {name: found[name] for name in self.schedules if name in found}

    @property
    def table(self) -> SpeedupTable:
        """The speed-up table of what was measured; without rows if nothing was."""
        if self.measurement is None:
            return SpeedupTable(self.reference.column, ())
        return self.measurement.table

    def summaries(self) -> dict[str, QueueSummary]:
        """Return the queue metrics of the final schedules."""
        return {name: summarise(result) for name, result in self.schedules.items()}
