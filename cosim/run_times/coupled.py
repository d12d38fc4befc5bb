"""Coupled run times at flow level: running jobs share the network as it is placed now.

A job with communication fraction f whose communication is stretched by s moves at the rate
1 / ((1 - f) + f s). The stretch is that of `netsim.flow.message_network.MessageNetwork`: shares
and waits on links among the others, against an isolated run on the same nodes. Every start and
finish changes the stretch of only the jobs that it affects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from cosim.network.communication import ALWAYS
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.parameters import (
    BASELINES,
    ISOLATED,
    OWN_NODES,
    REFERENCE,
    CoupledParameters,
    CpuBudget,
)
from cosim.run_times.baseline import Baseline
from cosim.run_times.model_context import ModelContext, Pilot
from cosim.run_times.packet_judge import PacketRecord
from cosim.run_times.stretches import FlowStretches, PacketStretches
from netsim.errors import NetcosimError, need_name
from queuesim.result import CUT, FAILED, NEVER_RUN, OUTCOMES, QueueResult
from queuesim.runtime import NO_CHANGE, AsLogged, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


def mean_slowdowns(result: QueueResult) -> FloatArray:
    """Return the run time of every job over its isolated one, (n,) float64, from a coupled run
    whose run times were "isolated"."""
    for outcome in (CUT, FAILED, NEVER_RUN):
        if count := int((result.outcome == outcome).sum()):
            raise NetcosimError(
                f"{count} jobs were {OUTCOMES[outcome]}, which hides their slowdown: "
                "mean_slowdowns needs a run that sees all jobs through"
            )
    if result.spent is not None:
        return result.spent.held_s / (result.spent.held_s - result.spent.contention_s)
    factor: FloatArray = (result.end_s - result.start_s) / result.workload.run_time_s
    return factor


@dataclass(frozen=True, eq=False)
class Coupled(RunTimeModel):
    """What both levels have in common."""

    solves_flows = "flows of jobs"
    network: JobNetwork = field()
    baseline: str = OWN_NODES
    """A key of `BASELINES`: what logged run times are relative to."""
    pilot: Pilot | None = None
    """The reference policy's queue, for the baseline "reference"."""
    reference_slowdown: FloatArray | None = None
    """(n_jobs,) float64 or None. Run time of every job over its isolated one under a baseline
    policy, if the log's are those (`mean_slowdowns`), as the studies that assume speed-ups of
    isolated jobs have it; isolated jobs then run shorter than logged. None: they are those of
    isolated runs; all differences are locality and contention."""
    budget: CpuBudget = field(default_factory=CpuBudget)
    record: PacketRecord | None = None
    """Filled while the queue runs; one a run. None: a new one each run."""

    @classmethod
    def from_config(cls, context: ModelContext, parameters: CoupledParameters) -> Coupled:
        """Build the model on the run's network.

        The baseline "reference" takes the reference policy's queue with logged run times, where it
        can be run. With "contended-baseline" that queue runs first with a model whose run times are
        "isolated": it determines how contended the log's jobs were.
        """
        pilot = None
        if parameters.baseline != OWN_NODES and context.pilot is not None:
            pilot = context.pilot(lambda network: AsLogged())
        model = cls(context.network(), parameters.baseline, pilot, budget=parameters)
        if parameters.runtime_reference == ISOLATED:
            return model
        if context.pilot is None:
            raise NetcosimError(
                'runtime_reference = "contended-baseline": the environments only know isolated run '
                'times ("isolated")'
            )
        contended = context.pilot(lambda network: replace(model, network=network)).result
        return replace(model, reference_slowdown=mean_slowdowns(contended))

    def _stretches(self, record: PacketRecord, n_jobs: int) -> FlowStretches:
        """Return the level's running jobs, none yet."""
        return FlowStretches(self.network.loads)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        record = PacketRecord() if self.record is None else self.record
        return LiveRunTimes(self, workload, policy, rng, record)


