"""Common parts of the routing kernels: draws from a key, and the load of a link."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import HOT_KERNEL, PLAIN_KERNEL
from netsim.routing.kernels_random import below, mix64


@njit(**PLAIN_KERNEL, inline="always")
def draw(key, i, n):  # type: ignore[no-untyped-def]
    """Return the ``i``-th number in 0..n-1 that a key gives; 0 without drawing if n is 1."""
    if n <= 1:
        return np.int64(0)
    return below(mix64(np.uint64(key) + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)), n)


@njit(**HOT_KERNEL)
def entry(table, index):  # type: ignore[no-untyped-def]
    """Return an entry of a table, by an unsigned index that needs no check for negative ones."""
    return np.int64(table[np.uint64(index)])


@njit(**HOT_KERNEL)
def load_of(view, link):  # type: ignore[no-untyped-def]
    """Return ticks until the link could start one more packet, were there no credit stalls."""
    ahead = max(np.int64(0), entry(view.free_at, link) - view.now)
    return ahead + entry(view.waiting, link)
