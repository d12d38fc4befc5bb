"""Whether the simulated queue reproduces the waits of the log: before anything else is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosim.measuring.snapshots import SIZE_CLASSES, format_sizes
from experiments.judge.score import rank_correlation
from experiments.kit.frames import groups
from netsim.units import format_quantity

if TYPE_CHECKING:
    import pandas as pd

LEAST_JOBS = 20
"""Waits are not validated with fewer jobs whose logged wait is known."""
SAME_S = 1.0
"""Logs have whole seconds."""
NEAR_S, NEAR_PART = 300.0, 0.1
"""A wait within five minutes or a tenth of the logged one is near it."""
SHORT_S = 60.0
"""Mean waits below this count as none."""

EXACTLY, WELL, ROUGHLY, BADLY, UNKNOWN = "exactly", "well", "roughly", "badly", "not known"


class Level(NamedTuple):
    """What a verdict on waits takes: rank correlation, and how far the mean may be off."""

    correlation: float
    factor: float


LEVELS = {WELL: Level(0.8, 1.25), ROUGHLY: Level(0.5, 2.0)}


def reproduced(jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return how near each policy's waits, with logged run times, are to the logged ones.

    In a row a policy, ``reproduces`` is one of the words above.
    """
    return [
        {"policy": policy, **_reproduced(of_policy[of_policy["logged_wait_s"].notna()])}
        for (policy,), of_policy in groups(jobs, "policy")
    ]


def _reproduced(known: pd.DataFrame) -> dict[str, object]:
    found: dict[str, object] = {"jobs_with_waits": len(known), "reproduces": UNKNOWN}
    if len(known) < LEAST_JOBS:
        return found
    logged = known["logged_wait_s"].to_numpy(dtype=float)
    wait = known["wait_s"].to_numpy(dtype=float)
    off = np.abs(wait - logged)
    correlation = rank_correlation(logged, wait)
    mean, logged_mean = float(wait.mean()), float(logged.mean())
    return found | {
        "reproduces": _word(float(off.max()), correlation, mean, logged_mean),
        "logged_mean_wait_s": logged_mean,
        "mean_wait_s": mean,
        "rank_correlation": None if np.isnan(correlation) else correlation,
        "near_percent": float(100 * np.mean(off <= np.maximum(NEAR_S, NEAR_PART * logged))),
        "largest_difference_s": float(off.max()),
    }


def _word(off_s: float, correlation: float, mean_s: float, logged_s: float) -> str:
    if off_s <= SAME_S:
        return EXACTLY
    if max(mean_s, logged_s) < SHORT_S:
        return WELL
    least = min(mean_s, logged_s)
    apart = max(mean_s, logged_s) / least if least > 0 else np.inf
    for word, level in LEVELS.items():
        if correlation >= level.correlation and apart <= level.factor:
            return word
    return BADLY


def waits_by_size(jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return logged and simulated waits by size class, of jobs with a logged wait."""
    known = jobs[jobs["logged_wait_s"].notna()]
    return [
        {
            "policy": policy,
            "nodes": size,
            "jobs": len(sized),
            "logged_mean_wait_s": float(sized["logged_wait_s"].mean()),
            "mean_wait_s": float(sized["wait_s"].mean()),
            "logged_median_wait_s": float(sized["logged_wait_s"].median()),
            "median_wait_s": float(sized["wait_s"].median()),
        }
        for (policy,), rows in groups(known, "policy")
        for size, sized in by_size(rows)
    ]


def by_size(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each size class that has some, small first; jobs of one node apart."""
    names = ["1", *(format_sizes(*ends) for ends in SIZE_CLASSES)]
    first = [1, *(low for low, _ in SIZE_CLASSES)]
    which = np.searchsorted(first, rows["n_nodes"].to_numpy(), side="right") - 1
    return [(name, rows[which == i]) for i, name in enumerate(names) if (which == i).any()]


def rate_waits(row: Mapping[str, Any], order: str, backfill: str) -> str:
    """Describe a row of `reproduced`: how far simulated waits can be trusted."""
    policy, word = row["policy"], row["reproduces"]
    if word == UNKNOWN:
        return (
            f"The simulated queue was not validated: the log has the waits of "
            f"{row['jobs_with_waits']} jobs, {LEAST_JOBS} are needed."
        )
    how = f"the simulated queue ({order}, {backfill} backfilling) with {policy}"
    if word == EXACTLY:
        return (
            f"The waits of the log are reproduced exactly: under {how} every job starts within "
            f"{SAME_S:g} s of when it did. Simulated waits can be trusted."
        )
    means = (float(row[name]) for name in ("mean_wait_s", "logged_mean_wait_s"))
    simulated, logged = (format_quantity(mean_s, "time", 3) for mean_s in means)
    numbers = (
        f"mean wait {simulated} against {logged} in the log"
        + (
            f", rank correlation {row['rank_correlation']:.2f}"
            if row["rank_correlation"] is not None
            else ""
        )
        + f", {row['near_percent']:.0f} % of jobs near their logged wait"
    )
    advice = {
        WELL: "Simulated waits can be trusted.",
        ROUGHLY: "Trust the direction of simulated changes in waiting, not their size.",
        BADLY: (
            "Do not trust simulated waits: the real scheduler does something else (priorities, "
            "partitions, reservations; try --order and --backfill). Communication depends on the "
            "queue only through which jobs run side by side."
        ),
    }[str(word)]
    return f"The waits of the log are reproduced {word} by {how}: {numbers}. {advice}"
