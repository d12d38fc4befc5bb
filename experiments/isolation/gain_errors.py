"""Laws of the gain: fitted on measured jobs, and their errors on logs that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.isolation.gain.predictor import (
    LAWS,
    Columns,
    Fitted,
    FloatArray,
)
from netsim.errors import NetcosimError, unknown_name
from queuesim.result import Rows
from queuesim.statistics import known_ends, mean_of_snapshots, t_of_snapshots

LEFT_OUT = "one log left out"


def fit(law: str, rows: Columns) -> Fitted:
    """Fit coefficients to ``gain_percent`` by least squares, jobs weighted by their nodes."""
    if law not in LAWS:
        raise unknown_name("law of the gain", law, LAWS)
    one = LAWS[law]
    if not one.fitted:
        return Fitted(law, (1.0,) * len(one.terms))
    if not len(rows["gain_percent"]):
        raise NetcosimError(f"law {law}: no measured jobs to fit it on")
    root = np.sqrt(rows["n_nodes"].astype(np.float64))
    terms = one.matrix(rows) * root[:, None]
    found = np.linalg.lstsq(terms, rows["gain_percent"] * root, rcond=None)[0]
    return Fitted(law, tuple(float(c) for c in found))


def chosen(rows: Columns, mask: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the rows of a mask."""
    return {name: values[mask] for name, values in rows.items()}


def held_out(law: str, rows: Columns, groups: Sequence[Sequence[str]]) -> FloatArray:
    """Predict each job by a law that is fitted on the logs of the other groups, (n,) float64; each
    log is in one of them."""
    found = np.full(len(rows["log"]), np.nan)
    for group in groups:
        unseen = np.isin(rows["log"], list(group))
        found[unseen] = fit(law, chosen(rows, ~unseen)).percent(chosen(rows, unseen))
    return found


def job_errors(rows: Columns, predicted: FloatArray) -> dict[str, float]:
    """Return a law's errors in points: of jobs, and of node-weighted means of snapshots."""
    off = np.abs(predicted - rows["gain_percent"])
    snapshots = means_by(rows, predicted, units(rows)[1])
    return {
        "jobs": float(len(off)),
        "median": float(np.median(off)),
        "p90": float(np.quantile(off, 0.9)),
        "rmse": float(np.sqrt((off**2).mean())),
        "snapshot_rmse": float(np.sqrt(np.mean([(t - m) ** 2 for t, m in snapshots.values()]))),
    }


UNIT = ("log", "machine", "placement", "share", "snapshot")
"""Columns that identify a snapshot."""


def units(rows: Columns) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the snapshots of all logs and cases, and each row's snapshot."""
    columns = [rows[name].astype(str) for name in UNIT]
    names = [" ".join(cells) for cells in zip(*columns, strict=True)]
    known = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return list(known), np.array([known[name] for name in names], dtype=np.int64)


def means_by(
    rows: Columns, predicted: FloatArray, group: NDArray[Any]
) -> dict[Any, tuple[float, float]]:
    """Return predicted and measured means over node-hours, by group."""
    found = {}
    for name in dict.fromkeys(group.tolist()):
        mine = group == name
        nodes = rows["n_nodes"][mine]
        pair = [
            float(np.average(x[mine], weights=nodes)) for x in (predicted, rows["gain_percent"])
        ]
        found[name] = pair[0], pair[1]
    return found


def splits(logs: Sequence[str]) -> dict[str, list[list[str]]]:
    """Return ways to split logs: each left out once; of four, one half and the other."""
    found = {LEFT_OUT: [[name] for name in logs]}
    if len(logs) == 4:
        for other in logs[1:]:
            half = [logs[0], other]
            rest = [name for name in logs if name not in half]
            found[f"{'+'.join(half)} and {'+'.join(rest)}"] = [half, rest]
    return found


def law_rows(rows: Columns) -> list[dict[str, object]]:
    """Return a row a law and split: errors in points on unseen logs, of jobs and of snapshots.

    ``rmse`` has an interval from drawing whole snapshots again.
    """
    logs = list(dict.fromkeys(rows["log"].tolist()))
    found: list[dict[str, object]] = []
    for split, groups in splits(logs).items():
        for law in LAWS:
            predicted = held_out(law, rows, groups)
            square = (predicted - rows["gain_percent"]) ** 2
            drawn = mean_of_snapshots(square, 1, units(rows)[1], np.random.default_rng(0))
            low, high = (None if x is None else x**0.5 for x in known_ends(drawn))
            errors = {name: round(value, 3) for name, value in job_errors(rows, predicted).items()}
            ends = {"rmse_low": low, "rmse_high": high}
            found.append(
                {"law": law, "split": split, **errors}
                | {name: None if x is None else round(x, 3) for name, x in ends.items()}
            )
    return found


def log_rows(rows: Columns) -> list[dict[str, object]]:
    """Return a row a law and log: measured means over node-hours, and held-out predictions."""
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
                {"law": law, "log": name, "predicted": round(means[name][0], 3)}
                | {key: None if x is None else round(x, 3) for key, x in ends.items()}
            )
    return found


def coefficient_rows(rows: Columns) -> Rows:
    """Return a row a law and term: the coefficients fitted on all logs."""
    return [
        {"law": law, "description": LAWS[law].description, "term": k, "coefficient": round(c, 4)}
        for law in LAWS
        if LAWS[law].fitted
        for k, c in enumerate(fit(law, rows).coefficients)
    ]


def best_law(rows: Columns) -> str:
    """Return the law whose means of snapshots are nearest on logs that it was not fitted on."""
    predicted = [row for row in law_rows(rows) if row["split"] == LEFT_OUT]
    return str(min(predicted, key=lambda row: float(str(row["snapshot_rmse"])))["law"])
