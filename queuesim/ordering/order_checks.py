"""Checks of an order's keys and scores: one number for each job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from netsim.errors import NetcosimError
from queuesim.ordering.orders import FloatArray, IndexArray, Order
from workloads.job import Workload


def with_checks(order: Order) -> Order:
    """Return the order, whose keys and scores are refused if they are no finite numbers, one a job.

    Raises
    ------
    NetcosimError
        Neither a key nor a score, nor live ones; and out of either, what does not fit.
    """
    if order.static_key is None and order.score is None and order.live is None:
        raise NetcosimError(f"queue order {order.name!r} has neither static_key nor score")
    return replace(order, static_key=_keyed(order), score=_scored(order))


def _keyed(order: Order) -> Callable[[Workload], FloatArray] | None:
    key = order.static_key

    def keys(workload: Workload) -> FloatArray:
        assert key is not None
        return _numbers(order, key(workload), len(workload))

    return None if key is None else keys


def _scored(order: Order) -> Callable[[Workload, IndexArray, float], FloatArray] | None:
    score = order.score

    def scores(workload: Workload, jobs: IndexArray, now_s: float) -> FloatArray:
        assert score is not None
        return _numbers(order, score(workload, jobs, now_s), len(jobs))

    return None if score is None else scores


def _numbers(order: Order, values: object, n: int) -> FloatArray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n,) or np.isnan(found).any():
        raise NetcosimError(
            f"queue order {order.name!r} must give one number for each of {n:,} jobs"
        )
    return found
