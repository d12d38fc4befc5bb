"""Time limits of jobs; a job without one has a walltime of inf, for which no end is promised."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def limits_of(requested_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return walltimes: as requested, inf where none above 0 is (unlimited, inherited, missing)."""
    return np.where(requested_s > 0, requested_s, np.inf)


def limit_notes(walltime_s: NDArray[np.float64]) -> tuple[str, ...]:
    """Return a note on how many jobs have no walltime; empty if all have one."""
    n, count = len(walltime_s), int(np.count_nonzero(np.isinf(walltime_s)))
    if not count:
        return ()
    return (f"no walltime is requested for {share_text(count, n)}",)


def share_text(count: int, n: int) -> str:
    """Format so many of n jobs.

    Examples
    --------
    >>> share_text(82437, 121039)
    '82,437 of 121,039 jobs (68 %)'
    """
    return f"{count:,} of {n:,} jobs ({float(f'{100 * count / n:.2g}'):g} %)"
