"""Arithmetic of the verdict: from communication times to run times, and to the nearest scenario."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wasserstein_distance

from experiments.points import point_rng
from queuesim.assumed import SCENARIOS
from queuesim.draws import draw_key, uniform_per_job
from queuesim.pairs import taken_off

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
