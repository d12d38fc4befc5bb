"""Designs of experiments: which points of a space of factors are computed.

Points lie in the unit cube, one axis per factor; a factor maps a coordinate between 0 and 1 to a
value. Sampling is SALib's. Two factors whose levels always coincide cannot be separated by any
analysis, so a design is refused where two of its columns depend on each other more than those of
random designs do (`most_confounded`): plain projections of a Sobol sequence may.

Sources: Cramer, Mathematical Methods of Statistics, 1946, 21.9 (V); Joe and Kuo, SIAM Journal on
Scientific Computing 30, 2008 (two-dimensional projections of Sobol sequences).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name

FloatArray = NDArray[np.float64]

METHODS = {
    "morris": "trajectories that change one factor at a time; samples = their number",
    "sobol-sequence": "a space-filling sequence, shifted by the seed; more samples only add "
    "points; refused where two of many factors are confounded",
    "latin-hypercube": "each factor's range cut into as many parts as samples, one point in each",
}
"""How points are chosen, by name."""

MORRIS_LEVELS = 4
"""Places of a factor on the grid of ``morris``: 0, 1/3, 2/3 and 1."""
MAX_SAMPLES = 100_000
_DIGITS = 6
FALSE_ALARM = 1e-4
"""Share of random designs of which `most_confounded` finds a pair."""
_IN_A_CELL = 5
_MOST_STRATA = 8


@dataclass(frozen=True)
class Factor:
    """Something that varies."""

    name: str
    low: float = 0.0
    high: float = 1.0
    """low, high: Ends of its range; not looked at where there are levels."""
    log: bool = False
    """Whether equal ratios, not equal distances, are equally far apart."""
    is_integer: bool = False
    """Whether values are whole numbers."""
    levels: tuple[str, ...] = ()
    """What its values are called, where it has a few and no numbers between them."""

    def __post_init__(self) -> None:
        if self.levels:
            if len(self.levels) < 2:
                raise NetcosimError(f"factor {self.name}: one level; it needs two or more")
        elif not self.low < self.high:
            raise NetcosimError(
                f"factor {self.name}: low {self.low:g}, high {self.high:g}; low must be below high"
            )
        elif self.log and self.low <= 0:
            raise NetcosimError(f"factor {self.name}: log needs low above 0, got {self.low:g}")

    def level(self, place: float) -> int:
        """Return the index of the level at a coordinate between 0 and 1."""
        return min(int(place * len(self.levels)), len(self.levels) - 1)

    def value(self, place: float) -> float | int:
        """Return the value at a coordinate, rounded to six digits."""
        if self.log:
            found = self.low * (self.high / self.low) ** place
        else:
            found = self.low + place * (self.high - self.low)
        return round(found) if self.is_integer else float(f"{found:.{_DIGITS}g}")

    def strata(self, places: FloatArray) -> NDArray[np.int64]:
        """Return numbers of levels, or of equal parts of a range that the points can fill, (n,)."""
        n = len(self.levels) or n_strata(len(places))
        return np.minimum((np.asarray(places) * n).astype(np.int64), n - 1)

    def label(self, place: float) -> str:
        """Return the value at a coordinate as text."""
        return self.levels[self.level(place)] if self.levels else f"{self.value(place):g}"


@dataclass(frozen=True)
class Design:
    """Which points are computed."""

    method: str
    """A key of `METHODS`."""
    samples: int
    seed: int
    factors: Sequence[Factor]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise unknown_name("design", self.method, METHODS)
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise NetcosimError(f"samples = {self.samples}; must be 1 to {MAX_SAMPLES:,}")
        if len({factor.name for factor in self.factors}) < len(self.factors):
            raise NetcosimError("a factor is listed twice")
        if len(self.factors) < 2:
            raise NetcosimError(f"{len(self.factors)} factors; a design needs two or more")

    def places(self) -> FloatArray:
        """Return places between 0 and 1, (n, k) float64: a row a point, a column a factor.

        Raises
        ------
        NetcosimError
            SALib is not installed; two factors are confounded.
        """
        problem = problem_of([factor.name for factor in self.factors])
        salib()
        if self.method == "morris":
            from SALib.sample import morris

            # one factor changes at a time, so no two are confounded
            found = morris.sample(problem, self.samples, num_levels=MORRIS_LEVELS, seed=self.seed)
            return np.asarray(found, dtype=np.float64)
        if self.method == "latin-hypercube":
            from SALib.sample import latin

            found = latin.sample(problem, self.samples, seed=self.seed)
        else:
            from SALib.sample import sobol_sequence

            shift = np.random.default_rng(self.seed).random(len(self.factors))
            found = (sobol_sequence.sample(self.samples, len(self.factors)) + shift) % 1.0
        places = np.asarray(found, dtype=np.float64)
        if pair := most_confounded(self.strata(places)):
            raise NetcosimError(
                f'{pair}; set method = "latin-hypercube", or change samples or seed'
            )
        return places

    def strata(self, places: FloatArray) -> dict[str, NDArray[np.int64]]:
        """Return each factor's strata at (n, k) places, by its name."""
        return {f.name: f.strata(places[:, i]) for i, f in enumerate(self.factors)}


