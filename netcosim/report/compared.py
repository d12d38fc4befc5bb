"""Policies compared at every point of a sweep: means with intervals, and which is best where.

Repetitions (the same config with other draws) are samples, and equal ones are one sample. With
five or more the interval is Student's t around their mean, cut at what is possible; policies are
compared repetition by repetition, for they have the same jobs in each. Repetitions that redraw
blocks of a log show how much one log's result scatters: the interval is that of the block
bootstrap. Two to four samples have no interval. With one sample the interval is the measurement's
own, if it has one, and one policy is better where intervals do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from netcosim.report.about import config_section, is_over_log
from netcosim.report.effect import METRICS, Effect, Quantity, distinct
from netcosim.report.swept import Cell, Repetition, Swept
from queuesim.statistics import LEAST_SAMPLES, Interval, interval_of_redrawn, t_interval
from workloads.drawn import LEAST_BLOCKS

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["repetitions", "blocks", "measurement", "none"]
State = Literal["significant", "not significant", "no interval", "alone"]
"""One is best; intervals overlap; no intervals, so the least value alone is known; one policy."""


@dataclass(frozen=True)
class Estimate:
    """A metric of a policy at a cell."""

    interval: Interval
    """Ends are nan where none are known."""
    method: Method
    """What the interval goes over."""
    samples: Mapping[Repetition, float] = field(default_factory=dict)
    """Different repetitions only."""
    redrawn: frozenset[Repetition] = frozenset()
    """Those on blocks of the log."""
    snapshots: int = LEAST_SAMPLES
    """Of the measurement's own interval; as many as it needs if not known."""


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
    metrics: tuple[Quantity, ...]
    """Those that the table has numbers for."""
    estimates: Mapping[tuple[str, Cell, str], Estimate]
    """Mapping of (column, cell, policy) to Estimate."""
    equal: int = 0
    """Repetitions that gave what another one had given, most of all cells."""
    over_log: bool = False
    """Whether the jobs are those of a log."""

    def cells(self) -> list[Cell]:
        """Return every cell that has a point, in order."""
        return sorted({cell for _, cell, _ in self.estimates})

    def at(self, metric: Quantity, cell: Cell) -> dict[str, Estimate]:
        """Return the policies' estimates at a cell, without those that have none."""
        found = {p: self.estimates.get((metric.column, cell, p)) for p in self.policies}
        return {policy: estimate for policy, estimate in found.items() if estimate is not None}

    def of(self, metric: Quantity) -> list[Estimate]:
        """Return all estimates of a metric."""
        return [e for (column, _, _), e in self.estimates.items() if column == metric.column]

    def change(self, metric: Quantity, cell: Cell, policy: str, against: str) -> Effect | None:
        """Return a policy's change from another one there; None where one has no value."""
        at = self.at(metric, cell)
        if policy not in at or against not in at:
            return None
        effect = change(metric, policy, at[policy], against, at[against])
        where = self.swept.describe(cell)
        found = replace(effect, part=f"at {where}" if where else "")
        return found if math.isfinite(found.value) else None

    def best(self, metric: Quantity, cell: Cell) -> Best | None:
        """Return which policy is best there; None where no policy has a value."""
        return best_of(metric, self.at(metric, cell))


def compare(
    frame: pd.DataFrame, points: Swept, configs: Mapping[str, Mapping[str, object]] | None = None
) -> Compared:
    """Estimate all metrics at all cells, from the table of policies of all points.

    ``configs`` is the config of each point: which repetitions redraw a log, how many snapshots.
    """
    rows = [{str(c): v for c, v in row.items()} for row in frame.to_dict("records")]
    metrics = tuple(m for m in METRICS if any(_finite(row.get(m.column)) for row in rows))
    runs: dict[Cell, dict[str, dict[str, dict[str, object]]]] = {}
    for row in rows:
        key = str(row["point"])
        of_point = runs.setdefault(points.cells[key], {}).setdefault(key, {})
        of_point[str(row["policy"])] = row
    sampled = {key: _sampled((configs or {}).get(key, {})) for key in points.cells}
    estimates, equal = {}, 0
    for cell, by_point in runs.items():
        # points that differ in nothing but a repetition share a place
        names = {key: (*points.repetitions[key], i) for i, key in enumerate(by_point)}
        if len({points.repetitions[key] for key in by_point}) == len(by_point):
            names = {key: points.repetitions[key] for key in by_point}
        values = {key: _values(found, metrics) for key, found in by_point.items()}
        different = {repr(values[key]): key for key in reversed(by_point)}.values()
        equal = max(equal, len(values) - len(different))
        kept = [key for key in by_point if key in set(different)]
        redrawn = frozenset(names[key] for key in kept if sampled[key].redrawn)
        for metric in metrics:
            for policy, row in by_point[kept[0]].items():
                at = (metric.column, policy)
                samples = {names[key]: values[key][at] for key in kept if at in values[key]}
                if samples:
                    estimates[metric.column, cell, policy] = _estimate(
                        samples, _own(row, metric), metric, redrawn, sampled[kept[0]].snapshots
                    )
    policies = tuple(dict.fromkeys(str(row["policy"]) for row in rows))
    over_log = any(one.over_log for one in sampled.values())
    return Compared(points, policies, metrics, estimates, equal, over_log)


