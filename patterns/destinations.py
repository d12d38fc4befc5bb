"""Senders and receivers of the standard synthetic loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from patterns.grid import coordinates, ranks_at

Destinations = Callable[[NDArray[np.int64], np.random.Generator], NDArray[np.int64]]
"""Receiver of each message, given the sender of each message and a generator."""


def _need_two(n_ranks: int, name: str) -> None:
    if n_ranks < 2:
        raise NetcosimError(f"{name}: {n_ranks} rank has no rank to send to; 2 are needed")


def uniform_random_destinations(n_ranks: int) -> Destinations:
    """Return destinations: any other rank with equal probability, drawn for each message."""
    _need_two(n_ranks, "uniform-random")
    return lambda src, rng: (src + rng.integers(1, n_ranks, len(src))) % n_ranks


def permutation_destinations(n_ranks: int, rng: np.random.Generator) -> Destinations:
    """Return destinations: one fixed random permutation in which no rank sends to itself."""
    _need_two(n_ranks, "permutation")
    ranks = np.arange(n_ranks)
    table = rng.permutation(n_ranks)
    while np.any(table == ranks):  # about e = 2.7 tries at any size
        table = rng.permutation(n_ranks)
    return lambda src, rng: table[src]


def shift_destinations(n_ranks: int, shift: int) -> Destinations:
    """Return destinations by which rank r sends to r + shift, around the end."""
    return lambda src, rng: (src + shift % n_ranks) % n_ranks


def tornado_destinations(grid: Sequence[int]) -> Destinations:
    """Return destinations ``ceil(k / 2) - 1`` of k around each dimension (Dally and Towles).

    The first dimension is fastest. A side of 1 or 2 moves nothing, so a rank may send to itself.
    """
    sides = np.asarray(grid, dtype=np.int64)
    table = ranks_at(coordinates(grid) + (sides + 1) // 2 - 1, grid)
    return lambda src, rng: table[src]


def adversarial_destinations(n_ranks: int, group_size: int, offset: int = 1) -> Destinations:
    """Return destinations: a random rank of the group ``offset`` after the sender's (Kim et al.,
    2008).

    Groups are consecutive ranks; the last one may be smaller. On a dragonfly with one
    rank a node and ``group_size = a * p`` all traffic of a group wants one global link.
    """
    if group_size < 1:
        raise NetcosimError(f"adversarial: group_size = {group_size}; it must be at least 1")
    n_groups = -(-n_ranks // group_size)
    if n_groups < 2 or offset % n_groups == 0:
        raise NetcosimError(
            f"adversarial: {n_ranks} ranks in groups of {group_size} with offset {offset} send "
            "inside their own group; two groups and another offset are needed"
        )

    def draw(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        first = (src // group_size + offset) % n_groups * group_size
        size = np.minimum(group_size, n_ranks - first)
        return first + rng.integers(0, size)

    return draw
