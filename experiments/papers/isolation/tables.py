"""Tables of the verdict, from the measured pairs: pure functions of data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.isolation.cases import CASES, PATTERNS, REFERENCES
from experiments.papers.isolation.shares import (
    ASSUMED,
    QUANTILES,
    assumed_shares,
    class_name,
    counting_share,
    distances,
    job_shares,
    job_speedup,
    mean_of_snapshots,
    nearest,
    share_needed,
    shares_of,
    taken_off,
    weighted_quantiles,
)
from experiments.points import point_rng
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.snapshots import ALL_SIZES, SIZE_CLASSES, in_several
from queuesim.speedup_file import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

WEIGHTINGS = ("node-hours", "jobs")
"""Snapshots lie at equal work, so a job is seen as often as it is long: weighed by its nodes it
counts by node-hours; unweighted, by its hours."""

PARTS = ("ratio", "interference_ratio", "locality_ratio")
ALL = "all"


def main_case(network: str) -> str:
    """Name of the network's main case."""
    return CASES[network][0].name


def _groups(frame: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    for values, part in frame.groupby(list(keys), sort=False):
        yield (values if isinstance(values, tuple) else (values,)), part


def _weights(part: pd.DataFrame, weighting: str) -> np.ndarray:
    nodes = part["n_nodes"].to_numpy(dtype=float)
    return nodes if weighting == "node-hours" else np.ones(len(nodes))


def ratio_table(pairs: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Communication ratios by case, policy, pattern and size class ("all" of each too).

    Unweighted means over the jobs seen, with 95 % intervals; ``comm_speedup`` is the mean of
    the reference's time over the policy's.
    """
    import pandas as pd

    rows = []
    for (network, log, case, policy), part in _groups(pairs, "network", "log", "case", "policy"):
        rng = point_rng({"of": [network, log, case, policy], "seed": seed}, "ratio bootstrap")
        pieces: list[tuple[str, str, pd.DataFrame]] = [(ALL, ALL, part)]
        pieces += [(name, ALL, piece) for (name,), piece in _groups(part, "pattern")]
        pieces += [
            (ALL, class_name(index), piece)
            for (index,), piece in _groups(part.sort_values("size_class"), "size_class")
        ]
        for pattern, sizes, piece in pieces:
            ones = np.ones(len(piece))
            row: dict[str, object] = {
                "network": network,
                "log": log,
                "case": case,
                "policy": policy,
                "pattern": pattern,
                "nodes": sizes,
                "jobs": len(piece),
                "stretch": float(piece["stretch"].mean()),
                "comm_speedup": float((1 / piece["ratio"]).mean()),
            }
            for column in PARTS:
                found = mean_of_snapshots(piece[column], ones, piece["snapshot"], rng)
                row |= {
                    column: found.value,
                    f"{column}_low": found.low,
                    f"{column}_high": found.high,
                }
            rows.append(row)
    return pd.DataFrame(rows)


Ends = tuple[float, float | None, float | None]
"""A ratio and the ends of its interval, None where they are not known."""


def speedups(pairs: pd.DataFrame, network: str, log: str, case: str, seed: int) -> SpeedupTable:
    """The table of one log and case that the queue's measured run times take.

    A ratio is the mean `run_ratio` over the jobs seen of a pattern and size class: run times are
    linear in it. To which share of a run time it applies says `counting_share`. What was seen in
    one snapshot alone has no interval; there and in classes never seen the queue takes the
    nearest class, and a pattern not seen in several snapshots has the mean of all.
    """
    chosen = (pairs["network"] == network) & (pairs["log"] == log) & (pairs["case"] == case)
    rows: list[SpeedupRow] = []
    for (policy,), part in _groups(pairs[chosen], "policy"):
        rng = point_rng({"of": [network, log, case, policy], "seed": seed}, "speedups bootstrap")

        def mean(piece: pd.DataFrame, rng: np.random.Generator = rng) -> Ends:
            found = mean_of_snapshots(
                piece["run_ratio"], np.ones(len(piece)), piece["snapshot"], rng
            )
            if np.isnan(found.low):
                return found.value, None, None
            return found.value, found.low, found.high

        known = set()
        for (pattern, index), piece in _groups(
            part.sort_values(["pattern", "size_class"]), "pattern", "size_class"
        ):
            if in_several(piece["snapshot"]):
                known.add(pattern)
                low, high = SIZE_CLASSES[index]
                rows.append(SpeedupRow(pattern, low, high, policy, *mean(piece)))
        for pattern in PATTERNS:
            if pattern not in known:
                rows.append(SpeedupRow(pattern, ALL_SIZES[0], ALL_SIZES[1], policy, *mean(part)))
    return SpeedupTable(REFERENCES[network], tuple(rows))


def speedup_frame(table: SpeedupTable) -> pd.DataFrame:
    """A speed-up table with the columns of its CSV form."""
    import pandas as pd

    return pd.DataFrame(
        [
            [table.reference_policy, *(getattr(row, column) for column in COLUMNS[1:])]
            for row in table.rows
        ],
        columns=list(COLUMNS),
    )


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
    for (network, log, case, policy), part in _groups(pairs, "network", "log", "case", "policy"):
        rng = point_rng({"of": [network, log, case, policy], "seed": seed}, "verdict bootstrap")
        sizes, job_id = part["n_nodes"].to_numpy(), part["job_id"].to_numpy()
        assumed = assumed_shares(sizes)
        head = {"network": network, "log": log, "case": case, "policy": policy}
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
                percent = 100 * weighted_quantiles(taken, w)
                verdict.append(
                    {
                        **labels,
                        "jobs": len(part),
                        "taken_off": mean.value,
                        "low": mean.low,
                        "high": mean.high,
                        **{f"q{100 * q:g}": v for q, v in zip(QUANTILES, percent, strict=True)},
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
            for index in np.unique(part["size_class"]):
                mine = (part["size_class"] == index).to_numpy()
                percent = 100 * weighted_quantiles(taken[mine], np.ones(mine.sum()))
                boxes.append(
                    {
                        **head,
                        "share": share,
                        "size_class": int(index),
                        "nodes": class_name(int(index)),
                        "jobs": int(mine.sum()),
                        "mean": 100 * float(taken[mine].mean()),
                        **{f"q{100 * q:g}": v for q, v in zip(QUANTILES, percent, strict=True)},
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

    rows = []
    told = verdict[verdict["weighting"] == WEIGHTINGS[0]]
    for network, known in CASES.items():
        first = known[0]
        for case in known:
            if (case.routing, case.load, case.mapping) != (
                first.routing,
                first.load,
                first.mapping,
            ):
                continue
            share = "0.5" if case.duty == 1 else f"{case.duty:g}"
            scale = 0.5 if case.duty == 1 else case.duty**2
            here = (told["network"] == network) & (told["case"] == case.name)
            for row in told[here & (told["share"] == share)].to_dict("records"):
                rows.append(
                    {
                        "network": network,
                        "log": row["log"],
                        "policy": row["policy"],
                        "share": case.duty,
                        "coefficient": row["taken_off"] / scale,
                        "low": row["low"] / scale,
                        "high": row["high"] / scale,
                    }
                )
    columns = ["network", "log", "policy", "share", "coefficient", "low", "high"]
    return pd.DataFrame(rows, columns=columns).sort_values(columns[:4], ignore_index=True)
