"""The tables of a sweep: numbers averaged over repetitions alone, what names things never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from netcosim.report.compared import Compared
from netcosim.report.effect import Quantity
from netcosim.report.figures.sweep import scale_of
from netcosim.report.swept import REPETITIONS, label_of
from netcosim.runs.store_format import StoredPoint
from queuesim.statistics import Interval, interval_columns

LABELS = frozenset(
    {
        *("point", "policy", "reference_policy", "pattern", "kind", "group", "level", "class"),
        *("bin", "metric", "share", "size", "min_nodes", "max_nodes", "day", "case", "load"),
        *("log", "n_nodes", "nodes", "user", "order", "backfill", "state", "routing", "traffic"),
    }
)
"""Columns that identify a row, numbers or not: rows with the same are averaged."""

ITEMS = frozenset(
    {
        *("job", "job_id", "neighbour", "neighbour_job_id", "snapshot", "instant", "rank"),
        *("node", "router", "link", "src", "dst", "port", "number", "index", "first", "last"),
    }
)
"""Columns that name one thing of one point, such as a job: another repetition has another by that
name, so such tables are shown as they are."""

LEAST_LETTERS = 8
LAST = ("speedups", "links", "measured_jobs")
"""Tables that are last and folded, in this order, before all that have `ITEMS`."""


def is_label(column: str) -> bool:
    """Return whether a column names things, so that it must never be averaged."""
    return column in LABELS or column in ITEMS or column.endswith(("_id", "_name"))


def averaged(frame: pd.DataFrame, parameters: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Return a table with its numbers averaged over repetitions, and a sentence on it.

    Returns
    -------
    (DataFrame, str)
        Rows as they are where they are of one thing each (`ITEMS`), or where there is nothing to
        average. Else ``repetitions`` is how many rows each represents, where that is not one.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    shown = frame.drop(columns=[c for c in ("point",) if c in frame.columns])
    repeated = [c for c in parameters if c in REPETITIONS]
    if any(c in ITEMS or c.endswith("_id") for c in frame.columns if c not in parameters):
        return shown, "Rows of single things, nothing averaged."
    if not repeated:
        return shown, ""
    keys: list[str] = []
    values: list[str] = []
    for column in shown.columns:
        number = is_numeric_dtype(shown[column]) and not is_bool_dtype(shown[column])
        if column in repeated:
            continue
        label = column in parameters or is_label(str(column)) or not number
        (keys if label else values).append(str(column))
    if not keys or not values:
        return shown, ""
    grouped = shown.groupby(keys, sort=False, dropna=False)
    sizes = grouped.size()
    if sizes.max() == 1:
        return shown.drop(columns=repeated), ""
    means = grouped[values].mean()
    means.insert(0, "repetitions", sizes)
    return means.reset_index()[[*keys, "repetitions", *values]], "Means over repetitions."


def policies_table(compared: Compared) -> pd.DataFrame:
    """Return a row a cell and policy: every metric with its interval."""
    scales = {metric: scale_of(compared, metric) for metric in compared.metrics}
    rows = []
    for cell in compared.cells():
        at = {metric: compared.at(metric, cell) for metric in scales}
        for policy in compared.policies:
            row: dict[str, object] = {**_place(compared, cell), "policy": policy}
            for metric, scale in scales.items():
                if policy in at[metric]:
                    found = Interval(*map(scale.of, at[metric][policy].interval))
                    row[head := _head(metric, scale.unit)] = found.value
                    row |= interval_columns(head, found) if found.low < found.high else {}
            samples = [len(own[policy].samples) for own in at.values() if policy in own]
            if samples:
                rows.append({**row, "repetitions": max(samples)})
    return pd.DataFrame(rows)


def best_table(compared: Compared) -> pd.DataFrame:
    """Return a row a cell: the best policy by every metric, or that none is significantly best."""
    rows = []
    for cell in compared.cells():
        row: dict[str, object] = _place(compared, cell)
        for metric in compared.metrics:
            best = compared.best(metric, cell)
            if best is None:
                found: str | None = None
            elif best.state == "not significant":
                found = best.state
            else:
                found = best.policy + (" (no interval)" if best.state == "no interval" else "")
            row[_head(metric, "")] = found
        rows.append(row)
    return pd.DataFrame(rows)


def _place(compared: Compared, cell: tuple[int, ...]) -> dict[str, object]:
    return {
        axis.title.replace(" ", "_"): axis.labels[at]
        for axis, at in zip(compared.swept.axes, cell, strict=True)
    }


def _head(metric: Quantity, unit: str) -> str:
    ends = {"s": "_s", "minutes": "_min", "hours": "_h", "days": "_d", "%": "_percent"}
    return metric.title.lower().replace(" ", "_") + ends.get(unit, "")


def points_table(
    points: Sequence[StoredPoint],
    flat: Sequence[dict[str, object]],
    names: Sequence[str],
    path: str | None,
) -> pd.DataFrame:
    """Return a row a point: its parameters, and the command that opens it if it is of a run."""
    length = key_length([point.key for point in points])
    rows = []
    for point, own in zip(points, flat, strict=True):
        row: dict[str, object] = {"point": point.key[:length]}
        row |= {
            name.replace("machine.parameters.", "machine."): label_of(name, own.get(name))
            for name in names
        }
        row |= {
            "status": point.status,
            "computing_s": point.seconds,
        }
        if path is not None:
            row["open"] = f"netcosim report {path} --point {point.key[:length]}"
        rows.append(row)
    return pd.DataFrame(rows)


def key_length(keys: Sequence[str]) -> int:
    """Return how many first letters distinguish the keys, at least `LEAST_LETTERS`."""
    longest = max((len(key) for key in keys), default=LEAST_LETTERS)
    for length in range(LEAST_LETTERS, longest):
        if len({key[:length] for key in keys}) == len(keys):
            return length
    return longest


def failures(points: Sequence[StoredPoint]) -> pd.DataFrame:
    """Return a row an error: how many points have it, and the first of them."""
    counted = Counter(point.error or "" for point in points)
    first = {point.error or "": point.key[:12] for point in reversed(points)}
    rows = [
        {"error": error, "points": count, "first_point": first[error]}
        for error, count in counted.most_common()
    ]
    return pd.DataFrame(rows)
