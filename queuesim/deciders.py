"""Heuristics that start any job that fits: baselines for learned schedulers.

None of them holds nodes for a job that does not fit, so large jobs may wait for long.
"""

from __future__ import annotations

from abc import abstractmethod

from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.machine import Machine


class _LeastThatFits(Decider):
    """Starts the waiting job of the least cost that fits into the free nodes."""

    names_rules = False

    @abstractmethod
    def cost(self, machine: Machine, job: int) -> float:
        """Return the cost of a job; of equal ones the first in the queue goes first."""

    def decide(self, point: DecisionPoint) -> Choice | None:
        machine, n_free = point.machine, point.n_free
        if not n_free:
            return None
        fits = [job for job in point.waiting() if machine.n_nodes[job] <= n_free]
        return Choice(min(fits, key=lambda job: self.cost(machine, job))) if fits else None


class FirstThatFits(_LeastThatFits):
    """First fit: list scheduling (Graham 1969)."""

    name = "first-that-fits"
    description = "the first job in the queue's order for which there are nodes"

    def cost(self, machine: Machine, job: int) -> float:
        return 0.0


class ShortestThatFits(_LeastThatFits):
    """Shortest job first, by walltime."""

    name = "shortest-that-fits"
    description = "of the jobs for which there are nodes, the one of the shortest walltime"

    def cost(self, machine: Machine, job: int) -> float:
        return machine.requested_s[job]


class SmallestAreaThatFits(_LeastThatFits):
    """Smallest area first: nodes times walltime."""

    name = "smallest-area-that-fits"
    description = "of the jobs that fit, the one that requests the fewest node-hours"

    def cost(self, machine: Machine, job: int) -> float:
        return machine.requested_s[job] * machine.n_nodes[job]


class LargestThatFits(_LeastThatFits):
    """Best fit: the fewest nodes left over."""

    name = "largest-that-fits"
    description = "of the jobs for which there are nodes, the one of the most nodes"

    def cost(self, machine: Machine, job: int) -> float:
        """Return the negative node count, so that the largest job is first."""
        return -machine.n_nodes[job]
