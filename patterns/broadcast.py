"""Broadcast: one central rank sends to all others."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import build_program
from patterns.collectives.algorithms import from_root, to_root
from patterns.collectives.transfers import reverse, to_messages
from patterns.entry import Pattern

ALGORITHMS = ("flat", "binomial", "binary")


def broadcast(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    algorithm: Annotated[str, "all ranks at once, or trees", OneOf(ALGORITHMS)] = "flat",
) -> Program:
    """Build a broadcast: rank 0 sends ``message_bytes`` to each other rank.

    The Level-Spread paper sends elements of 8 bytes, so its "1 KB" broadcast is
    ``message_bytes=8000`` here. Rank 0 does not wait, so with several iterations it runs ahead of
    the others.

    Algorithms: flat: rank 0 posts all messages in one step. binomial: a rank with the data passes
    it on; rank r gets it from r without its highest bit. binary: rank r gets it from (r - 1) div 2
    and sends it to 2 r + 1, then 2 r + 2, as in SST's firefly (its collective tree has degree 2),
    which the Level-Spread paper ran.
    """
    rank = np.arange(n_ranks, dtype=np.int64)
    if algorithm == "flat":
        transfers = from_root(n_ranks)
    else:
        # Children in ascending order: the one with the most descendants is the nearest.
        highest = 1 << (np.frexp(np.maximum(1, rank).astype(np.float64))[1].astype(np.int64) - 1)
        parent = (rank - 1) // 2 if algorithm == "binary" else rank - highest
        transfers = reverse(to_root(parent, np.ones_like(rank)))
    messages = to_messages(transfers, rank[None, :], transfers.n_bytes(message_bytes))
    return build_program(n_ranks, transfers.n_steps, messages, iterations)


PATTERN = Pattern(
    "broadcast",
    "rank 0 sends M bytes to every other rank",
    broadcast,
)
