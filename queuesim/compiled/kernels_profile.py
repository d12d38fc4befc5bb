"""Compiled `Profile` of conservative backfilling: free nodes over future time, step by step."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL
from queuesim.compiled.kernels_waiting import Rows, State

STEP = np.dtype([("time_s", np.float64), ("free", np.int64)], align=True)
"""From a time on so many nodes are free; ``s.n_steps`` is the number of valid steps. Times ascend
strictly.
"""


@njit(**INNER_KERNEL)
def release_later(s: State, steps: Rows, time_s: float, nodes: int) -> None:
    """Add a release that comes with or after those that were added before."""
    last = s.n_steps - 1
    if time_s > steps[last].time_s:
        steps[last + 1].time_s = time_s
        steps[last + 1].free = steps[last].free + nodes
        s.n_steps += 1
    else:
        steps[last].free += nodes


@njit(**INNER_KERNEL)
def steps_until(s: State, steps: Rows, time_s: float) -> int:
    """Return how many steps begin at a time or before it."""
    low, high = 0, s.n_steps
    while low < high:
        middle = (low + high) >> 1
        if time_s < steps[middle].time_s:
            high = middle
        else:
            low = middle + 1
    return low


@njit(**INNER_KERNEL)
def earliest(s: State, steps: Rows, nodes: int, duration_s: float, from_s: float) -> float:
    """Return the first time >= from_s from which nodes are free for duration_s; inf if never."""
    n = s.n_steps
    k = max(0, steps_until(s, steps, from_s) - 1)
    start = max(from_s, steps[k].time_s)
    while k < n:
        if steps[k].free < nodes:
            k += 1
            if k < n:
                start = steps[k].time_s
            continue
        end = start + duration_s
        short = k + 1
        while short < n and steps[short].time_s < end and steps[short].free >= nodes:
            short += 1
        if short == n or steps[short].time_s >= end:
            return start
        k = short
    return np.inf


@njit(**INNER_KERNEL)
def take(s: State, steps: Rows, nodes: int, start_s: float, duration_s: float) -> None:
    """Take nodes for ``[start_s, start_s + duration_s)``; negative gives them back."""
    first = split(s, steps, start_s)
    last = split(s, steps, start_s + duration_s)
    for k in range(first, last):
        steps[k].free -= nodes


@njit(**INNER_KERNEL)
def split(s: State, steps: Rows, time_s: float) -> int:
    """Return the index of the step that begins at a time, adding it if it is missing."""
    k = steps_until(s, steps, time_s)
    if steps[k - 1].time_s == time_s:
        return k - 1
    for i in range(s.n_steps, k, -1):
        steps[i].time_s = steps[i - 1].time_s
        steps[i].free = steps[i - 1].free
    steps[k].time_s = time_s
    steps[k].free = steps[k - 1].free
    s.n_steps += 1
    return k
