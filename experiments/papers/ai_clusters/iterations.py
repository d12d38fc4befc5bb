"""Run times by iterations: what a job's nodes, routing and neighbours add to its isolated time.

A job's run time is that of an isolated run on an ideal network: its first GPUs, no oversubscription,
packets on all paths. A share f of it is communication. On its own nodes alone communication takes r
times as long, and among its neighbours s times as long as that, so the job moves at the rate
1 / (1 - f + f r s). `cosim.run_times.coupled` has the same rule with r = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement, Policy
from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from cosim.run_times.stretches import FlowStretches
from netsim.flow.message_load import MessageLoad
from netsim.flow.message_network import MessageNetwork
from netsim.topology import Topology
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


def isolated_s(topology: Topology, load: MessageLoad) -> float:
    """Return the time of a placed job's communication in an isolated iteration."""
    network: MessageNetwork[int] = MessageNetwork(topology.n_links)
    network.change([(0, load)], [])
    return network.alone_s(0)


@dataclass(frozen=True, eq=False)
class IterationTimes(RunTimeModel):
    """Live run times against an ideal network.

    Parameters
    ----------
    network, ideal : JobNetwork
    numbered : bool
        Ranks follow the numbers of the GPUs, not the order in which the policy chose them.
    """

    name = "iterations"
    description = "live: the job's own nodes and its neighbours, against an ideal network"
    network: JobNetwork
    ideal: JobNetwork
    numbered: bool = False

    def prepare(
        self, workload: Workload, policy: Policy, rng: np.random.Generator
    ) -> IterationRunTimes:
        share, fraction = self.network.mix.draw(workload, rng)
        return IterationRunTimes(self, workload, share, fraction)


class IterationRunTimes(RunTimes):
    """The live side of `IterationTimes`.

    Parameters
    ----------
    model : IterationTimes
    workload : Workload
    share : (n,) int64
        Index of every job's communication.
    fraction : (n,) float64
        Share of its time in communication on the ideal network.
    """

    def __init__(
        self,
        model: IterationTimes,
        workload: Workload,
        share: NDArray[np.int64],
        fraction: FloatArray,
    ) -> None:
        self._model, self._workload = model, workload
        self._share, self._fraction = share, fraction
        self._stretches = FlowStretches(model.network.loads)
        self._topology = model.network.shared.routing.topology
        self._own: dict[int, float] = {}
        self._started: list[int] = []
        self._ideal_s = cache(self._isolated_on_first_gpus)

    def _isolated_on_first_gpus(self, share: int, n_gpus: int) -> float:
        first = np.arange(n_gpus, dtype=np.int32)
        load = self._model.ideal.loads.load(Situation(share, first.tobytes()))
        return isolated_s(self._model.ideal.shared.routing.topology, load)

    def work_s(self, job: int) -> float:
        return float(self._workload.run_time_s[job])

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        n_gpus, share = int(self._workload.n_nodes[job]), int(self._share[job])
        gpus = np.asarray(placement.nodes[:n_gpus], dtype=np.int32)
        domains = self._topology.scale_up
        if domains is not None and len(np.unique(domains[gpus])) > 1 and self._fraction[job] > 0:
            gpus = np.sort(gpus) if self._model.numbered else gpus
            situation = Situation(share, gpus.tobytes())
            load = self._model.network.loads.load(situation)
            own = isolated_s(self._topology, load) / self._ideal_s(share, n_gpus)
            busy = float(self._fraction[job]) * own
            busy /= 1 - float(self._fraction[job]) + busy
            self._stretches.start(job, situation._replace(fraction=busy), load)
            self._own[job] = own
            self._started.append(job)
        return {}

    def on_finish(self, job: int, now_s: float) -> Mapping[int, float]:
        self._stretches.end(job)
        return {}

    def settle(self, now_s: float) -> Mapping[int, float]:
        changed = dict.fromkeys((*self._stretches.settle(), *self._started))
        self._started.clear()
        return {job: 1 / self.factor(job) for job in changed}

    def factor(self, job: int) -> float:
        """Return how many times as long as on the ideal network an iteration now takes."""
        f = float(self._fraction[job])
        return 1 - f + f * self._own[job] * self._stretches.stretch(job)


def factors(model: IterationTimes, schedule: QueueResult, rng: np.random.Generator) -> FloatArray:
    """(n,) mean time of an iteration over that on the ideal network, on a finished schedule.

    Starts and ends stay as they are: no job runs longer for its iterations.

    Parameters
    ----------
    model : IterationTimes
    schedule : QueueResult
        With its placements.
    rng : numpy.random.Generator
        As of the queue.
    """
    workload = schedule.workload
    times = model.prepare(workload, None, rng)  # type: ignore[arg-type]
    since, factor, total = schedule.start_s.copy(), np.ones(len(workload)), np.zeros(len(workload))
    placed = schedule.placements
    assert placed is not None
    edges = np.flatnonzero(np.diff(schedule.event_s, prepend=-1.0))
    for begin, end in zip(edges, [*edges[1:], len(schedule.event_s)], strict=True):
        now_s, jobs = float(schedule.event_s[begin]), schedule.event_job[begin:end]
        starts = schedule.event_is_start[begin:end]
        for job in jobs[~starts].tolist():
            times.on_finish(job, now_s)
            total[job] += factor[job] * (now_s - since[job])
        for job in jobs[starts].tolist():
            times.on_start(job, placed.placement(job, job), now_s)
        for job, rate in times.settle(now_s).items():
            total[job] += factor[job] * (now_s - since[job])
            since[job], factor[job] = now_s, 1 / rate
    return np.asarray(total / (schedule.end_s - schedule.start_s))
