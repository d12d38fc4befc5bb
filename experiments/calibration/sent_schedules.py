"""Run times by brute force: all packets of a schedule are sent, from first start to last end.

A job repeats an iteration of computing and communication until its logged work is done. In
isolation on its nodes in the reference policy's pilot run it communicates for its communication
fraction and takes its logged run time. Whenever jobs start, the packets of all jobs so far are sent
again, from the first start until the last of these jobs has ended. No draw depends on later jobs,
so the past comes out as before, and the last simulation is that of the entire schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import netcosim as nc
from alloc.policy import Placement, Policy
from cosim.network.communication import TIME_STEP_S, noisy, rounded_s, with_compute
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.parameters import ComputingNoise
from cosim.run_times.model_context import ModelContext
from netsim.packet.model import PS_PER_S
from netsim.routing.base import Routing
from netsim.traffic import Program
from queuesim.draws import job_streams
from queuesim.result import PlacementArrays
from queuesim.runtime import NO_CHANGE, AsLogged, RunTimeModel, RunTimes
from workloads.job import Workload

SAME_S = 1e-9
"""Ends of a job in two simulations are equal within this: clocks of the queue are floats."""


@dataclass(frozen=True)
class SentParameters:
    """``[queue.sent-schedule]``."""

    noise: ComputingNoise = 0.1


@dataclass(frozen=True, eq=False)
class SentSchedule(RunTimeModel):
    """Run times from the packets of the entire schedule."""

    name = "sent-schedule"
    description = "brute force: all packets of a schedule are sent, from first start to last end"
    parameters = SentParameters
    network: JobNetwork = field()
    reference: PlacementArrays = field()
    """Nodes on which the jobs' isolated run times are the logged ones."""
    noise: float = 0.1
    """Standard deviation of an iteration's computing time over its mean. What a job computes in
    all iterations together does not vary."""

    @classmethod
    def from_config(cls, context: ModelContext, parameters: SentParameters) -> SentSchedule:
        """Build the model on the run's network; the pilot run has logged run times."""
        assert context.pilot is not None  # a config's run has one, and records its placements
        placements = context.pilot(lambda network: AsLogged()).result.placements
        assert placements is not None
        return cls(context.network(), placements, parameters.noise)

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return SentRunTimes(self, workload, policy, rng)


@dataclass(frozen=True, eq=False)
class SentJob:
    """A job that has started, as the packet engine gets it."""

    program: Program
    rank_node: NDArray[np.int32]
    start_s: float
    routing: Routing


@dataclass
class RunningJob:
    """Work left of a running job at its last change of rate."""

    left_s: float
    since_s: float
    rate: float = 1.0

    def retime(self, now_s: float, end_s: float) -> float:
        """Return the rate at which it ends at a time."""
        self.left_s -= self.rate * (now_s - self.since_s)
        self.since_s, self.rate = now_s, self.left_s / (end_s - now_s)
        return self.rate


class SentRunTimes(RunTimes):
    """The live side of `SentSchedule`."""

    def __init__(
        self, model: SentSchedule, workload: Workload, policy: Policy, rng: np.random.Generator
    ) -> None:
        self._model, self._workload = model, workload
        self._share, self._fraction = model.network.mix.draw(workload, rng)
        self._apart = policy.isolates and model.network.partition_routing
        self._sent: dict[int, SentJob] = {}
        """In the order of starts."""
        self._end_s: dict[int, float] = {}
        self._running: dict[int, RunningJob] = {}
        self._new: list[int] = []
        self.n_simulations = 0

    def work_s(self, job: int) -> float:
        return float(self._workload.run_time_s[job])

    def report(self) -> Mapping[str, Mapping[str, float]]:
        return {"sent_schedule": {"simulations": self.n_simulations}}

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._running[job] = RunningJob(self.work_s(job), now_s)
        sent = self._job(job, placement, now_s)
        if sent is not None:
            self._sent[job] = sent
            self._new.append(job)
        return NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        del self._running[job]
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        if not self._new:
            return NO_CHANGE
        for group in [[job] for job in self._new] if self._apart else [list(self._sent)]:
            for job, end_s in zip(group, self._send(group), strict=True):
                if job not in self._running and abs(end_s - self._end_s[job]) > SAME_S:
                    raise nc.NetcosimError(
                        f"job {self._workload.job_id[job]} has ended at {self._end_s[job]} s; the "
                        f"packets of later jobs change that to {end_s} s"
                    )
                self._end_s[job] = end_s
        changed = self._new if self._apart else self._sent
        self._new = []
        return {
            job: self._running[job].retime(now_s, self._end_s[job])
            for job in changed
            if job in self._running
        }

    def _send(self, jobs: Sequence[int]) -> list[float]:
        """Send all packets of some jobs; return their ends."""
        sent = [self._sent[job] for job in jobs]
        traffic = nc.combine(
            [job.program for job in sent],
            [job.rank_node for job in sent],
            [job.start_s for job in sent],
            self._workload.job_id[list(jobs)].tolist(),
        )
        shared = self._model.network.shared
        self.n_simulations += 1
        result = nc.simulate_packets(
            sent[0].routing,
            traffic,
            shared.packet,
            np.random.default_rng(shared.seed),
            record_messages=False,
            threads=shared.threads,
        )
        return [end_ps / PS_PER_S for end_ps in result.group_finish_ps.tolist()]

    def _job(self, job: int, placement: Placement, now_s: float) -> SentJob | None:
        """Return a job on its nodes; None if it sends nothing between nodes."""
        network, n_nodes = self._model.network, int(self._workload.n_nodes[job])
        fraction = float(self._fraction[job])
        if n_nodes == 1 or fraction == 0.0:
            return None
        job_id, share = int(self._workload.job_id[job]), int(self._share[job])
        own, reference = (
            Situation(share, p.nodes[:n_nodes].astype(np.int32).tobytes(), fraction)
            for p in (placement, self._model.reference.placement(job, job_id))
        )
        loop = network.loads.isolated.of(reference, 1.0)
        if loop is None:
            return None
        placed = own.job(loop.job.communication)
        n = max(1, round(self.work_s(job) / loop.period_s))
        # n periods and the computing that is left make the logged run time
        compute_s = max(0.0, loop.job.compute_s + self.work_s(job) / n - loop.period_s)
        computing_s = np.full(n, compute_s)
        if self._model.noise and compute_s:
            rng = job_streams(network.shared.seed, job_id).computing
            computing_s = noisy(compute_s, self._model.noise, n, rng)
            computing_s *= n * compute_s / computing_s.sum()
        routing = network.shared.routing
        if self._apart:
            partitioned = nc.PlacedJob(job_id, placed.communication, placed.nodes, placement)
            routing = nc.Ensemble(network.shared, [partitioned]).routing
        return SentJob(
            with_compute(network.shared.program(placed, n), n, rounded_s(computing_s)),
            network.shared.rank_node(placed),
            float(np.ceil(now_s / TIME_STEP_S) * TIME_STEP_S),
            routing,
        )


PLUGIN = [SentSchedule]
