"""Choice among several hops, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from netsim.routing.base import Hop, View
from netsim.routing.kernels_common import draw

T = TypeVar("T")


def one_of(items: Sequence[T], key: int, i: int) -> T:
    """Return the item that the i-th number of a key picks."""
    return items[int(draw(np.uint64(key), i, len(items)))]


def least_loaded(view: View, hops: Sequence[Hop], key: int) -> Hop:
    """Return a random hop if its link has no load; else one with the least load, ties at random."""
    first = one_of(hops, key, 0)
    if view.load(first.link) == 0:
        return first
    least = min(view.load(hop.link) for hop in hops)
    return one_of([hop for hop in hops if view.load(hop.link) == least], key, 1)
