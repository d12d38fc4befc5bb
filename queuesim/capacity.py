"""Use of the machine by a schedule: utilisation as defined by each paper, lost capacity."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from queuesim.result import LongArray, QueueResult

FloatArray = NDArray[np.float64]

UTILISATION_RANGES = (">=98", "95-97", "90-95", "80-90", "60-80", "<=60")
"""Columns of the Jigsaw paper's Table 2, in percent."""


def utilisation_steps(
    result: QueueResult, *, requested: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return utilisation in [0, 1] as a step function of time, by allocated or by requested nodes.

    Times ascend, each once; a value lasts from its time to the next.
    """
    time, busy = result.busy_nodes(requested=requested)
    if not len(time):
        return np.empty(0), np.empty(0)
    last = np.append(time[1:] > time[:-1], True)
    return time[last], busy[last] / result.machine_nodes


def sampled_utilisation(result: QueueResult) -> tuple[FloatArray, FloatArray]:
    """Sample utilisation by requested nodes every minute (Pollard et al., equation (2)).

    Times go from the first submission to before the last end.
    """
    steps, value = utilisation_steps(result, requested=True)
    if not len(steps):
        return np.empty(0), np.empty(0)
    time = np.arange(float(result.workload.submit_s.min()), float(steps[-1]), 60.0)
    index = np.searchsorted(steps, time, side="right") - 1
    return time, np.where(index >= 0, value[np.maximum(index, 0)], 0.0)


def _requested_in(result: QueueResult, from_s: float, to_s: float) -> float:
    """Return the share of the machine's node-seconds in a window that jobs had requested."""
    if result.spent is not None and result.spent.earlier_s.any():
        time_s, share = utilisation_steps(result, requested=True)
        span_s = np.diff(np.clip(time_s, from_s, to_s), append=to_s)
        return float(span_s @ share) / (to_s - from_s) if to_s > from_s else float("nan")
    time = np.minimum(result.end_s, to_s) - np.maximum(result.start_s, from_s)
    used = float(np.sum(np.maximum(time, 0.0) * result.workload.n_nodes))
    return used / (result.machine_nodes * (to_s - from_s)) if to_s > from_s else float("nan")


def mean_utilisation(result: QueueResult) -> float:
    """Return requested over available node-seconds, from the first start to the last end."""
    if not len(result):
        return float("nan")
    first_s = result.start_s.min() if result.spent is None else result.event_s[0]
    return _requested_in(result, float(first_s), float(result.end_s.max()))


def steady_state_utilisation(result: QueueResult) -> float:
    """Return the utilisation while jobs queue, as the LaaS simulator defines it.

    The window runs from the first instant after 0 at which a job fails to place, to the
    last placement; jobs are clipped to it and count with the nodes they requested, so
    that rounding up is a loss. nan if no job ever failed.
    """
    if not len(result):
        return float("nan")
    return _requested_in(result, result.first_blocked_s, float(result.start_s.max()))


def range_counts(busy_nodes: NDArray[np.int64], machine_nodes: int) -> dict[str, int]:
    """Count the numbers of busy nodes in each of `UTILISATION_RANGES`.

    A boundary belongs to the higher range, 60 % to the lowest.
    """
    percent = 100 * busy_nodes  # compared with percent of the machine in whole nodes: no rounding
    n = machine_nodes
    rank = sum((percent >= edge * n).astype(np.int64) for edge in (80, 90, 95, 98))
    rank = np.where(percent > 60 * n, rank + 1, 0)
    counts = np.bincount(rank, minlength=6)[::-1]
    return dict(zip(UTILISATION_RANGES, (int(c) for c in counts), strict=True))


def lost_nodes(result: QueueResult) -> tuple[FloatArray, LongArray]:
    """Return the idle nodes that count as lost, as a step function of time.

    Tang et al., equation (1): between two scheduling events (arrivals and ends), the idle
    nodes count if at least one waiting job is strictly smaller than their number. A value lasts
    from its event to the next; it is 0 after the last.
    """
    workload, end = result.workload, result.end_s
    enters, leaves, job = _waits(result)
    times = np.unique(np.concatenate([enters, end]))
    step_s, step_busy = result.busy_nodes()
    index = np.searchsorted(step_s, times, side="right") - 1
    busy = np.where(index >= 0, step_busy[np.maximum(index, 0)], 0)
    idle = result.machine_nodes - busy
    lost = np.zeros(len(times), dtype=np.int64)
    waiting: list[tuple[int, int]] = []  # (nodes, job); started jobs leave when they surface
    sizes, begins, arrivals = workload.n_nodes[job].tolist(), leaves.tolist(), enters.tolist()
    k = 0
    for i, (now, free) in enumerate(zip(times[:-1].tolist(), idle.tolist(), strict=False)):
        while k < len(arrivals) and arrivals[k] <= now:
            heappush(waiting, (sizes[k], k))
            k += 1
        while waiting and begins[waiting[0][1]] <= now:
            heappop(waiting)
        if waiting and waiting[0][0] < free:
            lost[i] = free
    return times, lost


def _waits(result: QueueResult) -> tuple[FloatArray, FloatArray, LongArray]:
    """Return when jobs began to wait, ascending, when they started, and the jobs."""
    enters = np.asarray(result.workload.submit_s, dtype=np.float64)
    leaves, jobs = result.start_s, np.arange(len(result))
    if len(result.event_s) == 2 * len(result):
        return enters, leaves, jobs
    starts = result.event_is_start
    order = np.argsort(result.event_job[starts], kind="stable")
    leaves, jobs = result.event_s[starts][order], result.event_job[starts][order]
    ends = result.event_job[~starts]
    ends_s = result.event_s[~starts][np.argsort(ends, kind="stable")]
    first = np.diff(jobs, prepend=-1) > 0
    enters = np.where(first, enters[jobs], np.roll(ends_s, 1))
    by_time = np.argsort(enters, kind="stable")
    return enters[by_time], leaves[by_time], jobs[by_time]


def loss_of_capacity(result: QueueResult) -> float:
    """Return the share of node-seconds idle while a smaller job waited (Tang et al., equation (1)).

    It is the mean of `lost_nodes` from the first arrival to the last end.
    """
    if not len(result):
        return float("nan")
    times, lost = lost_nodes(result)
    span = float(times[-1] - times[0])
    total = float(np.sum(lost[:-1] * np.diff(times)))
    return total / (result.machine_nodes * span) if span > 0 else 0.0
