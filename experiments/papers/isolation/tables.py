"""Tables of the verdict, from the measured pairs: pure functions of data frames."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.isolation.cases import CASES, PATTERNS, REFERENCES
from experiments.papers.isolation.shares import (
    ASSUMED,
    FloatArray,
    assumed_shares,
    counting_share,
    distances,
    job_shares,
    job_speedup,
    nearest,
    share_needed,
    shares_of,
)
from experiments.papers.kit.frames import groups
from experiments.points import point_rng
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.pairs import FACTORS, speedup_rows, taken_off
from queuesim.snapshots import class_name
from queuesim.statistics import Interval, mean_of_snapshots, weighted_quantiles

if TYPE_CHECKING:
    import pandas as pd

WEIGHTINGS = ("node-hours", "jobs")
"""Snapshots lie at equal work, so a job is seen as often as it is long: weighed by its nodes it
counts by node-hours; unweighted, by its hours."""

KEYS = ("network", "log", "case", "policy")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUANTILE_COLUMNS = tuple(f"q{100 * q:g}" for q in QUANTILES)
ALL = "all"


def _weights(part: pd.DataFrame, weighting: str) -> np.ndarray:
    nodes = part["n_nodes"].to_numpy(dtype=float)
    return nodes if weighting == "node-hours" else np.ones(len(nodes))


def by_size(part: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """All rows, and those of each size class, named."""
    classes = np.unique(part["size_class"]).tolist()
    return [(ALL, part), *((class_name(i), part[part["size_class"] == i]) for i in classes)]


def _ends(found: Interval, name: str) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def ratio_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Communication ratios by case, policy, pattern and size class ("all" of each too).

    Unweighted means over the jobs seen, with 95 % intervals; ``comm_speedup`` is the mean of
    the reference's time over the policy's.
    """
    import pandas as pd

    rows = []
    for keys, part in groups(pairs, *KEYS):
        rng = point_rng({"of": list(keys), "seed": seed}, "ratio bootstrap")
        whole, *sizes = by_size(part)
        pieces = [(ALL, *whole)]
        pieces += [(name, ALL, piece) for (name,), piece in groups(part, "pattern")]
        pieces += [(ALL, *one) for one in sizes]
        for pattern, nodes, piece in pieces:
            ones = np.ones(len(piece))
            row: dict[str, object] = {
                **dict(zip(KEYS, keys, strict=True)),
                "pattern": pattern,
                "nodes": nodes,
                "jobs": len(piece),
                "stretch": float(piece["stretch"].mean()),
                "comm_speedup": float((1 / piece["ratio"]).mean()),
            }
            for column in FACTORS:
                found = mean_of_snapshots(piece[column], ones, piece["snapshot"], rng)
                row |= _ends(found, column)
            rows.append(row)
    return pd.DataFrame(rows)


def speedups(pairs: pd.DataFrame, network: str, log: str, case: str, seed: int) -> SpeedupTable:
    """The table of one log and case that the queue's measured run times take.

    To which share of a run time its ratios apply says `counting_share`.
    """
    chosen = (pairs["network"] == network) & (pairs["log"] == log) & (pairs["case"] == case)
    rows: list[SpeedupRow] = []
    for (policy,), part in groups(pairs[chosen], "policy"):
        rng = point_rng({"of": [network, log, case, policy], "seed": seed}, "speedups bootstrap")
        pattern, n_nodes, snapshot, ratio = (
            part[key].to_numpy() for key in ("pattern", "n_nodes", "snapshot", "run_ratio")
        )
        rows += speedup_rows(policy, pattern, n_nodes, snapshot, ratio, PATTERNS, rng)
    return SpeedupTable(REFERENCES[network], tuple(rows))


def _quantiles(shares: FloatArray, weights: FloatArray) -> dict[str, float]:
    found = 100 * weighted_quantiles(shares, weights, QUANTILES)
    return dict(zip(QUANTILE_COLUMNS, found.tolist(), strict=True))


