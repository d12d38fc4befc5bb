"""Preemption: which running jobs a waiting job may take the nodes of.

By levels, a job may preempt jobs of a lower level; by quotas, a job that would own its nodes may
preempt those that borrow theirs. Of these the lowest level goes first, then the latest start.
Either relation has no cycles; the two together would have some, and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.parameters import Example, OneOf, check_values
from queuesim.ordering.orders import FixedScores, FloatArray, LiveOrder, Order
from queuesim.site.quotas import Quotas
from workloads.job import Workload

BY = ("none", "order", "partition")
PREEMPTIVE_BACKFILLS = ("none", "easy")


@dataclass(frozen=True)
class PreemptionKeys:
    """``[queue.preemption]``: what jobs preempt others by."""

    by: Annotated[
        str,
        'jobs preempt those of a lower level: of the order ("priority", "las"), or of the '
        "partitions' priorities",
        OneOf(BY),
        Example("order"),
    ] = "none"
    min_run_s: Annotated[
        float,
        "time that a job runs after each start before it may be preempted",
        Ge(0),
        Example("10 min"),
    ] = 0.0

    def __post_init__(self) -> None:
        check_values("preemption", self)


def check_preemptive(backfill: str) -> None:
    """`NetcosimError` for a backfilling that preemption and quotas do not go with."""
    if backfill not in PREEMPTIVE_BACKFILLS:
        raise NetcosimError(
            f"backfill {backfill!r} does not support preemption and quotas; use "
            f"{' or '.join(PREEMPTIVE_BACKFILLS)}"
        )


def levels_of(
    keys: PreemptionKeys, order: Order, workload: Workload, of_partition: FloatArray | None
) -> LiveOrder | None:
    """Return the levels that jobs preempt by, the larger the higher; None: not by levels.

    Parameters
    ----------
    keys : PreemptionKeys
    order : Order
    workload : Workload
    of_partition : (n,) float64 or None
        Priority of each job's partition, where there are partitions.

    Raises
    ------
    NetcosimError
        An order without levels, an order that needs preemption and has none; no partitions.
    """
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
    """Levels or quotas of the jobs of a queue, and the starts of those that run.

    Parameters
    ----------
    levels : LiveOrder or None
    quotas : Quotas or None
        Where there are no levels.
    min_run_s : float
    partition : list of int
        Of each job.
    """

    def __init__(
        self,
        levels: LiveOrder | None,
        quotas: Quotas | None,
        min_run_s: float,
        partition: list[int],
    ) -> None:
        self._levels = levels
        self._quotas = quotas
        self._min_run_s = min_run_s
        self._partition = partition
        self._started_s: dict[int, float] = {}
        self.one_head = quotas is None and len(set(partition)) <= 1
        """Whether the first waiting job is the only one that may preempt."""

    def head_of(self, job: int) -> tuple[int, int]:
        """Return what a waiting job must be the first of to preempt others."""
        return self._partition[job], -1 if self._quotas is None else self._quotas.cluster[job]

    def goes_first(self, job: int) -> bool:
        """Return whether a waiting job has a claim to free nodes before any reservation."""
        return self._quotas is None or self._quotas.would_own(job)

    def started(self, job: int, now_s: float) -> float:
        """Record a start; return the next time at which another may preempt the job."""
        self._started_s[job] = now_s
        if self._quotas is not None:
            self._quotas.started(job)
        if self._levels is not None:
            self._levels.started(job, now_s)
        return self.changes_s(job, now_s)

    def ended(self, job: int, now_s: float) -> None:
        """Record an end."""
        del self._started_s[job]
        if self._quotas is not None:
            self._quotas.ended(job)
        if self._levels is not None:
            self._levels.ended(job, now_s)

    def changes_s(self, job: int, now_s: float) -> float:
        """Return the next time after now at which a running job's level or protection ends."""
        if job not in self._started_s:
            return inf
        protected_s = self._started_s[job] + self._min_run_s
        level_s = inf if self._levels is None else self._levels.changes_s(job, now_s)
        return min(level_s, protected_s if protected_s > now_s else inf)

    def victims(self, job: int, now_s: float) -> list[int]:
        """Return the running jobs that a waiting job may preempt, the first to go first."""
        running = [j for j, at_s in self._started_s.items() if now_s >= at_s + self._min_run_s]
        if self._quotas is not None:
            takes = self._quotas.would_own(job)
            lower = {j: 0.0 for j in running if takes and self._quotas.borrows(j)}
        else:
            assert self._levels is not None
            jobs = np.array([*running, job], dtype=np.int64)
            *levels, mine = self._levels.score(jobs, now_s).tolist()
            lower = {j: level for j, level in zip(running, levels, strict=True) if level < mine}
        return sorted(lower, key=lambda j: (lower[j], -self._started_s[j], -j))
