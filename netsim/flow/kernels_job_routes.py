"""Bytes on links from rows of routes, compiled."""

from __future__ import annotations

from numba import njit

from netsim.kernels_options import PLAIN_KERNEL


@njit(**PLAIN_KERNEL)
def add_loads(ptr, links, weights, rows, amount, load, touched):  # type: ignore[no-untyped-def]
    """Add what is sent over rows of (ptr, links, weights) to ``load``, which is 0 before.

    A row below 0 is no route; empty ``weights`` are all 1. The links that carry anything come into
    ``touched``; returns how many.
    """
    unsplit = len(weights) == 0
    n = 0
    for k in range(len(rows)):
        row = rows[k]
        if row < 0:
            continue
        for i in range(ptr[row], ptr[row + 1]):
            link = links[i]
            more = amount[k] if unsplit else amount[k] * weights[i]
            if more == 0.0:
                continue
            if load[link] == 0.0:
                touched[n] = link
                n += 1
            load[link] += more
    return n


@njit(**PLAIN_KERNEL)
def copy_rows(ptr, links, weights, rows, some_links, some_weights):  # type: ignore[no-untyped-def]
    """Copy rows of (ptr, links, weights), one after the other."""
    n = 0
    for k in range(len(rows)):
        for i in range(ptr[rows[k]], ptr[rows[k] + 1]):
            some_links[n] = links[i]
            if len(weights) > 0:
                some_weights[n] = weights[i]
            n += 1
