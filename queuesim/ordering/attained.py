"""Least attained service in queues of levels: Tiresias' discretised 2D-LAS.

Gu et al., "Tiresias: A GPU cluster manager for distributed deep learning" (NSDI'19), section 3.2.
A job's attained service is its nodes times the time for which it has run. Thresholds divide jobs
into queues; the queue of the least service goes first, and jobs of one queue go by submit time. A
starved job returns to the first queue with no attained service, as in the authors' simulator: one
that since it last entered that queue, and after it first ran, has waited a multiple (PromoteKnob)
of the time for which it has run.
"""

from __future__ import annotations

from math import inf

import numpy as np

from queuesim.ordering.orders import FloatArray, IndexArray, LiveOrder, order_with
from queuesim.parameters import Attained
from workloads.job import Workload


class AttainedService(LiveOrder):
    """Scores by attained service: 0 in the first queue, -1 in the second, and so on."""

    def __init__(self, workload: Workload, parameters: Attained) -> None:
        self._n_nodes = workload.n_nodes.astype(np.float64)
        self._thresholds = np.array(parameters.thresholds_s, float)
        self._left = np.tile(self._thresholds, (len(workload), 1))
        self._crosses_s = np.full(self._left.shape, inf)
        # Invariant: a job's score is the number of its times in _crosses_s that have passed, and
        # these are fixed while it runs, so that rounding never moves a job back.
        self._promote_after = parameters.promote_after or inf
        self._executed_s, self._waited_s = np.zeros((2, len(workload)))
        self._since_s = np.zeros(len(workload))
        self._promoted_s = np.full(len(workload), inf)
        # Times since the last promotion; when each waiting job is promoted next.

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        self._promote(jobs[self._promoted_s[jobs] <= now_s])
        passed = np.count_nonzero(self._crosses_s[jobs] <= now_s, axis=1)
        return np.asarray(-passed, dtype=np.float64)

    def changes_s(self, job: int, now_s: float) -> float:
        later = np.append(self._crosses_s[job], self._promoted_s[job])
        return float(later[later > now_s].min(initial=inf))

    def started(self, job: int, now_s: float) -> None:
        if self._promoted_s[job] <= now_s:
            self._promote(job)
        elif self._executed_s[job]:
            self._waited_s[job] += now_s - self._since_s[job]
        self._since_s[job], self._promoted_s[job] = now_s, inf
        ahead = self._crosses_s[job] > now_s
        self._crosses_s[job, ahead] = now_s + self._left[job, ahead] / self._n_nodes[job]

    def ended(self, job: int, now_s: float) -> None:
        ahead = self._crosses_s[job] > now_s
        self._left[job, ahead] = (self._crosses_s[job, ahead] - now_s) * self._n_nodes[job]
        self._crosses_s[job, ahead] = inf
        self._executed_s[job] += now_s - self._since_s[job]
        self._since_s[job] = now_s
        if not ahead.all():
            starved_s = self._promote_after * self._executed_s[job] - self._waited_s[job]
            self._promoted_s[job] = now_s + max(starved_s, 0.0)

    def _promote(self, jobs: int | IndexArray) -> None:
        """Move jobs to the first queue."""
        self._left[jobs], self._crosses_s[jobs], self._promoted_s[jobs] = self._thresholds, inf, inf
        self._executed_s[jobs] = self._waited_s[jobs] = 0.0


LAS = order_with(
    "las",
    "Tiresias' discretised 2D-LAS: jobs of the least nodes x executed time first, in queues",
    Attained,
    lambda workload, given, _: AttainedService(workload, given),
    preempts=True,
)
