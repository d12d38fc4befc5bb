"""Stretches of jobs that share links, from packets: what it may cost, and what was done.

All jobs of a group send their packets at once, and each one's time over its time alone on the
same nodes is its stretch. Equal situations (what the jobs send, and their nodes) are looked up,
not simulated again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import NDArray

from netsim.parameters import ReadIf, check_values
from queuesim.draws import stand_in_id
from queuesim.ensemble import Ensemble
from queuesim.job_network import JobLoads, Situation

FloatArray = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_KEPT_GROUPS = 1 << 15
_KEPT_ALONE = 1 << 17

_SOME_ARE_KEPT = ReadIf(
    ("tolerance", "stale_share"),
    lambda *limits: any(limits),
    "queue.coupled.tolerance or stale_share is above 0",
)


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
    stale_share : float
        A job whose flow stretch is off by more than ``tolerance`` is stale. A group is not judged
        again as long as no more than this share of its jobs are; their stretches are then
        those of `queuesim.kept_stretches.KeptStretches`. 0: one stale job is enough.
    audit : float
        Share of the situations not judged again that are simulated all the same, for the
        report of how far off what was kept is. It changes no stretch.
    max_simulations : int or None
        Simulated groups; afterwards flow stretches are used. Runs of single jobs do not count.
    """

    iterations: Annotated[int, "iterations of the job that takes longest alone", Ge(1)] = 1
    max_repeats: Annotated[int, "most repeats of the others", Ge(1)] = 64
    passes: Annotated[int, "passes over a group; two come within 2 %", Ge(1)] = 2
    message_scale: Annotated[float, "messages are shortened by this", Gt(0), Le(1)] = 1.0
    tolerance: Annotated[float, "change of flow stretch that is not judged again", Ge(0)] = 0.0
    stale_share: Annotated[float, "stale jobs of a group not judged again", Ge(0), Lt(1)] = 0.0
    audit: Annotated[
        float, "kept judgements simulated for their error", Ge(0), Le(1), _SOME_ARE_KEPT
    ] = 0.0
    max_simulations: Annotated[int | None, "most simulated groups; flows afterwards", Ge(0)] = None

    def __post_init__(self) -> None:
        check_values("packet budget", self)


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
            found = remember(self._groups, key, self.judge(key), _KEPT_GROUPS)
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
            before = iterations
            iterations = [
                min(most, round(n * end / time_s))
                for n, time_s in zip(iterations, times.tolist(), strict=True)
            ]
            # The same jobs take the same times: all further passes would repeat this one.
            if iterations == before:
                break
            times = self._simulate(list(zip(group, iterations, strict=True)))
        self.record.n_simulations += 1
        alone = [self.alone_s(job, n) for job, n in zip(group, iterations, strict=True)]
        # routings with chance may be luckier in company; a stretch below 1 means nothing
        return tuple(max(1.0, float(t) / a) for t, a in zip(times, alone, strict=True))

    def alone_s(self, job: Situation, iterations: int) -> float:
        """Communication time of a job alone on its nodes."""
        key = (job, iterations)
        if key not in self._alone:
            self.record.n_alone += 1
            return remember(self._alone, key, float(self._simulate([key])[0]), _KEPT_ALONE)
        return self._alone[key]

    def _simulate(self, situations: Sequence[tuple[Situation, int]]) -> FloatArray:
        """Times of jobs together; the routing's stream, too, belongs to them and their repeats."""
        said, scale = self.network.communications, self.budget.message_scale
        jobs = [one.job(said[one.share].shortened(scale), n) for one, n in situations]
        stream = stand_in_id(number for job in jobs for number in (job.job_id, job.repeats))
        found = Ensemble(self.network.shared, jobs).packets(stream=stream)
        self.record.packet_hops += found.packets.packet_hops
        return found.time_s


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Put a value into a dictionary of at most so many, in place of the one put first."""
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value
