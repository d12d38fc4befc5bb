"""Evolution strategies: the mean of a cloud of weights moves to where scores are better.

Samples come in mirrored pairs (Brockhoff et al., PPSN 2010), and count by their rank alone, with
the weights of Hansen and Ostermeier (2001): no scale of the score, and no outlier, matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def rank_weights(n: int) -> FloatArray:
    """(n,) weights of n samples, the best first: positive for the better half, of sum 1."""
    raw = np.maximum(np.log(n / 2 + 0.5) - np.log(np.arange(1, n + 1)), 0.0)
    return np.asarray(raw / raw.sum())


def evolve(
    score: Callable[[FloatArray, int], float],
    begin: FloatArray,
    rng: np.random.Generator,
    *,
    generations: int,
    pairs: int,
    sigma: float = 1.0,
) -> Iterator[FloatArray]:
    """Means of the generations, one after the other.

    Parameters
    ----------
    score : callable
        ``score(weights, generation)``, smaller is better; its random draws should be the same
        for all of a generation (common random numbers).
    begin : (w,) float64
        The first mean, which is not yielded.
    rng : numpy.random.Generator
    generations : int
    pairs : int
        Mirrored pairs a generation.
    sigma : float
        Deviation of the samples, kept through all generations.

    Yields
    ------
    (w,) float64
    """
    mean = np.array(begin, dtype=np.float64)
    weights = rank_weights(2 * pairs)
    for generation in range(generations):
        drawn = rng.standard_normal((pairs, len(mean)))
        offsets = sigma * np.concatenate([drawn, -drawn])
        found = np.array([score(mean + offset, generation) for offset in offsets])
        mean = mean + weights @ offsets[np.argsort(found, kind="stable")]
        yield mean.copy()