class CoupledFlow(Coupled):
    """Run times from live contention at flow level.

    Notes
    -----
    A neighbour loads its links for the share of time in which it communicates (docs/flow-model.md).
    """

    name = "coupled-flow"
    description = "live: running jobs slow each other on shared links, as flows do"
    parameters = CoupledParameters

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        priorities = sorted({c.priority for c in self.network.communications})
        if len(priorities) > 1:
            raise NetcosimError(
                f"communication.mix has priorities {priorities}; {self.name} has none: use "
                'run_time_model = "coupled-packets", or the same priority for all'
            )
        return super().prepare(workload, policy, rng)


class _Factor(NamedTuple):
    """Run time of a job over its isolated one: ``isolated`` + ``slope`` (stretch - 1)."""

    isolated: float
    slope: float

    def rate(self, stretch: float) -> float:
        return 1.0 / (self.isolated + self.slope * (stretch - 1.0))


class LiveRunTimes(RunTimes):
    """The live side of the coupled models."""

    def __init__(
        self,
        model: Coupled,
        workload: Workload,
        policy: Policy,
        rng: np.random.Generator,
        record: PacketRecord,
    ) -> None:
        network = model.network
        network.check(workload, policy)
        need_name("baseline", model.baseline, BASELINES)
        self._share, self._fraction = network.mix.draw(workload, rng)
        self._work_s = np.asarray(workload.run_time_s, dtype=np.float64)
        if model.reference_slowdown is not None:
            slowdown = np.asarray(model.reference_slowdown, dtype=np.float64)
            known = np.isfinite(slowdown) & (slowdown > 0)
            if slowdown.shape != self._work_s.shape or not known.all():
                raise NetcosimError("reference_slowdown: one value above 0 a job is needed")
            self._work_s = self._work_s / slowdown
        n_sending = int(((workload.n_nodes > 1) & (self._fraction > 0)).sum())
        self.stretches = model._stretches(record, n_sending)
        self._baseline = None
        if model.baseline == REFERENCE:
            self._baseline = Baseline(
                *(network, workload, self._share, self._fraction, model.pilot),
                record=record,
                budget_s=model.budget.budget_s,
                beside_groups=isinstance(self.stretches, PacketStretches),
            )
        self._own_links = policy.isolates and network.partition_routing
        self._always = network.together == ALWAYS
        self._n_nodes = workload.n_nodes
        self._factor: dict[int, _Factor] = {}

    def work_s(self, job: int) -> float:
        return float(self._work_s[job])

    def report(self) -> Mapping[str, Mapping[str, float]]:
        found = dict(self.stretches.report())
        if self._baseline is not None:
            found["localities"] = self._baseline.record.localities(self._baseline.budget_s)
        return found

    def stretch(self, job: int) -> float:
        """Return the stretch of a running job's communication; 1 for one that loads no link."""
        return self.stretches.stretch(job)

    def link_use(self) -> FloatArray:
        return self.stretches.link_use()

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        n_nodes, fraction = int(self._n_nodes[job]), float(self._fraction[job])
        if n_nodes == 1 or fraction == 0:
            return NO_CHANGE
        locality = 1.0
        if self._baseline is not None:
            found = self._baseline.of(job, placement, self._own_links)
            if found is None:
                return NO_CHANGE
            situation, locality = found
        else:
            nodes = np.asarray(placement.nodes[:n_nodes], dtype=np.int32)
            of_time = 1.0 if self._always else fraction
            situation = Situation(int(self._share[job]), nodes.tobytes(), of_time)
        if not self._own_links:
            self.stretches.start(job, situation)
        if self._always:
            factor = _Factor(1.0 + fraction * (locality - 1.0), fraction * locality)
        else:
            own = fraction if self._baseline is None else situation.fraction
            factor = _Factor(locality, locality * own)
        self._factor[job] = factor
        return {job: factor.rate(1.0)} if locality != 1.0 else NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self.stretches.end(job)
        self._factor.pop(job, None)
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        changed = self.stretches.settle(now_s)
        return {job: self._factor[job].rate(stretch) for job, stretch in changed.items()}
