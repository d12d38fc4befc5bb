"""Where the ranks of a multiplication sit, and what they send to each other level by level."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.errors import unknown_name
from patterns.strassen_winograd import strassen_winograd

SPREADS = ("blocks", "cyclic", "random")


def spread_ranks(spread: str, ranks: int, n_nodes: int, seed: int) -> NDArray[np.int64]:
    """(ranks,) int64: node of each rank, as even as can be.

    "blocks": consecutive ranks share a node, nodes in order. "cyclic": one rank a node in
    turn. "random": blocks with the ranks shuffled. Any number of ranks fits, unlike in
    `patterns.mapping.map_ranks`.

    Raises
    ------
    NetcosimError
        A name that is not in `SPREADS`.
    """
    if spread not in SPREADS:
        raise unknown_name("spread of ranks", spread, SPREADS)
    rank = np.arange(ranks, dtype=np.int64)
    if spread == "cyclic":
        return rank % n_nodes
    blocks = rank * n_nodes // ranks
    return np.random.default_rng(seed).permutation(blocks) if spread == "random" else blocks


@lru_cache(maxsize=2)
def level_messages(
    ranks: int, matrix_dim: int, first_groups: str
) -> list[tuple[NDArray[np.int32], NDArray[np.int32], int]]:
    """Of one multiplication, senders and receivers of each level with the bytes down and up.

    Both directions of a level use the same pairs, so their loads add up.
    """
    program = strassen_winograd(ranks, 1, matrix_dim=matrix_dim, first_groups=first_groups)
    steps = program.n_steps // ranks
    # Every rank sends the same number of messages in every step, step after step.
    each = program.n_messages // program.n_steps
    src, dst, size = (
        column.reshape(ranks, steps, each).swapaxes(0, 1).reshape(steps, -1)
        for column in (program.send_src(), program.send_dst, program.send_bytes)
    )
    levels = []
    for level in range(steps // 2):
        back = steps - 1 - level
        assert np.array_equal(dst[level], dst[back])
        assert np.ptp(size[level]) == np.ptp(size[back]) == 0
        levels.append((src[level], dst[level], int(size[level, 0] + size[back, 0])))
    return levels
