"""Coupled run times at packet level: the same loop, with the packet engine as the judge.

A start or an end changes the jobs that share router-to-router links with it. They are judged by
`cosim.run_times.packet_judge`, unless an equal situation is known or the budget is spent; then they
wait (`cosim.run_times.stretches.PacketStretches`). The table ``packet_ages`` has the share of
job time rests on how old a situation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.network.job_network import JobNetwork
from cosim.parameters import OWN_NODES, PacketBudget, PacketParameters
from cosim.run_times.coupled import LiveRunTimes, pilot_of_reference, slowdown_of_reference
from cosim.run_times.model_context import ModelContext, Pilot
from cosim.run_times.packet_judge import PacketRecord
from cosim.run_times.stretches import PacketStretches
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CoupledPackets(RunTimeModel):
    """Run times from live contention at packet level."""

    name = "coupled-packets"
    description = "live: groups of jobs that share links sent through the packet engine together"
    solves_flows = "flows of jobs"
    parameters = PacketParameters
    network: JobNetwork = field()
    budget: PacketBudget = field(default_factory=PacketBudget)
    baseline: str = OWN_NODES
    pilot: Pilot | None = None
    runtime_reference: str = "isolated"
    reference_slowdown: FloatArray | None = None
    """baseline, pilot, runtime_reference, reference_slowdown: As in
    `cosim.run_times.coupled.CoupledFlow`."""
    record: PacketRecord | None = None
    """Filled while the queue runs; one a run. None: a new one each run."""

    @classmethod
    def from_config(cls, context: ModelContext, parameters: PacketParameters) -> CoupledPackets:
        """Build the model on the run's network with the config's budget."""
        pilot, baseline = pilot_of_reference(context, parameters), parameters.baseline
        slowdown = slowdown_of_reference(
            context, parameters, lambda network: cls(network, parameters, baseline, pilot)
        )
        return cls(
            *(context.network(), parameters, baseline, pilot),
            *(parameters.runtime_reference, slowdown),
        )

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        record = PacketRecord() if self.record is None else self.record
        stretches = PacketStretches(self.network.loads, self.budget, record, len(workload))
        return LiveRunTimes(self, workload, policy, rng, stretches)
