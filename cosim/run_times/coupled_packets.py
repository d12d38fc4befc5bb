"""Coupled run times at packet level: the same loop, with the packet engine as the judge.

A start or an end changes the jobs that share router-to-router links with it. They are judged by
`cosim.run_times.packet_judge`, unless an equal situation is known or the budget is spent; then they
wait (`cosim.run_times.stretches.PacketStretches`). The table ``packet_ages`` has the share of
job time by the age of its situation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cosim.parameters import PacketBudget, PacketParameters
from cosim.run_times.coupled import Coupled
from cosim.run_times.packet_judge import PacketRecord
from cosim.run_times.stretches import PacketStretches


@dataclass(frozen=True, eq=False)
class CoupledPackets(Coupled):
    """Run times from live contention at packet level."""

    name = "coupled-packets"
    description = "live: groups of jobs that share links sent through the packet engine together"
    parameters = PacketParameters
    budget: PacketBudget = field(default_factory=PacketBudget)

    def _stretches(self, record: PacketRecord, n_jobs: int) -> PacketStretches:
        return PacketStretches(self.network.loads, self.budget, record, n_jobs)
