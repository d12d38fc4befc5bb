"""Slowdowns of jobs that share links, from packets: what they may cost, and what was done.

All jobs of a group repeat their iteration together, with computing between iterations as their
communication fractions give. The time of an iteration, computing included, over that in isolation
is a job's slowdown.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosim.network.isolated_loops import (
    FIRST_LOOK,
    IsolatedLoop,
    IsolatedLoops,
    loop_together,
    n_starts,
)
from cosim.network.job_network import JobLoads
from cosim.network.situation import Situation
from cosim.parameters import PHASES, PacketBudget
from queuesim.draws import substitute_id

FloatArray = NDArray[np.float64]


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
    n_waited: int = 0
    """n_simulations, n_looked_up, n_waited: Simulations, jobs looked up, and simulations put off
    because the budget was spent."""
    packet_hops: int = 0
    """Of groups, without those of isolated jobs."""
    spent_s: float = 0.0
    loops_s: float = 0.0
    """spent_s, loops_s: Estimated CPU time (`cost_s`) of all simulations, and of those of isolated
    jobs among them."""
    n_localities: int = 0
    n_equal: int = 0
    n_like: int = 0
    """n_localities, n_equal, n_like: Jobs whose locality was simulated, was known from jobs that
    are equal for the network, and was estimated from like ones."""
    _paid: set[tuple[IsolatedLoops, Hashable]] = field(default_factory=set, repr=False)

    def pay(self, loops: IsolatedLoops, simulation: Hashable, packet_hops: int) -> None:
        """Count the CPU time of an isolated simulation, once for equal ones.

        That another run in this process has done it before makes no difference.
        """
        if (loops, simulation) not in self._paid:
            self._paid.add((loops, simulation))
            taken_s = cost_s(packet_hops, loops.n_nodes)
            self.loops_s += taken_s
            self.spent_s += taken_s

    def localities(self, budget_s: float) -> dict[str, float]:
        """Return where the localities of jobs are from."""
        return {
            "simulated": self.n_localities,
            "equal_jobs": self.n_equal,
            "like_jobs": self.n_like,
            "cpu_s": self.loops_s,
            "budget_s": budget_s,
        }

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
            "waited": self.n_waited,
            "packet_hops": self.packet_hops,
            "cpu_s": self.spent_s - self.loops_s,
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


HOPS_PER_S, LARGE, SIMULATION_S = 10e6, 2048, 0.004
"""Packet hops that a CPU-second simulates on machines of up to so many nodes, and what a simulation
takes without any: measured on one core of 2026 with the groups of KTH and Thunder and the loops of
Frontier (docs/run-times.md). On larger machines hops take longer by the root of their nodes."""


def cost_s(packet_hops: int, n_nodes: int = 0) -> float:
    """Estimate the CPU time of a simulation; it is the same on every machine."""
    slower = math.sqrt(max(1.0, n_nodes / LARGE))
    return SIMULATION_S + packet_hops * slower / HOPS_PER_S


class PacketJudge:
    """Slowdowns of groups of jobs from packets."""

    def __init__(
        self,
        loads: JobLoads,
        budget: PacketBudget,
        record: PacketRecord,
    ) -> None:
        self.network, self.budget, self.record = loads.network, budget, record
        self._isolated = loads.isolated

    def judge(
        self, group: Sequence[Situation], beside: Sequence[Situation] = ()
    ) -> tuple[float, ...]:
        """Simulate a group with the jobs beside it; return the slowdown of every job, at least 1.

        A job that sends nothing (such as a tornado of two ranks) has a slowdown of 1.
        """
        loops = dict(zip(group, self._loops(group), strict=True))
        sending = [(job, loop) for job, loop in sorted(loops.items()) if loop is not None]
        around = [loop for loop in self._loops(sorted(beside)) if loop is not None]
        found = self._slowdowns_of(sending, around).tolist() if sending else []
        slowdown = {job: value for (job, _), value in zip(sending, found, strict=True)}
        return tuple(slowdown.get(job, 1.0) for job in group)

    def _loops(self, jobs: Sequence[Situation]) -> list[IsolatedLoop | None]:
        loops = [self._isolated.of(job, self.budget.message_scale) for job in jobs]
        for loop in loops:
            if loop is not None:
                self.record.pay(self._isolated, loop.simulated, loop.packet_hops)
        return loops

    def _slowdowns_of(
        self, jobs: Sequence[tuple[Situation, IsolatedLoop]], beside: Sequence[IsolatedLoop]
    ) -> FloatArray:
        """Return the slowdowns of jobs that all send, among others that do."""
        loops = [loop for _, loop in jobs]
        draws = n_starts([loop.period_s for loop in [*loops, *beside]], self.budget.phases)
        found = np.array([self._simulate(loops, beside, draw) for draw in range(draws)])
        self.record.n_simulations += 1
        fraction = np.array([job.fraction for job, _ in jobs])
        if draws > 1:
            self.record.phase_spread += (fraction * found.std(axis=0, ddof=1)).tolist()
        # routings that draw may be luckier in company; a slowdown below 1 means nothing
        extra: FloatArray = np.maximum(found.mean(axis=0) - 1, 0)
        return 1 + fraction * extra

    def _simulate(
        self, loops: Sequence[IsolatedLoop], beside: Sequence[IsolatedLoop], draw: int
    ) -> FloatArray:
        """Return the stretch of each job's communication among the others, (k,) float64.

        Random starts are those of the situation: what is off in one of them is not in the next.
        """
        together = [*loops, *beside]
        group = substitute_id([loop.job.job_id for loop in together])
        period_s, run = loop_together(
            self.network.shared,
            together,
            self.budget.periods,
            n_watched=len(loops),
            draw=PHASES * (group >> 2) + draw,
            stream=substitute_id([group, draw]),
            longest=FIRST_LOOK,
        )
        self.record.packet_hops += run.packets.packet_hops
        self.record.spent_s += cost_s(run.packets.packet_hops, self._isolated.n_nodes)
        isolated_s, comm_s = np.array([(loop.period_s, loop.comm_s) for loop in loops]).T
        return np.asarray(1 + (period_s - isolated_s) / comm_s, dtype=np.float64)
