"""One point of the fat-tree papers: one log through the queue under one policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.registry import make_policy
from experiments.papers.fattree.logs import read_log
from experiments.papers.fattree.variants import base_policy
from experiments.papers.paper import Point
from experiments.points import point_rng
from netsim.topologies.fattree import FatTreeShape, fat_tree
from queuesim.assumed import Assumed
from queuesim.bandwidth import bandwidth_by_class
from queuesim.capacity import (
    instantaneous_table,
    sampled_utilisation,
    utilisation_steps,
)
from queuesim.metrics import LARGE_NODES, summarise, turnaround_s, wait_s
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.job import Workload

QUEUE = "experiments.papers.fattree.point:run_queue"
DESCRIBE = "experiments.papers.fattree.point:describe_log"

LINK_BPS = 5 * 10**9
"""Jigsaw, 5.4.2: peak bandwidth of a link."""
NEEDS_BPS = (0.5e9, 1.0e9, 1.5e9, 2.0e9)
"""Four classes from 0.5 to 2 GB/s; even steps are our reading."""
WINDOW = 50
"""Jigsaw, 5.4.3: how many jobs behind the head backfilling looks at."""
SHARED_DRAWS = ("policy", "scenario", "window", "backfill", "hops", "machine", "walltimes")
"""What must not change the draws of a point."""
BIN_EDGES = (1, 2, 5, 19, 65, 129, 257, 325)
"""First sizes of the bins in which waits and hops are told; the last is open."""
BIN_NAMES = ("1", "2-4", "5-18", "19-64", "65-128", "129-256", "257-324", ">324")
QUANTILES = (("least", 0.0), ("q25", 0.25), ("median", 0.5), ("q75", 0.75), ("most", 1.0))

Rows = list[dict[str, object]]


def queue_point(
    log: Mapping[str, object],
    machine: Mapping[str, int],
    policy: str,
    *,
    scenario: str = "none",
    window: int = WINDOW,
    backfill: str = "easy",
    cut_at_walltime: bool = False,
    hops: bool = False,
    walltimes: str = "logged",
    seed: int = 1,
) -> Point:
    """A point's config.

    Parameters
    ----------
    log : mapping
        From `experiments.papers.fattree.logs.PaperLog.config`.
    machine : mapping
        Parameters of a fat-tree.
    policy, scenario, window, backfill
        See `alloc.registry`, `queuesim.assumed`, `queuesim.queue`.
    cut_at_walltime : bool
        Whether a job ends at its requested time (Pollard et al. in Flux).
    hops : bool
        Whether to keep placements and tell average pairwise hops.
    walltimes : {"logged", "exact"}
        Exact: the scheduler knows the run times.
    seed : int
    """
    # Left out where it is the log's own: the point's key stays what it was.
    known = {} if walltimes == "logged" else {"walltimes": walltimes}
    return {
        "experiment": "fattree-queue",
        "log": dict(log),
        "machine": dict(machine),
        "policy": policy,
        "scenario": scenario,
        "window": window,
        "backfill": backfill,
        "cut_at_walltime": cut_at_walltime,
        "hops": hops,
        **known,
        "seed": seed,
    }


def describe_log(config: Mapping[str, Any]) -> dict[str, Rows]:
    """One row on a log: jobs, largest job, run times (Jigsaw, Table 1)."""
    workload = read_log(config["log"], 10**6, config["seed"])
    run_s = workload.run_time_s
    row = {
        "log": config["log"]["name"],
        "jobs": len(workload),
        "max_nodes": int(workload.n_nodes.max()),
        "min_run_s": float(run_s.min()),
        "max_run_s": float(run_s.max()),
        "mean_nodes": float(workload.n_nodes.mean()),
        "single_node_jobs": int((workload.n_nodes == 1).sum()),
        "notes": "; ".join(workload.notes),
    }
    return {"logs": [row]}


def bandwidth_needs(workload: Workload, rng: np.random.Generator) -> NDArray[np.float64]:
    """(n,) bytes a second that each job needs of each of its links: one of four classes."""
    return bandwidth_by_class(workload, NEEDS_BPS, rng)


def simulate(config: Mapping[str, Any], *, keep_placements: bool = False) -> QueueResult:
    """The schedule of a point."""
    topology = fat_tree(**config["machine"], bandwidth_Bps=LINK_BPS)
    workload = read_log(config["log"], topology.n_nodes, config["seed"])
    if config["cut_at_walltime"]:
        run_s = np.minimum(workload.run_time_s, workload.requested_s)
        workload = replace(workload, run_time_s=run_s)

    if config.get("walltimes") == "exact":
        workload = replace(workload, requested_s=workload.run_time_s)

    def rng(purpose: str) -> np.random.Generator:
        return point_rng(config, purpose, SHARED_DRAWS)

    shares = config["policy"] == "lc-s"
    return simulate_queue(
        workload,
        make_policy(topology, config["policy"], rng("placement")),
        backfill=config["backfill"],
        window=config["window"],
        # Jigsaw speeds LC+S up like the isolating ones (its interference is "negligible").
        run_time_model=Assumed(config["scenario"], ("lc-s",) if shares else None),
        rng=rng("scenario"),
        bandwidth_Bps=bandwidth_needs(workload, rng("bandwidth")) if shares else None,
        keep_placements=keep_placements,
    )


def run_queue(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Simulate a point.

    Returns
    -------
    dict of str to list of dict
        "runs": one row of metrics; "ranges": how often the utilisation lay in each range
        of Jigsaw's Table 2; "bins": waits (and hops) by job size; "minutes": quantiles of
        the utilisation every minute; "timing": wall-clock time in the policy.
    """
    result = simulate(config, keep_placements=config["hops"])
    shape = fat_tree(**config["machine"]).shape if config["hops"] else None
    workload, metrics = result.workload, summarise(result)
    labels = {
        "log": config["log"]["name"],
        "machine_nodes": result.machine_nodes,
        "policy": base_policy(config["policy"]),
        "reading": config["policy"],
        "scenario": config["scenario"],
    }
    run = {
        **labels,
        "window": config["window"],
        "backfill": config["backfill"],
        "walltimes": config.get("walltimes", "logged"),
        "jobs": metrics.n_jobs,
        "left_out": sum(workload.dropped.values()),
        "makespan_s": metrics.makespan_s,
        "mean_wait_s": metrics.mean_wait_s,
        "mean_turnaround_s": metrics.mean_turnaround_s,
        "mean_turnaround_large_s": _finite(metrics.mean_turnaround_large_s),
        "large_jobs": int((workload.n_nodes > LARGE_NODES).sum()),
        "utilisation": metrics.utilisation,
        "steady_utilisation": _finite(metrics.steady_utilisation),
        **_other_utilisations(result),
        "notes": "; ".join(workload.notes),
    }
    ranges: dict[str, object] = {**labels, **instantaneous_table(result)}
    timing = {
        **labels,
        "mean_scheduling_s": metrics.mean_scheduling_s,
        "max_scheduling_s": metrics.max_scheduling_s,
    }
    return {
        "runs": [run],
        "ranges": [ranges],
        "bins": [{**labels, **row} for row in _bins(result, shape)],
        "minutes": [{**labels, **_minutes(result)}],
        "timing": [timing],
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _other_utilisations(result: QueueResult) -> dict[str, object]:
    """The steady state by other definitions, to see what a definition is worth."""
    time, share = utilisation_steps(result)
    first, last = result.first_blocked_s, float(result.start_s.max())
    begin = float(result.start_s.min())
    return {
        "steady_allocated": _mean_between(time, share, first, last),
        "to_last_start": _mean_between(*utilisation_steps(result, requested=True), begin, last),
    }


def _mean_between(
    time_s: NDArray[np.float64], share: NDArray[np.float64], from_s: float, to_s: float
) -> float | None:
    """Mean of a step function over a window; None if the window is empty."""
    if not to_s > from_s:
        return None
    ends = np.append(time_s[1:], time_s[-1])
    span = np.maximum(np.minimum(ends, to_s) - np.maximum(time_s, from_s), 0.0)
    return float(np.sum(span * share) / (to_s - from_s))


def _minutes(result: QueueResult) -> dict[str, float]:
    _, share = sampled_utilisation(result, requested=True)
    return {name: float(np.quantile(share, q)) for name, q in QUANTILES}


def _bins(result: QueueResult, shape: FatTreeShape | None) -> Rows:
    """Waits by job size; hops too where placements were kept."""
    sizes = result.workload.n_nodes
    which = np.searchsorted(BIN_EDGES, sizes, side="right") - 1
    waits, turnarounds = wait_s(result), turnaround_s(result)
    kept, apart = result.placements, None
    if kept is not None and shape is not None:
        apart = average_pairwise_hops(kept.nodes, kept.node_ptr, shape)
    rows: Rows = []
    for i, name in enumerate(BIN_NAMES):
        mine = which == i
        if not mine.any():
            continue
        row: dict[str, object] = {
            "bin": name,
            "jobs": int(mine.sum()),
            "mean_wait_s": float(waits[mine].mean()),
            "median_wait_s": float(np.median(waits[mine])),
            "mean_turnaround_s": float(turnarounds[mine].mean()),
        }
        if apart is not None and shape is not None:
            row |= {f"hops_{q}": float(np.quantile(apart[mine], p)) for q, p in QUANTILES}
            least = {int(n): least_hops(int(n), shape) for n in np.unique(sizes[mine])}
            ideal = np.array([least[int(n)] for n in sizes[mine]])
            row["hops_ideal"] = float(np.median(ideal))
            row["hops_over_ideal_most"] = float((apart[mine] - ideal).max())
        rows.append(row)
    return rows


def average_pairwise_hops(
    nodes: NDArray[np.int32], node_ptr: NDArray[np.int64], shape: FatTreeShape
) -> NDArray[np.float64]:
    """(n,) mean switch-to-switch links between ordered pairs of a job's nodes.

    Pollard et al., equation (1): 0 on one leaf, 2 in a pod, 4 over pods; links between
    nodes and leaves do not count. 0 for a job of one node.
    """
    found = np.zeros(len(node_ptr) - 1)
    for job in range(len(found)):
        mine = nodes[node_ptr[job] : node_ptr[job + 1]]
        n = len(mine)
        if n > 1:
            # Ordered pairs on one leaf save 2 links, those in one pod 2 more.
            near = sum(
                int(np.sum(np.unique(part, return_counts=True)[1] ** 2))
                for part in (shape.leaf_of(mine), shape.pod_of(mine))
            )
            found[job] = (4 * n * n - 2 * near) / (n * (n - 1))
    return found


def least_hops(n_nodes: int, shape: FatTreeShape) -> float:
    """Average pairwise hops of the most compact placement: whole pods, whole leaves, a rest."""
    nodes = np.arange(n_nodes, dtype=np.int32)
    return float(average_pairwise_hops(nodes, np.array([0, n_nodes]), shape)[0])
