"""Links that can never stop a flow, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_ALLOCATING_KERNEL, KERNEL


@njit(**INNER_ALLOCATING_KERNEL)
def covered_by(inc, link, other):  # type: ignore[no-untyped-def]
    """Return whether all flows of a link go over another, and take no smaller part of it."""
    weighted = len(inc.weight) > 0
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        flow = inc.link_flow[i]
        w = inc.link_weight[i] if weighted else 1.0
        found = False
        for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
            if inc.links[j] == other:
                its_weight = inc.weight[j] if weighted else 1.0
                found = w * inc.capacity[other] <= its_weight * inc.capacity[link]
                break
        if not found:
            return False
    return True


@njit(**KERNEL)
def uncovered(inc):  # type: ignore[no-untyped-def]
    """Return the paths (ptr, links, weight) without links that are full only when another one is.

    If all flows of a link go over another too, and none takes a larger part of the first, the
    other stops them first or with it. So it is with the links down a fat-tree where each
    destination has a tree of its own.
    """
    n_flows, n_links = len(inc.ptr) - 1, len(inc.capacity)
    weighted = len(inc.weight) > 0
    keep = np.ones(n_links, np.bool_)
    for link in range(n_links):
        count = inc.link_end[link] - inc.link_ptr[link]
        if count == 0:
            continue
        flow = inc.link_flow[inc.link_ptr[link]]
        for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
            other = inc.links[j]
            if other == link or not keep[other]:
                continue
            if inc.link_end[other] - inc.link_ptr[other] >= count and covered_by(inc, link, other):
                keep[link] = False
                break
    ptr = np.zeros(n_flows + 1, np.int64)
    links = np.empty(len(inc.links), np.int32)
    weight = np.empty(len(inc.weight), np.float64)
    at = 0
    for flow in range(n_flows):
        for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
            if keep[inc.links[j]]:
                links[at] = inc.links[j]
                if weighted:
                    weight[at] = inc.weight[j]
                at += 1
        ptr[flow + 1] = at
    return ptr, links[:at].copy(), weight[: at if weighted else 0].copy()
