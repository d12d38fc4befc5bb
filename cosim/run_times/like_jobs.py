"""Localities of jobs that are not simulated, from like jobs that are."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST_LIKE = 4
"""Jobs of a class that are simulated before others are estimated from them."""


@dataclass
class LikeJobs:
    """Stretch of communication by nodes, of simulated jobs: by communication and size class.

    A job that communicates for a fraction f of its time on the reference's nodes has a locality of
    1 + f (r - 1), where r is the stretch. Its estimate is the sum of (locality - 1) over that of f
    of its class, which makes the mean locality of a class that of its sample. Sizes are classed by
    powers of two: 2, 3 and 4, 5 to 8, and so on.

    Examples
    --------
    >>> like = LikeJobs()
    >>> like.add(share=0, n_nodes=2, fraction=0.1, locality=1.0)
    >>> like.add(share=0, n_nodes=2, fraction=0.5, locality=1.3)
    >>> round(like.locality(share=0, n_nodes=2, fraction=0.2), 3)
    1.1
    """

    _sums: dict[int, dict[int, tuple[int, float, float]]] = field(default_factory=dict)
    """By communication and size class: jobs, and sums of f and of locality - 1."""

    def add(self, share: int, n_nodes: int, fraction: float, locality: float) -> None:
        """Count a simulated job."""
        of_share = self._sums.setdefault(share, {})
        size = (n_nodes - 1).bit_length()
        n_jobs, of_time, extra = of_share.get(size, (0, 0.0, 0.0))
        of_share[size] = n_jobs + 1, of_time + fraction, extra + locality - 1

    def count(self, share: int, n_nodes: int) -> int:
        """Return the simulated jobs of a class."""
        return self._sums.get(share, {}).get((n_nodes - 1).bit_length(), (0,))[0]

    def knows(self, share: int) -> bool:
        """Return whether a job of a communication has been simulated."""
        return share in self._sums

    def locality(self, share: int, n_nodes: int, fraction: float) -> float:
        """Return the estimate: of the nearest classes that have `LEAST_LIKE` jobs together."""
        size = (n_nodes - 1).bit_length()
        n_jobs, of_time, extra = 0, 0.0, 0.0
        for _, sums in sorted(
            self._sums[share].items(), key=lambda item: (abs(item[0] - size), item[0])
        ):
            n_jobs, of_time, extra = n_jobs + sums[0], of_time + sums[1], extra + sums[2]
            if n_jobs >= LEAST_LIKE:
                break
        return 1 + fraction * extra / of_time
