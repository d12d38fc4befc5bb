"""Fair share: jobs of the user with the least usage start first."""

from __future__ import annotations

import numpy as np

from queuesim.ordering.orders import FloatArray, IndexArray, LiveOrder, order_with
from queuesim.ordering.usage import Usage, history_usage, owners
from queuesim.parameters import FairShare
from workloads.job import Workload


class ByUsage(LiveOrder):
    """Scores by the faded use of a job's owner."""

    def __init__(self, workload: Workload, parameters: FairShare, history: Workload | None) -> None:
        self.owner, names = owners(workload, parameters.by)
        self._n_nodes = workload.n_nodes
        self.n_owners = len(names)
        self.usage = Usage(self.n_owners, parameters.half_life_s)
        if history is not None and len(history):
            past = history_usage(history, parameters.by, names, parameters.half_life_s)
            self.usage.add(*past)

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        return -self.usage.at(now_s)[self.owner[jobs]]

    def factor(self, jobs: IndexArray, now_s: float) -> FloatArray:
        """Return Slurm's 2^(-use / share) for equal shares of the total use, in (0, 1], (k,)."""
        used = self.usage.at(now_s)
        total = float(used.sum())
        share = used / total * self.n_owners if total > 0 else used
        return np.asarray(2.0 ** -share[self.owner[jobs]])

    def started(self, job: int, now_s: float) -> None:
        self.usage.changes(int(self.owner[job]), int(self._n_nodes[job]), now_s)

    def ended(self, job: int, now_s: float) -> None:
        self.usage.changes(int(self.owner[job]), -int(self._n_nodes[job]), now_s)


FAIR_SHARE = order_with(
    "fair-share",
    "jobs of the user with the least usage first: node-seconds by user or account, with a "
    "half-life",
    FairShare,
    lambda workload, given, context: ByUsage(workload, given, context.history()),
)
