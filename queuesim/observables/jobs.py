"""Observables of the jobs: waits, turnarounds and slowdowns by size and by day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from queuesim.capacity import lost_nodes
from queuesim.metrics import bounded_slowdown, run_s, turnaround_s, wait_s
from queuesim.observables.registry import Observable
from queuesim.result import QueueResult, Rows

BINS = {
    "1": 1,
    "2-4": 2,
    "5-18": 5,
    "19-64": 19,
    "65-128": 65,
    "129-256": 129,
    "257-324": 257,
    ">324": 325,
}
"""Sizes of the topology-aware paper's figures by name: the first size of each."""
CLASSES = {"512": 1, "1K/2K": 513, "4K/8K": 2049, "16K/32K": 8193}
"""Size classes of the walltime-aware paper's figures by name: the first size of each."""
NEAR_ZERO_MIN = 1.0
"""Threshold of a waiting time of nearly zero (the paper does not state it)."""
LONG_MIN = 300.0
DAY_S = 86_400.0
PERCENTILES = np.linspace(0.0, 1.0, 101)

Mask = NDArray[np.bool_]


def by_size(n_nodes: NDArray[np.int32], first_sizes: dict[str, int]) -> Iterator[tuple[str, Mask]]:
    """Yield the name and the jobs of each size bin that has jobs."""
    which = np.searchsorted(list(first_sizes.values()), n_nodes, side="right") - 1
    for i, name in enumerate(first_sizes):
        if (mine := which == i).any():
            yield name, mine


def bins(result: QueueResult) -> Rows:
    """Return waits and turnarounds by job size."""
    waits, turnarounds = wait_s(result), turnaround_s(result)
    return [
        {
            "bin": name,
            "jobs": int(mine.sum()),
            "mean_wait_s": float(waits[mine].mean()),
            "median_wait_s": float(np.median(waits[mine])),
            "mean_turnaround_s": float(turnarounds[mine].mean()),
        }
        for name, mine in by_size(result.workload.n_nodes, BINS)
    ]


def classes(result: QueueResult) -> Rows:
    """Return waits (minutes) and bounded slowdowns by size class."""
    waits, slowdowns = wait_s(result) / 60.0, bounded_slowdown(result)
    return [
        {
            "class": name,
            "jobs": int(mine.sum()),
            "mean_wait_min": float(waits[mine].mean()),
            "median_wait_min": float(np.median(waits[mine])),
            "near_zero": float((waits[mine] <= NEAR_ZERO_MIN).mean()),
            "within_300_min": float((waits[mine] <= LONG_MIN).mean()),
            "mean_slowdown": float(slowdowns[mine].mean()),
        }
        for name, mine in by_size(result.workload.n_nodes, CLASSES)
    ]


def quantiles(result: QueueResult) -> Rows:
    """Return percentiles of waits (minutes) and bounded slowdowns by size class."""
    metrics = {"wait_min": wait_s(result) / 60.0, "bounded_slowdown": bounded_slowdown(result)}
    return [
        {"class": name, "metric": metric, "share": float(q), "value": float(v)}
        for name, mine in by_size(result.workload.n_nodes, CLASSES)
        for metric, values in metrics.items()
        for q, v in zip(PERCENTILES, np.quantile(values[mine], PERCENTILES), strict=True)
    ]


def interrupted(result: QueueResult) -> Rows:
    """Return the jobs that were interrupted, and what the time on their nodes was spent on."""
    spent, jobs = result.spent, result.workload
    if spent is None:
        return []
    counts, times = ("preempted", "failed"), ("useful", "lost", "checkpoint", "restart")
    return [
        {"job_id": int(jobs.job_id[i]), "nodes": int(jobs.n_nodes[i])}
        | {name: int(getattr(spent, name)[i]) for name in counts}
        | {f"{name}_s": float(getattr(spent, f"{name}_s")[i]) for name in (*times, "contention")}
        for i in np.flatnonzero(spent.preempted + spent.failed)
    ]


def needs(result: QueueResult) -> Rows:
    """Run times, waits and turnarounds by the bandwidth that jobs need; "unknown" if not known."""
    metrics = {
        "mean_run_s": run_s(result),
        "mean_wait_s": wait_s(result),
        "mean_turnaround_s": turnaround_s(result),
    }
    known = result.needs_Bps
    labels = np.array(["unknown"] * len(result) if known is None else [f"{n:g}" for n in known])
    return [
        {"need": str(need), "jobs": int((labels == need).sum())}
        | {name: float(values[labels == need].mean()) for name, values in metrics.items()}
        for need in np.unique(labels)
    ]


def days(result: QueueResult) -> Rows:
    """Return sums over the jobs submitted on each day, and its share of lost capacity."""
    times, lost = lost_nodes(result)
    n = int(times[-1] // DAY_S) + 1
    area = np.concatenate([[0.0], np.cumsum(lost[:-1] * np.diff(times))])
    # Between events the area grows linearly, so it may be read off at midnight.
    share = np.diff(np.interp(np.arange(n + 1) * DAY_S, times, area)) / (
        result.machine_nodes * float(times[-1] - times[0])
    )
    day = (result.workload.submit_s // DAY_S).astype(np.int64)

    def summed(weights: NDArray[np.float64]) -> Sequence[float]:
        return [float(v) for v in np.bincount(day, weights=weights, minlength=n)]

    waits, slowdowns = summed(wait_s(result) / 60.0), summed(bounded_slowdown(result))
    jobs = np.bincount(day, minlength=n)
    return [
        {
            "day": k,
            "jobs": int(jobs[k]),
            "wait_min": waits[k],
            "bounded_slowdown": slowdowns[k],
            "loss_of_capacity": float(share[k]),
        }
        for k in range(n)
    ]


OBSERVABLES = (
    Observable("bins", "waits and turnarounds by job size, 1 to more than 324 nodes", bins),
    Observable("days", "sums over the jobs of each day of waits, slowdowns, lost capacity", days),
    Observable("classes", "waits and slowdowns by size class of a Blue Gene machine", classes),
    Observable("quantiles", "percentiles of waits and slowdowns by the same classes", quantiles),
    Observable("needs", "run times, waits and turnarounds by the bandwidth that jobs need", needs),
    Observable(
        "interrupted",
        "jobs that were preempted or that failures sent back: lost work, restarts, checkpoints",
        interrupted,
    ),
)
