"""Preemption: which running jobs a waiting job may take the nodes of.

A waiting job may preempt running jobs of a lower level, the lowest first, then the latest start.
Levels are those of an order, of partitions, or of quotas (a job that would own its nodes is above
jobs that borrow). No relation of them has cycles; two of them together could, and are refused.
"""

from __future__ import annotations

from math import inf

import numpy as np

from netsim.errors import NetcosimError
from queuesim.ordering.orders import FixedScores, FloatArray, LiveOrder, Order
from queuesim.parameters import PreemptionKeys
from queuesim.site.quotas import Quotas
from workloads.job import Workload

PREEMPTIVE_BACKFILLS = ("none", "easy")


def check_preemptive(backfill: str) -> None:
    """Raise `NetcosimError` for a backfilling that does not support preemption and quotas."""
    if backfill not in PREEMPTIVE_BACKFILLS:
        raise NetcosimError(
            f"backfill {backfill!r} does not support preemption and quotas; use "
            f"{' or '.join(PREEMPTIVE_BACKFILLS)}"
        )


def levels_of(
    keys: PreemptionKeys, order: Order, workload: Workload, of_partition: FloatArray | None
) -> LiveOrder | None:
    """Return the levels of the jobs, the larger the higher; None: no preemption by levels."""
    if order.needs_preemption and keys.by != "order":
        raise NetcosimError(
            f'order {order.name!r} needs preemption; set queue.preemption.by = "order"'
        )
    if keys.by == "order":
        if order.levels is None:
            raise NetcosimError(
                f'queue.preemption.by = "order": order {order.name!r} has no levels; use '
                '"priority" or "las"'
            )
        return order.levels(workload)
    if keys.by == "partition":
        if of_partition is None:
            raise NetcosimError(
                'queue.preemption.by = "partition" needs queue.partitions with priorities'
            )
        return FixedScores(of_partition)
    return None


class Preemption:
    """Levels of the jobs of a queue (by quotas, or others), and the starts of those that run."""

    def __init__(self, levels: LiveOrder, min_run_s: float, partition: list[int]) -> None:
        self._levels = levels
        self._min_run_s = min_run_s
        self._started_s: dict[int, float] = {}
        self._by_quotas = isinstance(levels, Quotas)
        cluster = levels.cluster if isinstance(levels, Quotas) else [0] * len(partition)
        self.head_of = [*zip(partition, cluster, strict=True)]
        """What a waiting job must be the first of to preempt others, one a job."""
        self.one_head = len(set(self.head_of)) <= 1

    def goes_first(self, job: int, now_s: float) -> bool:
        """Return whether a waiting job has a claim to free nodes before any reservation."""
        return not self._by_quotas or bool(self._levels.score(np.array([job]), now_s)[0])

    def started(self, job: int, now_s: float) -> float:
        """Record a start; return the next time at which another may preempt the job."""
        self._started_s[job] = now_s
        self._levels.started(job, now_s)
        return self.changes_s(job, now_s)

    def ended(self, job: int, now_s: float) -> None:
        """Record an end."""
        del self._started_s[job]
        self._levels.ended(job, now_s)

    def changes_s(self, job: int, now_s: float) -> float:
        """Return the next time after now at which a job's level, or its protection, ends."""
        protected_s = self._started_s.get(job, -inf) + self._min_run_s
        level_s = self._levels.changes_s(job, now_s)
        return min(level_s, protected_s if protected_s > now_s else inf)

    def victims(self, job: int, now_s: float) -> list[int]:
        """Return the running jobs that a waiting job may preempt, the first to go first."""
        running = [j for j, at_s in self._started_s.items() if now_s >= at_s + self._min_run_s]
        jobs = np.array([*running, job], dtype=np.int64)
        *levels, mine = self._levels.score(jobs, now_s).tolist()
        lower = {j: level for j, level in zip(running, levels, strict=True) if level < mine}
        return sorted(lower, key=lambda j: (lower[j], -self._started_s[j], -j))
