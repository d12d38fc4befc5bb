"""Exact stretches of jobs that share one link, for tests of both levels."""

from __future__ import annotations

from functools import lru_cache


def mean_value_analysis(pauses: list[float]) -> list[float]:
    """Stretches of jobs that share one link evenly and compute between: exact, by recursion.

    Job i holds the link for 1 s alone and computes for pauses[i] s. An arriving job sees the
    others as they are without it (Reiser and Lavenberg, JACM 1980).
    """

    @lru_cache
    def queue(there: frozenset[int]) -> dict[int, float]:
        """Share of time in which each of these jobs has something on the link."""
        stretch = {i: 1 + sum(queue(there - {i}).values()) for i in there}
        return {i: s / (pauses[i] + s) for i, s in stretch.items()}

    everybody = frozenset(range(len(pauses)))
    return [1 + sum(queue(everybody - {i}).values()) for i in sorted(everybody)]
