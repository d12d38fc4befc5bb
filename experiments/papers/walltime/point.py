"""One point of the walltime-aware allocation paper: a month, an order and a scheme."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.bluegene.cobalt import Cobalt, CobaltCombo, CobaltPaired, CobaltSimilar
from experiments.inputs import input_file
from experiments.papers.paper import Point
from experiments.papers.walltime.logs import Month, read_month
from experiments.points import point_rng
from queuesim.capacity import loss_of_capacity, lost_nodes, mean_utilisation
from queuesim.estimates import Actual, Adjusted, EstimateModel, Requested
from queuesim.metrics import bounded_slowdown, wait_s
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult

MODULE = "experiments.papers.walltime.point"
ORDERS = ("fcfs", "wfp")
SCHEMES = ("Base", "SL", "PF", "Combo", "AdjEst", "ActRun")
"""Table I."""
SHOWN = ("Base", "Combo")
"""Schemes whose distributions are kept (Figs. 10 to 13)."""
CLASS_EDGES = (512, 2048, 8192)
CLASSES = ("512", "1K/2K", "4K/8K", "16K/32K")
NEAR_ZERO_MIN = 1.0
"""What counts as a waiting time of nearly zero (the paper does not say)."""
LONG_MIN = 300.0
QUANTILES = np.linspace(0.0, 1.0, 101)
DAY_S = 86_400.0

_POLICY: dict[str, type[Cobalt]] = {"Base": Cobalt, "SL": CobaltSimilar, "PF": CobaltPaired}

Rows = list[dict[str, object]]


def month_point(case: str, file: str, month: str, order: str, scheme: str, seed: int) -> Point:
    """A point's config; ``file`` is the path of the log."""
    return {
        "experiment": "walltime",
        "case": case,
        "file": input_file(file),
        "month": month,
        "order": order,
        "scheme": scheme,
        "seed": seed,
    }


def estimates_of(scheme: str, month: Month) -> EstimateModel:
    """Walltimes that a scheme's placement is told; queue and backfilling use the request."""
    if scheme == "AdjEst":
        return Adjusted(history=month.history)
    return Actual() if scheme == "ActRun" else Requested()


def simulate(config: Mapping[str, Any]) -> QueueResult:
    """The schedule of a point."""
    month = read_month(config)
    scheme = config["scheme"]
    kind = _POLICY.get(scheme, CobaltCombo)
    rng = point_rng(config, "placement", ("order", "scheme"))
    return simulate_queue(
        month.jobs,
        kind(month.machine.topology(), rng, month.machine),
        order=config["order"],
        backfill="cobalt",
        window=None,
        rng=rng,
        estimates=estimates_of(scheme, month),
    )


def run_month(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Simulate a point.

    Returns
    -------
    dict of str to list of dict
        "runs": one row of metrics; "days": the same as sums by day, for bootstrap;
        "classes" and "quantiles": waits (minutes) and slowdowns by size class, for the
        schemes of Figs. 10 to 13; "timing": wall-clock seconds of the simulation.
    """
    began = perf_counter()
    result = simulate(config)
    seconds = perf_counter() - began
    labels = {name: config[name] for name in ("case", "month", "order", "scheme")}
    waits, slowdowns = wait_s(result) / 60.0, bounded_slowdown(result)
    run = {
        **labels,
        "jobs": len(result),
        "left_out": sum(result.workload.dropped.values()),
        "loss_of_capacity": loss_of_capacity(result),
        "wait_min": float(waits.mean()),
        "bounded_slowdown": float(slowdowns.mean()),
        "utilisation": mean_utilisation(result),
    }
    tables: dict[str, Rows] = {
        "runs": [run],
        "days": [{**labels, **row} for row in _days(result, waits, slowdowns)],
        "timing": [{**labels, "seconds": seconds}],
    }
    if config["scheme"] in SHOWN:
        classes, quantiles = _classes(result, waits, slowdowns)
        tables["classes"] = [{**labels, **row} for row in classes]
        tables["quantiles"] = [{**labels, **row} for row in quantiles]
    return tables


def _days(result: QueueResult, waits: NDArray[np.float64], slowdowns: NDArray[np.float64]) -> Rows:
    """Sums over the jobs submitted on a day, and the share of capacity lost on it."""
    times, lost = lost_nodes(result)
    n = int(times[-1] // DAY_S) + 1
    edges = np.arange(n + 1) * DAY_S
    area = np.concatenate([[0.0], np.cumsum(lost[:-1] * np.diff(times))])
    # Between events the area grows linearly, so it may be read off at midnight.
    share = np.diff(np.interp(edges, times, area)) / (
        result.machine_nodes * float(times[-1] - times[0])
    )
    day = (result.workload.submit_s // DAY_S).astype(np.int64)
    sums = [np.bincount(day, weights=w, minlength=n) for w in (np.ones(len(day)), waits, slowdowns)]
    return [
        {
            "day": k,
            "jobs": int(sums[0][k]),
            "wait_min": float(sums[1][k]),
            "bounded_slowdown": float(sums[2][k]),
            "loss_of_capacity": float(share[k]),
        }
        for k in range(n)
    ]


def _classes(
    result: QueueResult, waits: NDArray[np.float64], slowdowns: NDArray[np.float64]
) -> tuple[Rows, Rows]:
    which = np.searchsorted(CLASS_EDGES, result.workload.n_nodes)
    classes: Rows = []
    quantiles: Rows = []
    for i, name in enumerate(CLASSES):
        mine = which == i
        if not mine.any():
            continue
        classes.append(
            {
                "class": name,
                "jobs": int(mine.sum()),
                "mean_wait_min": float(waits[mine].mean()),
                "median_wait_min": float(np.median(waits[mine])),
                "near_zero": float((waits[mine] <= NEAR_ZERO_MIN).mean()),
                "within_300_min": float((waits[mine] <= LONG_MIN).mean()),
                "mean_slowdown": float(slowdowns[mine].mean()),
            }
        )
        for metric, values in (("wait_min", waits), ("bounded_slowdown", slowdowns)):
            found = np.quantile(values[mine], QUANTILES)
            quantiles += [
                {"class": name, "metric": metric, "share": float(q), "value": float(v)}
                for q, v in zip(QUANTILES, found, strict=True)
            ]
    return classes, quantiles
