"""What each law of the gain is worth on logs that it has not seen, in tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosim.isolation.isolation_gain import (
    LAWS,
    Columns,
    fit,
    held_out,
    job_errors,
    means_by,
    units,
)
from queuesim.result import Rows
from queuesim.statistics import known_ends, mean_of_snapshots, t_of_snapshots

LEFT_OUT = "one log left out"


def splits(logs: Sequence[str]) -> dict[str, list[list[str]]]:
    """Ways to part logs: each left out once; and of four, in all ways, one half and the other."""
    found = {LEFT_OUT: [[name] for name in logs]}
    if len(logs) == 4:
        for other in logs[1:]:
            half = [logs[0], other]
            rest = [name for name in logs if name not in half]
            found[f"{'+'.join(half)} and {'+'.join(rest)}"] = [half, rest]
    return found


def law_rows(rows: Columns) -> list[dict[str, object]]:
    """A row a law and split: errors in points on unseen logs, jobs alike and means of snapshots.

    ``rmse`` has an interval from drawing whole snapshots again.
    """
    logs = list(dict.fromkeys(rows["log"].tolist()))
    found: list[dict[str, object]] = []
    for split, groups in splits(logs).items():
        for law in LAWS:
            told = held_out(law, rows, groups)
            square = (told - rows["gain_percent"]) ** 2
            drawn = mean_of_snapshots(square, 1, units(rows)[1], np.random.default_rng(0))
            low, high = (None if x is None else x**0.5 for x in known_ends(drawn))
            errors = {name: round(value, 3) for name, value in job_errors(rows, told).items()}
            ends = {"rmse_low": low, "rmse_high": high}
            found.append(
                {"law": law, "split": split, **errors}
                | {name: None if x is None else round(x, 3) for name, x in ends.items()}
            )
    return found


def log_rows(rows: Columns) -> list[dict[str, object]]:
    """A row a law and log: the mean over node-hours, told without having seen it and measured."""
    logs = list(dict.fromkeys(rows["log"].tolist()))
    found: list[dict[str, object]] = []
    for law in LAWS:
        means = means_by(rows, held_out(law, rows, [[name] for name in logs]), rows["log"])
        for name in logs:
            mine = rows["log"] == name
            seen = t_of_snapshots(
                rows["gain_percent"][mine], rows["n_nodes"][mine], units(rows)[1][mine]
            )
            low, high = known_ends(seen)
            ends = {"measured": seen.value, "measured_low": low, "measured_high": high}
            found.append(
                {"law": law, "log": name, "told": round(means[name][0], 3)}
                | {key: None if x is None else round(x, 3) for key, x in ends.items()}
            )
    return found


def coefficient_rows(rows: Columns) -> Rows:
    """A row a law and term: the coefficients fitted on all logs."""
    return [
        {"law": law, "description": LAWS[law].description, "term": k, "coefficient": round(c, 4)}
        for law in LAWS
        if LAWS[law].fitted
        for k, c in enumerate(fit(law, rows).coefficients)
    ]


def best_law(rows: Columns) -> str:
    """The law whose means of snapshots are nearest on logs that it has not seen."""
    told = [row for row in law_rows(rows) if row["split"] == LEFT_OUT]
    return str(min(told, key=lambda row: float(str(row["snapshot_rmse"])))["law"])
