"""What a policy changes for the jobs: communication, waiting, and who gains or loses.

Intervals of what is measured come from drawing whole snapshots again, those of waits from drawing
whole days of submission again (tenths of a shorter log): jobs of one day wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.judge.waits import by_size
from experiments.kit.frames import groups
from queuesim.statistics import ENDS, LEVEL, around, interval_columns, mean_of_snapshots, resamples

if TYPE_CHECKING:
    import pandas as pd

DAY_S = 86_400.0
LEAST_BLOCKS = 10
MOST = 10
"""Jobs that are named on either side."""
FELT_S, FELT_PART = 60.0, 0.05
"""A job gains or loses if its turnaround changes by more than both."""

RowList = list[dict[str, object]]
NewRng = Callable[[], np.random.Generator]
"""A new generator for each bootstrap, always the same."""


def communication_rows(pairs: pd.DataFrame, rng: NewRng, level: float = LEVEL) -> RowList:
    """Return communication over the reference's, by policy, pattern and size class; first all."""
    found: RowList = []
    for (policy,), of_policy in groups(pairs, "policy"):
        parts = [("all", "all", of_policy)]
        parts += [(p, "all", rows) for (p,), rows in groups(of_policy, "pattern")]
        parts += [("all", size, rows) for size, rows in by_size(of_policy)]
        parts += [
            (p, size, sized)
            for (p,), rows in groups(of_policy, "pattern")
            for size, sized in by_size(rows)
        ]
        for pattern, size, rows in parts:
            ratio = mean_of_snapshots(
                rows["ratio"], 1, rows["snapshot"], rng(), level, job=rows["job_id"]
            )
            found.append(
                {
                    "policy": policy,
                    "pattern": pattern,
                    "nodes": size,
                    "jobs": len(rows),
                    **interval_columns("communication_ratio", ratio),
                    "others_interference_ratio": float(rows["interference_ratio"].mean()),
                    "own_placement_ratio": float(rows["locality_ratio"].mean()),
                }
            )
    return found


def blocks(submit_s: ArrayLike) -> NDArray[np.float64]:
    """Return each job's block of submissions, (n,): days, or tenths of a shorter log."""
    from_first_s = np.asarray(submit_s, dtype=float) - np.min(submit_s)
    length_s = min(DAY_S, float(from_first_s.max()) / LEAST_BLOCKS) or DAY_S
    return np.asarray(np.floor(from_first_s / length_s))


def queue_rows(jobs: pd.DataFrame, reference: str, rng: NewRng, level: float = LEVEL) -> RowList:
    """Return mean waits and turnarounds by policy, and over the reference's, with intervals by day.

    A row a job and policy, the same jobs under all: ``submit_s``, ``wait_s`` (with the run times of
    the log), ``fed_wait_s`` and ``fed_run_s`` (with run times fed back).
    """
    base = jobs[jobs["policy"] == reference]
    return [
        {
            "policy": policy,
            "logged_run_times_wait_s": float(of_policy["wait_s"].mean()),
            "mean_wait_s": float(of_policy["fed_wait_s"].mean()),
            "mean_turnaround_s": float((of_policy["fed_wait_s"] + of_policy["fed_run_s"]).mean()),
            **_over(
                "wait",
                of_policy["fed_wait_s"],
                base["fed_wait_s"],
                of_policy["submit_s"],
                rng,
                level,
            ),
            **_over(
                "turnaround",
                of_policy["fed_wait_s"] + of_policy["fed_run_s"],
                base["fed_wait_s"] + base["fed_run_s"],
                of_policy["submit_s"],
                rng,
                level,
            ),
        }
        for (policy,), of_policy in groups(jobs, "policy")
    ]