class _Sampled(NamedTuple):
    """What a point samples."""

    over_log: bool
    redrawn: bool
    """Whether its jobs are redrawn blocks of a log."""
    snapshots: int


def _sampled(config: Mapping[str, object]) -> _Sampled:
    run, over_log = config_section(config, "run"), is_over_log(config)
    again = over_log and bool(run.get("repetition")) and bool(run.get("redraw_log", True))
    return _Sampled(over_log, again, int(run.get("snapshots") or LEAST_SAMPLES))


def _values(
    found: Mapping[str, Mapping[str, object]], metrics: Sequence[Quantity]
) -> dict[tuple[str, str], float]:
    """Return the values of a point by metric and policy."""
    return {
        (metric.column, policy): float(str(row[metric.column]))
        for policy, row in found.items()
        for metric in metrics
        if _finite(row.get(metric.column))
    }


def _own(row: Mapping[str, object], metric: Quantity) -> tuple[float, float] | None:
    """Return the measurement's own interval of a metric, if a row has one."""
    ends = [row.get(f"{metric.column}_{end}") for end in ("low", "high")]
    if not all(map(_finite, ends)):
        return None
    low, high = (float(str(end)) for end in ends)
    return low, high


def _estimate(
    samples: Mapping[Repetition, float],
    own: tuple[float, float] | None,
    metric: Quantity,
    redrawn: frozenset[Repetition],
    snapshots: int,
) -> Estimate:
    method: Method = "none"
    found = Interval(sum(samples.values()) / len(samples), math.nan, math.nan)
    if again := [value for r, value in samples.items() if r in redrawn]:
        # of the log itself, or the mean of its redrawn ones where it was not run
        logged = [value for r, value in samples.items() if r not in redrawn] or again
        found = interval_of_redrawn(sum(logged) / len(logged), again, LEAST_BLOCKS)
        method = "blocks"
    elif distinct(samples.values()) > 1:
        found, method = t_interval(list(samples.values())), "repetitions"
    elif own is not None and len(samples) == 1:
        found, method = Interval(found.value, *own), "measurement"
    if math.isnan(found.low):
        method = "none"
    return Estimate(found.within(*metric.possible), method, samples, redrawn, snapshots)


def best_of(metric: Quantity, found: Mapping[str, Estimate]) -> Best | None:
    """Return which of some policies is best, and whether it is significantly so."""
    if not found:
        return None
    leader = min(found, key=lambda policy: metric.sign * found[policy].interval.value)
    if len(found) == 1:
        return Best("alone", leader)
    against = [
        change(metric, leader, found[leader], rival, found[rival])
        for rival in found
        if rival != leader
    ]
    open_ = [effect for effect in against if not effect.better]
    if any(effect.has_interval or effect.value == 0 for effect in open_):
        return Best("not significant", leader)  # a tie names no policy
    return Best("no interval" if open_ else "significant", leader)


def change(
    metric: Quantity, policy: str, mine: Estimate, against: str, reference: Estimate
) -> Effect:
    """Return a policy's change of a metric from another policy's.

    Of repetitions that both have, the interval is of the mean difference; on blocks of a log, of
    the ratio. With one repetition it has the ends of both measurements, so it excludes 0 where
    these do not overlap. No metric is below 0, so none falls by more than 100 %.
    """
    shared = [r for r in mine.samples if r in reference.samples]
    redrawn = frozenset(r for r in shared if r in mine.redrawn)
    sample, samples, method = "repetition", len(shared), "Student's t, within repetitions"
    ratio = Interval(math.nan, math.nan, math.nan)
    base = reference.interval.value
    if redrawn and base > 0:
        of = {r: reference.samples[r] for r in redrawn if reference.samples[r] > 0}
        ratio = interval_of_redrawn(
            mine.interval.value / base, [mine.samples[r] / of[r] for r in of], LEAST_BLOCKS
        )
        sample, samples, method = "block of the log", LEAST_BLOCKS, "block bootstrap"
    elif len(shared) > 1:
        base = sum(reference.samples[r] for r in shared) / len(shared)
        found = t_interval([mine.samples[r] - reference.samples[r] for r in shared])
        ratio = Interval(*(1 + x / base for x in found)).within(0.0) if base else ratio
        samples = min(samples, distinct((mine.samples[r], reference.samples[r]) for r in shared))
    elif base > 0:
        ends = (mine.interval.low / reference.interval.high, mine.interval.high)
        low = reference.interval.low
        ratio = Interval(
            mine.interval.value / base, ends[0], ends[1] / low if low > 0 else math.nan
        )
        if not math.isnan(ratio.high):
            sample, samples = "snapshot", mine.snapshots
            method = "both measurements' own intervals"
    return Effect.of_ratio(
        ratio,
        subject=policy,
        quantity=metric,
        against=against,
        sample=sample,
        samples=samples,
        method=method,
    )


def _finite(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(float(str(value)))
