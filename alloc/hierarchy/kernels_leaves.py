"""Slurm's choice of leaf switches, one by one, as its topology/tree plugin makes it."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL

Ints = NDArray[np.int64]


@njit(**INNER_ALLOCATING_KERNEL)
def better(i: int, j: int, rest: int, free: Ints, parent: Ints) -> tuple[int, bool]:
    """Return whether leaf i (1) or leaf j (-1) suits better, and whether i's switch fits there."""
    while True:
        i_fits = free[i] >= rest
        j_fits = free[j] >= rest
        if i_fits and j_fits:
            if free[i] < free[j]:
                return 1, i_fits
            return (-1, i_fits) if free[i] > free[j] else (0, i_fits)
        if i_fits:
            return 1, i_fits
        if j_fits:
            return -1, i_fits
        if parent[i] == parent[j]:
            break
        i, j = parent[i], parent[j]
    if free[i] > free[j]:
        return 1, i_fits
    return (-1, i_fits) if free[i] < free[j] else (0, i_fits)


@njit(**KERNEL)
def choose_leaves(n_nodes: int, n_leaves: int, free: Ints, parent: Ints, order: Ints) -> int:
    """Write the leaves to ``order`` as they are used up; how many.

    Switches 0 ... n_leaves-1 are leaves, all equally deep; those of the levels above come after
    them. ``free`` has the free nodes below each, at least ``n_nodes`` in all, and is used up; the
    ``parent`` of the top switch is -1.
    """
    distance = np.zeros(n_leaves, dtype=np.int64)
    rest, used = n_nodes, 0
    while rest > 0:
        best = -1
        for i in range(n_leaves):
            if free[i] == 0:
                continue
            if best < 0:
                best = i
                continue
            which, fits = better(i, best, rest, free, parent)
            if (distance[i] < distance[best] and fits) or (
                distance[i] == distance[best] and which > 0
            ):
                best = i
        order[used] = best
        used += 1
        rest -= free[best]
        for i in range(n_leaves):
            a, b, steps = i, best, 0
            while a != b:
                a, b, steps = parent[a], parent[b], steps + 2
            distance[i] += steps
        taken, switch = free[best], best
        while switch >= 0:
            free[switch] -= taken
            switch = parent[switch]
    return used
