"""Measured run times: communication-time ratios from packet runs, applied to a log.

A job with communication share f whose communication takes ``ratio`` times as long as under the
reference policy runs ``logged * ((1 - f) + f * ratio)``; f is 1 where whole runs were measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from alloc.policy import Policy
from cosim.measuring.measured import SpeedupTable
from cosim.measuring.speedup_file import read_speedups
from cosim.network.mix import CommunicationMix
from cosim.parameters import MeasuredParameters
from cosim.run_times.model_context import ModelContext
from netsim.errors import NetcosimError
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
from queuesim.statistics import LEAST_SAMPLES
from workloads.job import Workload


@dataclass(frozen=True)
class Measured(RunTimeModel):
    """Run times from measured communication-time ratios."""

    name = "measured"
    description = "logged times scaled by communication-time ratios measured with packets"
    # what jobs send is read by the packets that measure it, not by the model
    reads = (
        *(f"communication.mix.*.{key}" for key in ("pattern", "weight", "nodes", "file")),
        "communication.mix.*.communication_fraction",
        *("communication.from", "communication.fraction", "communication.ranks_per_node"),
    )
    parameters = MeasuredParameters
    fixed = True
    table: SpeedupTable = field()
    mix: CommunicationMix = field()
    bound: str = "mean"
    """The "mean", "low" or "high" end of the measured confidence intervals."""

    @classmethod
    def check(cls, parameters: MeasuredParameters, snapshots: int) -> None:
        if parameters.table is not None:
            for key in ("rounds", "runtime_reference"):
                if getattr(parameters, key) != getattr(MeasuredParameters, key):
                    raise NetcosimError(
                        f"queue.measured.{key} is for speed-ups that the run measures; "
                        "queue.measured.table gives them"
                    )
            return
        if snapshots == 0:
            raise NetcosimError(
                f'"{cls.name}" needs speed-ups from a file (queue.measured.table), or at least 1 '
                "snapshot to measure them; run.snapshots = 0"
            )
        if parameters.bound != "mean" and snapshots < LEAST_SAMPLES:
            raise NetcosimError(
                f'queue.measured.bound = "{parameters.bound}" needs at least '
                f"{LEAST_SAMPLES} snapshots, since fewer have no interval; "
                f"run.snapshots = {snapshots}"
            )

    @classmethod
    def from_config(cls, context: ModelContext, parameters: MeasuredParameters) -> Measured:
        """Build the model with speed-ups from the config's file, or measured first."""

        def build(table: SpeedupTable) -> Measured:
            return cls(table, context.mix, parameters.bound)

        if parameters.table is not None:
            return build(read_speedups(parameters.table))
        found = context.measured_speedups(parameters.rounds, build, parameters.runtime_reference)
        return build(found)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        which, fraction = self.mix.draw(workload, rng)
        talks = (fraction > 0) & (workload.n_nodes > 1)
        if talks.any() and not self.table.rows and policy.name != self.table.reference_policy:
            raise NetcosimError(
                f"no communication was measured under {policy.name}: no job of several nodes that "
                "communicates ran at any snapshot; more of them (run.snapshots) may find some"
            )
        if self.table.of_run_times:
            fraction = np.ones(len(workload))
        ratio = np.ones(len(workload))
        for k, share in enumerate(self.mix.shares):
            mine = talks & (which == k)
            if mine.any():
                ratio[mine] = self.table.ratios(
                    share.pattern, policy.name, workload.n_nodes[mine], self.bound
                )
        return FixedRunTimes(workload.run_time_s * ((1 - fraction) + fraction * ratio))
