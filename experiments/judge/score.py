"""The locality score that operators count, switches a job, and whether it foretells times.

A switch is a domain of the lowest level of the machine's hierarchy: a leaf, a router
(`queuesim.observables.locality`). It must answer two questions:

- *Within a job.* Two policies place the same job; is the placement with fewer switches the one
  whose communication is shorter, and how well do the changes agree in rank?
- *Across jobs.* Do jobs with many switches for their size lose more time to the network?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queuesim.statistics import (
    LEVEL,
    Interval,
    around,
    independent,
    interval_columns,
    mean_of_snapshots,
    resamples,
)

if TYPE_CHECKING:
    import pandas as pd

LEAST_PAIRS = 20
"""Fewer pairs are not rated."""
LIKE = 1e-3
"""Times that differ by less than this part are equal."""
GOOD = 0.6
"""A rank correlation from here on is called a guide to how much faster a placement is."""
FAIR_PERCENT, HALF = 75.0, 50.0
"""Agreement from here on is called fair; half is what tossing a coin gives."""


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation, ties at mean ranks; nan if one side is constant."""
    from scipy.stats import rankdata

    a, b = rankdata(np.asarray(x)), rankdata(np.asarray(y))
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else float("nan")


def drawn_correlation(
    x: ArrayLike,
    y: ArrayLike,
    snapshot: ArrayLike,
    job: ArrayLike,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Interval:
    """Return the rank correlation with the interval from drawing whole snapshots again."""
    first, second = np.asarray(x), np.asarray(y)
    units, unit = np.unique(np.asarray(snapshot), return_inverse=True)
    value, drawn = rank_correlation(first, second), resamples(len(units), rng)
    times = np.stack([np.bincount(chosen, minlength=len(units)) for chosen in drawn])
    portion = max(1, _MOST_CELLS // max(1, len(unit)))
    known = np.concatenate(
        [
            weighted_correlations(first, second, times[i : i + portion, unit])
            for i in range(0, len(times), portion)
        ]
    )
    known = known[~np.isnan(known)]
    if np.isnan(value) or not len(known):
        return Interval(value, np.nan, np.nan)
    return around(value, known, independent(len(units), job), level)


_MOST_CELLS = 1 << 20


def weighted_correlations(
    x: NDArray[Any], y: NDArray[Any], times: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return `rank_correlation` of k multisets of pairs; ``times``: how often each has a pair."""
    n_pairs = times.sum(axis=1, keepdims=True)

    def centred(values: NDArray[Any]) -> NDArray[np.float64]:
        _, begin, place = np.unique(np.sort(values), return_index=True, return_inverse=True)
        order = np.argsort(values, kind="stable")
        ties = np.add.reduceat(times[:, order], begin, axis=1)
        ranks = np.empty(times.shape)
        # the last rank of equal values less half of their others
        ranks[:, order] = (np.cumsum(ties, axis=1) - (ties - 1) / 2)[:, place]
        return np.asarray(ranks - (n_pairs + 1) / 2, dtype=np.float64)

    # ranks are multiples of 1/2: sums are exact in any order
    a, b = centred(x), centred(y)
    size = np.sqrt((times * a * a).sum(axis=1) * (times * b * b).sum(axis=1))
    product = (times * a * b).sum(axis=1)
    found: NDArray[np.float64] = np.full(len(times), np.nan)
    np.divide(product, size, out=found, where=size > 0)
    return found


def placement_rows(pairs: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return a row a snapshot, job and policy, the reference's too: its switches and loss.

    ``slowdown`` is the time of communication over that alone on the best of the job's placements.
    """
    import pandas as pd

    keys = ["snapshot", "job_id"]
    computing_s = (1 - pairs["duty"]) * pairs["reference_alone_s"]
    columns = [*keys, "n_nodes", "pattern", "least_switches"]
    others = pairs[columns].assign(
        policy=reference,
        switches=pairs["reference_switches"],
        time_s=pairs["reference_s"] - computing_s,
        alone_s=pairs["reference_alone_s"] - computing_s,
        communication_ratio=1.0,
    )
    own = pairs[columns].assign(
        policy=pairs["policy"],
        switches=pairs["switches"],
        time_s=pairs["policy_s"] - computing_s,
        alone_s=pairs["policy_alone_s"] - computing_s,
        communication_ratio=pairs["ratio"],
    )
    rows = pd.concat([own, others.drop_duplicates(keys)], ignore_index=True)
    best_s = rows.groupby(keys)["alone_s"].transform("min")
    reference_switches = rows.groupby(keys)["switches"].transform("last")
    return rows.assign(
        reference_switches=reference_switches,
        switches_over_least=rows["switches"] / rows["least_switches"],
        slowdown=(rows["time_s"] / best_s).where(best_s > 0, 1.0),
    )


def score_rows(
    placements: pd.DataFrame, reference: str, rng: np.random.Generator, level: float = LEVEL
) -> list[dict[str, object]]:
    """Return the quality of the score, for all patterns together and for each.

    ``moved`` counts placements on another number of switches than the reference's; of these
    ``agree_percent`` have the shorter communication with fewer switches (equal times count half).
    ``change_correlation`` compares the changes of both within jobs, ``across_correlation`` switches
    over the fewest possible with the slowdown, over all placements.
    """
    patterns = ["all", *dict.fromkeys(placements["pattern"])] if len(placements) else []
    parts = {
        p: placements if p == "all" else placements[placements["pattern"] == p] for p in patterns
    }
    return [
        {"pattern": pattern, **_score_row(rows, reference, rng, level)}
        for pattern, rows in parts.items()
    ]


def _score_row(
    rows: pd.DataFrame, reference: str, rng: np.random.Generator, level: float
) -> dict[str, object]:
    other = rows[rows["policy"] != reference]
    # a quotient of whole numbers is rounded once, so that equal changes are ties
    change = np.log((other["switches"] / other["reference_switches"]).to_numpy(dtype=float))
    ratio = np.log(other["communication_ratio"].to_numpy(dtype=float))
    snapshot, job, moved = other["snapshot"].to_numpy(), other["job_id"].to_numpy(), change != 0
    found: dict[str, object] = {"pairs": len(other), "moved": int(moved.sum())}
    intervals = dict.fromkeys(("agree", "change_correlation", "across_correlation"), _UNKNOWN)
    if moved.sum() >= LEAST_PAIRS:
        same = np.abs(ratio[moved]) < LIKE
        agree = 100 * np.where(same, 0.5, np.sign(change[moved]) == np.sign(ratio[moved]))
        intervals["agree"] = mean_of_snapshots(
            agree, 1, snapshot[moved], rng, level, job=job[moved]
        )
        intervals["change_correlation"] = drawn_correlation(
            change, ratio, snapshot, job, rng, level
        )
    if len(rows) >= LEAST_PAIRS:
        over, lost = rows["switches_over_least"], rows["slowdown"]
        intervals["across_correlation"] = drawn_correlation(
            over, lost, rows["snapshot"], rows["job_id"], rng, level
        )
    for name, value in intervals.items():
        cells = interval_columns(name, value, "_percent" if name == "agree" else "")
        found |= dict.fromkeys(cells) if np.isnan(value.value) else cells
    return found


_UNKNOWN = Interval(np.nan, np.nan, np.nan)


def describe_score(row: Mapping[str, Any]) -> str:
    """Describe a row of `score_rows`."""
    agree, low = row["agree_percent"], row["agree_low_percent"]
    if agree is None or low is None:
        return "was not rated: too few jobs were placed on another number of switches"
    if low <= HALF:
        return "not a significant guide to which placement is faster"
    which = f"a {'fair' if agree >= FAIR_PERCENT else 'weak'} guide to which placement is faster"
    value, least = row["change_correlation"], row["change_correlation_low"]
    much = value is not None and least is not None and least > 0 and value >= GOOD
    return f"{which} {'and' if much else 'but not'} to how much"
