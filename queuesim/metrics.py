"""Metrics of jobs: waits, turnarounds, slowdowns, and one summary."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

from netsim.kinds import need_kinds
from queuesim.capacity import loss_of_capacity, mean_utilisation, steady_state_utilisation
from queuesim.result import IntArray, QueueResult, TimeSpent

FloatArray = NDArray[np.float64]

LARGE_NODES = 100
"""Jigsaw's "large jobs" have more nodes than this (HPDC'21, section 6.2)."""

SLOWDOWN_BOUND_S = 10.0
"""Shorter run times count as this in the bounded slowdown (Tang et al., section on metrics)."""


def wait_s(result: QueueResult) -> FloatArray:
    """Return each job's waiting time, from submission to start and between its runs, (n,)."""
    before_last_s = result.start_s - result.workload.submit_s
    if result.spent is not None:
        before_last_s = before_last_s - result.spent.earlier_s
    return np.maximum(before_last_s, 0.0)


def run_s(result: QueueResult) -> FloatArray:
    """Return the time that each job held its nodes, in all its runs, (n,)."""
    last_s = np.asarray(result.end_s - result.start_s, dtype=np.float64)
    return last_s if result.spent is None else last_s + result.spent.earlier_s


def turnaround_s(result: QueueResult) -> FloatArray:
    """Return each job's time from submission to end, (n,)."""
    return np.asarray(result.end_s - result.workload.submit_s, dtype=np.float64)


def bounded_slowdown(result: QueueResult, bound_s: float = SLOWDOWN_BOUND_S) -> FloatArray:
    """Return turnaround over run time, >= 1, with run times raised to the bound, (n,)."""
    run = np.maximum(run_s(result), bound_s)
    return np.maximum(turnaround_s(result) / run, 1.0)


def makespan_s(result: QueueResult) -> float:
    """Return the time from the first submission to the last end (Pollard et al., section IV-C)."""
    return float(result.end_s.max() - result.workload.submit_s.min())


def interruption_totals(spent: TimeSpent, n_nodes: IntArray) -> dict[str, float]:
    """Return the interruptions of all jobs, and what their node time was spent on."""
    nodes = n_nodes.astype(np.float64)
    names = ("useful", "lost", "checkpoint", "restart", "contention")
    # the rounding of floats is no contention
    node_s = {f"{n}_node_s": round(float(getattr(spent, f"{n}_s") @ nodes), 3) for n in names}
    held = sum(node_s.values())
    return {
        "preemptions": int(spent.preempted.sum()),
        "failures": int(spent.failed.sum()),
        "interrupted_jobs": int(np.count_nonzero(spent.preempted + spent.failed)),
        **node_s,
        "effective_training_time": node_s["useful_node_s"] / held if held else nan,
    }


@dataclass(frozen=True)
class QueueSummary:
    """The papers' numbers for one schedule; nan where there is nothing to average."""

    n_jobs: int
    n_overran: int
    """Jobs that had work left at their walltime (cut there, or kept)."""
    makespan_s: float = nan
    mean_wait_s: float = nan
    mean_turnaround_s: float = nan
    mean_turnaround_large_s: float = nan
    """Over jobs of more than 100 nodes."""
    mean_bounded_slowdown: float = nan
    utilisation: float = nan
    """Requested node-seconds over the machine's, from the first start to the last end."""
    steady_utilisation: float = nan
    """See `queuesim.capacity.steady_state_utilisation`."""
    loss_of_capacity: float = nan
    mean_scheduling_s: float = nan
    max_scheduling_s: float = nan
    """mean_scheduling_s, max_scheduling_s: Wall-clock time in the policy, a job."""


def summarise(result: QueueResult, *, lost: bool = True) -> QueueSummary:
    """Return all of a schedule's metrics, over the jobs that ran.

    Parameters
    ----------
    result : QueueResult
        Result of `simulate_queue`.
    lost : bool
        Compute ``loss_of_capacity``, which takes longer than all else; nan without.

    Returns
    -------
    QueueSummary

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> jobs = nc.laas_workload(3, 2, rng, run_time_range_s=(60, 60))
    >>> policy = nc.make_policy(nc.make_topology("fattree", {"radix": 4}), "baseline", rng)
    >>> summary = nc.summarise(nc.simulate_queue(jobs, policy, rng=rng))
    >>> jobs.n_nodes.tolist(), summary.makespan_s, summary.mean_wait_s
    ([2, 2, 10], 60.0, 0.0)
    """
    need_kinds("summarise", {"result": (result, QueueResult)})
    result = result.of_those_that_ran
    if len(result) == 0:
        return QueueSummary(n_jobs=0, n_overran=0)
    turnaround = turnaround_s(result)
    large = result.workload.n_nodes > LARGE_NODES
    return QueueSummary(
        n_jobs=len(result),
        n_overran=int(result.overran.sum()),
        makespan_s=makespan_s(result),
        mean_wait_s=float(wait_s(result).mean()),
        mean_turnaround_s=float(turnaround.mean()),
        mean_turnaround_large_s=float(turnaround[large].mean()) if large.any() else nan,
        mean_bounded_slowdown=float(bounded_slowdown(result).mean()),
        utilisation=mean_utilisation(result),
        steady_utilisation=steady_state_utilisation(result),
        loss_of_capacity=loss_of_capacity(result) if lost else nan,
        mean_scheduling_s=float(result.scheduling_s.mean()),
        max_scheduling_s=float(result.scheduling_s.max()),
    )
