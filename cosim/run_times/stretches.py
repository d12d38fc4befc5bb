"""Stretches of running jobs that share a network, as jobs start and end: by flows, or by packets.

What the coupled run-time models of the queue (`cosim.run_times.coupled`,
`cosim.run_times.coupled_packets`) and other simulators (`cosim.run_times.live`) both use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import remember
from cosim.network.job_network import JobLoads
from cosim.network.running_jobs import RunningJobs
from cosim.network.situation import Situation, connected
from cosim.parameters import PacketBudget
from cosim.run_times.packet_ages import PacketAges
from cosim.run_times.packet_judge import PacketJudge, PacketRecord
from netsim.flow.message_load import MessageLoad
from netsim.flow.message_network import TOLERANCE

_KEPT = 1 << 17


class FlowStretches:
    """Running jobs at flow level; starts and ends of an instant count together.

    Changes of a flow stretch below the tolerance are not passed on.
    """

    def __init__(self, loads: JobLoads, tolerance: float = TOLERANCE) -> None:
        self.loads = loads
        self.flows = RunningJobs(loads, tolerance)
        self._coming: dict[int, tuple[Situation, MessageLoad]] = {}
        self._leaving: list[int] = []

    def start(self, job: int, situation: Situation, load: MessageLoad | None = None) -> None:
        """Start a job, whose load may be known; one that loads no link affects no other job."""
        load = self.loads.load(situation) if load is None else load
        if len(load.links):
            self._coming[job] = (situation, load)

    def end(self, job: int) -> None:
        """Record that a job ends."""
        if job in self.flows:
            self._leaving.append(job)

    def stretch(self, job: int) -> float:
        """Return the stretch of a running job's communication; 1 for one that loads no link."""
        return self.flows.stretch(job)

    def link_use(self) -> NDArray[np.float64]:
        """Return the share of time that flows keep each link busy, (n_links,)."""
        return self.flows.link_use()

    def settle(self, now_s: float = 0.0) -> dict[int, float]:
        """Apply the starts and ends of the instant, and return the stretches that change."""
        return {job: self.flows.stretch(job) for job in self._solve()}

    def report(self) -> Mapping[str, Mapping[str, float]]:
        """Return the final reports: one row per table, by table."""
        return {}

    def _solve(self) -> list[int]:
        if not (self._coming or self._leaving):
            return []
        changed = self.flows.change(self._coming, self._leaving)
        self._coming.clear()
        self._leaving.clear()
        return changed


@dataclass
class _Packet:
    """A running job and what packets gave for it."""

    situation: Situation
    links: NDArray[np.int32]
    near: set[int]
    """The running jobs that share links with it."""
    slowdown: float = 1.0
    beside: frozenset[int] = frozenset()
    """``near`` at its last judgement."""
    packet: float | None = None
    flow: float = 1.0
    """packet, flow: Its slowdowns at its last judgement by packets; None without any since it was
    alone."""


