"""Checks of an order's keys and scores: one number for each job."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netsim.errors import NetcosimError
from netsim.plugin_entries import label_of
from queuesim.ordering.orders import FloatArray, IndexArray, Order
from workloads.job import Workload


def with_checks(order: Order) -> Order:
    """Return the order, whose keys and scores must be finite numbers, one a job."""
    key, score = order.static_key, order.score
    if key is None and score is None and order.live is None:
        raise NetcosimError(f"{label_of(order)} has neither static_key nor score")

    def keys(workload: Workload) -> FloatArray:
        assert key is not None
        return _numbers(order, key(workload), len(workload))

    def scores(workload: Workload, jobs: IndexArray, now_s: float) -> FloatArray:
        assert score is not None
        return _numbers(order, score(workload, jobs, now_s), len(jobs))

    return replace(order, static_key=key and keys, score=score and scores)


def _numbers(order: Order, values: object, n: int) -> FloatArray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n,) or np.isnan(found).any():
        raise NetcosimError(f"{label_of(order)} must give one number for each of {n:,} jobs")
    return found
