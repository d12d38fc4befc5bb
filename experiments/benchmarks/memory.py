"""What the memory allows: the time of a cold line, alone and with others under way.

Each step of a chain reads a cache line whose place is read from the line before, all over a block
that no cache holds. One chain waits for every line; several chains wait together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.case import Round
from experiments.benchmarks.kernels_walk import walk

BLOCK_BYTES = 256 << 20
_LINE_WORDS = 8
_STEPS = 1_000_000


def ring() -> NDArray[np.int64]:
    """Return a block whose lines point to each other in one ring in random order."""
    lines = BLOCK_BYTES // 8 // _LINE_WORDS
    order = np.random.default_rng(1).permutation(lines) * _LINE_WORDS
    following = np.zeros(lines * _LINE_WORDS, dtype=np.int64)
    following[order] = np.roll(order, -1)
    return following


def chains(number: int) -> Round:
    """Return a round that follows ``number`` chains through the block at once."""
    following = ring()
    lines = len(following) // _LINE_WORDS
    places = np.arange(number, dtype=np.int64) * (lines // number) * _LINE_WORDS
    steps = _STEPS // number

    def run() -> Mapping[str, float]:
        walk(following, places, steps)
        return {"lines": number * steps}

    return run
