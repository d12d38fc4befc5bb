"""Observables of where jobs sit on a fat-tree: average pairwise hops (Pollard et al.)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.topologies.fattree import FatTreeShape
from queuesim.observables.jobs import BINS, by_size
from queuesim.observables.machine import QUANTILES
from queuesim.observables.registry import Observable
from queuesim.result import QueueResult, Rows

MOST_JOBS = 1500
"""Number of jobs that "spread" reports, evenly spaced over the log."""
SEVERAL = ">1"
"""The bin of all jobs that have pairs of nodes."""
TIGHT = 1e-9

FloatArray = NDArray[np.float64]


def hops(result: QueueResult) -> Rows:
    """Return quantiles of the hops by job size, with the least possible hops.

    The last row has all jobs of several nodes; ``above_least`` is the share of jobs that are more
    spread than necessary.
    """
    apart, least = _apart_and_least(result)
    sizes = result.workload.n_nodes
    several = [(SEVERAL, sizes > 1)] if (sizes > 1).any() else []
    return [
        {
            "bin": name,
            "jobs": int(mine.sum()),
            **{f"hops_{q}": float(np.quantile(apart[mine], p)) for q, p in QUANTILES},
            "hops_ideal": float(np.median(least[mine])),
            "hops_over_ideal_most": float((apart[mine] - least[mine]).max()),
            "above_least": float(np.mean(apart[mine] > least[mine] + TIGHT)),
            "mean_hops": float(apart[mine].mean()),
            "mean_least": float(least[mine].mean()),
        }
        for name, mine in [*by_size(sizes, BINS), *several]
    ]


def spread(result: QueueResult) -> Rows:
    """Return the size, hops and least possible hops of some jobs of several nodes."""
    apart, least = _apart_and_least(result)
    sizes = result.workload.n_nodes
    several = np.flatnonzero(sizes > 1)
    some = several[np.unique(np.linspace(0, len(several) - 1, MOST_JOBS).astype(np.int64))]
    return [
        {"nodes": int(sizes[i]), "hops": float(apart[i]), "least": float(least[i])} for i in some
    ]


def _apart_and_least(result: QueueResult) -> tuple[FloatArray, FloatArray]:
    shape, kept = result.topology.shape, result.placements
    if not isinstance(shape, FatTreeShape):
        raise NetcosimError(
            f"observables hops and spread are for fat-trees; {result.topology.name} is none"
        )
    assert kept is not None
    sizes, of_size = np.unique(result.workload.n_nodes, return_inverse=True)
    least = np.array([least_hops(int(n), shape) for n in sizes])
    return average_pairwise_hops(kept.nodes, kept.node_ptr, shape), least[of_size]


def average_pairwise_hops(
    nodes: NDArray[np.int32], node_ptr: NDArray[np.int64], shape: FatTreeShape
) -> FloatArray:
    """Return the mean switch-to-switch links between ordered pairs of each job's nodes, (n,).

    Pollard et al., equation (1): 0 on one leaf, 2 in a pod, 4 over pods; links between
    nodes and leaves do not count. 0 for a job of one node.
    """
    n = np.diff(node_ptr)
    job = np.repeat(np.arange(len(n)), n)
    # Ordered pairs on one leaf save 2 links, those in one pod 2 more.
    near = sum(_pairs(job, part, len(n)) for part in (shape.leaf_of(nodes), shape.pod_of(nodes)))
    return np.where(n > 1, (4 * n * n - 2 * near) / np.maximum(n * (n - 1), 1), 0.0)


def _pairs(job: NDArray[np.int64], part: NDArray[np.integer], n_jobs: int) -> FloatArray:
    """Count ordered pairs of a job's nodes in one part, each node also with itself, (n,)."""
    width = int(part.max()) + 1
    places, counts = np.unique(job * width + part, return_counts=True)
    found = np.bincount(places // width, weights=counts**2, minlength=n_jobs)
    return found.astype(np.float64)


def least_hops(n_nodes: int, shape: FatTreeShape) -> float:
    """Return the average pairwise hops of the most compact placement: full pods, leaves, a rest."""
    nodes = np.arange(n_nodes, dtype=np.int32)
    return float(average_pairwise_hops(nodes, np.array([0, n_nodes]), shape)[0])


OBSERVABLES = (
    Observable("hops", "fat-trees: average pairwise hops by job size, and the least", hops),
    Observable("spread", "fat-trees: nodes, hops and least possible hops of 1500 jobs", spread),
)
