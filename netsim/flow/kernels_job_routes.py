"""Bytes on links from a table of routes, compiled."""

from __future__ import annotations

from numba import njit

from netsim.kernels_options import PLAIN_KERNEL


@njit(**PLAIN_KERNEL)
def add_loads(ptr, links, weights, node_leaf, src, dst, amount, load):  # type: ignore[no-untyped-def]
    """Add what pairs of nodes send to ``load``, on links between routers.

    Row ``leaf * n_nodes + node`` of (ptr, links, weights) is the route from a leaf to a node;
    empty ``weights`` are all 1.
    """
    n_nodes = len(node_leaf)
    whole = len(weights) == 0
    for k in range(len(src)):
        if src[k] == dst[k]:
            continue
        row = node_leaf[src[k]] * n_nodes + dst[k]
        for i in range(ptr[row], ptr[row + 1]):
            if whole:
                load[links[i]] += amount[k]
            else:
                load[links[i]] += amount[k] * weights[i]
