"""Coupled run times at packet level: the same loop, with the packet engine as the judge.

Jobs that share router-to-router links, directly or through others, are one group, which is judged
by `cosim.run_times.packet_judge` whenever its jobs have changed, or less often as the budget
allows. The flow model runs in parallel. It determines which groups a start or finish affects and
which jobs have hardly changed, replaces packets when the budget is spent, and is compared with
every judgement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from cosim.network.job_network import JobNetwork
from cosim.parameters import PacketBudget, PacketParameters
from cosim.run_times.coupled import LiveRunTimes, isolated_work, stretch_of_reference
from cosim.run_times.model_context import ModelContext
from cosim.run_times.packet_judge import PacketRecord
from cosim.run_times.slowdown_cache import Judgement
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
    runtime_reference: str = "isolated"
    reference_stretch: FloatArray | None = None
    """runtime_reference, reference_stretch: As in `cosim.run_times.coupled.CoupledFlow`."""
    record: PacketRecord | None = None
    """Filled while the queue runs; one a run. None: a new one each run."""
    journal: list[Judgement] | None = None
    """Gets every judgement, for `cosim.run_times.slowdown_cache.replayed`."""

    @classmethod
    def from_config(cls, context: ModelContext, parameters: PacketParameters) -> CoupledPackets:
        """Build the model on the run's network with the config's budget."""
        stretch = stretch_of_reference(context, parameters, lambda on: cls(on, parameters))
        return cls(context.network(), parameters, parameters.runtime_reference, stretch)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        share, fraction = self.network.mix.draw(workload, rng)
        work_s = isolated_work(workload, fraction, self.runtime_reference, self.reference_stretch)
        record = PacketRecord() if self.record is None else self.record
        stretches = PacketStretches(self.network.loads, self.budget, record, self.journal)
        return LiveRunTimes(self.network, workload, policy, share, fraction, work_s, stretches)
