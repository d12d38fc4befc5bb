"""Communication fractions of jobs, drawn with their sizes or without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from workloads.shares.distributions import Fractions

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class FractionLaw:
    """Rule for drawing the communication fractions of jobs."""

    fractions: Fractions
    size_correlation: float = 0.0
    """Rank correlation (Spearman's) of a job's fraction with its nodes, from -1 to 1, by a Gaussian
    copula: the distribution does not depend on it. Jobs of one node send nothing and do not
    count."""
    source: str = ""
    """Where the distribution is from."""

    def __post_init__(self) -> None:
        if not -1 <= self.size_correlation <= 1:
            raise NetcosimError(
                f"size_correlation {self.size_correlation:g}: a correlation is from -1 to 1"
            )

    def draw(self, u: FloatArray, ties: FloatArray, n_nodes: NDArray[np.integer]) -> FloatArray:
        """Return the communication fractions of jobs from uniform numbers, ``ties`` of sizes."""
        if self.size_correlation:
            several = n_nodes > 1
            u = u.copy()
            u[several] = with_rank_correlation(
                u[several], n_nodes[several], ties[several], self.size_correlation
            )
        return self.fractions.quantile(u)

    def describe(self, n_nodes: NDArray[np.integer]) -> str:
        """Describe the draws for jobs of these sizes."""
        parts = [f"communication fractions: {self.fractions.description}"]
        if self.size_correlation:
            left = self.size_correlation * untied(n_nodes[n_nodes > 1])
            parts.append(
                f"rank correlation with a job's nodes {self.size_correlation:g} (about {left:.2f} "
                "where equal sizes share a rank)"
            )
        return "; ".join([*parts, *([self.source] if self.source else [])])


def with_rank_correlation(
    u: FloatArray, sizes: NDArray[np.integer], ties: FloatArray, correlation: float
) -> FloatArray:
    """Return uniform numbers with Spearman's correlation to sizes, by a Gaussian copula, (n,).

    Two normal variables of correlation r have uniform ranks of correlation 6 asin(r / 2) / pi
    (Pearson 1907): r is chosen so. Equal sizes are put in the order of ``ties``, so that the
    numbers stay uniform; with average ranks for equal sizes the correlation is smaller by about
    `untied`. ``u`` and ``ties`` are uniform and independent. The correlation is that of one job and
    the order of its size among the others.
    """
    from scipy.special import ndtr, ndtri

    n = len(u)
    rank = np.empty(n)
    rank[np.lexsort((ties, sizes))] = np.arange(n)
    r = 2 * np.sin(np.pi * correlation / 6)
    # 0 and 1 would be infinite
    own = ndtri(np.clip(u, 2.0**-54, 1 - 2.0**-53))
    return np.asarray(ndtr(r * ndtri((rank + 0.5) / n) + np.sqrt(max(0.0, 1 - r * r)) * own))


def untied(sizes: NDArray[np.integer]) -> float:
    """Return the factor by which ties reduce a rank correlation: spread of average ranks over that
    of ranks.

    1 if no two sizes are equal, 0 if all are.
    """
    n = float(len(sizes))
    if n < 2:
        return 0.0
    same = np.unique(sizes, return_counts=True)[1].astype(np.float64)
    return float(np.sqrt(1 - np.sum(same**3 - same) / (n**3 - n)))
