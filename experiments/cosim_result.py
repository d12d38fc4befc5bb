"""What a run of the whole loop leaves."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.build import BuiltMachine
from experiments.config import Config
from experiments.reference import Reference
from queuesim.campaign import Measurements, Ratio
from queuesim.measured import SpeedupTable
from queuesim.metrics import QueueSummary, summarise
from queuesim.result import QueueResult
from workloads.job import Workload


@dataclass(frozen=True, eq=False)
class CosimResult:
    """What a run gave, by policy in the config's order.

    Attributes
    ----------
    config : Config
    machine : BuiltMachine
    workload : Workload
    logged : dict of str to QueueResult
        Schedules with logged run times; empty unless the model has them measured.
    schedules : dict of str to QueueResult
        Schedules with the config's run-time model.
    measured : dict of str to Measurements
        Empty with ``snapshots = 0``.
    ratios : dict of str to Ratio
        Mean communication time over the reference's, all jobs together.
    table : SpeedupTable
    reference : Reference
    reference_schedule : QueueResult
        With the config's run-time model.
    """

    config: Config
    machine: BuiltMachine
    workload: Workload
    logged: dict[str, QueueResult]
    schedules: dict[str, QueueResult]
    measured: dict[str, Measurements]
    ratios: dict[str, Ratio]
    table: SpeedupTable
    reference: Reference
    reference_schedule: QueueResult

    def summaries(self) -> dict[str, QueueSummary]:
        """Queue metrics of the final schedules."""
        return {name: summarise(result) for name, result in self.schedules.items()}