def _over(
    name: str,
    own: pd.Series[float],
    base: pd.Series[float],
    submit_s: pd.Series[float],
    rng: NewRng,
    level: float,
) -> dict[str, float | None]:
    """Return the ratio of two means over the same jobs; None where the reference's is 0."""
    _, day = np.unique(blocks(submit_s), return_inverse=True)
    sums = [np.bincount(day, weights=part.to_numpy(dtype=float)) for part in (own, base)]
    if not sums[1].sum() > 0:
        return dict.fromkeys(f"{name}_ratio{end}" for end in ENDS)
    drawn_days = resamples(len(sums[0]), rng())
    over, under = (part[drawn_days].sum(axis=1) for part in sums)
    drawn = over[under > 0] / under[under > 0]
    ratio = around(float(sums[0].sum() / sums[1].sum()), drawn, len(sums[0]), level)
    return interval_columns(f"{name}_ratio", ratio)


def changes_of(jobs: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return a row a job and policy but the reference: how its wait and run time change."""
    base = jobs[jobs["policy"] == reference]
    wait_s, run_s = base["fed_wait_s"].to_numpy(), base["fed_run_s"].to_numpy()
    others = jobs[jobs["policy"] != reference]
    # by place and not by id, which a log may have twice
    n_others = others["policy"].nunique()
    rows = others.assign(
        reference_wait_s=np.tile(wait_s, n_others), reference_run_s=np.tile(run_s, n_others)
    )
    reference_s = rows["reference_wait_s"] + rows["reference_run_s"]
    change = rows["fed_wait_s"] + rows["fed_run_s"] - reference_s
    felt = change.abs() > np.maximum(FELT_S, FELT_PART * reference_s)
    return rows.assign(
        wait_change_s=rows["fed_wait_s"] - rows["reference_wait_s"],
        run_change_s=rows["fed_run_s"] - rows["reference_run_s"],
        turnaround_change_s=change,
        reference_turnaround_s=reference_s,
        gains=felt & (change < 0),
        loses=felt & (change > 0),
    )


def gain_rows(changes: pd.DataFrame, rng: NewRng, level: float = LEVEL) -> RowList:
    """Return which jobs gain and lose turnaround, by policy, then by size class and by pattern."""
    found: RowList = []
    for (policy,), of_policy in groups(changes, "policy"):
        parts = [
            ("all", "all", of_policy),
            *(("all", size, rows) for size, rows in by_size(of_policy)),
        ]
        parts += [(p, "all", rows) for (p,), rows in groups(of_policy, "pattern")]
        for pattern, size, rows in parts:
            change = mean_of_snapshots(
                rows["turnaround_change_s"], 1, blocks(rows["submit_s"]), rng(), level
            )
            found.append(
                {
                    "policy": policy,
                    "pattern": pattern,
                    "nodes": size,
                    "jobs": len(rows),
                    **interval_columns("turnaround_change", change, "_s"),
                    "wait_change_s": float(rows["wait_change_s"].mean()),
                    "run_change_s": float(rows["run_change_s"].mean()),
                    "gain_percent": float(100 * rows["gains"].mean()),
                    "lose_percent": float(100 * rows["loses"].mean()),
                }
            )
    return found


def most_rows(changes: pd.DataFrame) -> RowList:
    """Return the jobs whose turnaround gains most and loses most, by policy."""
    found: RowList = []
    for (policy,), of_policy in groups(changes, "policy"):
        ordered = of_policy.sort_values(["turnaround_change_s", "job_id"], kind="stable")
        gain = ordered[ordered["turnaround_change_s"] < 0].head(MOST)
        lose = ordered[ordered["turnaround_change_s"] > 0].tail(MOST).iloc[::-1]
        for side, rows in (("gains", gain), ("loses", lose)):
            found += [
                {
                    "policy": policy,
                    "side": side,
                    "job_id": int(row["job_id"]),
                    "n_nodes": int(row["n_nodes"]),
                    "pattern": row["pattern"],
                    "turnaround_change_s": float(row["turnaround_change_s"]),
                    "wait_change_s": float(row["wait_change_s"]),
                    "run_change_s": float(row["run_change_s"]),
                    "turnaround_before_s": float(row["reference_turnaround_s"]),
                }
                for row in rows.to_dict("records")
            ]
    return found
