"""Figure ``batch-means``: intervals by batches of a log's jobs, beside logs of other seeds.

Every generated log runs twice: with its run times, and with shorter ones in place of a better
policy. Its means, and their ratios, scatter over seeds. The batches of one log are to show how much
(`netcosim.runs.queue_batches`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import netcosim as nc
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import cells
from experiments.kit.papers import Analysis, Options, Point
from netcosim.runs.queue_batches import (
    BATCHES,
    PARTS,
    batch_metrics,
    is_long,
    lag_one,
    part_means,
)
from netcosim.runs.queue_intervals import METRICS, PER_JOB, FloatArray, queue_metrics
from netcosim.runs.store import Rows
from queuesim.result import QueueResult
from queuesim.statistics import t_quantile
from workloads.gpu_clusters import gpu_cluster_workload
from workloads.job import Workload

FUNCTION = "experiments.calibration.batch_means:run_point"
STUDY = read_data("calibration")["batch_means"]
CASE = ("workload", "load", "jobs")
COMPARED = ("logged", "ratio")
"""Of each mean: with run times as logged, and the shorter run's over it."""


def points(options: Options) -> list[Point]:
    """Return a point a log."""
    return [
        {**dict(zip(CASE, case, strict=True)), "seed": 1000 * options.seed + number}
        for *case, seeds in STUDY[options.scale]
        for number in range(seeds)
    ]


def generated(point: Mapping[str, Any], n_nodes: int) -> Workload:
    """Return the jobs of a point: "synthetic", or those of a GPU cluster."""
    rng = np.random.default_rng(point["seed"])
    name, jobs = point["workload"], point["jobs"]
    arrivals = {"load": point["load"], "machine_nodes": n_nodes}
    if name == "synthetic":
        return nc.laas_workload(jobs, STUDY["mean_nodes"], rng, **arrivals)
    return gpu_cluster_workload(jobs, name, rng, **arrivals)


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a row a metric of both runs of a log: table "means"."""
    machine = dict(STUDY["machine"])
    topology = nc.make_topology(machine.pop("family"), machine)
    jobs = generated(point, topology.n_nodes)
    runs = []
    for share in (1.0, STUDY["shorter"]):
        policy = nc.make_policy(topology, STUDY["policy"], np.random.default_rng(0))
        timed = replace(jobs, run_time_s=share * jobs.run_time_s)
        runs.append(nc.simulate_queue(timed, policy, rng=np.random.default_rng(0)))
    return {"means": [{**point, **row} for row in rows_of(*runs)]}


def rows_of(logged: QueueResult, shorter: QueueResult) -> list[dict[str, object]]:
    """Return a row a metric: its value in both runs, its errors by batches, its correlations.

    Errors are standard errors of the logarithm. Correlations are the larger of both runs' lag-1
    correlations. ``passes`` is whether both runs are long beside them, in all metrics.
    """
    runs = (logged, shorter)
    series = {metric: [of_jobs(run) for run in runs] for metric, of_jobs in PER_JOB.items()}
    passes = all(is_long(values) for both in series.values() for values in both)
    values, batches = ([of(run) for run in runs] for of in (queue_metrics, batch_metrics))
    rows = []
    for metric in METRICS:
        first, second = (np.log(one[metric]) for one in batches)
        row: dict[str, object] = {"metric": metric, "passes": passes}
        row |= {"logged": values[0][metric], "ratio": values[1][metric] / values[0][metric]}
        row |= {"logged_error": _deviation(first), "ratio_error": _deviation(second - first)}
        for name, n in (("of_parts", PARTS), ("of_batches", BATCHES)):
            lags = [lag_one(part_means(one, n)) for one in series.get(metric, ())]
            row[name] = max(lags, default=None)
        rows.append(row)
    return rows


def _deviation(values: FloatArray) -> float:
    return float(values.std(ddof=1))


def contained(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, float]:
    """Return which logs' 95 % intervals contain the mean of the others, and the errors' size.

    Values are logarithms, a log each. The mean of the others has an error of its own, which widens
    the interval. The size is that of the errors by batches over the deviation of the values.
    """
    n = len(values)
    off = values - (values.sum() - values) / (n - 1)
    half = t_quantile(0.95, BATCHES - 1) * errors * (1 + 1 / (n - 1)) ** 0.5
    size = float((errors**2).mean() ** 0.5) / _deviation(values)
    return (np.abs(off) <= half).astype(float), size


def summary(means: pd.DataFrame) -> pd.DataFrame:
    """Return a row a case: how many logs pass, and how often their intervals hold.

    ``contain`` is of all logs; ``contain_batched`` of those that another log decides for, over all
    pairs; ``contain_own`` of those that pass themselves.
    """
    rows = []
    for case, part in cells(means, *CASE):
        by_log = part.pivot(index="seed", columns="metric")
        passes = by_log["passes"]["wait"].to_numpy(dtype=float)
        largest = by_log["of_parts"].max(axis=1)
        within, sizes = zip(
            *(_of_case(by_log, column, metric) for metric in PER_JOB for column in COMPARED),
            strict=True,
        )
        contain = np.mean(within, axis=0)
        row = {**case, "logs": len(by_log), "pass": int(passes.sum())}
        row |= {"of_parts_low": largest.min(), "of_parts_high": largest.max()}
        row |= {"error_low": min(sizes), "error_high": max(sizes)}
        row["makespan_error"] = _of_case(by_log, "logged", "makespan")[1]
        row["contain"] = contain.mean()
        for name, weights in (("batched", passes.sum() - passes), ("own", passes)):
            row[f"contain_{name}"] = np.average(contain, weights=weights) if any(passes) else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def _of_case(by_log: pd.DataFrame, column: str, metric: str) -> tuple[FloatArray, float]:
    errors = by_log[f"{column}_error"][metric].to_numpy()
    return contained(np.log(by_log[column][metric].to_numpy()), errors)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return how well intervals by batches hold, case by case."""
    means = frames["means"]
    return Analysis(claims_frame([]), {"batches": summary(means), "means": means})
