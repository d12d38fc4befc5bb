"""Allreduce by a ring: reduce-scatter, then allgather."""

from __future__ import annotations

import numpy as np

from netsim.traffic import Program
from patterns.build import build_program, check_common, make_messages
from patterns.entry import Pattern


def allreduce_ring(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Allreduce of a vector of ``message_bytes`` in 2 (n - 1) steps around a ring.

    The vector is cut into n chunks, ``floor((c+1) M / n) - floor(c M / n)`` bytes each (at
    least 1). In step s rank r sends chunk r - s (reduce-scatter), then chunk r + 1 - s
    (allgather), to rank r + 1 and waits for the one of rank r - 1 (Patarasuk and Yuan,
    JPDC 2009). Adding up takes no time.

    Raises
    ------
    NetcosimError
        A number below 1.
    """
    check_common(n_ranks, message_bytes, iterations)
    if n_ranks == 1:
        return build_program(1, 0, make_messages([], [], [], [], []), iterations)
    edges = np.arange(n_ranks + 1, dtype=np.int64) * message_bytes // n_ranks
    chunk_bytes = np.maximum(1, np.diff(edges))
    rank = np.arange(n_ranks, dtype=np.int64)[:, None]
    step = np.arange(2 * (n_ranks - 1), dtype=np.int64)[None, :]
    # The allgather's first step (n - 1) sends chunk r + 1 = r - (n - 1) mod n: one formula.
    chunk = (rank - step) % n_ranks
    messages = make_messages(rank, step, (rank + 1) % n_ranks, step, chunk_bytes[chunk])
    return build_program(n_ranks, step.size, messages, iterations)


PATTERN = Pattern(
    "allreduce-ring",
    "allreduce of M bytes: reduce-scatter and allgather around a ring",
    allreduce_ring,
)
