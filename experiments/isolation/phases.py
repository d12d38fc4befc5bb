"""Does isolation pay? The queue's ratio at the gain that was measured, over stretches of a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from queuesim.statistics import LEAST_WINDOWS, MATTERS, Interval, t_of_snapshots

PAYS, NOT, UNKNOWN = "would pay", "would not pay", "not significant"
"""Verdicts on a metric of the queue."""


def word(ratio: Interval) -> str:
    """Classify a ratio to the reference: below 1 is better; an interval that has 1 is inconclusive.

    Nor does one that comes nearer to 1 than `MATTERS`. An end that is not known (nan) is no end.
    """
    if ratio.high < 1 - MATTERS:
        return PAYS
    return NOT if ratio.low > 1 + MATTERS else UNKNOWN


def over_stretches(values: ArrayLike) -> Interval:
    """Return the mean of (n,) values, one of each stretch of a log, with Student's interval."""
    x = np.asarray(values, dtype=float)
    return t_of_snapshots(x, np.ones(len(x)), np.arange(len(x)), least_samples=LEAST_WINDOWS)


def foretold(gain_percent: ArrayLike, ratio: ArrayLike, gained_percent: float) -> float:
    """Return a queue's ratio at a gain, linear between and beyond those at which it is known, two
    or more, ascending."""
    x, y = np.asarray(gain_percent, dtype=float), np.asarray(ratio, dtype=float)
    i = int(np.clip(np.searchsorted(x, gained_percent), 1, len(x) - 1))
    slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1])
    return float(y[i - 1] + slope * (gained_percent - x[i - 1]))


@dataclass(frozen=True)
class Verdict:
    """Whether isolation pays."""

    ratio: Interval
    """Geometric mean over stretches, Student's interval of the logarithms."""
    word: str
    would_decide: float
    """Number of stretches whose interval would exclude 1 if all scattered as these; nan with too
    few of them."""


def verdict(ratios: ArrayLike) -> Verdict:
    """Return the verdict on (n,) ratios, one of each stretch of a log."""
    logs = np.log(np.asarray(ratios, dtype=float))
    found = over_stretches(logs)
    ratio = Interval(*np.exp([*found]).tolist())
    off = abs(found.value)
    needed = len(logs) * ((found.high - found.value) / off) ** 2 if off else np.inf
    return Verdict(ratio, word(ratio), float(np.ceil(needed)))
