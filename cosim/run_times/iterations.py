"""Run times of jobs that iterate: iterations times the time of an iteration among running jobs.

A logged run time is that of a number of isolated iterations, on the machine's first nodes and a
network without bottlenecks between switches. Starts and ends change the iterations of the jobs that
share overloaded links with the job, directly or through others.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from cosim.network.communication import remember
from cosim.network.job_iterations import JobIterations
from cosim.network.job_network import JobNetwork
from cosim.network.periodic import SLACK, JobGroup, NetworkPlan, PeriodicJob, iteration_times_s
from cosim.network.situation import Situation, connected
from cosim.network_schedulers.base import NetworkScheduler
from cosim.parameters import IterationParameters
from cosim.registry import NETWORK_SCHEDULERS
from cosim.run_times.model_context import ModelContext
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.parameters import parameters_of
from netsim.plugin_entries import given_by
from queuesim.draws import draw_key
from queuesim.runtime import NO_CHANGE, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]
_KEPT = 1 << 16
_SIZES = ("packet_bytes", "header_bytes")
"""What the bytes of all messages depend on."""


@dataclass(frozen=True, eq=False)
class Iterations(RunTimeModel):
    """Run times of periodic jobs under a network scheduler.

    Notes
    -----
    A pattern that computes, such as "training", is an entire iteration; of another one
    ``communication_fraction`` is the share of an isolated iteration (docs/network-schedulers.md).
    """

    name = "iterations"
    description = "live: iterations of periodic jobs, in phases, under a network scheduler"
    solves_flows = "flows of jobs"
    reads = (
        *("communication.mix", "communication.from", "communication.fraction"),
        *("communication.ranks_per_node", "communication.task_mapping", "machine", "run.threads"),
    )
    # packets time the iterations of patterns that compute
    reads_computing = (
        *("communication.mix.*.iterations", "machine.parameters.*latency_s", "run.threads"),
        *(f"machine.packet.{key}" for key in parameters_of(PacketConfig) if key not in _SIZES),
    )
    parameters = IterationParameters
    network: JobNetwork = field()
    scheduler: NetworkScheduler = field()

    @property
    def label(self) -> str:
        return f"{self.name} {self.scheduler.name}"

    @classmethod
    def from_config(cls, context: ModelContext, parameters: IterationParameters) -> Iterations:
        """Build the model on the run's network with the config's scheduler."""
        return cls(context.network(), NETWORK_SCHEDULERS[parameters.network_scheduler]())

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        self.network.check(workload, policy)
        if any(communication.priority for communication in self.network.communications):
            raise NetcosimError(
                f"communication.mix has priorities; {self.name} takes them from "
                "queue.iterations.network_scheduler: remove priority"
            )
        share, fraction = self.network.mix.draw(workload, rng)
        isolated = policy.isolates and self.network.partition_routing
        scheduled = ScheduledJobs(self.network, self.scheduler, draw_key(rng), self.iterations)
        return _IterationRunTimes(workload, share, fraction, scheduled, isolated)

    @cached_property
    def iterations(self) -> JobIterations:
        """Isolated iterations, the same in all queues."""
        return JobIterations(self.network.loads)


class ScheduledJobs:
    """Running jobs, their paths, and the times of their iterations, which other queues may share.

    The seed is of phases, and of what the scheduler draws.
    """

    def __init__(
        self,
        network: JobNetwork,
        scheduler: NetworkScheduler,
        seed: int,
        iterations: JobIterations | None = None,
    ) -> None:
        self.iterations = iterations or JobIterations(network.loads)
        self.scheduler, self.seed = scheduler, seed
        self.counts = {"groups": 0, "groups_simulated": 0, "largest_group": 0}
        self._pins = network.shared.routing.pin is not None
        self._n_links = network.shared.routing.topology.n_links
        self._situation: dict[int, Situation] = {}
        self._jobs: dict[int, PeriodicJob] = {}
        self._rate: dict[int, float] = {}
        self._seen: dict[int, tuple[NDArray[np.bool_], FloatArray]] = {}
        self._known: dict[tuple[bytes, ...], FloatArray] = {}
        self._group_of: dict[int, frozenset[int]] = {}
        self._moved = False

    def start(self, job: int, situation: Situation) -> None:
        """Record that a job starts; one without messages between nodes affects no other."""
        found = self.iterations.placed(situation, self._background_s(situation))
        if found is not None:
            self._situation[job], self._jobs[job], self._rate[job] = situation, found, 1.0
            self._moved = True

    def end(self, job: int) -> None:
        """Record that a job has ended."""
        self._moved |= job in self._jobs
        for known in (self._situation, self._jobs, self._rate, self._seen, self._group_of):
            known.pop(job, None)

    def job(self, job: int) -> PeriodicJob:
        """Return a running job on its present paths; it sends something between nodes."""
        return self._jobs[job]

    def _background_s(self, situation: Situation) -> FloatArray | None:
        if not self._pins or not self._jobs:
            return None
        own = self.iterations.isolated(*_kind(situation))
        return None if own is None else self.link_use() * own.iteration_s

    def link_use(self) -> FloatArray:
        """Return the share of time that jobs keep each link busy, (n_links,)."""
        use = np.zeros(self._n_links)
        for job, found in self._jobs.items():
            isolated = self.iterations.isolated(*_kind(self._situation[job]))
            assert isolated is not None
            # a rate is relative to the reference's nodes; on its own nodes it is at most this
            slowed = self._rate[job] * found.iteration_s / isolated.iteration_s
            use[found.links] += found.busy_s / found.iteration_s * min(1.0, slowed)
        return use

    def settle(self) -> dict[int, float]:
        """Return the rates that change: iterations per isolated iteration."""
        if not self._moved:
            return {}
        self._moved = False
        self._choose_paths()
        changed: dict[int, float] = {}
        for group in self._groups():
            if all(self._group_of.get(job) == group for job in group):
                continue
            self._group_of.update(dict.fromkeys(group, group))
            ordered = sorted(group, key=lambda job: _content(self._situation[job]))
            for job, time_s in zip(ordered, self._times_s(ordered).tolist(), strict=True):
                isolated = self.iterations.isolated(*_kind(self._situation[job]))
                assert isolated is not None
                rate = isolated.iteration_s / time_s
                if rate != self._rate[job]:
                    changed[job] = self._rate[job] = rate
        return changed

    def _choose_paths(self) -> None:
        """Choose paths anew, in the scheduler's order; those whose choice is as before keep it."""
        if not self._pins:
            return
        jobs = list(self._jobs)
        order = self.scheduler.path_order([self._jobs[job] for job in jobs])
        if order is None:
            return
        use = np.zeros(self._n_links)
        for job in (jobs[i] for i in order):
            situation = self._situation[job]
            if job not in self._seen:
                candidates = self.iterations.candidate_links(situation)
                self._seen[job] = candidates, np.full(int(candidates.sum()), np.nan)
            candidates, before = self._seen[job]
            if not np.array_equal(use[candidates], before):
                background_s = use * self._jobs[job].iteration_s
                found = self.iterations.placed(situation, background_s)
                assert found is not None
                old = self._jobs[job]
                same = np.array_equal(found.links, old.links)
                if not (same and np.array_equal(found.busy_s, old.busy_s)):
                    self._group_of.pop(job, None)
                self._jobs[job] = found
                self._seen[job] = candidates, use[candidates]
            use[self._jobs[job].links] += self._jobs[job].busy_s / self._jobs[job].iteration_s

    def _groups(self) -> list[frozenset[int]]:
        """Group running jobs that share links on which they can delay each other."""
        jobs = list(self._jobs)
        wanted = np.zeros(self._n_links)
        for found in self._jobs.values():
            wanted[found.links] += found.busy_s / found.comm_s
        tight = wanted > 1 + SLACK
        links = [found.links[tight[found.links]] for found in self._jobs.values()]
        return [frozenset(jobs[i] for i in group) for group in connected(links, self._n_links)]

    def _times_s(self, jobs: list[int]) -> FloatArray:
        """Return the iteration times of a group; equal groups are looked up."""
        if len(jobs) == 1:
            return np.array([self._jobs[jobs[0]].iteration_s])
        group = JobGroup.of([self._jobs[job] for job in jobs])
        self.counts["groups"] += 1
        self.counts["largest_group"] = max(self.counts["largest_group"], len(jobs))
        key = (group.key(),)
        if key not in self._known:
            self.counts["groups_simulated"] += 1
            rng = np.random.default_rng([self.seed, zlib.crc32(key[0])])
            plan = given_by(self.scheduler, self.scheduler.plan(group, rng), NetworkPlan)
            remember(self._known, key, iteration_times_s(group, plan, rng), _KEPT)
        return self._known[key]


