"""The use the paper asks for: a queue that knows which jobs are bound by contention."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alloc.registry import make_policy
from alloc.torus.menus import MIRA
from experiments.inputs import checked_path
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.paper import Analysis
from experiments.papers.partitions.point import Point, Rows
from netsim.topologies.registry import preset
from queuesim.metrics import summarise, turnaround_s, wait_s
from queuesim.partition_bisection import PartitionBisection, logged_geometry
from queuesim.queue import simulate_queue
from queuesim.statistics import bootstrap_ratio
from workloads.job import Workload
from workloads.registry import read_known_log
from workloads.transform import from_zero, scale_sizes, select

MODULE = "experiments.papers.partitions.queue"
POLICIES = ("menu", "menu-proposed", "cuboid-best", "contention-aware")
BASELINE = "menu"
MIDPLANE_NODES = 512
WINDOW = 50
"""How many jobs behind the head backfilling looks at; docs/partitions.md has results with it."""
MONTH_S = 30.5 * 86400
METRICS = ("mean_turnaround_s", "bound_turnaround_s", "mean_wait_s", "bound_run_s")


def mira_workload(log: str, month: int, seed: int, made_jobs: int = 1500) -> Workload:
    """A month of Mira's log in midplanes, or a made one where no log is given.

    Sizes are rounded up to Mira's menu, so that all policies give a job as many
    midplanes. The made one: sizes as often as they halve, run times
    log-normal, arrivals for 90 % of the machine.
    """
    if log:
        jobs = read_known_log("mira", log)
        begin = float(jobs.submit_s.min()) + month * MONTH_S
        jobs = select(jobs, (jobs.submit_s >= begin) & (jobs.submit_s < begin + MONTH_S))
        jobs = from_zero(scale_sizes(jobs, 1 / MIDPLANE_NODES))
    else:
        jobs = _made(made_jobs, np.random.default_rng([seed, month]))
    sizes = np.array([prod(logged_geometry(n)) for n in range(1, prod(MIRA) + 1)], dtype=np.int32)
    columns = {c: getattr(jobs, c) for c in ("name", "job_id", "submit_s", "run_time_s")}
    return Workload(
        **columns,
        n_nodes=sizes[np.minimum(jobs.n_nodes, prod(MIRA)) - 1],
        requested_s=jobs.requested_s,
        user=jobs.user,
        project=jobs.project,
        wait_s=jobs.wait_s,
    )


def _made(n: int, rng: np.random.Generator) -> Workload:
    sizes = np.array([1, 2, 4, 8, 16, 24, 32, 48], dtype=np.int32)
    weights = 2.0 ** -np.arange(len(sizes))
    n_nodes = rng.choice(sizes, n, p=weights / weights.sum())
    run = np.clip(rng.lognormal(8.5, 1.0, n), 60, 86400)
    gap = float((n_nodes * run).mean()) / (0.9 * prod(MIRA))
    nobody = np.full(n, -1, dtype=np.int32)
    return Workload(
        name="made",
        job_id=np.arange(n, dtype=np.int64),
        submit_s=np.cumsum(rng.exponential(gap, n)),
        run_time_s=run,
        n_nodes=n_nodes,
        requested_s=run * rng.uniform(1.0, 3.0, n),
        user=nobody,
        project=nobody,
        wait_s=np.full(n, np.nan),
    )


def queue(config: Point) -> dict[str, Rows]:
    """Table "queue": a month of jobs on Mira under one policy.

    ``config``: policy, log ("" for a made workload), month, bound_jobs, communication, order,
    seed, made_jobs. Walltimes stay as requested. Wires outside a partition's midplanes are free.
    """
    seed, month = _int(config, "seed"), _int(config, "month")
    log = config["log"]
    path = checked_path(log) if isinstance(log, Mapping) else ""
    workload = mira_workload(path, month, seed, _int(config, "made_jobs"))
    model = PartitionBisection(
        bound_jobs=_float(config, "bound_jobs"),
        communication=_float(config, "communication"),
    )
    bound = model.bound(workload, np.random.default_rng(seed))
    policy = make_policy(
        preset("mira-midplanes"), str(config["policy"]), np.random.default_rng(seed)
    )
    result = simulate_queue(
        workload,
        policy,
        order=str(config["order"]),
        window=WINDOW,
        run_time_model=model,
        rng=np.random.default_rng(seed),
        # The hint: a bound job asks for all it can get, another for nothing.
        bandwidth_Bps=np.where(bound, np.inf, 0.0),
    )
    summary = summarise(result)
    run = result.end_s - result.start_s
    waits, turnarounds = wait_s(result), turnaround_s(result)
    return {
        "queue": [
            {
                "policy": config["policy"],
                "month": month,
                "bound_jobs": config["bound_jobs"],
                "communication": config["communication"],
                "order": config["order"],
                "jobs": len(workload),
                "mean_wait_s": summary.mean_wait_s,
                "bound_wait_s": _mean(waits[bound]),
                "mean_turnaround_s": summary.mean_turnaround_s,
                "bound_turnaround_s": _mean(turnarounds[bound]),
                "bound_run_s": _mean(run[bound]),
                "mean_bounded_slowdown": summary.mean_bounded_slowdown,
                "utilisation": summary.utilisation,
                "loss_of_capacity": summary.loss_of_capacity,
            }
        ]
    }


def analyse_queue(queue: pd.DataFrame) -> Analysis:
    """Every policy against the static menu: means over the months, relative to it."""
    keys = ["order", "bound_jobs", "communication"]
    means = queue.groupby([*keys, "policy"], as_index=False)[
        [*METRICS, "bound_wait_s", "mean_bounded_slowdown", "utilisation", "loss_of_capacity"]
    ].mean()
    claims = []
    for cell, part in queue.groupby(keys):
        order, share, _ = cell
        # Nobody bound: geometry acts on packing alone.
        metrics = METRICS if share else ("mean_turnaround_s", "mean_wait_s")
        months = part.pivot(index="month", columns="policy", values=list(metrics))
        for policy in (p for p in POLICIES if p != BASELINE and (part["policy"] == p).any()):
            for metric in metrics:
                ours, base = months[metric][policy], months[metric][BASELINE]
                # Months are drawn together, so the interval is of the ratio of their means.
                found = bootstrap_ratio(ours, base, np.random.default_rng(0))
                claims.append(
                    Claim(
                        claim=f"{metric.removesuffix('_s')} against the static menu",
                        where="section 5, future work (no number)",
                        condition=f"{policy}, {order}, {share:.0%} bound",
                        ours=found.value,
                        low=found.low,
                        high=found.high,
                        holds=found.high < 1.0,
                        rule="whole interval over the months below 1",
                    )
                )
    return Analysis(claims_frame(claims), {"means": means, "months": queue})


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _int(config: Mapping[str, object], key: str) -> int:
    return int(cast("Any", config[key]))


def _float(config: Mapping[str, object], key: str) -> float:
    return float(cast("Any", config[key]))
