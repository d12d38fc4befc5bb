"""Filling domains one after another: the steps that schedulers' rules are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import Counts

Order = NDArray[np.int64]


def largest_then_tight(count: Counts, n_nodes: int, tie: Order | None = None) -> Order:
    """Return the domains with the most free nodes first; the last one is the smallest that holds
    the rest.

    ``count`` has ``n_nodes`` >= 1 or more in all. Of equal domains the one with the smaller ``tie``
    is first, by default the first. Returns positions in the order in which they are used up.
    """
    by_tie = np.arange(len(count)) if tie is None else np.argsort(tie, kind="stable")
    order = by_tie[np.argsort(-count[by_tie], kind="stable")]
    falling = count[order]
    rest = n_nodes - (np.cumsum(falling) - falling)
    last = int(np.argmax(falling >= rest))
    # those that hold the rest begin here; the smallest of them, and the first of equals
    holding = last + int(np.count_nonzero(falling[last:] >= rest[last])) - 1
    tight = int(np.argmax(falling[last:] == falling[holding])) + last
    return np.concatenate([order[:last], order[[tight]]])


def smallest_first(count: Counts, n_nodes: int) -> Order:
    """Return the domains with the fewest free nodes first, empty ones left out, the first of
    equals."""
    order = np.argsort(count, kind="stable")
    order = order[count[order] > 0]
    return order[: int(np.searchsorted(np.cumsum(count[order]), n_nodes)) + 1]
