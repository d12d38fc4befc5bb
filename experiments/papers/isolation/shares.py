"""Arithmetic of the verdict: from communication times to run times, and to the nearest scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wasserstein_distance

from experiments.points import point_rng
from queuesim.assumed import SCENARIOS
from queuesim.draws import draw_key, uniform_per_job
from queuesim.snapshots import SIZE_CLASSES
from queuesim.statistics import Interval, interval, resamples

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

SHARES: dict[str, tuple[float, float]] = {
    "0.1": (0.1, 0.1),
    "0.3": (0.3, 0.3),
    "0.5": (0.5, 0.5),
    "mix": (0.1, 0.5),
}
"""Communication shares of the run time: a number, or uniform between two, drawn per job."""

MAIN_SHARE = "0.3"
"""What Pollard et al. gave their jobs on Cab (V-B)."""


def shares_of(duty: float) -> tuple[str, ...]:
    """The communication shares that a case can tell of: where jobs compute too, its duty."""
    return tuple(SHARES) if duty == 1 else (f"{duty:g}",)


ASSUMED = tuple(name for name in SCENARIOS if name != "none")
DRAWS = 12
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def taken_off(ratio: ArrayLike, share: ArrayLike) -> FloatArray:
    """Share of the run time that faster communication takes off: f (1 - ratio).

    Parameters
    ----------
    ratio : array
        Communication time over the reference's.
    share : array
        Communication share f of the run time under the reference.

    Returns
    -------
    array of float64
        Below 0 where communication is slower.
    """
    return np.asarray(share, dtype=np.float64) * (1.0 - np.asarray(ratio, dtype=np.float64))


def counting_share(duty: float, name: str) -> tuple[float, float]:
    """Share of the run time, from and to, to which a measured `run_ratio` applies.

    Where jobs communicated all the time (duty 1) what was timed is communication, the share
    ``name`` of the run time. Where they computed too it was the run itself, so the ratio counts
    whole, however much of a run contention had made communication.
    """
    return SHARES[name] if duty == 1 else (1.0, 1.0)


def job_speedup(ratio: ArrayLike, share: ArrayLike) -> FloatArray:
    """Run time under the reference over that with the ratio: 1 / ((1 - f) + f ratio)."""
    return np.asarray(1.0 / (1.0 - taken_off(ratio, share)))


def share_needed(assumed: float, ratio: float) -> float:
    """Communication share with which a measured ratio gives what a scenario assumes.

    Above 1: no share does. nan where communication is not faster.
    """
    return assumed / (1.0 - ratio) if ratio < 1 else float("nan")


def job_shares(job_id: NDArray[np.int64], share: tuple[float, float], seed: int) -> FloatArray:
    """(n,) share of every job, uniform between two; see `SHARES`."""
    low, high = share
    key = draw_key(point_rng({"seed": seed}, "isolation shares"))
    return low + (high - low) * uniform_per_job(key, 0, np.asarray(job_id, dtype=np.int64))


def assumed_shares(n_nodes: ArrayLike) -> dict[str, FloatArray]:
    """What each scenario takes off the run time of jobs of these sizes, for all its draws.

    Returns
    -------
    dict of str to (`DRAWS`, n) float64
        Every scenario picks one of two, three or four equally likely values, so as many evenly
        spread draws have its exact distribution.
    """
    sizes = np.asarray(n_nodes, dtype=np.int32)
    draws = (np.arange(DRAWS) + 0.5) / DRAWS
    return {
        name: np.array([SCENARIOS[name].reduction(sizes, np.full(len(sizes), u)) for u in draws])
        for name in ("none", *ASSUMED)
    }


def mean_of_snapshots(
    values: ArrayLike, weights: ArrayLike, snapshot: ArrayLike, rng: np.random.Generator
) -> Interval:
    """Weighted mean with a 95 % interval from drawing whole snapshots again; nan ends for one.

    Parameters
    ----------
    values, weights, snapshot : (n,)
        Jobs of one snapshot are not independent, hence the snapshot as the unit.
    rng : numpy.random.Generator
    """
    x, w = (np.asarray(v, dtype=np.float64) for v in (values, weights))
    _, unit = np.unique(np.asarray(snapshot), return_inverse=True)
    total, weight = np.bincount(unit, weights=w * x), np.bincount(unit, weights=w)
    drawn = resamples(len(total), rng)
    mean = float(total.sum() / weight.sum())
    means = total[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    found = interval(mean, means, len(total))
    return Interval(mean, min(found.low, mean), max(found.high, mean))


def distances(
    measured: ArrayLike,
    assumed: Mapping[str, FloatArray],
    weights: ArrayLike,
    classes: ArrayLike,
) -> dict[str, float]:
    """How far each scenario is from what was measured, in percentage points.

    The mean absolute difference between the jobs of the scenario and those measured, matched
    by rank within each size class, for a scenario does not say which job has which draw (the
    earth mover's distance of the two distributions, class by class).

    Parameters
    ----------
    measured, weights, classes : (n,)
    assumed : mapping of str to (draws, n)
        From `assumed_shares`.
    """
    x, w = (np.asarray(v, dtype=np.float64) for v in (measured, weights))
    which = np.asarray(classes)
    found = dict.fromkeys(assumed, 0.0)
    for one in np.unique(which):
        mine = which == one
        for name, y in assumed.items():
            twice = np.tile(w[mine], len(y))
            apart = wasserstein_distance(x[mine], y[:, mine].ravel(), w[mine], twice)
            found[name] += 100 * float(apart) * float(w[mine].sum() / w.sum())
    return found


def nearest(found: Mapping[str, float]) -> str:
    """The scenario with the least distance; the first on ties."""
    return min(found, key=lambda name: found[name])


def weighted_quantiles(values: ArrayLike, weights: ArrayLike) -> FloatArray:
    """`QUANTILES` of values that count by weight (the smallest value that covers the share)."""
    x, w = (np.asarray(v, dtype=np.float64) for v in (values, weights))
    order = np.argsort(x, kind="stable")
    covered = np.cumsum(w[order]) / w.sum()
    at = np.minimum(np.searchsorted(covered, np.array(QUANTILES) - 1e-12), len(x) - 1)
    return np.asarray(x[order][at])


def size_class(n_nodes: ArrayLike) -> NDArray[np.int64]:
    """(n,) index into `queuesim.campaign.SIZE_CLASSES`."""
    first = [low for low, _ in SIZE_CLASSES]
    return np.searchsorted(first, np.asarray(n_nodes), side="right") - 1


def class_name(index: int) -> str:
    """A size class in words."""
    low, high = SIZE_CLASSES[index]
    return f"{low}-{high}" if index < len(SIZE_CLASSES) - 1 else f"{low}+"


def with_ratios(pairs: pd.DataFrame, duty: Mapping[str, float]) -> pd.DataFrame:
    """The measured pairs with what is told of them.

    Where a job computes too (a duty below 1), its computing is taken off its times: the share
    1 - duty of its time alone on the reference's nodes.

    Parameters
    ----------
    pairs : DataFrame
    duty : mapping
        By the name of the case.

    Returns
    -------
    DataFrame
        With ``duty``; ``stretch`` (communication under the reference over that alone there);
        ``ratio`` (communication time over the reference's) and its factors,
        ``interference_ratio`` (what is left of the others' interference) and ``locality_ratio``
        (other nodes and routes, both alone); ``run_ratio`` (time over the reference's, with
        the computing; the same as ``ratio`` where nothing is computed); ``size_class``.
    """
    share = pairs["case"].map(dict(duty)).astype(float)
    computed = (1 - share) * pairs["reference_alone_us"]
    mine, mine_alone = pairs["policy_us"] - computed, pairs["policy_alone_us"] - computed
    theirs, theirs_alone = pairs["reference_us"] - computed, pairs["reference_alone_us"] - computed
    return pairs.assign(
        duty=share,
        ratio=mine / theirs,
        stretch=theirs / theirs_alone,
        interference_ratio=mine / mine_alone / (theirs / theirs_alone),
        locality_ratio=mine_alone / theirs_alone,
        run_ratio=pairs["policy_us"] / pairs["reference_us"],
        size_class=size_class(pairs["n_nodes"]),
    )