@dataclass(frozen=True)
class Confounded:
    """Two columns of a design that depend on each other more than in random designs."""

    one: str
    other: str
    cramers_v: float
    """From 0 (independent) to 1 (one determines the other)."""
    bound: float
    """Below which random designs of as many points stay."""
    points: int

    def __str__(self) -> str:
        return (
            f"factors {self.one} and {self.other} are confounded: Cramer's V "
            f"{self.cramers_v:.2f}; random designs of {self.points} points stay below "
            f"{self.bound:.2f}"
        )


def n_strata(n_points: int) -> int:
    """Return the number of parts of a range with which pairs of parts have some points each."""
    return int(np.clip((n_points / _IN_A_CELL) ** 0.5, 2, _MOST_STRATA))


def most_confounded(columns: Mapping[str, NDArray[np.int64]]) -> Confounded | None:
    """Return the two columns that depend on each other most, if more than in random designs.

    Parameters
    ----------
    columns : mapping of str to (n,) int64
        Levels or strata by factor; any integers that distinguish values.

    Notes
    -----
    Pearson's chi-squared of a pair of independent columns has (r - 1)(c - 1) degrees of freedom;
    its bound leaves out a share `FALSE_ALARM` of all designs (Bonferroni over the pairs).
    """
    from scipy.special import chdtri

    pairs = list(itertools.combinations(columns, 2))
    found = []
    for one, other in pairs:
        a, b = (np.unique(columns[name], return_inverse=True)[1] for name in (one, other))
        counts = np.zeros((a.max(initial=0) + 1, b.max(initial=0) + 1))
        np.add.at(counts, (a, b), 1)
        n, smaller = len(a), min(counts.shape) - 1
        if smaller < 1:
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
        chi2 = float(((counts - expected) ** 2 / expected).sum())
        freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
        most = float(chdtri(freedom, FALSE_ALARM / len(pairs)))
        v, bound = ((x / n / smaller) ** 0.5 for x in (chi2, most))
        found.append(Confounded(one, other, v, bound, n))
    worst = max(found, key=lambda pair: pair.cramers_v / pair.bound, default=None)
    return worst if worst is not None and worst.cramers_v > worst.bound else None


def problem_of(names: Sequence[str]) -> dict[str, object]:
    """Return the factors in the unit cube as SALib expects them."""
    return {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}


def salib() -> None:
    """Raise NetcosimError where SALib is missing."""
    try:
        import SALib  # noqa: F401
    except ImportError:
        raise NetcosimError(
            "a design of experiments needs SALib, which is not installed: "
            "pip install 'netcosim[design]'"
        ) from None
