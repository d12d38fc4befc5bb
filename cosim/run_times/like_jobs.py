"""Localities of jobs that are not simulated, from like jobs that are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

LEAST_LIKE = 4
"""Jobs of a class that are simulated before others are estimated from them."""


@dataclass
class LikeJobs:
    """Stretch of communication by nodes, of simulated jobs: by communication and size class.

    A job that communicates for a fraction f of its time on the reference's nodes has a locality of
    1 - f + f r, where r is the stretch. It is estimated as the square root of the stretch of its
    bound (not following it, or following it fully, is further off), times the sum of f r over that
    of f times this root in its class. So the mean locality of a sample is that of its estimates.
    Sizes are classed by powers of two: 2, 3 and 4, 5 to 8, and so on.
    """

    _classes: dict[int, dict[int, _SizeClass]] = field(default_factory=dict)

    def add(
        self,
        share: int,
        n_nodes: int,
        fraction: float,
        locality: float,
        bound: Callable[[], float],
    ) -> None:
        """Count a simulated job, whose iteration has this bound over that on the reference's nodes
        (`cosim.network.job_network.JobLoads.bound_s`), computed if it is needed."""
        of_share, size = self._classes.setdefault(share, {}), (n_nodes - 1).bit_length()
        like = of_share.setdefault(size, _SizeClass())
        like.n_jobs += 1
        like.seen += locality - 1 + fraction
        like.unbounded.append((fraction, bound))

    def count(self, share: int, n_nodes: int) -> int:
        """Return the simulated jobs of a class."""
        like = self._classes.get(share, {}).get((n_nodes - 1).bit_length())
        return 0 if like is None else like.n_jobs

    def knows(self, share: int) -> bool:
        """Return whether a job of a communication has been simulated."""
        return share in self._classes

    def locality(self, share: int, n_nodes: int, fraction: float, bound: float) -> float:
        """Return the estimate: of the nearest classes that have `LEAST_LIKE` jobs together."""
        size, n_jobs, expected, seen = (n_nodes - 1).bit_length(), 0, 0.0, 0.0
        of_share = self._classes[share]
        for other in sorted(of_share, key=lambda other: (abs(other - size), other)):
            like = of_share[other]
            n_jobs, seen = n_jobs + like.n_jobs, seen + like.seen
            expected += like.expected()
            if n_jobs >= LEAST_LIKE:
                break
        return 1 - fraction + fraction * sqrt(bound) * seen / expected


@dataclass
class _SizeClass:
    """Simulated jobs of a communication and size class."""

    n_jobs: int = 0
    seen: float = 0.0
    """Sum of f r."""
    bounded: float = 0.0
    unbounded: list[tuple[float, Callable[[], float]]] = field(default_factory=list)
    """bounded, unbounded: Sum of f times the root of the bound, and f and bound of the jobs that
    it does not have yet."""

    def expected(self) -> float:
        """Return the sum of f times the root of the bound."""
        self.bounded += sum(fraction * sqrt(bound()) for fraction, bound in self.unbounded)
        self.unbounded.clear()
        return self.bounded
