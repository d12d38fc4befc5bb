"""The tables of a sweep: policies at each setting, points, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from netcosim.report.compared import Compared
from netcosim.report.effect import Quantity
from netcosim.report.figures.sweep import scale_of
from netcosim.report.swept import label_of
from netcosim.runs.store_format import StoredPoint
from queuesim.statistics import Interval, interval_columns

LEAST_LETTERS = 8
LAST = ("speedups", "links", "measured_jobs")
"""Tables that are last and folded, in this order."""


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
    parameters: Sequence[dict[str, object]],
    path: str | None,
) -> pd.DataFrame:
    """Return a row a point: its parameters, and the command that opens it if it is of a run."""
    length = key_length([point.key for point in points])
    rows = []
    for point, own in zip(points, parameters, strict=True):
        row: dict[str, object] = {"point": point.key[:length]}
        row |= {
            name.replace("machine.parameters.", "machine."): label_of(name, value)
            for name, value in own.items()
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
