"""Means under each level of a factor, and their changes from a base level, with intervals.

What is compared (jobs, workloads, snapshots) is the same under all levels, so a change is drawn as
pairs and known much better than the two means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from queuesim.statistics import Interval, around, drawn_means


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples under one level of a factor.

    Attributes
    ----------
    unit : (n,)
        What the bootstrap draws again as a unit: jobs of one snapshot are not independent.
    value : (n,)
    weight : (n,) or number
    """

    unit: ArrayLike
    value: ArrayLike
    weight: ArrayLike = 1.0

    def of(self, units: NDArray[np.generic]) -> Samples:
        """Those of some units."""
        unit, value = np.asarray(self.unit), np.asarray(self.value)
        weight = np.broadcast_to(np.asarray(self.weight, dtype=np.float64), value.shape)
        kept = np.isin(unit, units)
        return Samples(unit[kept], value[kept], weight[kept])


@dataclass(frozen=True)
class LevelMean:
    """The weighted mean under a level, and its change from the base; 95 % intervals.

    Attributes
    ----------
    mean, change : Interval
    n_units : int
    """

    mean: Interval
    change: Interval
    n_units: int

    def side(self, neutral: float) -> str:
        """Where the entire interval is: "above" or "below" a value; else "around" it."""
        if self.mean.low > neutral:
            return "above"
        return "below" if self.mean.high < neutral else "around"


def level_means(samples: Mapping[str, Samples], base: str, seed: int) -> dict[str, LevelMean]:
    """Means by level, over the units that all levels have.

    Parameters
    ----------
    samples : mapping of level to Samples
    base : str
        The level that changes are relative to; the first existing one if it is missing.
    seed : int
        Of the bootstrap; the same draws for all levels.

    Raises
    ------
    NetcosimError
        No unit is common to all.
    """
    units = [np.unique(np.asarray(mine.unit)) for mine in samples.values()]
    common = units[0]
    for more in units[1:]:
        common = np.intersect1d(common, more)
    if not len(common):
        raise NetcosimError(f"levels {', '.join(samples)}: no unit that all of them have")
    found = {}
    for level, mine in samples.items():
        kept = mine.of(common)
        rng = np.random.Generator(np.random.PCG64(seed))
        found[level] = drawn_means(kept.value, kept.weight, kept.unit, rng)
    first = found.get(base, next(iter(found.values())))
    return {
        level: LevelMean(
            around(*means),
            around(means.mean - first.mean, means.drawn - first.drawn, means.n_samples),
            means.n_samples,
        )
        for level, means in found.items()
    }
