"""Edge-isoperimetry of the hypercube (Harper, 1964)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError


def hypercube_cuts(dimension: int) -> NDArray[np.int64]:
    """(2^dimension + 1,) int64: the fewest cables that leave a set of each size.

    Harper: the routers 0 .. t-1, read as binary numbers, are an optimal set of t; router i
    has as many cables to smaller ones as it has ones.

    Raises
    ------
    NetcosimError
        A dimension outside 1 .. 26.
    """
    if not 1 <= dimension <= 26:
        raise NetcosimError(f"hypercube dimension = {dimension}; allowed: 1 to 26")
    ones = np.zeros(1, dtype=np.int64)
    for _ in range(dimension):
        ones = np.concatenate([ones, ones + 1])
    sizes = np.arange(2**dimension + 1, dtype=np.int64)
    inside = np.concatenate([[0], np.cumsum(ones)])
    return np.asarray(dimension * sizes - 2 * inside)


def hypercube_cut(dimension: int, size: int) -> int:
    """The fewest cables that leave ``size`` routers of a hypercube (Harper, 1964).

    Raises
    ------
    NetcosimError
        A dimension below 1, a size outside 0 .. 2^dimension.
    """
    if dimension < 1 or not 0 <= size <= 1 << dimension:
        raise NetcosimError(
            f"hypercube dimension = {dimension}, size = {size}; "
            "at least 1, and 0 to 2^dimension are needed"
        )

    def inside(t: int, d: int) -> int:
        # The first t numbers: a whole half (if t is in the upper half) and the rest, each
        # of whose members has one cable into the half.
        if t <= 1:
            return 0
        half = 1 << (d - 1)
        if t <= half:
            return inside(t, d - 1)
        return (d - 1) * half // 2 + inside(t - half, d - 1) + (t - half)

    return dimension * size - 2 * inside(size, dimension)
