"""Allreduce by a ring: reduce-scatter, then allgather."""

from __future__ import annotations

from netsim.traffic import Program
from patterns.collective import collective
from patterns.entry import Pattern


def allreduce_ring(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Build an allreduce of a vector of ``message_bytes`` in 2 (n - 1) steps around a ring.

    The vector is cut into n chunks, ``floor((c+1) M / n) - floor(c M / n)`` bytes each (at
    least 1). In step s rank r sends chunk r - s to rank r + 1 and waits for the one of rank r - 1.
    """
    return collective(n_ranks, message_bytes, iterations, algorithm="ring", chunks=1)


PATTERN = Pattern(
    "allreduce-ring",
    "allreduce of M bytes: reduce-scatter and allgather around a ring",
    allreduce_ring,
)
