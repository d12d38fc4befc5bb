"""Speed-up tables of resampled snapshots: what the table's own error does to a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.measured import SpeedupRow, SpeedupTable
from cosim.measuring.snapshots import Measurement

Sums = list[NDArray[np.float64]]
"""(2, n_snapshots) each."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen under a policy, a row a job and snapshot."""

    pattern: NDArray[np.str_]
    n_nodes: NDArray[np.int64]
    snapshot: NDArray[np.int64]
    """By place among those seen."""
    value: NDArray[np.float64]
    """Its ratio to the reference, or its stretch."""
    _known: dict[tuple[str, int, int], Sums] = field(default_factory=dict)

    def sums(self, row: SpeedupRow, n_snapshots: int) -> Sums:
        """Return number and sum of the values by snapshot, of a row's jobs and of all."""
        key = row.pattern, row.min_nodes, row.max_nodes
        if key not in self._known:
            own = (self.pattern == row.pattern) & (self.n_nodes >= row.min_nodes)
            own &= self.n_nodes <= row.max_nodes
            self._known[key] = [
                np.array([np.bincount(self.snapshot, w, n_snapshots) for w in (x, x * self.value)])
                for x in (own.astype(np.float64), np.ones(len(own)))
            ]
        return self._known[key]


@dataclass(frozen=True)
class ResampledSpeedups:
    """A speed-up table and the jobs that it is the mean of."""

    table: SpeedupTable
    seen: Mapping[str, _Seen]
    paired: bool
    """Whether values are ratios to the same job under the reference; else stretches of both."""
    n_snapshots: int

    @classmethod
    def of(cls, measurement: Measurement, patterns: Sequence[str]) -> ResampledSpeedups:
        """Return what a measurement's table is resampled from, with the name of each
        communication."""
        pairs = measurement.tables.get("pairs", ())
        seen, counts = {}, [0]
        for name, side in measurement.jobs.items():
            mine = [pair for pair in pairs if pair["policy"] == name]
            rows = (
                [[pair[key] for pair in mine] for key in _PAIR]
                if pairs
                else [np.array(patterns)[side.share], side.n_nodes, side.snapshot, side.stretch]
            )
            pattern, n_nodes, snapshot, value = map(np.asarray, rows)
            numbers, places = np.unique(snapshot, return_inverse=True)
            counts.append(len(numbers))
            seen[name] = _Seen(pattern, n_nodes, places, value.astype(np.float64))
        return cls(measurement.table, seen, bool(pairs), max(counts))

    def draw(self, rng: np.random.Generator) -> SpeedupTable:
        """Return the table of snapshots drawn with replacement.

        Each ratio changes by as much as the mean of its jobs does, and by as much as that of all
        jobs where none of its own is drawn. Pairs have the same snapshots under all policies,
        stretches those of each policy's own schedule.
        """
        n = self.n_snapshots
        draws = rng.integers(0, n, (1 if self.paired else len(self.seen), n))
        times = [np.bincount(drawn, minlength=n) for drawn in draws]
        by_side = {name: times[i % len(times)] for i, name in enumerate(self.seen)}
        base = self.table.reference_policy

        def moved(row: SpeedupRow) -> SpeedupRow:
            change = _change(self.seen.get(row.policy), row, by_side.get(row.policy))
            if not self.paired:
                change /= _change(self.seen.get(base), row, by_side.get(base))
            return replace(row, ratio=row.ratio * change, ratio_low=None, ratio_high=None)

        return replace(self.table, rows=tuple(map(moved, self.table.rows)))


_PAIR = ("pattern", "n_nodes", "snapshot", "run_ratio")


def _change(seen: _Seen | None, row: SpeedupRow, times: NDArray[np.int64] | None) -> float:
    """Return the mean of a row's jobs, as often as their snapshots are drawn, over their mean."""
    if seen is None or times is None:
        return 1.0
    for sums in seen.sums(row, len(times)):
        count, total = sums @ times
        if count:
            all_count, all_total = sums.sum(axis=1)
            return float(total / count / (all_total / all_count))
    return 1.0
