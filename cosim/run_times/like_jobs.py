"""Localities of jobs that are not simulated, from like jobs that are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

LEAST_LIKE = 4
"""Jobs of a class that are simulated before others are estimated from them."""
KNOWN = 0.005
"""Standard deviation of simulated localities from their estimates up to which these are enough."""


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
        like.seen.append(locality - 1 + fraction)
        like.unbounded.append((fraction, bound))

    def count(self, share: int, n_nodes: int) -> int:
        """Return the simulated jobs of a class."""
        like = self._classes.get(share, {}).get((n_nodes - 1).bit_length())
        return 0 if like is None else len(like.seen)

    def knows(self, share: int) -> bool:
        """Return whether a job of a communication has been simulated."""
        return share in self._classes

    def suffices(self, share: int, n_nodes: int) -> bool:
        """Return whether the estimates of a class with a simulated job are within `KNOWN`."""
        if not self.count(share, n_nodes):
            return False
        seen, expected = self._nearest(share, n_nodes)
        ratio = sum(seen) / sum(expected)
        errors = [each - ratio * root for each, root in zip(seen, expected, strict=True)]
        enough = len(seen) >= LEAST_LIKE
        return enough and sum(x * x for x in errors) <= KNOWN**2 * (len(seen) - 1)

    def locality(self, share: int, n_nodes: int, fraction: float, bound: float) -> float:
        """Return the estimate: of the nearest classes that have `LEAST_LIKE` jobs together."""
        seen, expected = self._nearest(share, n_nodes)
        return 1 - fraction + fraction * sqrt(bound) * sum(seen) / sum(expected)

    def _nearest(self, share: int, n_nodes: int) -> tuple[list[float], list[float]]:
        """Return f r and f times the root of the bound of the simulated jobs like one."""
        size, of_share = (n_nodes - 1).bit_length(), self._classes[share]
        seen, expected = list[float](), list[float]()
        for other in sorted(of_share, key=lambda other: (abs(other - size), other)):
            seen += of_share[other].seen
            expected += of_share[other].expected()
            if len(seen) >= LEAST_LIKE:
                break
        return seen, expected


@dataclass
class _SizeClass:
    """Simulated jobs of a communication and size class."""

    seen: list[float] = field(default_factory=list)
    """f r of each."""
    bounded: list[float] = field(default_factory=list)
    unbounded: list[tuple[float, Callable[[], float]]] = field(default_factory=list)
    """bounded, unbounded: f times the root of the bound, and f and bound of the later jobs."""

    def expected(self) -> list[float]:
        """Return f times the root of the bound, of each."""
        self.bounded += [fraction * sqrt(bound()) for fraction, bound in self.unbounded]
        self.unbounded.clear()
        return self.bounded
