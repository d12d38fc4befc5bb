"""The flow model in its plainest form: dense matrices, everything solved again at each event.

Slow and easy to read, as `experiments.validation.reference.packets` is for packets; the compiled
solver is compared with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
"""(n_links, n_flows): what a link carries for each unit of a flow's rate."""


def dense(
    ptr: NDArray[np.int64],
    links: NDArray[np.int32],
    n_links: int,
    weights: NDArray[np.float64] | None = None,
) -> Matrix:
    """Return the matrix of paths (fields of a `FlowPaths`): 1, or the flow's part on the link."""
    carried = np.zeros((n_links, len(ptr) - 1))
    for f in range(len(ptr) - 1):
        for i in range(ptr[f], ptr[f + 1]):
            carried[links[i], f] += 1.0 if weights is None else weights[i]
    return carried


def reference_rates(
    carried: Matrix, capacity_Bps: NDArray[np.float64], flow_weight: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Return max-min fair rates: all rise by weight until a link is full, whose flows then stop.

    ``carried`` is that of `dense`. The rate is in bytes per second; inf for a flow without links.
    """
    weight = np.broadcast_to(np.asarray(flow_weight, dtype=np.float64), carried.shape[1])
    rate = np.zeros(carried.shape[1])
    rising = carried.sum(0) > 0
    rate[~rising] = np.inf
    while rising.any():
        stopped = ~rising & np.isfinite(rate)
        used = carried[:, stopped] @ rate[stopped]
        slope = carried[:, rising] @ weight[rising]
        level = np.full(len(capacity_Bps), np.inf)
        level[slope > 0] = (capacity_Bps - used)[slope > 0] / slope[slope > 0]
        full = level <= level.min() * (1 + 1e-12)
        stop = rising & (carried[full].sum(0) > 0)
        rate[stop] = level.min() * weight[stop]
        rising &= ~stop
    return rate


def reference_rates_by_priority(
    carried: Matrix,
    capacity_Bps: NDArray[np.float64],
    flow_weight: NDArray[np.float64],
    flow_priority: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the rates, (n_flows,): highest priority first, then the next on what is left."""
    rate, left = np.zeros(carried.shape[1]), capacity_Bps.astype(float)
    for priority in sorted(set(flow_priority.tolist()), reverse=True):
        mine = flow_priority == priority
        # a link of which 1e-9 is left is full
        left[left < 1e-9 * capacity_Bps] = 0.0
        rate[mine] = reference_rates(carried[:, mine], left, flow_weight[mine])
        moving = mine & np.isfinite(rate)
        left -= carried[:, moving] @ rate[moving]
    return rate


def reference_finish(
    carried: Matrix,
    capacity_Bps: NDArray[np.float64],
    message_bytes: NDArray[np.float64],
    start_s: NDArray[np.float64],
    flow_weight: ArrayLike = 1.0,
    flow_priority: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Return when each flow ends, (n_flows,), with all rates recomputed at each event."""
    weight = np.broadcast_to(np.asarray(flow_weight, dtype=np.float64), carried.shape[1])
    priority = np.broadcast_to(np.asarray(flow_priority, dtype=np.float64), carried.shape[1])
    finish, left, now = start_s.astype(float), message_bytes.astype(float), 0.0
    todo = (carried.sum(0) > 0) & (message_bytes > 0)
    while todo.any():
        active = np.flatnonzero(todo & (start_s <= now))
        later = start_s[todo & (start_s > now)]
        until = later.min() if len(later) else np.inf
        if len(active) == 0:
            now = until
            continue
        rate = reference_rates_by_priority(
            carried[:, active], capacity_Bps, weight[active], priority[active]
        )
        moving = rate > 0
        then = min(now + (left[active][moving] / rate[moving]).min(), until)
        left[active] -= rate * (then - now)
        now = then
        done = active[left[active] <= 1e-9 * message_bytes[active]]
        finish[done], todo[done] = now, False
    return finish
