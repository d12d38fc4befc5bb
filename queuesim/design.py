"""Designs of experiments: which points of a space of factors are computed.

Points lie in the unit cube, a side a factor; a factor says what value a place between 0 and 1
stands for. Sampling is SALib's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name

FloatArray = NDArray[np.float64]

METHODS = {
    "morris": "trajectories that change one factor at a time; samples = their number",
    "sobol-sequence": "a space-filling sequence, shifted by the seed; more samples only add points",
    "latin-hypercube": "each factor's range cut into as many parts as samples, one point in each",
}
"""How points are chosen, by name."""

MORRIS_LEVELS = 4
"""Places of a factor on the grid of ``morris``: 0, 1/3, 2/3 and 1."""
MAX_SAMPLES = 100_000
_DIGITS = 6


@dataclass(frozen=True)
class Factor:
    """Something that varies.

    Attributes
    ----------
    name : str
    low, high : float
        Ends of its range; not looked at where there are levels.
    log : bool
        Whether equal ratios, not equal distances, are equally far apart.
    whole : bool
        Whether values are whole numbers.
    levels : tuple of str
        What its values are called, where it has a few and no numbers between them.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    whole: bool = False
    levels: tuple[str, ...] = ()

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
        """Number of the level that a place between 0 and 1 stands for."""
        return min(int(place * len(self.levels)), len(self.levels) - 1)

    def value(self, place: float) -> float | int:
        """The number that a place stands for, of six digits."""
        if self.log:
            found = self.low * (self.high / self.low) ** place
        else:
            found = self.low + place * (self.high - self.low)
        return round(found) if self.whole else float(f"{found:.{_DIGITS}g}")

    def place(self, value: float) -> float:
        """Where a number lies in the range; 0 at its low end, 1 at its high one."""
        low, high = self.low, self.high
        if self.log:
            return float(np.log(value / low) / np.log(high / low))
        return (value - low) / (high - low)

    def level_place(self, name: str) -> float:
        """The middle of the places that stand for a level."""
        return (self.levels.index(name) + 0.5) / len(self.levels)

    def told(self, place: float) -> str:
        """The value at a place in words."""
        return self.levels[self.level(place)] if self.levels else f"{self.value(place):g}"


@dataclass(frozen=True)
class Design:
    """Which points are computed.

    Attributes
    ----------
    method : str
        A key of `METHODS`.
    samples, seed : int
    factors : sequence of Factor
    """

    method: str
    samples: int
    seed: int
    factors: Sequence[Factor]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise unknown_name("design", self.method, METHODS)
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise NetcosimError(f"samples = {self.samples}; must be 1 to {MAX_SAMPLES:,}")
        if len({factor.name for factor in self.factors}) < len(self.factors):
            raise NetcosimError("a factor stands there twice")
        if len(self.factors) < 2:
            raise NetcosimError(f"{len(self.factors)} factors; a design needs two or more")

    def places(self) -> FloatArray:
        """(n, k) float64 between 0 and 1: a row a point, a column a factor.

        Raises
        ------
        NetcosimError
            SALib is not installed.
        """
        problem = problem_of([factor.name for factor in self.factors])
        salib()
        if self.method == "morris":
            from SALib.sample import morris

            found = morris.sample(problem, self.samples, num_levels=MORRIS_LEVELS, seed=self.seed)
        elif self.method == "latin-hypercube":
            from SALib.sample import latin

            found = latin.sample(problem, self.samples, seed=self.seed)
        else:
            from SALib.sample import sobol_sequence

            shift = np.random.default_rng(self.seed).random(len(self.factors))
            found = (sobol_sequence.sample(self.samples, len(self.factors)) + shift) % 1.0
        return np.asarray(found, dtype=np.float64)


def problem_of(names: Sequence[str]) -> dict[str, object]:
    """Factors in the unit cube as SALib wants them told."""
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
