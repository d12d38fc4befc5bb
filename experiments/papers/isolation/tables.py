"""Arithmetic and tables of the verdict: from measured pairs to run times, beside the scenarios."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.frames import cells, groups
from experiments.papers.isolation.cases import CASES, PATTERNS, REFERENCES, SENSITIVITY
from experiments.points import point_rng
from queuesim.draws import draw_key, uniform_per_job
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.pairs import FACTORS, speedup_rows, taken_off
from queuesim.scenario_fit import ASSUMED, assumed_shares, distances, share_needed
from queuesim.snapshots import class_name
from queuesim.statistics import mean_of_snapshots, weighted_quantiles

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

KEYS = ("network", "log", "case", "policy")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUANTILE_COLUMNS = tuple(f"q{100 * q:g}" for q in QUANTILES)
ALL = "all"


def shares_of(duty: float) -> tuple[str, ...]:
    """The communication shares that a case can tell of: where jobs compute too, its duty."""
    return tuple(SHARES) if duty == 1 else (f"{duty:g}",)


def counting_share(duty: float, name: str) -> tuple[float, float]:
    """Share of the run time, from and to, to which a measured `run_ratio` applies.

    Where jobs communicated all the time (duty 1) what was timed is communication, the share
    ``name`` of the run time. Where they computed too it was the run itself, so the ratio counts
    whole, however much of a run contention had made communication.
    """
    return SHARES[name] if duty == 1 else (1.0, 1.0)


def job_shares(job_id: NDArray[np.int64], share: tuple[float, float], seed: int) -> FloatArray:
    """(n,) share of every job, uniform between two; see `SHARES`."""
    low, high = share
    key = draw_key(point_rng({"seed": seed}, "isolation shares"))
    return low + (high - low) * uniform_per_job(key, 0, np.asarray(job_id, dtype=np.int64))


def taken(part: pd.DataFrame, share: str, seed: int) -> FloatArray:
    """(n,) part of its run time that each pair of a case loses at a share of `SHARES`."""
    counting = counting_share(float(part["duty"].iloc[0]), share)
    return taken_off(part["run_ratio"], job_shares(part["job_id"].to_numpy(), counting, seed))


def by_size(part: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """All rows, and those of each size class, named."""
    classes = np.unique(part["size_class"]).tolist()
    return [(ALL, part), *((class_name(i), part[part["size_class"] == i]) for i in classes)]


def ratio_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Communication ratios by case, policy, pattern and size class ("all" of each too).

    Unweighted means over the jobs seen, with 95 % intervals; ``comm_speedup`` is the mean of
    the reference's time over the policy's.
    """
    import pandas as pd

    rows = []
    for labels, part in cells(pairs, *KEYS):
        rng = point_rng({"of": list(labels.values()), "seed": seed}, "ratio bootstrap")
        whole, *sizes = by_size(part)
        pieces = [(ALL, *whole)]
        pieces += [(name, ALL, piece) for (name,), piece in groups(part, "pattern")]
        pieces += [(ALL, *one) for one in sizes]
        for pattern, nodes, piece in pieces:
            row = {
                **labels,
                "pattern": pattern,
                "nodes": nodes,
                "jobs": len(piece),
                "stretch": float(piece["stretch"].mean()),
                "comm_speedup": float((1 / piece["ratio"]).mean()),
            }
            for column in FACTORS:
                found = mean_of_snapshots(piece[column], 1, piece["snapshot"], rng)
                row |= dict(zip((column, f"{column}_low", f"{column}_high"), found, strict=True))
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
    for head, part in cells(pairs, *KEYS):
        rng = point_rng({"of": list(head.values()), "seed": seed}, "verdict bootstrap")
        classes, duty = part["size_class"].to_numpy(), float(part["duty"].iloc[0])
        assumed = assumed_shares(part["n_nodes"])
        ones = np.ones(len(part))
        # snapshots lie at equal work, so a job is seen as often as it is long: weighed by its
        # nodes it counts by node-hours; unweighted, by its hours
        weights = {"node-hours": part["n_nodes"].to_numpy(dtype=float), "jobs": ones}
        for share in shares_of(duty):
            off = taken(part, share, seed)
            for weighting, w in weights.items():
                mean = mean_of_snapshots(100 * off, w, part["snapshot"], rng)
                found = distances(off, assumed, w, classes)
                nearest = min(found, key=found.__getitem__)
                labels = {**head, "share": share, "weighting": weighting}
                verdict.append(
                    {
                        **labels,
                        "jobs": len(part),
                        **dict(zip(("taken_off", "low", "high"), mean, strict=True)),
                        **_quantiles(off, w),
                        "job_speedup": float(np.average(1 / (1 - off), weights=w)),
                        "nearest": nearest,
                        "distance": found[nearest],
                    }
                )
                # from runs that computed too no other share follows
                ratio = float(np.average(part["run_ratio"], weights=w)) if duty == 1 else 1.0
                for name, draws in assumed.items():
                    told = float(np.average(draws.mean(axis=0), weights=w))
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
            for index in np.unique(classes).tolist():
                mine = classes == index
                boxes.append(
                    {
                        **head,
                        "share": share,
                        "size_class": index,
                        "nodes": class_name(index),
                        "jobs": int(mine.sum()),
                        "mean": 100 * float(off[mine].mean()),
                        **_quantiles(off[mine], ones[mine]),
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
    duty = {
        case.name: case.duty
        for known in CASES.values()
        for case in known
        if replace(case, duty=1.0) == known[0]
    }
    told = verdict[verdict["weighting"] == "node-hours"]
    told = told.assign(duty=told["case"].map(duty)).dropna(subset="duty")
    told = told[told["share"] == ["0.5" if d == 1 else f"{d:g}" for d in told["duty"]]]
    scale = np.where(told["duty"] == 1, 0.5, told["duty"] ** 2)
    law = told[["network", "log", "policy", "duty"]].rename(columns={"duty": "share"})
    for name, column in {"coefficient": "taken_off", "low": "low", "high": "high"}.items():
        law[name] = told[column] / scale
    return law.sort_values(["network", "log", "policy", "share"], ignore_index=True)


def off_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Percent off the run time at the main share, by case and policy: over node-hours, and by size.

    Returns
    -------
    DataFrame
        What the cases of `SENSITIVITY` vary; ``nodes`` is "all" or a size class; ``taken_off``
        has the 95 % interval ``low``, ``high`` (whole snapshots drawn again).
    """
    import pandas as pd

    known = {case.name: case for case in SENSITIVITY}
    rows = []
    for labels, part in cells(pairs, "log", "case", "policy"):
        rng = point_rng({"of": list(labels.values()), "seed": seed}, "sensitivity bootstrap")
        case, part = known[labels["case"]], part.assign(off=100 * taken(part, MAIN_SHARE, seed))
        for nodes, piece in by_size(part):
            found = mean_of_snapshots(piece["off"], piece["n_nodes"], piece["snapshot"], rng)
            rows.append(
                {
                    "log": labels["log"],
                    "case": case.name,
                    "order": case.order or REFERENCES["fattree"],
                    **{key: getattr(case, key) for key in ("ranks_per_node", "length", "duty")},
                    "policy": labels["policy"],
                    "nodes": nodes,
                    "jobs": len(piece),
                    **dict(zip(("taken_off", "low", "high"), found, strict=True)),
                }
            )
    return pd.DataFrame(rows)