def _kind(situation: Situation) -> tuple[int, int, float]:
    return situation.share, situation.n_nodes, situation.fraction


def _content(situation: Situation) -> tuple[int, int, float, bytes]:
    """Return the sort key of a group's jobs, equal for groups on other nodes in the same order."""
    return *_kind(situation), situation.nodes


class _IterationRunTimes(RunTimes):
    """The interface of the queue to `ScheduledJobs`."""

    def __init__(
        self,
        workload: Workload,
        share: NDArray[np.int64],
        fraction: FloatArray,
        scheduled: ScheduledJobs,
        isolated: bool,
    ) -> None:
        self._n_nodes, self._work_s = workload.n_nodes, workload.run_time_s.astype(np.float64)
        self._share, self._fraction = share, fraction
        self._scheduled, self._isolated = scheduled, isolated

    def work_s(self, job: int) -> float:
        return float(self._work_s[job])

    def report(self) -> Mapping[str, Mapping[str, float]]:
        return {"network_scheduler": self._scheduled.counts}

    def link_use(self) -> FloatArray:
        return self._scheduled.link_use()

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        n_nodes = int(self._n_nodes[job])
        if n_nodes > 1 and self._fraction[job] > 0 and not self._isolated:
            nodes = np.asarray(placement.nodes[:n_nodes], dtype=np.int32).tobytes()
            situation = Situation(int(self._share[job]), nodes, float(self._fraction[job]))
            self._scheduled.start(job, situation)
        return NO_CHANGE

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._scheduled.end(job)
        return NO_CHANGE

    def settle(self, now_s: float) -> Mapping[int, float]:
        return self._scheduled.settle()
