"""Slurm's multifactor priority: a weighted sum of age, size, partition and fair share.

Each factor lies in [0, 1]. Age: time since the submission over ``max_age_s``, at most 1. Size:
nodes over those of the log's largest job. Partition: its ``factor``. Fair share:
2^(-use / share), with the use of all owners summing to 1 and equal shares.
"""

from __future__ import annotations

import numpy as np

from queuesim.ordering.fair_share import ByUsage
from queuesim.ordering.orders import FloatArray, IndexArray, LiveOrder, OrderContext, order_with
from queuesim.parameters import FairShare, Multifactor
from queuesim.site.partitions import partition_of_jobs
from workloads.job import Workload


class WeightedFactors(LiveOrder):
    """The sum of the factors; see the module's text."""

    def __init__(self, workload: Workload, parameters: Multifactor, context: OrderContext) -> None:
        self._p = parameters
        self._submit_s = workload.submit_s
        fixed = np.zeros(len(workload))
        if parameters.size_weight:
            fixed += parameters.size_weight * workload.n_nodes / workload.n_nodes.max(initial=1)
        if parameters.partition_weight and context.partitions:
            factor = np.array([partition.factor for partition in context.partitions])
            mine = partition_of_jobs(workload, context.partitions)
            fixed += parameters.partition_weight * factor[mine]
        self._fixed = fixed
        self._usage: ByUsage | None = None
        if parameters.fair_share_weight:
            share = FairShare(parameters.by, parameters.half_life_s)
            self._usage = ByUsage(workload, share, context.history())

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        p = self._p
        age = np.minimum((now_s - self._submit_s[jobs]) / p.max_age_s, 1.0)
        score = p.age_weight * age + self._fixed[jobs]
        if self._usage is not None:
            score += p.fair_share_weight * self._usage.factor(jobs, now_s)
        return np.asarray(score, dtype=np.float64)

    def started(self, job: int, now_s: float) -> None:
        if self._usage is not None:
            self._usage.started(job, now_s)

    def ended(self, job: int, now_s: float) -> None:
        if self._usage is not None:
            self._usage.ended(job, now_s)


MULTIFACTOR = order_with(
    "multifactor",
    "Slurm's multifactor priority: weights of age, size, partition and fair share",
    Multifactor,
    WeightedFactors,
)
