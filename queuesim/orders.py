"""Orders of the waiting queue: who is first, and by what score.

A *static* order gives a job one key for life (smaller is first); a dynamic one scores
the waiting jobs anew at each moment (larger is first). Ties go to the earlier job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workloads.job import Workload

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """How a queue is ordered; exactly one of the two functions is given.

    Attributes
    ----------
    name, description : str
    static_key : callable or None
        ``static_key(workload)`` -> (n,) float64, smaller first.
    score : callable or None
        ``score(workload, jobs, now_s)`` -> (k,) float64 for the k job indices, larger first.
    """

    registered_in: ClassVar[str] = "queuesim.registry:ORDERS"

    name: str
    description: str
    static_key: Callable[[Workload], FloatArray] | None = None
    score: Callable[[Workload, IndexArray, float], FloatArray] | None = None


def _submitted(workload: Workload) -> FloatArray:
    return np.asarray(workload.submit_s, dtype=np.float64)


def _requested(workload: Workload) -> FloatArray:
    return np.asarray(workload.requested_s, dtype=np.float64)


def _nodes(workload: Workload) -> FloatArray:
    return np.asarray(workload.n_nodes, dtype=np.float64)


def _nodes_down(workload: Workload) -> FloatArray:
    return -_nodes(workload)


def wfp_score(workload: Workload, jobs: IndexArray, now_s: float) -> FloatArray:
    """Cobalt's WFP: ``(wait / walltime)^3 * nodes`` (Tang et al., section on job ordering)."""
    wait = np.maximum(now_s - workload.submit_s[jobs], 0.0)
    score = (wait / workload.requested_s[jobs]) ** 3 * workload.n_nodes[jobs]
    return np.asarray(score, dtype=np.float64)


FCFS = Order("fcfs", "first come, first served: by submit time", static_key=_submitted)
WFP = Order(
    "wfp", "Cobalt's WFP: (wait / requested walltime)^3 x nodes, largest first", score=wfp_score
)
SHORTEST = Order("shortest", "shortest requested walltime first", static_key=_requested)
SMALLEST = Order("smallest", "fewest nodes first", static_key=_nodes)
LARGEST = Order("largest", "most nodes first", static_key=_nodes_down)
