"""Slowdowns of jobs that share links, from packets: what they may cost, and what was done.

All jobs of a group repeat their iteration together, with computing between iterations as their
communication fractions give. The time of an iteration, computing included, over that in isolation
is a job's slowdown. Equal situations (what the jobs send, on which nodes, for which share of their
time) are looked up, not simulated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.network.isolated_loops import (
    LEAST_FRACTION,
    IsolatedLoop,
    loop_together,
    n_starts,
    remember,
)
from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from queuesim.draws import substitute_id

FloatArray = NDArray[np.float64]

_KEPT_GROUPS = 1 << 15


@dataclass
class PacketRecord:
    """Record of a run at packet level, filled during the run."""

    flow: list[float] = field(default_factory=list)
    packet: list[float] = field(default_factory=list)
    """flow, packet: Slowdown of each job of each simulated group, at both levels."""
    phase_spread: list[float] = field(default_factory=list)
    """Standard deviation of the slowdown over random starts, of each job in groups of two or
    three."""
    n_simulations: int = 0
    n_looked_up: int = 0
    n_over_budget: int = 0
    n_tolerated: int = 0
    """n_simulations, n_looked_up, n_over_budget, n_tolerated: Simulations, judgements looked up,
    judgements left to the flow level because the budget was spent, and groups without a judgement
    because they had hardly changed."""
    packet_hops: int = 0
    """Of groups, without those of isolated jobs."""

    def summary(self) -> dict[str, float]:
        """Return the errors of the flow level (`level_errors`), and the cost of the packet
        level."""
        flow, packet = np.array(self.flow), np.array(self.packet)
        return {
            "judged_jobs": len(flow),
            **level_errors(flow, packet),
            "mean_flow_slowdown": float(flow.mean()) if len(flow) else np.nan,
            "mean_packet_slowdown": float(packet.mean()) if len(flow) else np.nan,
            "simulations": self.n_simulations,
            "looked_up": self.n_looked_up,
            "over_budget": self.n_over_budget,
            "tolerated": self.n_tolerated,
            "packet_hops": self.packet_hops,
            "phase_spread": float(np.mean(self.phase_spread)) if self.phase_spread else np.nan,
        }


def level_errors(flow: FloatArray, packet: FloatArray) -> dict[str, float]:
    """Return the errors of slowdowns at flow level relative to packet level; nan without any.

    ``error_p50`` and ``error_p90`` are quantiles of |flow / packet - 1|, ``one_p50`` and
    ``one_p90`` those of a constant prediction of 1; ``rank_correlation`` is Spearman's.
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
    """Return Spearman's rank correlation, ties at mean ranks; nan if one side is constant."""
    if len(a) < 2 or np.all(a == a[0]) or np.all(b == b[0]):
        return float("nan")
    return float(np.corrcoef(mean_ranks(a), mean_ranks(b))[0, 1])


def mean_ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, from 1; ties get their mean rank."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2)[which]
    return ranks


class PacketJudge:
    """Slowdowns of groups of jobs from packets; every situation is simulated once.

    Parameters
    ----------
    loads : JobLoads
        Of the jobs' network.
    """

    def __init__(
        self,
        loads: JobLoads,
        budget: PacketBudget,
        record: PacketRecord,
    ) -> None:
        self.network, self.budget, self.record = loads.network, budget, record
        self._isolated = loads.isolated
        self._groups: dict[tuple[tuple[Situation, ...], ...], tuple[float, ...]] = {}

    def slowdowns(
        self, group: Sequence[Situation], beside: Sequence[Situation] = ()
    ) -> tuple[float, ...] | None:
        """Return the slowdown of every job of a group, at least 1; None if over budget.

        Parameters
        ----------
        beside : sequence of Situation
            Jobs that are there too.
        """
        order = sorted(range(len(group)), key=lambda k: group[k])
        key = (tuple(group[k] for k in order), tuple(sorted(beside)))
        found = self._groups.get(key)
        if found is not None:
            self.record.n_looked_up += 1
        else:
            most = self.budget.max_simulations
            if most is not None and self.record.n_simulations >= most:
                self.record.n_over_budget += 1
                return None
            found = remember(self._groups, key, self.judge(*key), _KEPT_GROUPS)
        result = [0.0] * len(group)
        for place, slowdown in zip(order, found, strict=True):
            result[place] = slowdown
        return tuple(result)

    def judge(
        self, group: Sequence[Situation], beside: Sequence[Situation] = ()
    ) -> tuple[float, ...]:
        """Simulate a group regardless of the budget; return the slowdowns of its jobs.

        A job that sends nothing (such as a tornado of two ranks) has a slowdown of 1.
        """
        loops, others = self._loops(group), self._loops(beside)
        sending = [(job, loop) for job, loop in zip(group, loops, strict=True) if loop is not None]
        around = [loop for loop in others if loop is not None]
        found = iter(self._slowdowns_of(sending, around).tolist() if sending else ())
        return tuple(1.0 if loop is None else next(found) for loop in loops)

    def _loops(self, jobs: Sequence[Situation]) -> list[IsolatedLoop | None]:
        return [self._isolated.of(job, self.budget.message_scale) for job in jobs]

    def _slowdowns_of(
        self, jobs: Sequence[tuple[Situation, IsolatedLoop]], beside: Sequence[IsolatedLoop]
    ) -> FloatArray:
        """Return the slowdowns of jobs that all send, among others that do."""
        draws = n_starts(len(jobs) + len(beside), self.budget.phases)
        loops = [loop for _, loop in jobs]
        found = np.array([self._simulate(loops, beside, draw) for draw in range(draws)])
        self.record.n_simulations += 1
        if draws > 1:
            self.record.phase_spread += found.std(axis=0, ddof=1).tolist()
        # routings that draw may be luckier in company; a slowdown below 1 means nothing
        extra: FloatArray = np.maximum(found.mean(axis=0) - 1, 0)
        seldom = np.minimum([job.fraction / LEAST_FRACTION for job, _ in jobs], 1)
        return 1 + seldom * extra

    def _simulate(
        self, loops: Sequence[IsolatedLoop], beside: Sequence[IsolatedLoop], draw: int
    ) -> FloatArray:
        """Return each job's period among the others over its isolated one, (k,) float64."""
        together = [*loops, *beside]
        period_s, run = loop_together(
            self.network.shared,
            together,
            self.budget.periods,
            n_watched=len(loops),
            draw=draw,
            stream=substitute_id([*(loop.job.job_id for loop in together), draw]),
        )
        self.record.packet_hops += run.packets.packet_hops
        slowdown: FloatArray = period_s / np.array([loop.period_s for loop in loops])
        return slowdown
