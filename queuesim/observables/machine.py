"""Observables of the whole machine: metrics, utilisation, wall-clock time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from queuesim.capacity import range_counts, sampled_utilisation, utilisation_steps
from queuesim.metrics import LARGE_NODES, run_s, summarise
from queuesim.observables.registry import Observable
from queuesim.result import QueueResult, Rows

QUANTILES = (("least", 0.0), ("q25", 0.25), ("median", 0.5), ("q75", 0.75), ("most", 1.0))
EACH = "each start and end"
TO_LAST_START = "to the last start"


def runs(result: QueueResult) -> Rows:
    """Return one row of metrics; None where one is not defined."""
    workload = result.workload
    metrics = summarise(result)
    time_s, share = utilisation_steps(result)
    first_s, last_s = float(result.event_s[0]), float(result.start_s.max())
    row: dict[str, object] = {
        "machine_nodes": result.machine_nodes,
        "jobs": metrics.n_jobs,
        "left_out": sum(workload.dropped.values()),
        "large_jobs": int((workload.n_nodes > LARGE_NODES).sum()),
        "overran_jobs": metrics.n_overran,
        "makespan_s": metrics.makespan_s,
        "mean_run_s": float(np.mean(run_s(result))),
        "mean_wait_s": metrics.mean_wait_s,
        "mean_turnaround_s": metrics.mean_turnaround_s,
        "mean_turnaround_large_s": metrics.mean_turnaround_large_s,
        "mean_bounded_slowdown": metrics.mean_bounded_slowdown,
        "loss_of_capacity": metrics.loss_of_capacity,
        "utilisation": metrics.utilisation,
        "steady_utilisation": metrics.steady_utilisation,
        # the steady state by other definitions, to show how much the definition matters
        "steady_allocated": _mean_between(time_s, share, result.first_blocked_s, last_s),
        "to_last_start": _mean_between(*utilisation_steps(result, requested=True), first_s, last_s),
        "notes": "; ".join(workload.notes),
    }
    return [
        {
            name: None if isinstance(value, float) and not np.isfinite(value) else value
            for name, value in row.items()
        }
    ]


def _mean_between(
    time_s: NDArray[np.float64], share: NDArray[np.float64], from_s: float, to_s: float
) -> float:
    """Return the mean of a step function over a window; nan if the window is empty."""
    if not to_s > from_s:
        return float("nan")
    ends = np.append(time_s[1:], time_s[-1])
    span = np.maximum(np.minimum(ends, to_s) - np.maximum(time_s, from_s), 0.0)
    return float(np.sum(span * share) / (to_s - from_s))


def ranges(result: QueueResult) -> Rows:
    """Count how often the utilisation was in each range, a row for each way of counting.

    The first counts requested nodes after each start and each end, as the Jigsaw paper has it
    (Table 2 and section 6.1).
    """
    time_s, busy = result.busy_nodes(requested=True)
    _, allocated = result.busy_nodes()
    _, share = sampled_utilisation(result)
    counted = {
        EACH: busy,
        "allocated nodes": allocated,
        "once an instant": busy[np.append(time_s[1:] > time_s[:-1], True)],
        TO_LAST_START: busy[time_s <= result.start_s.max()],
        "every minute": np.rint(share * result.machine_nodes).astype(np.int64),
    }
    return [
        {"counting": name, **range_counts(nodes, result.machine_nodes)}
        for name, nodes in counted.items()
    ]


def minutes(result: QueueResult) -> Rows:
    """Return quantiles of the requested nodes' share by minute (Pollard et al., equation (2))."""
    _, share = sampled_utilisation(result)
    return [{name: float(np.quantile(share, q)) for name, q in QUANTILES}]


def timing(result: QueueResult) -> Rows:
    """Return the wall-clock time of the policy per job, and of the simulation."""
    metrics = summarise(result)
    return [
        {
            "mean_scheduling_s": metrics.mean_scheduling_s,
            "max_scheduling_s": metrics.max_scheduling_s,
            "seconds": result.wall_s,
        }
    ]


OBSERVABLES = (
    Observable("runs", "one row of metrics: waits, makespan, utilisations, jobs left out", runs),
    Observable(
        "ranges",
        "starts and ends by range of utilisation, counted in five ways (Jigsaw, Table 2)",
        ranges,
    ),
    Observable("minutes", "quantiles of the utilisation every minute", minutes),
    Observable("timing", "wall-clock time of the policy and of the simulation", timing),
)
