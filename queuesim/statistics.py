"""Confidence intervals: bootstrap (Efron and Tibshirani 1993, chapter 13), Student's t; quantiles.

Every interval of the package comes from here, so two rules hold everywhere: fewer than
`LEAST_SAMPLES` independent samples have no interval, and none reaches beyond what is possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError

N_RESAMPLES = 1000
LEVEL = 0.95
LEAST_SAMPLES = 5
"""Fewest independent samples of an interval: fewer give no usable estimate of their scatter."""
MATTERS = 0.001
"""A ratio nearer to 1 than this is no difference: where a log leaves nodes idle, its last arrival
ends the makespan under any policy."""
LEAST_WINDOWS = 4
"""Fewest windows of a log: each of them has many instants and jobs of its own."""
NO_INTERVAL = f"no interval: fewer than {LEAST_SAMPLES} snapshots or jobs"


class Interval(NamedTuple):
    """An estimate with the ends of its interval."""

    value: float
    low: float
    high: float

    def within(self, least: float = -np.inf, most: float = np.inf) -> Interval:
        """Return the interval with its ends cut at the least and the most that are possible.

        The true value lies between these, so the cut interval holds it as often. Unknown ends stay
        unknown.
        """
        return Interval(self.value, *np.clip([self.low, self.high], least, most).tolist())


def resamples(n: int, rng: np.random.Generator, n_resamples: int = N_RESAMPLES) -> NDArray[np.intp]:
    """Draw indices with replacement, (n_resamples, n)."""
    if n < 1:
        raise NetcosimError("bootstrap: no samples")
    return rng.integers(0, n, (n_resamples, n))


def interval(
    value: float,
    drawn: NDArray[np.float64],
    n_samples: int,
    level: float = LEVEL,
    *,
    least_samples: int = LEAST_SAMPLES,
) -> Interval:
    """Return the estimate with the quantiles of its resampled values as ends.

    The ends are nan for fewer than ``least_samples``: `LEAST_WINDOWS` for windows of a log.
    """
    if n_samples < least_samples:
        return Interval(float(value), np.nan, np.nan)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), float(low), float(high))


def known_ends(found: Interval) -> tuple[float | None, float | None]:
    """Return the ends for a table: None where they are not known."""
    return (None, None) if np.isnan(found.low) else (found.low, found.high)


Ends = tuple[float, float | None, float | None]
"""An estimate and the ends of its interval, None where they are not known."""
ENDS = ("", "_low", "_high")


def interval_columns(name: str, found: Interval, unit: str = "") -> dict[str, float | None]:
    """Return the cells of an interval; the unit ends each column's name."""
    values = (found.value, *known_ends(found))
    return {f"{name}{end}{unit}": value for end, value in zip(ENDS, values, strict=True)}


def interval_cells(row: Mapping[str, Any], name: str) -> Ends:
    """Return the cells of `interval_columns` from a row of a table."""
    value, low, high = (row[f"{name}{end}"] for end in ENDS)
    return value, low, high


class DrawnMeans(NamedTuple):
    """A weighted mean, its resampled values, and the number of independent samples.

    ``n_samples`` is the number of snapshots, or that of jobs where these are fewer.
    """

    mean: float
    drawn: NDArray[np.float64]
    n_samples: int


