"""Distributions of a job's communication fraction, each defined by its inverse.

A job's fraction is the value at a number that is uniform between 0 and 1 and belongs to the job: so
the same job has a fraction of the same rank under every distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from workloads.registry import DISTRIBUTIONS

FloatArray = NDArray[np.float64]


class Fractions(Protocol):
    """Values from 0 to 1 by the share of jobs below them."""

    @property
    def mean(self) -> float:
        """Mean over all jobs."""

    @property
    def spread(self) -> float:
        """Standard deviation over jobs."""

    @property
    def description(self) -> str:
        """The distribution in words."""

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the fractions at these shares of jobs, (n,); both are from 0 to 1."""


@dataclass(frozen=True)
class UniformFractions:
    """All values between two ends alike, by their mean and standard deviation."""

    mean: float
    spread: float

    def __post_init__(self) -> None:
        _check(self)
        low, high = self.ends
        # a mean of 0.5 with the widest spread rounds to just beyond
        if low < -1e-12 or high > 1 + 1e-12:
            most = min(self.mean, 1 - self.mean) / np.sqrt(3)
            raise NetcosimError(
                f"spread {self.spread:g}: uniform fractions around a mean of {self.mean:g} stay "
                f"from 0 to 1 up to a spread of {most:.4g}"
            )

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value."""
        half = float(np.sqrt(3) * self.spread)
        return self.mean - half, self.mean + half

    @property
    def description(self) -> str:
        """See `Fractions`."""
        low, high = self.ends
        return f"uniform from {abs(low):.3g} to {high:.3g}"

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the fractions at these shares of jobs (see `Fractions`)."""
        low, high = self.ends
        return np.clip(low + (high - low) * u, 0.0, 1.0)


@dataclass(frozen=True)
class BetaFractions:
    """The beta distribution of a mean and a standard deviation.

    With m the mean and s the spread its two parameters are m k and (1 - m) k, where
    k = m (1 - m) / s**2 - 1. Without spread, all values are the mean.
    """

    mean: float
    spread: float

    def __post_init__(self) -> None:
        _check(self)
        room = self.mean * (1 - self.mean)
        if self.spread and self.spread**2 >= room:
            raise NetcosimError(
                f"spread {self.spread:g}: fractions around a mean of {self.mean:g} have a spread "
                f"below {np.sqrt(room):.4g}"
            )

    @property
    def description(self) -> str:
        """See `Fractions`."""
        if self.spread == 0:
            return f"{self.mean:.3g} for all"
        return f"beta, mean {self.mean:.3g}, spread {self.spread:.3g}"

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the fractions at these shares of jobs (see `Fractions`)."""
        if self.spread == 0:
            return np.full(len(u), self.mean)
        from scipy.special import betaincinv

        k = self.mean * (1 - self.mean) / self.spread**2 - 1
        return np.asarray(betaincinv(self.mean * k, (1 - self.mean) * k, u), dtype=np.float64)


@dataclass(frozen=True)
class QuantileFractions:
    """A table of quantiles, straight between them."""

    points: tuple[tuple[float, float], ...]
    """Share of jobs, and the fraction that so many of them are below; both rise, the shares from 0
    to 1. Two points of one share would be a gap in the values: a rise may be steep."""

    def __post_init__(self) -> None:
        share, value = np.array(self.points, dtype=np.float64).reshape(-1, 2).T
        if len(share) < 2 or share[0] != 0 or share[-1] != 1:
            raise NetcosimError(
                "quantiles: at least two are needed, and their shares of jobs begin at 0 and end "
                "at 1"
            )
        if (np.diff(share) <= 0).any() or (np.diff(value) < 0).any():
            raise NetcosimError(
                "quantiles: the shares of jobs must rise, their fractions must not fall"
            )
        if not (value[0] >= 0 and value[-1] <= 1):
            raise NetcosimError("quantiles: fractions are from 0 to 1")

    @property
    def _pieces(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        share, value = np.array(self.points, dtype=np.float64).T
        return np.diff(share), value[:-1], value[1:]

    @property
    def mean(self) -> float:
        """See `Fractions`."""
        weight, low, high = self._pieces
        return float(np.sum(weight * (low + high) / 2))

    @property
    def spread(self) -> float:
        """See `Fractions`."""
        weight, low, high = self._pieces
        second = float(np.sum(weight * (low**2 + low * high + high**2) / 3))
        return float(np.sqrt(max(0.0, second - self.mean**2)))

    @property
    def description(self) -> str:
        """See `Fractions`."""
        inner = ", ".join(f"{100 * share:g} % below {value:g}" for share, value in self.points[1:])
        return f"from {self.points[0][1]:g}; {inner}"

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the fractions at these shares of jobs (see `Fractions`)."""
        share, value = np.array(self.points, dtype=np.float64).T
        return np.asarray(np.interp(u, share, value), dtype=np.float64)


def _check(given: UniformFractions | BetaFractions) -> None:
    if not 0 <= given.mean <= 1:
        raise NetcosimError(f"mean {given.mean:g}: a communication fraction is from 0 to 1")
    if not given.spread >= 0:
        raise NetcosimError(f"spread {given.spread:g}: it must be at least 0")


def make_fractions(
    distribution: str,
    mean: float | None = None,
    spread: float | None = None,
    quantiles: Sequence[float] = (),
    at: Sequence[float] = (),
) -> Fractions:
    """Return a distribution of `DISTRIBUTIONS` by its name.

    "uniform" and "beta" have mean and spread; "quantiles" fractions, and the shares of jobs below
    them, evenly spaced if left out.
    """
    need_name("distribution", distribution, DISTRIBUTIONS)
    given = {"mean": mean is not None, "spread": spread is not None, "quantiles": bool(quantiles)}
    if at and len(at) != len(quantiles):
        raise NetcosimError(f"at: {len(at)} shares of jobs for {len(quantiles)} quantiles")
    needed = ("quantiles",) if distribution == "quantiles" else ("mean", "spread")
    for key, there in given.items():
        if there != (key in needed):
            problem = f"{key} is {'needed by' if key in needed else 'no key of'}"
            raise NetcosimError(f'{problem} distribution = "{distribution}"')
    if mean is None or spread is None:
        shares = at or np.linspace(0, 1, len(quantiles)).tolist()
        return QuantileFractions(tuple(zip(map(float, shares), map(float, quantiles), strict=True)))
    return (
        UniformFractions(mean, spread) if distribution == "uniform" else BetaFractions(mean, spread)
    )
