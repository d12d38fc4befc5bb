"""Policies compared at every point of a sweep: means with intervals, and which is best where.

Repetitions (other seeds, the same config) are samples. With five or more the interval is Student's
t around their mean, cut at what is possible; policies are compared repetition by repetition, for
they have the same jobs in each, and one is better where the t interval of the mean difference
excludes 0. Two to four repetitions have no interval. With one repetition the interval is the
measurement's own, if it has one, and one policy is better where intervals do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from netcosim.report.swept import Cell, Repetition, Swept
from queuesim.statistics import Interval, t_interval

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["repetitions", "measurement", "none"]
State = Literal["significant", "not significant", "no interval", "alone"]
"""One is best; intervals overlap; no intervals, so the least value alone is known; one policy."""


@dataclass(frozen=True)
class Metric:
    """A number that policies are compared by."""

    column: str
    """Of the table of policies."""
    title: str
    unit: Literal["ratio", "time", "percent", "number"]
    most_wins: bool = False
    """Whether more is better."""
    ends: tuple[str, ...] = ()
    """Columns of the measurement's own interval, or none."""
    possible: tuple[float, float] = (0.0, math.inf)
    """The least and the most that its mean can be."""

    @property
    def sign(self) -> float:
        """1 where less is better, else -1."""
        return -1.0 if self.most_wins else 1.0


METRICS = (
    Metric(
        "communication_ratio",
        "Communication time",
        "ratio",
        ends=("communication_ratio_low", "communication_ratio_high"),
    ),
    Metric("mean_wait_s", "Wait", "time"),
    Metric("mean_turnaround_s", "Turnaround", "time"),
    Metric("mean_bounded_slowdown", "Bounded slowdown", "number", possible=(1.0, math.inf)),
    Metric("utilisation", "Utilisation", "percent", most_wins=True, possible=(0.0, 1.0)),
    Metric("makespan_s", "Makespan", "time"),
)


@dataclass(frozen=True)
class Estimate:
    """A metric of a policy at a cell."""

    interval: Interval
    """Ends are nan where none are known."""
    method: Method
    """What the interval goes over."""
    samples: Mapping[Repetition, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Best:
    """Which policy is best at a cell."""

    state: State
    policy: str
    """The one with the best value, whatever the state."""


@dataclass(frozen=True)
class Compared:
    """All estimates of a sweep."""

    swept: Swept
    policies: tuple[str, ...]
    """In the config's order."""
    metrics: tuple[Metric, ...]
    """Those that the table has numbers for."""
    estimates: Mapping[tuple[str, Cell, str], Estimate]
    """Mapping of (column, cell, policy) to Estimate."""

    def cells(self) -> list[Cell]:
        """Return every cell that has a point, in order."""
        return sorted({cell for _, cell, _ in self.estimates})

    def at(self, metric: Metric, cell: Cell) -> dict[str, Estimate]:
        """Return the policies' estimates at a cell, without those that have none."""
        found = {p: self.estimates.get((metric.column, cell, p)) for p in self.policies}
        return {policy: estimate for policy, estimate in found.items() if estimate is not None}

    def of(self, metric: Metric) -> list[Estimate]:
        """Return all estimates of a metric."""
        return [e for (column, _, _), e in self.estimates.items() if column == metric.column]

    def best(self, metric: Metric, cell: Cell) -> Best | None:
        """Return which policy is best there; None where no policy has a value."""
        return best_of(metric, self.at(metric, cell))


def compare(frame: pd.DataFrame, points: Swept) -> Compared:
    """Estimate all metrics at all cells.

    Parameters
    ----------
    frame : DataFrame
        The table of policies of all points, with ``point`` and ``policy``.
    """
    rows = frame.to_dict("records")
    metrics = tuple(m for m in METRICS if any(_finite(row.get(m.column)) for row in rows))
    samples: dict[tuple[str, Cell, str], dict[Repetition, float]] = {}
    own: dict[tuple[str, Cell, str], tuple[float, float]] = {}
    for row in rows:
        cell, repetition = points.cells[str(row["point"])], points.repetitions[str(row["point"])]
        for metric in metrics:
            value = row.get(metric.column)
            if not _finite(value):
                continue
            at = (metric.column, cell, str(row["policy"]))
            # points that differ in nothing but a repetition share a place
            mine = samples.setdefault(at, {})
            again = repetition if repetition not in mine else (*repetition, len(mine))
            mine[again] = float(str(value))
            ends = [row.get(end) for end in metric.ends]
            if ends and all(map(_finite, ends)):
                low, high = (float(str(end)) for end in ends)
                own[at] = (low, high)
    by_column = {metric.column: metric for metric in metrics}
    return Compared(
        points,
        tuple(dict.fromkeys(str(row["policy"]) for row in rows)),
        metrics,
        {at: _estimate(found, own.get(at), by_column[at[0]]) for at, found in samples.items()},
    )


def _estimate(
    samples: Mapping[Repetition, float], own: tuple[float, float] | None, metric: Metric
) -> Estimate:
    values = list(samples.values())
    if len(values) > 1:
        found = t_interval(values)
        method: Method = "none" if math.isnan(found.low) else "repetitions"
        return Estimate(found.within(*metric.possible), method, samples)
    if own is not None:
        return Estimate(Interval(values[0], *own), "measurement", samples)
    return Estimate(Interval(values[0], math.nan, math.nan), "none", samples)


def best_of(metric: Metric, found: Mapping[str, Estimate]) -> Best | None:
    """Return which of some policies is best, and whether it is significantly so."""
    if not found:
        return None
    leader = min(found, key=lambda policy: metric.sign * found[policy].interval.value)
    if len(found) == 1:
        return Best("alone", leader)
    verdicts = [_beats(metric, found[leader], found[rival]) for rival in found if rival != leader]
    if False in verdicts:
        return Best("not significant", leader)
    return Best("no interval" if None in verdicts else "significant", leader)


def _beats(metric: Metric, mine: Estimate, other: Estimate) -> bool | None:
    """Return whether one is better than another; None where neither has an interval."""
    shared = [r for r in mine.samples if r in other.samples]
    if len(shared) > 1:
        differences = [metric.sign * (other.samples[r] - mine.samples[r]) for r in shared]
        less = t_interval(differences)
        if math.isnan(less.low):
            return None if any(differences) else False  # a tie names no policy
        return less.low > 0
    low, high = mine.interval[1:], other.interval[1:]
    if not all(map(math.isfinite, (*low, *high))):
        return None
    return (
        mine.interval.high < other.interval.low
        if metric.sign > 0
        else (mine.interval.low > other.interval.high)
    )


def gain_percent(mine: Estimate, reference: Estimate) -> Interval:
    """Return how much less than the reference, in percent of the reference's mean.

    The interval is of the mean difference over repetitions that both have, so it excludes 0 where
    `best_of` finds one better, and ends at 100 %: no metric is below 0. With one repetition it is
    the measurement's own if the reference's value is fixed, else there is none.
    """
    unknown = Interval(math.nan, math.nan, math.nan)
    shared = [r for r in mine.samples if r in reference.samples]
    if len(shared) > 1:
        base = sum(reference.samples[r] for r in shared) / len(shared)
        found = t_interval([reference.samples[r] - mine.samples[r] for r in shared])
        return unknown if base == 0 else Interval(*(100 * x / base for x in found)).within(most=100)
    base, low, high = reference.interval
    if base == 0:
        return unknown
    value, most, least = (100 * (1 - x / base) for x in mine.interval)
    return Interval(value, least, most) if low == high else Interval(value, math.nan, math.nan)


def _finite(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(float(str(value)))
