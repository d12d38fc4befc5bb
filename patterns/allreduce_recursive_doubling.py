"""Allreduce by recursive doubling."""

from __future__ import annotations

import numpy as np

from netsim.traffic import Program
from patterns.build import build_program, check_common, join, make_messages
from patterns.entry import Pattern


def allreduce_recursive_doubling(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Allreduce of a vector of ``message_bytes``: log2(n) exchanges of the whole vector.

    With 2^k < n < 2^(k+1), each even rank of the first 2 (n - 2^k) first gives its
    vector to the odd rank after it, which takes part for both and returns the result at
    the end (Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.5). Adding up takes no time.

    Raises
    ------
    NetcosimError
        A number below 1.
    """
    check_common(n_ranks, message_bytes, iterations)
    k = n_ranks.bit_length() - 1
    core = 1 << k
    extra = n_ranks - core
    first = 1 if extra else 0
    # Rank of each of the 2^k that take part: odd ones among the first, then the rest.
    index = np.arange(core, dtype=np.int64)
    actor = np.where(index < extra, 2 * index + 1, index + extra)
    parts = []
    if extra:
        even = 2 * np.arange(extra, dtype=np.int64)
        parts.append(make_messages(even, 0, even + 1, 0, message_bytes))
        parts.append(make_messages(even + 1, k + 1, even, k + 1, message_bytes))
    for s in range(k):
        parts.append(
            make_messages(actor, first + s, actor[index ^ (1 << s)], first + s, message_bytes)
        )
    return build_program(n_ranks, k + 2 * first, join(parts), iterations)


PATTERN = Pattern(
    "allreduce-recursive-doubling",
    "allreduce of M bytes: log2(n) exchanges of the whole vector",
    allreduce_recursive_doubling,
)
