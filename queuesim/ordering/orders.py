"""Orders of the waiting queue, and their scores.

A *static* order gives a job one key for life (smaller is first); a dynamic one scores
the waiting jobs anew at each moment (larger is first); a *live* one does so too and receives what
runs. Ties go to the earlier job.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.plugin_entries import label_of
from workloads.job import Workload

if TYPE_CHECKING:
    from queuesim.parameters import Partition

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


class LiveOrder(ABC):
    """Scores that depend on what has run."""

    @abstractmethod
    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        """Return the scores of the k job indices, (k,), larger first."""

    def started(self, job: int, now_s: float) -> None:
        """Note that a job runs."""
        return

    def ended(self, job: int, now_s: float) -> None:
        """Note that a job no longer runs."""
        return

    def changes_s(self, job: int, now_s: float) -> float:
        """Return when the score of a job changes next if it neither starts nor ends; inf: never."""
        return inf


@dataclass(frozen=True)
class OrderContext:
    """Values of a config that an order with parameters may need."""

    history: Callable[[], Workload | None] = lambda: None
    """The jobs that were over before the simulated ones, as far as they are known."""
    partitions: tuple[Partition, ...] = ()


@dataclass(frozen=True)
class Order:
    """An order of the queue; exactly one of the first three functions is given."""

    registered_in: ClassVar[str] = "queuesim.registry:ORDERS"

    name: str
    description: str
    static_key: Callable[[Workload], FloatArray] | None = None
    """``static_key(workload)`` -> (n,) float64, smaller first."""
    score: Callable[[Workload, IndexArray, float], FloatArray] | None = None
    """``score(workload, jobs, now_s)`` -> (k,) float64 for the k job indices, larger first."""
    live: Callable[[Workload], LiveOrder] | None = None
    """``live(workload)`` -> `LiveOrder`."""
    levels: Callable[[Workload], LiveOrder] | None = None
    """``levels(workload)`` -> `LiveOrder`: jobs may preempt running jobs of a smaller score
    (`queuesim.site.preemption`). None: the order is no reason to preempt."""
    needs_preemption: bool = False
    """Whether the order makes no sense without."""
    parameters: type | None = None
    """The dataclass that declares the keys of its table, ``[queue.NAME]`` (`netsim.parameters`)."""
    made: Callable[[Any, OrderContext], Order] | None = None
    """``made(parameters, context)`` -> the order with these, where it has some."""


def order_with(
    name: str,
    description: str,
    parameters: type,
    scores: Callable[[Workload, Any, OrderContext], LiveOrder],
    *,
    preempts: bool = False,
) -> Order:
    """Return an order with parameters, at their defaults; `Order.made` gives it others.

    ``preempts``: its scores are levels for preemption, without which it makes no sense.
    """

    def made(given: Any, context: OrderContext) -> Order:
        def live(workload: Workload) -> LiveOrder:
            return scores(workload, given, context)

        return Order(
            name,
            description,
            live=live,
            levels=live if preempts else None,
            needs_preemption=preempts,
            parameters=parameters,
            made=made,
        )

    return made(parameters(), OrderContext())


def _submitted(workload: Workload) -> FloatArray:
    return np.asarray(workload.submit_s, dtype=np.float64)


def _requested(workload: Workload) -> FloatArray:
    return np.asarray(workload.requested_s, dtype=np.float64)


def _nodes(workload: Workload) -> FloatArray:
    return np.asarray(workload.n_nodes, dtype=np.float64)


def _nodes_down(workload: Workload) -> FloatArray:
    return -_nodes(workload)


def first_by(order: Order, priority: FloatArray) -> Order:
    """Return an order by priority (one a job), larger first, then by the given order."""
    if order.static_key is not None:
        key = order.static_key

        def static_key(workload: Workload) -> FloatArray:
            return _rank(priority, -key(workload))

        return replace(order, static_key=static_key)

    def live(workload: Workload) -> LiveOrder:
        return _First(bound(order, workload), priority)

    return replace(order, score=None, live=live)


def bound(order: Order, workload: Workload) -> LiveOrder:
    """Return the scores of an order that is not static, for a workload."""
    if order.live is not None:
        return order.live(workload)
    assert order.score is not None
    return _Scores(order.score, workload)


class _Scores(LiveOrder):
    """Scores that depend on nothing that runs."""

    def __init__(
        self, score: Callable[[Workload, IndexArray, float], FloatArray], workload: Workload
    ) -> None:
        self._score = score
        self._workload = workload

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        return self._score(self._workload, jobs, now_s)


class _First(LiveOrder):
    """Others' scores within priorities."""

    def __init__(self, scores: LiveOrder, priority: FloatArray) -> None:
        self._scores = scores
        self._priority = priority
        self.started = scores.started  # type: ignore[method-assign]
        self.ended = scores.ended  # type: ignore[method-assign]

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        return -_rank(self._priority[jobs], self._scores.score(jobs, now_s))


def _rank(first: FloatArray, then: FloatArray) -> FloatArray:
    """Return ranks by one column, then by another, 0 the largest; equal ones share a rank."""
    pairs = np.stack([-first, -then], axis=1)
    rank = np.unique(pairs, axis=0, return_inverse=True)[1]
    return rank.reshape(-1).astype(np.float64)


def wfp_score(workload: Workload, jobs: IndexArray, now_s: float) -> FloatArray:
    """Return Cobalt's WFP: ``(wait / walltime)^3 * nodes`` (Tang et al., on job ordering)."""
    wait = np.maximum(now_s - workload.submit_s[jobs], 0.0)
    score = (wait / workload.requested_s[jobs]) ** 3 * workload.n_nodes[jobs]
    return np.asarray(score, dtype=np.float64)


def _logged_priority(workload: Workload) -> FloatArray:
    given = workload.details.priority
    if given is None:
        raise NetcosimError(f"{workload.name}: order 'priority': the log has no priorities")
    return np.where(np.isnan(given), inf, -given)


class FixedScores(LiveOrder):
    """Scores that do not change."""

    def __init__(self, scores: FloatArray) -> None:
        self._fixed = scores

    def score(self, jobs: IndexArray, now_s: float) -> FloatArray:
        return self._fixed[jobs]


FCFS = Order("fcfs", "first come, first served: by submit time", static_key=_submitted)
WFP = Order(
    "wfp", "Cobalt's WFP: (wait / requested walltime)^3 x nodes, largest first", score=wfp_score
)
SHORTEST = Order("shortest", "shortest requested walltime first", static_key=_requested)
SMALLEST = Order("smallest", "fewest nodes first", static_key=_nodes)
LARGEST = Order("largest", "most nodes first", static_key=_nodes_down)
PRIORITY = Order(
    "priority",
    "the log's own priorities, largest first; jobs without one last",
    static_key=_logged_priority,
    levels=lambda workload: FixedScores(-_logged_priority(workload)),
)


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
