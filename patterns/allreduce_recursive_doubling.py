"""Allreduce by recursive doubling."""

from __future__ import annotations

from netsim.traffic import Program
from patterns.collective import collective
from patterns.entry import Pattern


def allreduce_recursive_doubling(n_ranks: int, message_bytes: int, iterations: int = 1) -> Program:
    """Build an allreduce of ``message_bytes`` by log2(n) exchanges of the entire vector.

    See `patterns.collectives.algorithms.recursive_doubling`.
    """
    return collective(n_ranks, message_bytes, iterations, algorithm="recursive-doubling")


PATTERN = Pattern(
    "allreduce-recursive-doubling",
    "allreduce of M bytes: log2(n) exchanges of the whole vector",
    allreduce_recursive_doubling,
)
