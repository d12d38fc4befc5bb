"""Where dots lie about (1, 1): the arithmetic of the Level-Spread paper's Figs. 10 to 13."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from queuesim.statistics import Interval, bootstrap_ratio, interval, resamples

if TYPE_CHECKING:
    import pandas as pd

QUADRANTS = ("reference better", "other better", "other better small", "other better large", "tie")
"""x and y above 1; below 1; x below and y above; x above and y below; x or y equal to 1."""


def dots_of(times: pd.DataFrame, column: str, reference: str) -> pd.DataFrame:
    """One row a workload and policy: x and y, the small and large jobs' time over the reference's.

    Parameters
    ----------
    times : DataFrame
        Columns routing, workload, policy, kind and ``column``.
    column : str
        The measure.
    reference : str
        The policy at (1, 1), left out of the result.
    """
    wide = times.pivot_table(
        index=["routing", "workload", "policy"], columns="kind", values=column, sort=False
    ).reset_index()
    base = wide[wide["policy"] == reference].set_index(["routing", "workload"])
    others = wide[wide["policy"] != reference]
    joined = others.join(
        base[["small", "large"]].rename(columns=lambda kind: f"{kind}_reference"),
        on=["routing", "workload"],
    )
    return joined.assign(
        x=joined["small"] / joined["small_reference"], y=joined["large"] / joined["large_reference"]
    )[["routing", "workload", "policy", "x", "y"]].reset_index(drop=True)


def quadrant(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) index into `QUADRANTS` of each dot."""
    found = np.full(len(x), QUADRANTS.index("tie"))
    found[(x > 1) & (y > 1)] = 0
    found[(x < 1) & (y < 1)] = 1
    found[(x < 1) & (y > 1)] = 2
    found[(x > 1) & (y < 1)] = 3
    return found


def shares(dots: pd.DataFrame, rng: np.random.Generator) -> dict[str, Interval]:
    """Percent of dots in each part, with bootstrap intervals.

    Workloads are drawn, each with all its policies, since the dots of one workload are not
    independent.
    """
    at = quadrant(dots["x"].to_numpy(), dots["y"].to_numpy())
    groups = _group_index(dots["workload"])
    counts = np.zeros((int(groups.max()) + 1, len(QUADRANTS)))
    np.add.at(counts, (groups, at), 1)
    drawn = counts[resamples(len(counts), rng)].sum(axis=1)
    percent = 100 * drawn / drawn.sum(axis=1, keepdims=True)
    value = 100 * counts.sum(axis=0) / counts.sum()
    return {
        name: interval(value[i], percent[:, i], len(counts)) for i, name in enumerate(QUADRANTS)
    }


def reductions(dots: pd.DataFrame) -> NDArray[np.float64]:
    """(n, 2) percent by which the reference is below each dot: small and large jobs."""
    return np.asarray(100 * (1 - 1 / dots[["x", "y"]].to_numpy()))


def mean_reduction(dots: pd.DataFrame, rng: np.random.Generator) -> Interval:
    """Mean of `reductions` over dots and both kinds of jobs; workloads are drawn."""
    groups = _group_index(dots["workload"])
    total = np.bincount(groups, weights=reductions(dots).mean(axis=1))
    return bootstrap_ratio(total, np.bincount(groups), rng)


def summary_row(dots: pd.DataFrame, rng: np.random.Generator) -> dict[str, object]:
    """Shares, reductions and medians of a set of dots, with intervals as ``_low``, ``_high``."""
    row: dict[str, object] = {"dots": len(dots)}
    numbers = {f"{name} (%)": found for name, found in shares(dots, rng).items()}
    numbers["mean reduction (%)"] = mean_reduction(dots, rng)
    for name, found in numbers.items():
        row |= {name: found.value, f"{name} low": found.low, f"{name} high": found.high}
    row["best reduction (%)"] = float(reductions(dots).max())
    row["worst reduction (%)"] = float(reductions(dots).min())
    row |= {f"median {axis}": float(dots[axis].median()) for axis in ("x", "y")}
    return row


def _group_index(values: Sequence[object] | pd.Series[int]) -> NDArray[np.intp]:
    found: NDArray[np.intp] = np.unique(np.asarray(values), return_inverse=True)[1]
    return found
