"""How far apart two ways to place the same jobs are, by the hops between their nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def apart(hops: ArrayLike, others: ArrayLike, kind: ArrayLike) -> NDArray[np.float64]:
    """Differences whose mean is the earth mover's distance, within each kind of jobs.

    Parameters
    ----------
    hops, others : (n,)
        Of the same jobs under two placements.
    kind : (n,)
        Of each job: sizes, parts of a log.

    Returns
    -------
    (n,) float64
        At the places of each kind's jobs: its hops by rank, one way less the other, positive.
    """
    mine, theirs, of = np.asarray(hops), np.asarray(others), np.asarray(kind)
    order = np.argsort(of, kind="stable")
    found = np.empty(len(of))
    found[order] = np.abs(mine[np.lexsort((mine, of))] - theirs[np.lexsort((theirs, of))])
    return found
