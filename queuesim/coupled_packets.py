"""Coupled run times at packet level: the same loop, with the packet engine as the judge.

Jobs that share router-to-router links, directly or through others, are one group, which is
judged by `queuesim.packet_judge` whenever its jobs have changed, or as seldom as the budget says.
The flow level runs along: it says which groups a start or finish has touched and which jobs
have hardly changed, stands in when the budget is spent, and is compared with every judgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from queuesim.coupled import (
    CoupledParameters,
    FlowRunTimes,
    isolated_work,
    stretch_of_reference,
)
from queuesim.job_network import JobNetwork, Situation
from queuesim.kept_stretches import Audit, Judgement, KeptStretches
from queuesim.model_context import ModelContext
from queuesim.packet_judge import PacketBudget, PacketJudge, PacketRecord
from queuesim.runtime import NO_CHANGE, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PacketParameters(PacketBudget, CoupledParameters):
    """``[queue.coupled]``: also what the packet level may cost."""


@dataclass(frozen=True, eq=False)
class CoupledPackets(RunTimeModel):
    """Run times from live contention at packet level.

    Parameters
    ----------
    network : JobNetwork
    budget : PacketBudget
    runtime_reference, reference_stretch
        As in `queuesim.coupled.CoupledFlow`.
    record : PacketRecord or None
        Filled while the queue runs; one a run. None: a new one each run.
    journal : list of Judgement or None
        Gets every judgement, for `queuesim.kept_stretches.replayed`.
    """

    name = "coupled-packets"
    description = "live: groups of jobs that share links sent through the packet engine together"
    section = "coupled"
    solves_flows = True
    parameters = PacketParameters
    network: JobNetwork = field()
    budget: PacketBudget = field(default_factory=PacketBudget)
    runtime_reference: str = "isolated"
    reference_stretch: FloatArray | None = None
    record: PacketRecord | None = None
    journal: list[Judgement] | None = None

    @classmethod
    def from_config(cls, context: ModelContext, parameters: PacketParameters) -> CoupledPackets:
        """On the run's network, within the config's budget."""
        stretch = stretch_of_reference(context, parameters, lambda on: cls(on, parameters))
        return cls(context.network(), parameters, parameters.runtime_reference, stretch)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        share, fraction = self.network.mix.draw(workload, rng)
        work_s, fraction = isolated_work(
            workload, fraction, self.runtime_reference, self.reference_stretch
        )
        return PacketRunTimes(
            self.network,
            workload,
            policy,
            share,
            fraction,
            work_s,
            self.budget,
            PacketRecord() if self.record is None else self.record,
            self.journal,
        )


class PacketRunTimes(FlowRunTimes):
    """The live side of `CoupledPackets`: the flow model, its stretches replaced by judgements."""

    def __init__(
        self,
        network: JobNetwork,
        workload: Workload,
        policy: Policy,
        share: NDArray[np.int64],
        fraction: FloatArray,
        work_s: FloatArray,
        budget: PacketBudget,
        record: PacketRecord,
        journal: list[Judgement] | None = None,
    ) -> None:
        super().__init__(network, workload, policy, share, fraction, work_s)
        self.judge = PacketJudge(self.loads, budget, record)
        self.kept = KeptStretches(budget.tolerance, budget.stale_share)
        self.audit = Audit(self.loads, budget)
        self.journal = journal
        self._jobs: dict[int, tuple[Situation, NDArray[np.int32]]] = {}
        self._stretch: dict[int, float] = {}
        self._members: dict[int, frozenset[int]] = {}

    def stretch(self, job: int) -> float:
        """Packet stretch of a running job's communication; 1 for one that loads no link."""
        return self._stretch.get(job, 1.0)

    def report(self) -> Mapping[str, Mapping[str, float]]:
        told = self.judge.record.summary()
        if self.kept.stale_share:
            told |= {"kept_jobs": self.kept.n_kept, "flow_jobs": self.kept.n_by_flow}
        if self.audit.share:
            told |= self.audit.summary()
        return {"flow_vs_packets": told}

    def settle(self, now_s: float) -> Mapping[int, float]:
        if not (self._coming or self._leaving):
            return NO_CHANGE
        for job in self._leaving:
            del self._jobs[job]
            self._stretch.pop(job, None)
            self._members.pop(job, None)
            self.kept.forget(job)
        for job, (situation, load) in self._coming.items():
            self._jobs[job] = (situation, load.links)
        self.solve()
        rates: dict[int, float] = {}
        for group in self._groups():
            for job, stretch in self._new_stretches(group).items():
                if stretch != self._stretch.get(job, 1.0):
                    rates[job] = self.rate(job, stretch)
                self._stretch[job] = stretch
        return rates

    def _groups(self) -> list[tuple[int, ...]]:
        """Running jobs, those that share links together."""
        jobs = list(self._jobs)
        if not jobs:
            return []
        links = [self._jobs[job][1] for job in jobs]
        # a graph of jobs and links: jobs first
        ends = np.concatenate(links) + len(jobs)
        starts = np.repeat(np.arange(len(jobs)), [len(part) for part in links])
        n = len(jobs) + self.judge.network.shared.routing.topology.n_links
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        joined = coo_array((np.ones(len(ends), dtype=np.int8), (starts, ends)), shape=(n, n))
        label = connected_components(joined, directed=False)[1][: len(jobs)]
        groups: dict[int, list[int]] = {}
        for job, number in zip(jobs, label.tolist(), strict=True):
            groups.setdefault(number, []).append(job)
        return [tuple(group) for group in groups.values()]

    def _new_stretches(self, group: tuple[int, ...]) -> dict[int, float]:
        """Stretches of a group if it has to be judged; else nothing."""
        members = frozenset(group)
        if all(self._members.get(job) == members for job in group):
            return {}
        flow = [self.flows.stretch(job) for job in group]
        if len(group) > 1 and self.kept.suffice(group, flow):
            return self._kept_stretches(group, members, flow)
        packet = self._judged(group, flow) if len(group) > 1 else None
        # alone it is 1, whatever way it takes; where the budget is spent flows have to do
        stretches = packet or (tuple(flow) if len(group) > 1 else (1.0,))
        if self.journal is not None:
            self.journal.append(Judgement(group, tuple(flow), stretches))
        self.kept.judged(group, flow, packet)
        self._members.update(dict.fromkeys(group, members))
        return dict(zip(group, stretches, strict=True))

    def _judged(self, group: tuple[int, ...], flow: list[float]) -> tuple[float, ...] | None:
        """Stretches from packets; None if the budget is spent."""
        record = self.judge.record
        before = record.n_simulations
        stretches = self.judge.stretches([self._jobs[job][0] for job in group])
        if stretches is not None and record.n_simulations > before:
            record.flow += flow
            record.packet += stretches
        return stretches

    def _kept_stretches(
        self, group: tuple[int, ...], members: frozenset[int], flow: list[float]
    ) -> dict[int, float]:
        """Stretches of a group that is not judged again, where they change."""
        self.judge.record.n_tolerated += 1
        situations = [self._jobs[job][0] for job in group]
        if not self.kept.stale_share:
            # whoever is not stale keeps the stretch it has
            self.audit.look(situations, [self.stretch(job) for job in group])
            return {}
        stretches = self.kept.estimates(group, flow)
        self.audit.look(situations, stretches)
        self._members.update(dict.fromkeys(group, members))
        return dict(zip(group, stretches, strict=True))
