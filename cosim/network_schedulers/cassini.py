"""CASSINI: iterations shifted against each other (Rajasekaran et al., NSDI 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import ceil, lcm
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cosim.network.periodic import FloatArray, IntArray, JobGroup, NetworkPlan
from cosim.network_schedulers.base import NetworkScheduler

GRID = 24
"""Periods are rounded up to this part of the shortest iteration on a link."""
ANGLES = 72
"""Steps of 5 degrees on the circle of the shortest iteration."""
MOST_TURNS = 24
"""A circle of more turns of the shortest iteration shows nothing that can be aligned."""
RANDOM_PHASES = 16
"""Random shifts whose mean score is that of jobs without a scheduler."""
SWEEPS = 3
"""How often the shifts of all jobs on a link are looked at again."""


class Circle(NamedTuple):
    """Jobs on a link, around the least common multiple of their periods."""

    step_s: float
    """Time of an angle."""
    period: IntArray
    """(n,) int. Angles of an iteration of each job, which divide the circle."""
    demand: FloatArray
    """(n, angles) float64. Part of the link that each job wants, unshifted."""

    def score(self, shift: IntArray) -> float:
        """Return the compatibility: 1 less the mean excess of what the jobs want over the link."""
        return 1.0 - float(np.maximum(self.wanted(range(len(shift)), shift) - 1.0, 0.0).mean())

    def wanted(self, jobs: Iterable[int], shift: IntArray) -> FloatArray:
        """Return the part of the link that some jobs want together, shifted, (angles,)."""
        total = np.zeros(self.demand.shape[1])
        for job in jobs:
            by = int(shift[job])
            total[by:] += self.demand[job, : len(total) - by]
            total[:by] += self.demand[job, len(total) - by :]
        return total


def circle(times_s: FloatArray, use: FloatArray, unit_s: float) -> Circle | None:
    """Return the unified circle of some jobs; None if it is too long.

    Times are those of `cosim.network.periodic.JobGroup.times_s`; ``use`` is the part of the link
    that each job uses while it communicates. Periods are rounded up to multiples of the unit.
    """
    units = periods_in(times_s, unit_s)
    turns = reduce(lcm, units.tolist())
    if turns > MOST_TURNS * units.min():
        return None
    fine = ANGLES // GRID
    step_s = unit_s / fine
    edge_s = np.arange(turns * fine + 1) * step_s
    rows = []
    for (lead_s, comm_s, _), part, period in zip(times_s, use, units.tolist(), strict=True):
        # seconds of communication up to each edge
        turns_done, rest_s = np.divmod(edge_s / (period * unit_s) + 1e-9, 1.0)
        sent_s = turns_done * comm_s + np.clip(rest_s * period * unit_s - lead_s, 0.0, comm_s)
        rows.append(part * np.diff(sent_s) / step_s)
    return Circle(step_s, units * fine, np.array(rows))


def periods_in(times_s: FloatArray, unit_s: float) -> IntArray:
    """Return the isolated iterations in units, rounded up."""
    iteration_s = times_s[:, 0] + times_s[:, 1:].max(axis=1)
    return np.array([ceil(t / unit_s - 1e-9) for t in iteration_s.tolist()], dtype=np.int64)


def best_shifts(found: Circle, shift: IntArray, free: NDArray[np.bool_]) -> IntArray:
    """Return shifts in angles with a high score; those of jobs that are not free are kept.

    The free jobs come one after the other, each at its best shift among those before; then each is
    moved again, in sweeps, until none gets better.
    """
    shift, placed = shift.copy(), ~free
    if not placed.any():
        placed[0], shift[0] = True, 0
    movable = np.flatnonzero(free & ~placed).tolist()
    for sweep in range(1 + SWEEPS):
        before = shift.copy()
        for j in movable:
            placed[j] = False
            others = found.wanted(np.flatnonzero(placed), shift)
            shift[j] = _best(found.demand[j], int(found.period[j]), others)
            placed[j] = True
        if sweep and np.array_equal(before, shift):
            break
    return shift


def _best(mine: FloatArray, period: int, others: FloatArray) -> int:
    """Return the shift of one job, in angles, with the least excess beside others."""
    shifts = np.arange(ANGLES) * period // ANGLES
    excess = sliding_window_view(np.concatenate([mine, mine]), len(mine))[len(mine) - shifts]
    excess += others
    excess -= 1.0
    excess = np.maximum(excess, 0.0, out=excess).sum(axis=1)
    return int(shifts[np.argmin(np.round(excess, 9))])


class Cassini(NetworkScheduler):
    """Iterations of jobs that share a link begin at times at which they interleave best.

    For each link the periods of its jobs are rounded to a grid and laid around a circle of their
    least common multiple. A walk over jobs and links, the most overloaded link first, fixes the
    shift of each job once; a job's iterations then begin no earlier than its period allows. Links
    on which this gains less than the rounding costs are left alone.
    """

    name = "cassini"
    description = "iterations shifted in time so that jobs on a link interleave"

    def plan(self, group: JobGroup, rng: np.random.Generator) -> NetworkPlan:
        plan = NetworkPlan.without(len(group.jobs))
        unit_s = float(group.iteration_s.min()) / GRID
        period_s = periods_in(group.times_s, unit_s) * unit_s
        loss = (period_s / group.iteration_s - 1).max(initial=0.0)
        waiting = self._links(group, unit_s, rng, loss)
        fixed = np.zeros(len(group.jobs), dtype=np.bool_)
        while waiting:
            # a link of jobs that are fixed, or else the most overloaded one: the walk begins anew
            reached = (i for i, (users, _) in enumerate(waiting) if fixed[users].any())
            users, found = waiting.pop(next(reached, 0))
            if fixed[users].all():
                continue
            known = np.where(fixed[users], plan.start_s[users], 0.0) / found.step_s
            at = np.round(known).astype(np.int64)
            shift = best_shifts(found, at, ~fixed[users])
            # all links have the same step, so that fixed jobs keep their starts
            plan.start_s[users] = shift * found.step_s
            plan.pace_s[users] = period_s[users]
            fixed[users] = True
        return plan

    def _links(
        self, group: JobGroup, unit_s: float, rng: np.random.Generator, loss: float
    ) -> list[tuple[IntArray, Circle]]:
        """Return the links on which shifts gain more than rounded periods lose, worst first."""
        worst: dict[bytes, tuple[IntArray, FloatArray]] = {}
        for users, use in group.users:
            known = worst.get(users.tobytes())
            if known is None or use.sum() > known[1].sum():
                worst[users.tobytes()] = users, use
        found = []
        for number, (users, use) in enumerate(worst.values()):
            link = circle(group.times_s[users], use, unit_s)
            if link is None:
                continue
            without = np.mean(
                [link.score(rng.integers(0, link.period)) for _ in range(RANDOM_PHASES)]
            )
            best = best_shifts(link, np.zeros(len(users), dtype=np.int64), use > 0)
            if link.score(best) > without + loss:
                found.append((float(without), number, users, link))
        found.sort(key=lambda one: one[:2])
        return [(users, link) for _, _, users, link in found]
