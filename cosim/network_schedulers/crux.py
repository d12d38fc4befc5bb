"""Crux: jobs by GPU intensity (Cao et al., SIGCOMM 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.network.periodic import (
    FloatArray,
    IntArray,
    JobGroup,
    NetworkPlan,
    PeriodicJob,
    iteration_times_s,
)
from cosim.network_schedulers.base import NetworkScheduler
from netsim.traffic import PRIORITIES

ORDERS = 10
"""Random orders of the jobs that compression tries beside that of their priorities."""
SAME = 1e-3
"""Shares of time that differ by less are equal."""


def intensity(job: PeriodicJob) -> float:
    """Return the GPU intensity W / t: GPU-seconds computed per second of communication."""
    return job.work_s / job.comm_s


class Crux(NetworkScheduler):
    """Jobs of high GPU intensity choose their paths first and have priority on links.

    The intensity of a job is its computing in an iteration, over the time of its bytes on the
    slowest link. It is multiplied by a correction factor (`corrected`), and the order of the
    products is compressed to eight priorities (`compressed`).
    """

    name = "crux"
    description = "by GPU intensity: first choice of paths, strict priority in 8 classes"

    def path_order(self, jobs: Sequence[PeriodicJob]) -> Sequence[int]:
        return sorted(range(len(jobs)), key=lambda j: -intensity(jobs[j]))

    def plan(self, group: JobGroup, rng: np.random.Generator) -> NetworkPlan:
        wanted = corrected(group)
        weight = np.array([intensity(job) for job in group.jobs])
        level = compressed(wanted, conflicts(group, weight), PRIORITIES, rng)
        plan = NetworkPlan.without(len(group.jobs))
        return NetworkPlan(PRIORITIES - 1 - level, plan.start_s, plan.pace_s)


def corrected(group: JobGroup) -> FloatArray:
    """Return the intensities times their correction factors.

    The reference is the job that communicates for most of its time, with a factor of 1. The others
    are compared with it on one link, once with each of the two first: what a job gains in
    communication time by being first, over what the reference loses by it, is its factor. So it
    goes before the reference where the GPUs compute more then.
    """
    jobs = group.jobs
    shares = [job.comm_s / job.iteration_s for job in jobs]
    reference = jobs[int(np.argmax(shares))]
    known: dict[tuple[float, ...], float] = {}
    found = np.empty(len(jobs))
    for i, job in enumerate(jobs):
        times = job.lead_s, job.comm_s, job.hidden_s
        if times not in known:
            known[times] = 1.0 if job is reference else _factor(job, reference)
        found[i] = known[times] * intensity(job)
    return found


def _factor(job: PeriodicJob, reference: PeriodicJob) -> float:
    """Return the communication time that a job gains by priority over what the reference loses."""
    one = np.zeros(1, dtype=np.int64)
    pair = JobGroup.of(
        [
            PeriodicJob(j.lead_s, j.comm_s, j.hidden_s, one, np.array([j.comm_s]))
            for j in (job, reference)
        ]
    )
    without = NetworkPlan.without(2)
    first, second = (
        iteration_times_s(
            pair,
            NetworkPlan(np.array(priority), np.zeros(2), without.pace_s),
            np.random.default_rng(0),
        )
        for priority in ([1, 0], [0, 1])
    )
    gained, lost = (1 / first - 1 / second) * (job.comm_s, -reference.comm_s)
    if gained <= SAME:
        return 0.0 if lost > SAME else 1.0
    return float(gained / lost) if lost > SAME else np.inf


def conflicts(group: JobGroup, weight: FloatArray) -> FloatArray:
    """Return the cost of equal priorities for two jobs that share a link, (n, n), symmetric.

    That is the larger of their weights; 0 for jobs that share none.
    """
    on_link = np.zeros((len(weight), group.n_links))
    on_link[np.repeat(np.arange(len(weight)), np.diff(group.ptr)), group.link] = 1.0
    share = on_link @ on_link.T > 0
    np.fill_diagonal(share, False)
    return np.where(share, np.maximum(weight[:, None], weight), 0.0)


def compressed(
    wanted: FloatArray, cost: FloatArray, levels: int, rng: np.random.Generator
) -> IntArray:
    """Return levels of jobs, 0 the highest, such that jobs in conflict keep their order.

    The highest priority goes first. Jobs of one level that are in conflict lose their ``cost``.
    Orders are cut into consecutive levels by dynamic programming, with the least loss; the best of
    `ORDERS` random ones, which contradict no conflict, and the one by priority counts.
    """
    n = len(wanted)
    rank = np.empty(n, dtype=np.int64)
    rank[np.lexsort((np.arange(n), -wanted))] = np.arange(n)
    best_loss, best = np.inf, np.zeros(n, dtype=np.int64)
    for attempt in range(1 + ORDERS):
        order = np.argsort(rank) if attempt == 0 else _random_order(rank, cost > 0, rng)
        loss, level = _cut(cost[np.ix_(order, order)], levels)
        if loss < best_loss:
            best_loss, best = loss, np.empty(n, dtype=np.int64)
            best[order] = level
        if best_loss == 0:
            break
    return best


def _random_order(
    rank: IntArray, conflict: NDArray[np.bool_], rng: np.random.Generator
) -> IntArray:
    """Return an order of jobs in which, of two in conflict, the one of lower rank is first."""
    after = conflict & (rank[:, None] > rank[None, :])
    waits = after.sum(axis=1)
    order = np.empty(len(rank), dtype=np.int64)
    free = np.flatnonzero(waits == 0).tolist()
    for i in range(len(rank)):
        job = order[i] = free.pop(int(rng.integers(len(free))))
        for other in np.flatnonzero(after[:, job]).tolist():
            waits[other] -= 1
            if waits[other] == 0:
                free.append(other)
    return order


def _cut(cost: FloatArray, levels: int) -> tuple[float, IntArray]:
    """Return the least loss of cutting an order into levels, and the level of each place."""
    n = len(cost)
    # inside[a, b]: cost of all pairs among places a .. b-1
    inside = np.zeros((n + 1, n + 1))
    for b in range(1, n + 1):
        inside[:b, b] = inside[:b, b - 1] + cost[b - 1, :b][::-1].cumsum()[::-1]
    best = inside[0].copy()
    begins = []
    for _ in range(min(levels, n) - 1):
        loss = best[:, None] + inside
        loss[np.tril_indices(n + 1, -1)] = np.inf
        begins.append(loss.argmin(axis=0))
        best = loss.min(axis=0)
    level, end = np.zeros(n, dtype=np.int64), n
    for k in range(len(begins) - 1, -1, -1):
        begin = int(begins[k][end])
        level[begin:end] = k + 1
        end = begin
    return float(best[n]), level
