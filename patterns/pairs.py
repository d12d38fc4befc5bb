"""Random pairs: each rank exchanges with one other."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from netsim.traffic import Program
from patterns.build import build_program, make_messages
from patterns.entry import Pattern


def pairs(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    randomize: Annotated[bool, "false: rank r with r + n/2"] = True,
) -> Program:
    """Return the pairs of the Chatterbug suite: the first half exchanges with the second.

    Both directions carry ``message_bytes`` (reference: 10 MiB). With an odd rank count the last
    rank idles (the original wants an even one). ``randomize``: the second half is shuffled once
    (uniformly; the original makes 2 n random transpositions); else the partner of r is r + n/2.
    """
    half = n_ranks // 2
    low = np.arange(half, dtype=np.int64)
    high = half + (rng.permutation(half) if randomize else low)
    messages = make_messages(
        np.concatenate((low, high)), 0, np.concatenate((high, low)), 0, message_bytes
    )
    return build_program(n_ranks, 1, messages, iterations)


PATTERN = Pattern(
    "pairs",
    "exchange of M bytes between random pairs of ranks",
    pairs,
)