def _of_snapshots(
    values: ArrayLike, weights: ArrayLike, snapshot: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted sum and the weight of each snapshot's samples, by its number."""
    x = np.asarray(values, dtype=np.float64)
    w = np.broadcast_to(np.asarray(weights, dtype=np.float64), x.shape)
    _, unit = np.unique(np.asarray(snapshot), return_inverse=True)
    sums = (np.bincount(unit, weights=w * x), np.bincount(unit, weights=w))
    total, weight = (np.asarray(of, dtype=np.float64) for of in sums)
    return total, weight


def independent(n_snapshots: int, job: ArrayLike | None) -> int:
    """Return the number of snapshots, or of different jobs where these are fewer."""
    return n_snapshots if job is None else min(n_snapshots, len(np.unique(np.asarray(job))))


def drawn_means(
    values: ArrayLike,
    weights: ArrayLike,
    snapshot: ArrayLike,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
    *,
    job: ArrayLike | None = None,
) -> DrawnMeans:
    """Return the weighted mean of (n,) samples with whole snapshots drawn again; see
    `mean_of_snapshots`."""
    total, weight = _of_snapshots(values, weights, snapshot)
    drawn = resamples(len(total), rng, n_resamples)
    means = total[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    mean = float(total.sum() / weight.sum())
    return DrawnMeans(mean, means, independent(len(total), job))


def around(
    value: float,
    drawn: NDArray[np.float64],
    n_samples: int,
    level: float = LEVEL,
    *,
    least_samples: int = LEAST_SAMPLES,
) -> Interval:
    """Return `interval` with ends extended to include the estimate."""
    found = interval(value, drawn, n_samples, level, least_samples=least_samples)
    return Interval(found.value, min(found.low, found.value), max(found.high, found.value))


def mean_of_snapshots(
    values: ArrayLike,
    weights: ArrayLike,
    snapshot: ArrayLike,
    rng: np.random.Generator,
    level: float = LEVEL,
    *,
    job: ArrayLike | None = None,
    least_samples: int = LEAST_SAMPLES,
) -> Interval:
    """Return the weighted mean with the interval from drawing whole snapshots again.

    Jobs of one snapshot are not independent, hence the snapshot as the unit. One number as
    ``weights``: all weigh alike. ``job`` numbers each sample's job: few jobs seen often are few
    samples. ``least_samples`` is `LEAST_WINDOWS` where the snapshots come from that many windows of
    a log. The ends are nan for fewer snapshots or jobs than that.
    """
    means = drawn_means(values, weights, snapshot, rng, job=job)
    return around(*means, level, least_samples=least_samples)


@lru_cache(maxsize=1024)
def t_quantile(level: float, freedom: float) -> float:
    """Return the half-width of Student's t around 0 for these degrees of freedom.

    Importing SciPy for it would take longer than a queue. With t = freedom ** 0.5 * tan(angle) the
    probability is an integral of a power of the cosine.
    """
    at, weights = np.polynomial.legendre.leggauss(64)
    density = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.pi**0.5
    angle = level / 2 / density
    for _ in range(32):
        heights = np.cos(angle / 2 * (at + 1)) ** (freedom - 1)
        missing = level / 2 / density - angle / 2 * float(weights @ heights)
        angle += missing / math.cos(angle) ** (freedom - 1)
    return float(freedom**0.5 * math.tan(angle))


def interval_of_redrawn(
    value: float, redrawn: ArrayLike, n_blocks: float, level: float = LEVEL
) -> Interval:
    """Return an estimate of a positive quantity with its interval from a block bootstrap.

    Student's t for so many blocks (inf for samples that are generated anew), times the scatter of
    the logarithms of values generated anew, or of the reciprocal square roots of values drawn from
    blocks (`workloads.drawn`). A log without a long burst has a
    short mean wait and little scatter; on this scale the scatter depends less on the estimate. Of
    1,000 intervals of the mean wait of an M/D/1 queue at a load of 0.8, by ten blocks, 91 % hold
    it; 90 % by logarithms, and 89 % if blocks begin at the same times (`workloads.drawn.rotated`).

    The ends are nan for fewer than `LEAST_SAMPLES` blocks or values. With values of 0 they are
    quantiles.
    """
    x = np.asarray(redrawn, dtype=np.float64)
    if min(len(x), n_blocks) < LEAST_SAMPLES:
        return Interval(value, np.nan, np.nan)
    if value <= 0 or x.min() <= 0:
        return interval(value, x, len(x), level)
    factor = t_quantile(level, min(len(x), n_blocks) - 1)
    if np.isinf(n_blocks):
        half = factor * float(np.log(x).std(ddof=1))
        return Interval(value, float(value * np.exp(-half)), float(value * np.exp(half)))
    correction = (n_blocks / (n_blocks - 1)) ** 0.5
    half = factor * correction * float(((value / x) ** 0.5).std(ddof=1))
    # the scale ends at 1: the upper end is at most 100 times the estimate
    low, high = (1 + half) ** -2, (1 - min(half, 0.9)) ** -2
    return Interval(value, float(value * low), float(value * high))


BATCHES = 8


def batch_half_width(values: ArrayLike, level: float = LEVEL) -> float:
    """Return the half-width of the interval of a correlated mean, by batch means (Student's t).

    Values are in the order of time. They are cut into `BATCHES` consecutive parts of equal length;
    the remainder at the start is not used. nan with fewer than two samples a batch.
    """
    x = np.asarray(values, dtype=np.float64)
    length = len(x) // BATCHES
    if length < 2:
        return float("nan")
    means = x[len(x) - BATCHES * length :].reshape(BATCHES, length).mean(axis=1)
    deviation = float(means.std(ddof=1))
    return t_quantile(level, BATCHES - 1) * deviation / float(np.sqrt(BATCHES))


def t_interval(values: ArrayLike) -> Interval:
    """Return the mean of independent samples with Student's t interval at `LEVEL`.

    Its ends are nan for fewer than `LEAST_SAMPLES` samples.

    Examples
    --------
    >>> [round(x, 3) for x in t_interval([1.0, 2.0, 3.0, 4.0, 5.0])]
    [3.0, 1.037, 4.963]
    """
    x = np.asarray(values, dtype=np.float64)
    mean = float(x.mean())
    if len(x) < LEAST_SAMPLES:
        return Interval(mean, np.nan, np.nan)
    half = t_quantile(LEVEL, len(x) - 1) * float(x.std(ddof=1)) / len(x) ** 0.5
    return Interval(mean, mean - half, mean + half)


def t_of_snapshots(
    values: ArrayLike,
    weights: ArrayLike,
    snapshot: ArrayLike,
    level: float = LEVEL,
    *,
    job: ArrayLike | None = None,
    most: float = np.inf,
    least_samples: int = LEAST_SAMPLES,
) -> Interval:
    """Return the weighted mean over snapshots with a Student's t interval for correlated ones.

    The mean is that of all samples; its scatter that of the snapshots' parts of it. Snapshots one
    after the other, by number, share jobs: with a correlation r > 0 between neighbours, n of them
    count as n (1 - r) / (1 + r), at least 2. No end lies beyond ``most``. Other arguments and the
    ends as in `mean_of_snapshots`.
    """
    total, weight = _of_snapshots(values, weights, snapshot)
    mean = float(total.sum() / weight.sum())
    n = len(total)
    if independent(n, job) < least_samples:
        return Interval(mean, np.nan, np.nan)
    # a ratio of sums: what each snapshot adds to its error
    off = n * (total - mean * weight) / weight.sum()
    scatter = float(off @ off)
    alike = float(off[1:] @ off[:-1]) / scatter if scatter > 0 else 0.0
    counted = max(2.0, n * (1 - alike) / (1 + alike)) if alike > 0 else float(n)
    half = t_quantile(level, counted - 1) * (scatter / (n - 1) / counted) ** 0.5
    return Interval(mean, mean - half, mean + half).within(most=most)
