"""Stretches of running jobs that share a network, as jobs start and end: by flows, or by packets.

What the coupled run-time models of the queue (`cosim.run_times.coupled`,
`cosim.run_times.coupled_packets`) and other simulators (`cosim.run_times.live`) both use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_network import JobLoads
from cosim.network.running_jobs import RunningJobs
from cosim.network.situation import Situation, connected
from cosim.parameters import PacketBudget
from cosim.run_times.packet_judge import PacketJudge, PacketRecord
from cosim.run_times.slowdown_cache import Audit, Judgement, SlowdownCache
from netsim.flow.message_load import MessageLoad
from netsim.flow.message_network import TOLERANCE


class FlowStretches:
    """Running jobs at flow level; starts and ends of an instant count together.

    Parameters
    ----------
    tolerance : float
        Changes of a flow stretch below this part are not passed on.
    """

    def __init__(self, loads: JobLoads, tolerance: float = TOLERANCE) -> None:
        self.loads = loads
        self.flows = RunningJobs(loads, tolerance)
        self._coming: dict[int, tuple[Situation, MessageLoad]] = {}
        self._leaving: list[int] = []

    def start(self, job: int, situation: Situation, load: MessageLoad | None = None) -> None:
        """Start a job; one that loads no link affects no other job.

        Parameters
        ----------
        load : MessageLoad, optional
            Load of one of its iterations on the links, if it is already known.
        """
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

    def settle(self) -> dict[int, float]:
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


class PacketStretches(FlowStretches):
    """The same with the stretches that packets give.

    Jobs that share router-to-router links, directly or through others, are one group, which is
    simulated whenever its jobs have changed. A budget with a tolerance has only stale jobs
    judged, each among the jobs that share links with it.

    Parameters
    ----------
    record : PacketRecord
        Filled during the run.
    journal : list of Judgement or None
        Gets every judgement.
    """

    def __init__(
        self,
        loads: JobLoads,
        budget: PacketBudget,
        record: PacketRecord,
        journal: list[Judgement] | None = None,
    ) -> None:
        super().__init__(loads)
        self.judge = PacketJudge(loads, budget, record)
        self.cache = SlowdownCache(budget.tolerance)
        self.audit = Audit(loads, budget)
        self.journal = journal
        self._jobs: dict[int, tuple[Situation, NDArray[np.int32]]] = {}
        self._slowdown: dict[int, float] = {}
        self._members: dict[int, frozenset[int]] = {}

    def stretch(self, job: int) -> float:
        """Return the packet stretch of a running job's communication; 1 if it loads no link."""
        return self._jobs[job][0].stretch(self._slowdown[job]) if job in self._slowdown else 1.0

    def report(self) -> Mapping[str, Mapping[str, float]]:
        counts = self.judge.record.summary()
        if self.cache.tolerance:
            counts |= {"kept_jobs": self.cache.n_with_packets, "flow_jobs": self.cache.n_by_flow}
        if self.audit.share:
            counts |= self.audit.summary()
        return {"flow_vs_packets": counts}

    def settle(self) -> dict[int, float]:
        if not (self._coming or self._leaving):
            return {}
        for job in self._leaving:
            del self._jobs[job]
            self._slowdown.pop(job, None)
            self._members.pop(job, None)
            self.cache.forget(job)
        for job, (situation, load) in self._coming.items():
            self._jobs[job] = (situation, load.links)
        self._solve()
        changed: dict[int, float] = {}
        for group in self._groups():
            for job, slowdown in self._new_slowdowns(group).items():
                if slowdown != self._slowdown.get(job, 1.0):
                    changed[job] = self._jobs[job][0].stretch(slowdown)
                self._slowdown[job] = slowdown
        return changed

    def _groups(self) -> list[tuple[int, ...]]:
        """Group running jobs that share links."""
        jobs, n_links = list(self._jobs), self.judge.network.shared.routing.topology.n_links
        groups = connected([links for _, links in self._jobs.values()], n_links)
        return [tuple(jobs[i] for i in group) for group in groups]

    def _new_slowdowns(self, group: tuple[int, ...]) -> dict[int, float]:
        """Return the slowdowns of a group if it has to be judged; else nothing."""
        members = frozenset(group)
        if all(self._members.get(job) == members for job in group):
            return {}
        self._members.update(dict.fromkeys(group, members))
        flow = {job: self._jobs[job][0].slowdown(self.flows.stretch(job)) for job in group}
        if len(group) == 1:
            # in isolation it is 1, on any path
            found = dict.fromkeys(group, 1.0)
            self.cache.judged(group, list(flow.values()), None)
        else:
            found = self._of_stale_jobs(group, flow)
            kept = [job for job in group if job not in found]
            found |= zip(kept, self.cache.estimates(kept, [flow[job] for job in kept]), strict=True)
            if kept:
                self.audit.look(self._situations(group), [found[job] for job in group])
        if self.journal is not None:
            slowdowns = tuple(found[job] for job in group)
            self.journal.append(Judgement(group, tuple(flow.values()), slowdowns))
        return found

    def _of_stale_jobs(self, group: tuple[int, ...], flow: Mapping[int, float]) -> dict[int, float]:
        """Judge the stale jobs of a group, by flows where the budget is spent."""
        stale = self.cache.stale(group, list(flow.values()))
        record = self.judge.record
        if not stale:
            record.n_tolerated += 1
            return {}
        by_flow = [flow[job] for job in stale]
        before = record.n_simulations
        packet = self.judge.slowdowns(
            self._situations(stale), self._situations(self._neighbours(stale, group))
        )
        if packet is not None and record.n_simulations > before:
            record.flow += by_flow
            record.packet += packet
        self.cache.judged(stale, by_flow, packet)
        return dict(zip(stale, packet or by_flow, strict=True))

    def _neighbours(self, jobs: Sequence[int], group: tuple[int, ...]) -> list[int]:
        """Return the others of a group that share a link with one of these jobs."""
        loaded = np.zeros(self.judge.network.shared.routing.topology.n_links, dtype=np.bool_)
        for job in jobs:
            loaded[self._jobs[job][1]] = True
        chosen = set(jobs)
        return [job for job in group if job not in chosen and loaded[self._jobs[job][1]].any()]

    def _situations(self, jobs: Sequence[int]) -> list[Situation]:
        return [self._jobs[job][0] for job in jobs]
