"""Coupled run times at packet level: the same loop, with the packet engine as the judge.

Jobs that share router-to-router links, directly or through others, are one group; all jobs
of a group send their packets at once, and each one's time over its time alone on the same
nodes is its stretch. Equal situations (what the jobs send, and their nodes) are looked up,
not simulated again. The flow level runs along: it says which groups a start or finish has
touched, stands in when the budget is spent, and is compared with every judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from alloc.policy import Policy
from netsim.parameters import check_values
from queuesim.coupled import (
    CoupledParameters,
    FlowRunTimes,
    isolated_work,
    stretch_of_reference,
)
from queuesim.draws import stand_in_id
from queuesim.ensemble import Ensemble
from queuesim.job_network import JobLoads, JobNetwork, Situation
from queuesim.model_context import ModelContext
from queuesim.runtime import NO_CHANGE, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PacketBudget:
    """What the packet level may cost, and how near it must be.

    Attributes
    ----------
    iterations : int
        Iterations of the job of a group that takes longest alone.
    max_repeats : int
        The others repeat theirs until they take as long, so that each feels the others all
        the time; at most this many times.
    passes : int
        In the first pass "as long" is as long alone. In each further one it is as long as in the
        pass before: else the least slowed jobs end early, and the most slowed ones have
        the network to themselves for the rest. Two passes come within 2 % of the limit.
    message_scale : float
        Messages are shortened by this factor (0 < scale <= 1), to whole bytes >= 1.
    tolerance : float
        A group is judged again when its jobs have changed and the flow stretch of one of
        them is off by more than this part from what it was at its last judgement (1 before
        the first). 0: whenever its jobs have changed.
    max_simulations : int or None
        Simulated groups; afterwards flow stretches are used. Runs of single jobs do not count.
    """

    iterations: Annotated[int, "iterations of the job that takes longest alone", Ge(1)] = 1
    max_repeats: Annotated[int, "most repeats of the others", Ge(1)] = 64
    passes: Annotated[int, "passes over a group; two come within 2 %", Ge(1)] = 2
    message_scale: Annotated[float, "messages are shortened by this", Gt(0), Le(1)] = 1.0
    tolerance: Annotated[float, "change of flow stretch that is not judged again", Ge(0)] = 0.0
    max_simulations: Annotated[int | None, "most simulated groups; flows afterwards", Ge(0)] = None

    def __post_init__(self) -> None:
        check_values("packet budget", self)


@dataclass(frozen=True)
class PacketParameters(PacketBudget, CoupledParameters):
    """``[queue.coupled]``: also what the packet level may cost."""


@dataclass
class PacketRecord:
    """What a run at packet level did, filled while it runs.

    Attributes
    ----------
    flow, packet : list of float
        Stretch of each job of each simulated group, at both levels.
    n_simulations, n_alone, n_looked_up, n_over_budget, n_tolerated : int
        Groups simulated, single jobs simulated, groups looked up, groups left to the flow
        level because the budget was spent or because they had hardly changed.
    packet_hops : int
    """

    flow: list[float] = field(default_factory=list)
    packet: list[float] = field(default_factory=list)
    n_simulations: int = 0
    n_alone: int = 0
    n_looked_up: int = 0
    n_over_budget: int = 0
    n_tolerated: int = 0
    packet_hops: int = 0

    def summary(self) -> dict[str, float]:
        """How far the flow level was from the packet level (`level_errors`), and what that took."""
        flow, packet = np.array(self.flow), np.array(self.packet)
        return {
            "judged_jobs": len(flow),
            **level_errors(flow, packet),
            "mean_flow_stretch": float(flow.mean()) if len(flow) else np.nan,
            "mean_packet_stretch": float(packet.mean()) if len(flow) else np.nan,
            "simulations": self.n_simulations,
            "alone": self.n_alone,
            "looked_up": self.n_looked_up,
            "over_budget": self.n_over_budget,
            "tolerated": self.n_tolerated,
            "packet_hops": self.packet_hops,
        }


def level_errors(flow: FloatArray, packet: FloatArray) -> dict[str, float]:
    """How far stretches at flow level are from those at packet level; nan without any.

    ``error_p50`` and ``error_p90`` are quantiles of |flow / packet - 1|, ``one_p50`` and
    ``one_p90`` those of who always answers 1; ``rank_correlation`` is Spearman's.
    """
    error = np.abs(flow / packet - 1) if len(flow) else np.array([np.nan])
    one = np.abs(1 / packet - 1) if len(flow) else np.array([np.nan])
    return {
        "error_p50": float(np.quantile(error, 0.5)),
        "error_p90": float(np.quantile(error, 0.9)),
        "one_p50": float(np.quantile(one, 0.5)),
        "one_p90": float(np.quantile(one, 0.9)),
        "rank_correlation": rank_correlation(flow, packet),
    }


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation, ties at their mean rank; nan if one side never varies."""
    if len(a) < 2 or np.all(a == a[0]) or np.all(b == b[0]):
        return float("nan")
    return float(np.corrcoef(mean_ranks(a), mean_ranks(b))[0, 1])


