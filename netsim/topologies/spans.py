"""Number of domains that jobs span, the usual score of a placement (switch count)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netsim.topologies.domains import Hierarchy

LongArray = NDArray[np.int64]


def domains_spanned(
    h: Hierarchy, nodes: NDArray[np.integer], node_ptr: NDArray[np.integer]
) -> LongArray:
    """Return the number of domains of each level that the nodes of each job span, (n_levels, n).

    Job i has ``nodes[node_ptr[i]:node_ptr[i + 1]]``; one without nodes spans 0. The lowest level's
    are what schedulers count as switches.

    Examples
    --------
    >>> import numpy as np
    >>> import netcosim as nc
    >>> h = nc.hierarchy_of(nc.make_topology("fattree", {"radix": 4}))
    >>> domains_spanned(h, np.array([0, 1, 2, 15]), np.array([0, 2, 4])).T.tolist()
    [[1, 1, 1], [1, 2, 2]]
    """
    n = len(node_ptr) - 1
    job = np.repeat(np.arange(n), np.diff(node_ptr))
    spanned = np.zeros((len(h.levels), n), dtype=np.int64)
    for level, (row, count) in enumerate(zip(h.domain, h.counts, strict=True)):
        places = np.unique(job * count + row[nodes])
        spanned[level] = np.bincount(places // count, minlength=n)
    return spanned


def least_domains(h: Hierarchy, n_nodes: NDArray[np.integer]) -> LongArray:
    """Return the fewest domains of each level that hold so many nodes on the empty machine.

    Each level on its own: the placement that spans fewest leaves may not be one that spans fewest
    pods, where domains are of different sizes. The result is (n_levels, n) int64.
    """
    return np.stack(
        [
            np.searchsorted(np.cumsum(np.sort(h.sizes(level))[::-1]), n_nodes) + 1
            for level in range(len(h.levels))
        ]
    )
