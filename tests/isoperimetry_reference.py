"""Every set of routers of a small network and what leaves it."""

from __future__ import annotations

from itertools import product

import numpy as np


def torus_edges(dims, wrap=True, double_links_for_two=True):
    """(m, 2) cables of a torus or mesh, told dimension by dimension."""
    rings = [wrap] * len(dims) if isinstance(wrap, bool) else wrap
    edges = []
    for here in product(*(range(d) for d in dims)):
        for k, (d, ring) in enumerate(zip(dims, rings, strict=True)):
            there = list(here)
            there[k] = (here[k] + 1) % d
            last = here[k] == d - 1
            if d == 1 or (last and not ring) or (last and d == 2 and not double_links_for_two):
                continue
            edges.append([np.ravel_multi_index(x, dims) for x in (here, tuple(there))])
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def least_cuts(n, edges):
    """(n + 1,) the fewest edges that leave a set of each size, over all sets."""
    sets = np.arange(1 << n, dtype=np.int64)
    cut = np.zeros(1 << n, dtype=np.int64)
    for u, v in edges:
        cut += (sets >> u ^ sets >> v) & 1
    size = np.zeros(1 << n, dtype=np.int64)
    for v in range(n):
        size += sets >> v & 1
    least = np.full(n + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, size, cut)
    return least