def mean_ranks(values: FloatArray) -> FloatArray:
    """Place of each value in order, from 1; equal ones share the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2)[which]
    return ranks


class PacketJudge:
    """Stretches of groups of jobs from packets; every situation is simulated once.

    Parameters
    ----------
    loads : JobLoads
        Of the jobs' network.
    budget : PacketBudget
    record : PacketRecord
    """

    def __init__(
        self,
        loads: JobLoads,
        budget: PacketBudget,
        record: PacketRecord,
    ) -> None:
        self.network, self.budget, self.record = loads.network, budget, record
        self._alone: dict[tuple[Situation, int], float] = {}
        self._groups: dict[tuple[Situation, ...], tuple[float, ...]] = {}
        self._communications = [
            replace(
                c, message_bytes=max(1, ceil(c.message_bytes * budget.message_scale)), iterations=1
            )
            for c in self.network.communications
        ]

    def stretches(self, group: Sequence[Situation]) -> tuple[float, ...] | None:
        """Stretch of every job of a group, at least 1; None if the budget is spent."""
        order = sorted(range(len(group)), key=lambda k: group[k])
        key = tuple(group[k] for k in order)
        found = self._groups.get(key)
        if found is not None:
            self.record.n_looked_up += 1
        else:
            most = self.budget.max_simulations
            if most is not None and self.record.n_simulations >= most:
                self.record.n_over_budget += 1
                return None
            found = self._groups[key] = self.judge(key)
        result = [0.0] * len(group)
        for place, stretch in zip(order, found, strict=True):
            result[place] = stretch
        return tuple(result)

    def judge(self, group: tuple[Situation, ...]) -> tuple[float, ...]:
        """Simulate a group, whatever the budget of simulations; stretches of its jobs.

        A job that sends nothing (a tornado of two ranks, say) has a stretch of 1.
        """
        budget = self.budget
        sends = [self.alone_s(job, budget.iterations) > 0 for job in group]
        if not all(sends):
            talking = tuple(job for job, sending in zip(group, sends, strict=True) if sending)
            found = iter(self.judge(talking) if talking else ())
            return tuple(next(found) if sending else 1.0 for sending in sends)
        once = [self.alone_s(job, budget.iterations) for job in group]
        longest = max(once)
        iterations = [
            budget.iterations * max(1, min(budget.max_repeats, round(longest / time_s)))
            for time_s in once
        ]
        times = self._simulate(list(zip(group, iterations, strict=True)))
        most = budget.iterations * budget.max_repeats
        for _ in range(budget.passes - 1):
            end = times.max()
            # end is the latest of all, so nobody repeats less than before
            iterations = [
                min(most, round(n * end / time_s))
                for n, time_s in zip(iterations, times.tolist(), strict=True)
            ]
            times = self._simulate(list(zip(group, iterations, strict=True)))
        self.record.n_simulations += 1
        alone = [self.alone_s(job, n) for job, n in zip(group, iterations, strict=True)]
        # routings with chance may be luckier in company; a stretch below 1 means nothing
        return tuple(max(1.0, float(t) / a) for t, a in zip(times, alone, strict=True))

    def alone_s(self, job: Situation, iterations: int) -> float:
        """Communication time of a job alone on its nodes."""
        key = (job, iterations)
        if key not in self._alone:
            self._alone[key] = float(self._simulate([key])[0])
            self.record.n_alone += 1
        return self._alone[key]

    def _simulate(self, situations: Sequence[tuple[Situation, int]]) -> FloatArray:
        """Times of jobs together; the routing's stream, too, belongs to them and their repeats."""
        jobs = [one.job(self._communications[one.share], n) for one, n in situations]
        stream = stand_in_id(number for job in jobs for number in (job.job_id, job.repeats))
        found = Ensemble(self.network.shared, jobs).packets(stream=stream)
        self.record.packet_hops += found.packets.packet_hops
        return found.time_s


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
    ) -> None:
        super().__init__(network, workload, policy, share, fraction, work_s)
        self.judge = PacketJudge(self.loads, budget, record)
        self._tolerance = budget.tolerance
        self._jobs: dict[int, tuple[Situation, NDArray[np.int32]]] = {}
        self._stretch: dict[int, float] = {}
        self._judged: dict[int, tuple[frozenset[int], float]] = {}

    def stretch(self, job: int) -> float:
        """Packet stretch of a running job's communication; 1 for one that loads no link."""
        return self._stretch.get(job, 1.0)

    def report(self) -> Mapping[str, Mapping[str, float]]:
        return {"flow_vs_packets": self.judge.record.summary()}

    def settle(self, now_s: float) -> Mapping[int, float]:
        if not (self._coming or self._leaving):
            return NO_CHANGE
        for job in self._leaving:
            del self._jobs[job]
            self._stretch.pop(job, None)
            self._judged.pop(job, None)
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
        old = [self._judged.get(job, (None, 1.0)) for job in group]
        if all(found == members for found, _ in old):
            return {}
        flow = [self.flows.stretch(job) for job in group]
        record = self.judge.record
        if len(group) == 1:
            stretches: tuple[float, ...] | None = (1.0,)
        elif self._tolerance > 0 and all(
            abs(now - then) <= self._tolerance * then
            for now, (_, then) in zip(flow, old, strict=True)
        ):
            record.n_tolerated += 1
            return {}
        else:
            before = record.n_simulations
            stretches = self.judge.stretches([self._jobs[job][0] for job in group])
            if stretches is not None and record.n_simulations > before:
                record.flow += flow
                record.packet += stretches
        for job, now in zip(group, flow, strict=True):
            self._judged[job] = (members, now)
        return dict(zip(group, flow if stretches is None else stretches, strict=True))
