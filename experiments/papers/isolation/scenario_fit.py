"""Reduction by assumed scenarios of speed-up, and the gain that has the same effect on a queue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queuesim.assumed import SCENARIOS

FloatArray = NDArray[np.float64]
ASSUMED = tuple(name for name in SCENARIOS if name != "none")
DRAWS = 12


def assumed_shares(n_nodes: ArrayLike) -> dict[str, FloatArray]:
    """Return each scenario's reduction of the run time of jobs of these sizes, for all its draws.

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


def percent_off(n_nodes: ArrayLike, run_time_s: ArrayLike) -> dict[str, float]:
    """Percent off the run time by scenario, over the node-hours of jobs of more than one node."""
    nodes = np.asarray(n_nodes)
    several = nodes > 1
    weights = (nodes * np.asarray(run_time_s, dtype=np.float64))[several]
    shares = assumed_shares(nodes[several])
    return {s: 100 * float(np.average(v.mean(axis=0), weights=weights)) for s, v in shares.items()}


def break_even(percent: Sequence[float], ratio: Sequence[float]) -> float:
    """Percent off the run time at which a ratio is 1, linear between and beyond what is known.

    Parameters
    ----------
    percent, ratio : sequences of float, two or more
        Ascending percents, and the ratio with each.

    Returns
    -------
    float
        From the first two whose ends have 1 between them, else from the two at the nearer end;
        below 0 where the ratio would be 1 with longer runs. nan where that line is level.
    """
    x, y = np.asarray(percent, dtype=float), np.asarray(ratio, dtype=float)
    i = int(np.argmax(y <= 1)) if (y <= 1).any() else len(y) - 1
    i = max(i, 1)
    if y[i] == y[i - 1]:
        return float("nan")
    return float(x[i] + (1 - y[i]) * (x[i] - x[i - 1]) / (y[i] - y[i - 1]))
