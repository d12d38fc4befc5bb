"""Loads where a curve is steep: few points where it is flat, many where it saturates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from experiments.curve.output import CURVE
from experiments.curve.point import ALONE, STEADY

FIRST_LOADS = (0.1, 0.4, 0.7, 1.0)
ROUNDS = 4
"""Of bisection after the first loads: from 0.3 down to 0.02."""
LEAST_GAP = 0.025
GROWTH = 1.5
"""Ratio of the mean latencies of neighbouring loads from which the load between is computed."""


def loads_between(rows: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Return routing, traffic and load of the points that would refine each curve.

    An interval is halved where the curve stops being steady, or where its latency grows by
    `GROWTH` or more. Above saturation latencies depend on the window, so nothing is added there.
    """
    found: list[tuple[str, str, float]] = []
    for (routing, traffic), curve in rows.groupby(CURVE, sort=False):
        loaded = curve[curve["state"] != ALONE].sort_values("load")
        for low, high in pairwise(loaded.to_dict("records")):
            if low["state"] != STEADY:
                break
            grows = high["latency_mean_s"] >= GROWTH * low["latency_mean_s"]
            if (grows or high["state"] != STEADY) and high["load"] - low["load"] > LEAST_GAP:
                middle = round((low["load"] + high["load"]) / 2, 6)
                found.append((str(routing), str(traffic), float(middle)))
    return found


def refined(points: Sequence[dict[str, Any]], rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the points that `loads_between` names, made from those of the same curve."""
    found = []
    for routing, traffic, load in loads_between(rows):
        like = next(
            point
            for point in points
            if point["curve"]["traffic"] == traffic
            and point["machine"]["routing"] in (routing, None)
        )
        found.append(like | {"curve": like["curve"] | {"load": load}})
    return found
