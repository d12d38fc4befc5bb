"""Means of samples, and ratios of means, with their bootstrap intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from netsim.errors import NetcosimError
from queuesim.statistics import LEAST_SAMPLES, N_RESAMPLES, Interval, interval, resamples


def bootstrap_mean(
    values: ArrayLike,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
    *,
    least_samples: int = LEAST_SAMPLES,
) -> Interval:
    """Return the mean of (n,) samples; see `queuesim.statistics.interval`."""
    x = np.asarray(values, dtype=np.float64)
    drawn = resamples(len(x), rng, n_resamples)
    means = x[drawn].mean(axis=1)
    return interval(float(x.mean()), means, len(x), least_samples=least_samples)


def bootstrap_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
) -> Interval:
    """Return the ratio of the means of two paired (n,) samples; pairs are drawn together."""
    x, y = (np.asarray(v, dtype=np.float64) for v in (numerator, denominator))
    if len(x) != len(y):
        raise NetcosimError(f"bootstrap: {len(x)} samples against {len(y)}; pairs are needed")
    drawn = resamples(len(x), rng, n_resamples)
    ratios = x[drawn].mean(axis=1) / y[drawn].mean(axis=1)
    return interval(float(x.mean() / y.mean()), ratios, len(x))