def verdict_tables(
    pairs: pd.DataFrame, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Measured job run times against the scenarios.

    Returns
    -------
    verdict : DataFrame
        By network, log, case, policy, communication share, weighting: percent of the run time
        taken off (mean with interval, quantiles), the mean job speed-up, the nearest scenario
        and its distance.
    scenarios : DataFrame
        The same for each scenario: its mean, its distance, by how much it is too optimistic,
        and the communication share that would make its mean true if communication were
        stretched alike at every share (only where jobs communicated all the time).
    boxes : DataFrame
        Quantiles by size class, unweighted, with every scenario's mean there.
    """
    import pandas as pd

    verdict, scenarios, boxes = [], [], []
    for keys, part in groups(pairs, *KEYS):
        rng = point_rng({"of": list(keys), "seed": seed}, "verdict bootstrap")
        sizes, job_id = part["n_nodes"].to_numpy(), part["job_id"].to_numpy()
        assumed = assumed_shares(sizes)
        head = dict(zip(KEYS, keys, strict=True))
        duty = float(part["duty"].iloc[0])
        for share in shares_of(duty):
            f = job_shares(job_id, counting_share(duty, share), seed)
            taken = taken_off(part["run_ratio"], f)
            speedup = job_speedup(part["run_ratio"], f)
            for weighting in WEIGHTINGS:
                w = _weights(part, weighting)
                mean = mean_of_snapshots(100 * taken, w, part["snapshot"], rng)
                found = distances(taken, assumed, w, part["size_class"])
                best = nearest(found)
                labels = {**head, "share": share, "weighting": weighting}
                verdict.append(
                    {
                        **labels,
                        "jobs": len(part),
                        "taken_off": mean.value,
                        "low": mean.low,
                        "high": mean.high,
                        **_quantiles(taken, w),
                        "job_speedup": float(np.average(speedup, weights=w)),
                        "nearest": best,
                        "distance": found[best],
                    }
                )
                # from runs that computed too no other share follows
                ratio = float(np.average(part["run_ratio"], weights=w)) if duty == 1 else 1.0
                for name in assumed:
                    told = float(np.average(assumed[name].mean(axis=0), weights=w))
                    scenarios.append(
                        {
                            **labels,
                            "scenario": name,
                            "assumed": 100 * told,
                            "measured": mean.value,
                            "distance": found[name],
                            "too_optimistic": 100 * told - mean.value,
                            "share_needed": share_needed(told, ratio),
                        }
                    )
            for index in np.unique(part["size_class"]).tolist():
                mine = (part["size_class"] == index).to_numpy()
                boxes.append(
                    {
                        **head,
                        "share": share,
                        "size_class": index,
                        "nodes": class_name(index),
                        "jobs": int(mine.sum()),
                        "mean": 100 * float(taken[mine].mean()),
                        **_quantiles(taken[mine], np.ones(mine.sum())),
                        **{name: 100 * float(assumed[name][:, mine].mean()) for name in ASSUMED},
                    }
                )
    return pd.DataFrame(verdict), pd.DataFrame(scenarios), pd.DataFrame(boxes)


def square_law(verdict: pd.DataFrame) -> pd.DataFrame:
    """What is taken off the run time over the square of the communication share, in percent.

    A job feels its neighbours while both communicate: if phases meet by chance, what isolation
    takes off grows with the square of the share. One row a log, policy and share at which jobs
    really communicated (1: all the time), by node-hours.
    """
    import pandas as pd

    duty = {
        case.name: case.duty
        for known in CASES.values()
        for case in known
        if replace(case, duty=1.0) == known[0]
    }
    told = verdict[(verdict["weighting"] == WEIGHTINGS[0]) & verdict["case"].isin(duty)]
    told = told.assign(duty=told["case"].map(duty))
    told = told[told["share"] == ["0.5" if d == 1 else f"{d:g}" for d in told["duty"]]]
    scale = np.where(told["duty"] == 1, 0.5, told["duty"] ** 2)
    law = told[["network", "log", "policy"]].assign(
        share=told["duty"],
        coefficient=told["taken_off"] / scale,
        low=told["low"] / scale,
        high=told["high"] / scale,
    )
    keys = ["network", "log", "policy", "share"]
    return pd.DataFrame(law).sort_values(keys, ignore_index=True)