class PacketStretches(FlowStretches):
    """The same with the stretches that packets give.

    A start or an end changes the jobs that share router-to-router links with it. Those that are not
    known among the same neighbours are simulated with all that share links with them, at once or,
    where the budget is spent, later.

    Parameters
    ----------
    record : PacketRecord
        Filled during the run.
    n_jobs : int, optional
        Jobs of the queue: the budget is spent evenly over their starts. By default there is no
        such pace.

    Notes
    -----
    Flows run beside: they have the use of links, are compared with each judgement, and estimate
    jobs that wait. One that packets have judged has that slowdown, times the square root of the
    change of its slowdown by flows since (not following, or following fully, is further off). Any
    other has its extra time by flows, times the ratio of extra times (packets over flows) of the
    jobs of its communication judged so far.
    """

    def __init__(
        self,
        loads: JobLoads,
        budget: PacketBudget,
        record: PacketRecord,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(loads)
        self.judge = PacketJudge(loads, budget, record)
        self.ages = PacketAges()
        self._n_jobs = n_jobs
        self._n_started = 0
        self._jobs: dict[int, _Packet] = {}
        self._waiting: set[int] = set()
        self._extra: dict[int, tuple[float, float]] = {}
        self._known: dict[tuple[Situation, frozenset[Situation]], float] = {}

    def start(self, job: int, situation: Situation, load: MessageLoad | None = None) -> None:
        self._n_started += 1
        super().start(job, situation, load)

    def stretch(self, job: int) -> float:
        """Return the packet stretch of a running job's communication; 1 if it loads no link."""
        if job not in self._jobs:
            return 1.0
        return self._jobs[job].situation.stretch(self._jobs[job].slowdown)

    def report(self) -> Mapping[str, Mapping[str, float]]:
        return {
            "flow_vs_packets": self.judge.record.summary(),
            "packet_ages": {
                "cpu_s": self.judge.record.spent_s,
                "budget_s": self.judge.budget.budget_s,
                **self.ages.summary(),
            },
        }

    def settle(self, now_s: float = 0.0) -> dict[int, float]:
        self.ages.pass_time(now_s, len(self._jobs))
        if not (self._coming or self._leaving):
            return {}
        before = {job: found.slowdown for job, found in self._jobs.items()}
        for job in self._leaving:
            near = self._jobs.pop(job).near
            self._waiting |= near
            for other in near:
                self._jobs[other].near.remove(job)
        self._waiting.difference_update(self._leaving)
        for job, (situation, load) in self._coming.items():
            near = self._sharing(load.links)
            self._jobs[job] = _Packet(situation, load.links, near)
            for other in near:
                self._jobs[other].near.add(job)
            self._waiting |= {job} | near
        self._solve()
        self._judge_waiting()
        judged = {job: self._jobs[job].packet is not None for job in self._waiting}
        self.ages.wait(now_s, judged)
        return {
            job: found.situation.stretch(found.slowdown)
            for job, found in self._jobs.items()
            if found.slowdown != before.get(job, 1.0)
        }

    def _judge_waiting(self) -> None:
        """Judge the jobs whose neighbours have changed, the least certain first, and estimate those
        that have to wait."""
        record, sets = self.judge.record, []
        for job in sorted(self._waiting):
            found, known = self._jobs[job], self._known.get(self._surroundings(job))
            if not found.near:
                found.slowdown, found.packet = 1.0, None
                self._waiting.remove(job)
            elif known is not None:
                record.n_looked_up += 1
                self._found([job], [known])
        around = {other for job in self._waiting for other in self._jobs[job].near}
        for jobs in self._connected(self._waiting | around):
            watched = [job for job in jobs if job in self._waiting]
            if watched:
                sets.append((watched, [job for job in jobs if job not in self._waiting]))
        for watched, beside in sorted(sets, key=lambda parts: -self._doubt(parts[0])):
            if record.spent_s >= self._allowance_s():
                record.n_waited += 1
                for job in watched:
                    self._jobs[job].slowdown = self._estimate(job)
                continue
            slowdowns = self.judge.judge(self._situations(watched), self._situations(beside))
            record.flow += [self._by_flow(job) for job in watched]
            record.packet += slowdowns
            self._found(watched, slowdowns)

    def _found(self, jobs: Sequence[int], slowdowns: Sequence[float]) -> None:
        """Record a judgement."""
        for job, slowdown in zip(jobs, slowdowns, strict=True):
            found = self._jobs[job]
            found.slowdown = found.packet = slowdown
            found.flow, found.beside = self._by_flow(job), frozenset(found.near)
            remember(self._known, self._surroundings(job), slowdown, _KEPT)
            flow, packet = self._extra.get(found.situation.share, (0.0, 0.0))
            self._extra[found.situation.share] = flow + found.flow - 1, packet + slowdown - 1
        self._waiting.difference_update(jobs)

    def _surroundings(self, job: int) -> tuple[Situation, frozenset[Situation]]:
        """Return what a judgement depends on: a job, and all that share links with it."""
        near = self._jobs[job].near
        return self._jobs[job].situation, frozenset(self._jobs[other].situation for other in near)

    def _allowance_s(self) -> float:
        """Return the CPU time that may have been spent by now."""
        budget_s = self.judge.budget.budget_s
        return budget_s * self._n_started / self._n_jobs if self._n_jobs else budget_s

    def _doubt(self, jobs: Iterable[int]) -> float:
        """Return how much the run times of jobs are in doubt: the more extra time packets have seen
        with their communication, and the more of their neighbours are not those of the time."""
        doubt = 0.0
        for job in jobs:
            found = self._jobs[job]
            changed = len(found.near ^ found.beside) / max(1, len(found.near | found.beside))
            doubt += (1.0 if found.packet is None else changed) * (
                found.situation.fraction + found.slowdown - 1
            )
        return doubt

    def _by_flow(self, job: int) -> float:
        return self._jobs[job].situation.slowdown(self.flows.stretch(job))

    def _estimate(self, job: int) -> float:
        """Return the slowdown of a job that waits."""
        found, now = self._jobs[job], self._by_flow(job)
        if found.packet is not None:
            return max(1.0, found.packet * sqrt(now / found.flow))
        flow, packet = self._extra.get(found.situation.share, (0.0, 0.0))
        return 1 + (packet / flow if flow > 0 else 1.0) * (now - 1)

    def _connected(self, jobs: Iterable[int]) -> list[list[int]]:
        """Group jobs that share links, directly or through others of them."""
        chosen = sorted(jobs)
        links = [self._jobs[job].links for job in chosen]
        n_links = self.judge.network.shared.routing.topology.n_links
        return [[chosen[i] for i in group] for group in connected(links, n_links)]

    def _sharing(self, links: NDArray[np.int32]) -> set[int]:
        """Return the running jobs that load one of these links."""
        loaded = np.zeros(self.judge.network.shared.routing.topology.n_links, dtype=np.bool_)
        loaded[links] = True
        return {job for job, found in self._jobs.items() if loaded[found.links].any()}

    def _situations(self, jobs: Sequence[int]) -> list[Situation]:
        return [self._jobs[job].situation for job in jobs]
