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

    def draw(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return (src + rng.integers(1, n_ranks, len(src))) % n_ranks

    return draw


def uniform_destinations(n_ranks: int) -> Destinations:
    """Return destinations: any rank with equal probability, the sender included (BookSim)."""

    def draw(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.integers(0, n_ranks, len(src))

    return draw


def permutation_destinations(n_ranks: int, rng: np.random.Generator) -> Destinations:
    """Return destinations: one fixed random permutation in which no rank sends to itself."""
    _need_two(n_ranks, "permutation")
    ranks = np.arange(n_ranks)
    table = rng.permutation(n_ranks)
    while np.any(table == ranks):  # about e = 2.7 tries at any size
        table = rng.permutation(n_ranks)

    def look_up(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return table[src]

    return look_up


def shift_destinations(n_ranks: int, shift: int) -> Destinations:
    """Return destinations by which rank r sends to r + shift, around the end."""

    def move(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return (src + shift % n_ranks) % n_ranks

    return move


def tornado_destinations(grid: Sequence[int]) -> Destinations:
    """Return destinations ``ceil(k / 2) - 1`` of k around each dimension (Dally and Towles).

    The first dimension is fastest. A side of 1 or 2 moves nothing, so a rank may send to itself.
    """
    sides = np.asarray(grid, dtype=np.int64)
    table = ranks_at(coordinates(grid) + (sides + 1) // 2 - 1, grid)

    def look_up(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return table[src]

    return look_up


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


def matrix_destinations(table: NDArray[np.float64]) -> Destinations:
    """Return destinations drawn with the probability of their column's weight in the sender's row.

    A rank whose row is 0 sends nothing, so its receivers are not used.
    """
    n = len(table)
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    # one ascending line of all rows, each of length 1: rank r's receivers lie from r to r + 1
    edges = np.minimum(np.cumsum(share, axis=1), 1.0)
    edges[:, -1:] = 1.0
    line = (edges + np.arange(n)[:, None]).ravel()

    def draw(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        at = np.searchsorted(line, src + rng.random(len(src)), side="right")
        last = n - 1 - (table[src, ::-1] > 0).argmax(axis=1)
        return np.asarray(np.minimum(at - src * n, last), dtype=np.int64)

    return draw
