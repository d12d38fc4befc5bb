"""Jobs that share a network, each one bundle of flows: the fluid limit, of no message size.

The queue's flow level follows messages (`netsim.flow.message_network`); this is what is left of
contention when they are long, exact and without any parameter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.flow.maxmin import checked_capacity, max_min_rates

FloatArray = NDArray[np.float64]

_OVER = 1e-6  # a job's own load may exceed a link by this much (rounding)
_SLACK = 1e-9  # a link is saturated if the demand of its jobs exceeds its capacity by this much


def bundle_stretches(
    capacity_Bps: ArrayLike, jobs: Sequence[tuple[ArrayLike, ArrayLike]]
) -> FloatArray:
    """Return how much longer the communication of each job takes than in isolation.

    A job at rate ``x`` (0 < x <= 1, 1 = as in isolation) takes ``x * load[l]`` of each of its
    links. Rates are max-min fair over the jobs under the link capacities and the cap of 1; the
    stretch is ``1 / x``. Jobs that share no over-subscribed link have exactly 1.0. Each job has its
    links, none twice, and the bytes per second on each while it communicates in isolation.
    """
    capacity = checked_capacity(capacity_Bps)
    entries = [_checked(job, *entry, capacity) for job, entry in enumerate(jobs)]
    # the cap is a link that the job has for itself
    n_links = len(capacity)
    links = [np.append(index, n_links + job) for job, (index, _) in enumerate(entries)]
    weights = [np.append(load, 1.0) for _, load in entries]
    ptr = np.zeros(len(jobs) + 1, dtype=np.int64)
    np.cumsum([len(index) for index in links], out=ptr[1:])
    rate = max_min_rates(
        ptr,
        np.concatenate([*links, np.empty(0, dtype=np.int64)]).astype(np.int32),
        np.concatenate([capacity, np.ones(len(jobs))]),
        np.concatenate([*weights, np.empty(0)]),
    )
    return np.where(rate * (1 + _SLACK) >= 1.0, 1.0, 1.0 / rate)


def _checked(
    job: int, links: ArrayLike, load_Bps: ArrayLike, capacity: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    index, load = np.asarray(links, dtype=np.int64), np.asarray(load_Bps, dtype=np.float64)
    if index.shape != load.shape:
        raise NetcosimError(f"job {job}: {index.size} links but {load.size} loads")
    if len(index) == 0:
        return index, load
    if index.min() < 0 or index.max() >= len(capacity):
        raise NetcosimError(f"job {job}: a link is outside 0..{len(capacity) - 1}")
    if not (np.all(np.isfinite(load)) and load.min() >= 0):
        raise NetcosimError(f"job {job}: load {load.min()} bytes/s; it must be >= 0")
    index, load = index[load > 0], load[load > 0]
    if len(np.unique(index)) < len(index):
        raise NetcosimError(f"job {job}: a link is given twice")
    over = load > capacity[index] * (1 + _OVER)
    if over.any():
        k = int(np.flatnonzero(over)[0])
        raise NetcosimError(
            f"job {job}: load {load[k]:.6g} bytes/s in isolation on link {index[k]} of "
            f"{capacity[index[k]]:.6g}; divide by a longer isolated time"
        )
    return index, np.minimum(load, capacity[index])
