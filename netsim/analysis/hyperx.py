"""Edge-isoperimetry of regular HyperX networks, products of cliques (Lindsey, 1964)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.analysis.torus import check_dims


def hyperx_cuts(dims: Sequence[int]) -> NDArray[np.int64]:
    """(n + 1,) int64: the fewest cables that leave a set of each size, all cables equal.

    Lindsey: routers in lexicographic order with the largest clique filled first, then
    copies of it along the next largest, are optimal at every size. The router with
    digits (x_1, x_2, ...) has x_1 + x_2 + ... cables to routers before it.

    Parameters
    ----------
    dims : sequence of int
        Clique sizes.

    Raises
    ------
    NetcosimError
        No dimension, or a length below 1.
    """
    lengths = sorted(check_dims(dims), reverse=True)
    before = np.zeros(1, dtype=np.int64)
    for length in lengths:
        before = (np.arange(length, dtype=np.int64)[:, None] + before).ravel()
    sizes = np.arange(len(before) + 1, dtype=np.int64)
    inside = np.concatenate([[0], np.cumsum(before)])
    return np.asarray(sum(d - 1 for d in lengths) * sizes - 2 * inside)


def hyperx_bisection(dims: Sequence[int]) -> int:
    """Cables between two halves of a HyperX, at the least."""
    cuts = hyperx_cuts(dims)
    return int(cuts[(len(cuts) - 1) // 2])
