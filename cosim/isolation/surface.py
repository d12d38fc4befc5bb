"""Analysis of a designed experiment: effects, a response surface, and its sources of variance.

`screened` takes the trajectories of Morris. `fit_surface` fits a polynomial chaos: products of
orthonormal polynomials of the factors (contrasts where a factor has levels), chosen one after the
other as long as the cross-validated prediction improves. Its Sobol indices are sums of squares of
its coefficients, exact for the surface; the quality of the surface is given by cross-validation.
`raw_first_order` uses the sample directly.

Sources: Morris, Technometrics 33, 1991; Campolongo, Cariboni and Saltelli, Environmental Modelling
& Software 22, 2007 (mu*); Sudret, Reliability Engineering & System Safety 93, 2008 (indices of a
polynomial chaos); Blatman and Sudret, Journal of Computational Physics 230, 2011 (sparse ones);
Chen, Billings and Luo, International Journal of Control 50, 1989 (orthogonal least squares).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosim.isolation.design import Factor, problem_of, salib
from netsim.errors import NetcosimError

FloatArray = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 200
LEAST_RAW = 64
_FOLDS = 10
_MOST_TERMS = 60
_NOTHING = 1e-10

Term = tuple[tuple[int, int], ...]
"""Which one-factor functions a term is the product of: (factor, number of its function)."""


# Screening


@dataclass(frozen=True)
class Effect:
    """A factor's elementary effects: change of the response over change of the place.

    ``mu_star`` is the mean of their sizes, ``sigma`` their standard deviation: it is large where a
    factor acts together with others or not along a line. Each with its interval.
    """

    factor: str
    mu: float
    mu_star: float
    mu_star_low: float
    mu_star_high: float
    sigma: float
    sigma_low: float
    sigma_high: float
    trajectories: int


def screened(
    factors: Sequence[Factor], places: FloatArray, response: FloatArray, seed: int = 1
) -> list[Effect]:
    """Return effects by Morris, with intervals from resampling whole trajectories.

    Parameters
    ----------
    places : (n (k + 1), k) float64
        Of a design ``morris``, in its order.
    response : (n (k + 1),) float64
        nan where a point is missing: its trajectory does not count.

    Raises
    ------
    NetcosimError
        Fewer than two complete trajectories.
    """
    k = len(factors)
    steps = np.asarray(places).reshape(-1, k + 1, k)
    values = np.asarray(response, dtype=np.float64).reshape(-1, k + 1)
    complete = np.isfinite(values).all(axis=1)
    if complete.sum() < 2:
        raise NetcosimError(f"{complete.sum()} complete trajectories; effects need two or more")
    moved = np.diff(steps[complete], axis=1)  # one factor a step
    which = np.abs(moved).argmax(axis=2)
    change = np.diff(values[complete], axis=1) / moved.sum(axis=2)
    effects = np.empty_like(change)
    np.put_along_axis(effects, which, change, axis=1)
    rng = np.random.default_rng(seed)
    drawn = effects[rng.integers(0, len(effects), (RESAMPLES, len(effects)))]
    mu_star, sigma = np.abs(drawn).mean(axis=1), drawn.std(axis=1, ddof=1)
    return [
        Effect(
            factor.name,
            float(effects[:, i].mean()),
            float(np.abs(effects[:, i]).mean()),
            *_ends(mu_star[:, i]),
            float(effects[:, i].std(ddof=1)),
            *_ends(sigma[:, i]),
            len(effects),
        )
        for i, factor in enumerate(factors)
    ]


def _ends(values: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


# Surface


def _functions(factor: Factor, place: FloatArray, degree: int) -> FloatArray:
    """Return a factor's functions, orthonormal over its places, without the constant, (m, n).

    Legendre polynomials up to a degree; of levels, each against the mean of those after it.
    """
    if not factor.levels:
        x = 2 * place - 1
        return np.array(
            [
                np.sqrt(2 * d + 1) * np.polynomial.legendre.Legendre.basis(d)(x)
                for d in range(1, degree + 1)
            ]
        )
    count = len(factor.levels)
    level = np.minimum((place * count).astype(np.int64), count - 1)
    contrasts = []
    for i in range(count - 1):
        rest = count - 1 - i
        contrast = np.where(np.arange(count) == i, rest, -1.0) * (np.arange(count) >= i)
        contrasts.append(contrast * np.sqrt(count / (contrast**2).sum()))
    return np.array(contrasts)[:, level]


def _terms(factors: Sequence[Factor], degree: int) -> list[Term]:
    """Return all products up to a total degree; a contrast counts as one."""
    own = [
        [(n, 1) for n in range(len(f.levels) - 1)]
        if f.levels
        else [(d, d + 1) for d in range(degree)]
        for f in factors
    ]
    found: list[Term] = []
    for size in range(1, min(degree, len(factors)) + 1):
        for chosen in itertools.combinations(range(len(factors)), size):
            for functions in itertools.product(*(own[i] for i in chosen)):
                if sum(cost for _, cost in functions) <= degree:
                    found.append(tuple((i, n) for i, (n, _) in zip(chosen, functions, strict=True)))
    return found


def _matrix(
    factors: Sequence[Factor], terms: Sequence[Term], places: FloatArray, degree: int
) -> FloatArray:
    """Return the values of the terms, (n, number of terms) float64."""
    known = [_functions(f, places[:, i], degree) for i, f in enumerate(factors)]
    columns = [np.prod([known[i][n] for i, n in term], axis=0) for term in terms]
    return np.array(columns).reshape(len(terms), len(places)).T


def _chosen(
    matrix: FloatArray, response: FloatArray, most: int, out: FloatArray | None = None
) -> tuple[list[int], FloatArray]:
    """Return the columns in the order in which each takes most of what those before it leave.

    With rows that are ``out`` of it: (1 + number of columns, n) their prediction by none of
    the columns, by the first, by the first two, ...
    """
    mean = matrix.mean(axis=0)
    rest, columns = response - response.mean(), matrix - mean
    there = np.empty((0, matrix.shape[1])) if out is None else out - mean
    predicted = [np.full(len(there), response.mean())]
    size = (columns**2).sum(axis=0)
    least = 1e-8 * np.maximum(size, _NOTHING)
    order: list[int] = []
    for _ in range(min(most, len(response) - 2, matrix.shape[1])):
        size = (columns**2).sum(axis=0)
        usable = size > least
        gain = np.where(usable, (rest @ columns) ** 2 / np.where(usable, size, 1.0), 0.0)
        best = int(gain.argmax())
        if gain[best] <= _NOTHING * max(float((response**2).sum()), _NOTHING):
            break
        order.append(best)
        direction = columns[:, best] / size[best]
        step, new = float(direction @ rest), there[:, best].copy()
        predicted.append(predicted[-1] + step * new)
        rest = rest - columns[:, best] * step
        along = direction @ columns
        columns, there = columns - np.outer(columns[:, best], along), there - np.outer(new, along)
    return order, np.array(predicted)


def _solved(matrix: FloatArray, response: FloatArray) -> FloatArray:
    """Return the least squares with a constant, which comes first."""
    full = np.column_stack([np.ones(len(response)), matrix])
    return np.asarray(np.linalg.lstsq(full, response, rcond=None)[0])


def _folds(n: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    return [part for part in np.array_split(rng.permutation(n), min(_FOLDS, n)) if len(part)]


def _best_count(
    matrix: FloatArray, response: FloatArray, most: int, rng: np.random.Generator
) -> int:
    """Return the number of terms with the least cross-validation error."""
    left = np.zeros((most + 1, len(response)))
    for out in _folds(len(response), rng):
        inside = np.setdiff1d(np.arange(len(response)), out)
        _, predicted = _chosen(matrix[inside], response[inside], most, matrix[out])
        # where it stops early more terms would change nothing
        every = predicted[np.minimum(np.arange(most + 1), len(predicted) - 1)]
        left[:, out] = response[out] - every
    return int((left**2).sum(axis=1).argmin())


@dataclass(frozen=True, eq=False)
class Surface:
    """A response surface, and how it was found."""

    factors: Sequence[Factor]
    degree: int
    terms: tuple[Term, ...]
    coefficients: FloatArray
    """(1 + number of terms,) float64. The constant first."""
    n_points: int
    r2: float = float("nan")
    rmse: float = float("nan")
    """r2, rmse: Of points that were left out when it was fitted, the choice of its terms included:
    share of their variance that it explains (below 0: less than their mean), and its mean error."""

    def at(self, places: FloatArray) -> FloatArray:
        """Return the response at (n, k) places, (n,) float64."""
        matrix = _matrix(self.factors, self.terms, np.atleast_2d(places), self.degree)
        return np.asarray(self.coefficients[0] + matrix @ self.coefficients[1:])

    def indices(self) -> tuple[FloatArray, FloatArray]:
        """Return first-order and total-order Sobol indices, (k,); 0 where the surface is flat."""
        parts, k = self.coefficients[1:] ** 2, len(self.factors)
        total = float(parts.sum())
        first, every = np.zeros(k), np.zeros(k)
        for term, part in zip(self.terms, parts, strict=True):
            for i, _ in term:
                every[i] += part
            if len(term) == 1:
                first[term[0][0]] += part
        return (first / total, every / total) if total > 0 else (first, every)


def fit_surface(
    factors: Sequence[Factor],
    places: FloatArray,
    response: FloatArray,
    degree: int = 2,
    seed: int = 1,
) -> Surface:
    """Return the surface through a design's points.

    Parameters
    ----------
    places : (n, k) float64
    response : (n,) float64
    degree : int
        Of products of polynomials, in total.
    seed : int
        Of how points are left out.

    Raises
    ------
    NetcosimError
        Fewer points than four or twice the factors.
    """
    response = np.asarray(response, dtype=np.float64)
    n, least = len(response), max(4, 2 * len(factors))
    if n < least:
        raise NetcosimError(
            f"{n} points of {len(factors)} factors; a surface needs {least} or more"
        )
    terms = _terms(factors, degree)
    matrix = _matrix(factors, terms, places, degree)
    rng = np.random.default_rng(seed)
    most = min(_MOST_TERMS, n // 3)
    count = _best_count(matrix, response, most, rng)
    mine, _ = _chosen(matrix, response, count)
    missed = np.empty(n)
    for out in _folds(n, rng):
        inside = np.setdiff1d(np.arange(n), out)
        own = _best_count(matrix[inside], response[inside], most, rng)
        _, predicted = _chosen(matrix[inside], response[inside], own, matrix[out])
        missed[out] = response[out] - predicted[-1]
    spread = float(((response - response.mean()) ** 2).sum())
    return Surface(
        factors,
        degree,
        tuple(terms[i] for i in mine),
        _solved(matrix[:, mine], response),
        n,
        1 - float((missed**2).sum()) / spread if spread > 0 else 0.0,
        float(np.sqrt((missed**2).mean())),
    )


def drawn_surfaces(
    surface: Surface, places: FloatArray, response: FloatArray, seed: int = 1
) -> list[Surface]:
    """Fit surfaces of as many terms to resampled points, as another design might have given."""
    response = np.asarray(response, dtype=np.float64)
    terms = _terms(surface.factors, surface.degree)
    matrix = _matrix(surface.factors, terms, places, surface.degree)
    rng, found = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        rows = rng.integers(0, len(response), len(response))
        mine, _ = _chosen(matrix[rows], response[rows], len(surface.terms))
        found.append(
            Surface(
                surface.factors,
                surface.degree,
                tuple(terms[i] for i in mine),
                _solved(matrix[rows][:, mine], response[rows]),
                len(response),
            )
        )
    return found


def index_rows(
    surface: Surface, drawn: Sequence[Surface], places: FloatArray, response: FloatArray
) -> list[dict[str, object]]:
    """Return a row a factor: its indices with intervals, those of the raw sample, and how good the
    fit is.

    An interval is of the drawn surfaces. ``first_raw`` is `raw_first_order`.
    """
    first, total = surface.indices()
    firsts, totals = (np.array(each) for each in zip(*(s.indices() for s in drawn), strict=True))
    raw = raw_first_order(surface.factors, places, response)
    rows: list[dict[str, object]] = []
    for i, factor in enumerate(surface.factors):
        low, high = _ends(firsts[:, i])
        total_low, total_high = _ends(totals[:, i])
        rows.append(
            {
                "factor": factor.name,
                "first": float(first[i]),
                "first_low": low,
                "first_high": high,
                "total": float(total[i]),
                "total_low": total_low,
                "total_high": total_high,
                "first_raw": raw[i][0],
                "first_raw_half_width": raw[i][1],
                "points": surface.n_points,
                "cross_validated_r2": surface.r2,
                "cross_validated_rmse": surface.rmse,
            }
        )
    return rows


def raw_first_order(
    factors: Sequence[Factor], places: FloatArray, response: FloatArray, seed: int = 1
) -> list[tuple[float, float]]:
    """Return the first-order index and half-width of each factor directly from the sample, by
    RBD-FAST.

    It uses a Fourier series instead of polynomials, and needs no surface (Tarantola, Gatelli and
    Mara 2006; Plischke 2010). nan of fewer than `LEAST_RAW` points, for which it has no estimate.

    Raises
    ------
    NetcosimError
        SALib is not installed.
    """
    if len(response) < LEAST_RAW:
        return [(float("nan"), float("nan"))] * len(factors)
    salib()
    from SALib.analyze import rbd_fast

    problem = problem_of([factor.name for factor in factors])
    found = rbd_fast.analyze(
        problem, np.asarray(places), np.asarray(response, dtype=np.float64), M=6, seed=seed
    )
    return [(float(s), float(c)) for s, c in zip(found["S1"], found["S1_conf"], strict=True)]
