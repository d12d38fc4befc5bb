"""Measured ratios of communication times by pattern, size class and policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name, unknown_name
from netsim.limits import MAX_INDEX
from netsim.short_repr import short_repr
from queuesim.statistics import NO_INTERVAL

FloatArray = NDArray[np.float64]


MAX_RATIO = 1e6
"""Communication a million times as long is no measurement."""


@dataclass(frozen=True)
class SpeedupRow:
    """One measurement: communication time against the reference policy's."""

    pattern: str
    min_nodes: int
    max_nodes: int
    """min_nodes, max_nodes: The size class, both ends included."""
    policy: str
    ratio: float
    """Below 1: faster than under the reference policy."""
    ratio_low: float | None
    ratio_high: float | None
    """ratio_low, ratio_high: Confidence interval; both None where it is not known (too few
    samples)."""

    def check(self, where: str) -> None:
        """Raise `NetcosimError` for invalid numbers; ``where`` begins the message."""
        low, high = self.ratio_low, self.ratio_high
        if low is None and high is None and 0 < self.ratio <= MAX_RATIO:
            pass
        elif low is None or high is None or not 0 < low <= self.ratio <= high <= MAX_RATIO:
            raise NetcosimError(
                f"{where}: ratio {self.ratio} in [{low}, {high}]; need 0 < low <= ratio <= high "
                f"<= {MAX_RATIO:g}, or no interval at all"
            )
        if not 1 <= self.min_nodes <= self.max_nodes <= MAX_INDEX:
            raise NetcosimError(
                f"{where}: a size class needs 1 <= min_nodes <= max_nodes <= {MAX_INDEX:,}"
            )


@short_repr()
@dataclass(frozen=True)
class SpeedupTable:
    """Measured ratios by pattern, size class and policy."""

    reference_policy: str
    rows: tuple[SpeedupRow, ...]
    of_run_times: bool = False
    """Whether ratios are those of whole runs, computing and all, so that a job's communication
    share is in them already; else only of communication."""

    def __post_init__(self) -> None:
        seen: dict[tuple[str, str], list[SpeedupRow]] = {}
        for row in self.rows:
            where = f"speed-up table, {row.pattern} {row.min_nodes}-{row.max_nodes} {row.policy}"
            row.check(where)
            for other in seen.setdefault((row.pattern, row.policy), []):
                if row.min_nodes <= other.max_nodes and other.min_nodes <= row.max_nodes:
                    raise NetcosimError(
                        f"{where}: overlaps {other.min_nodes}-{other.max_nodes} nodes"
                    )
            seen[row.pattern, row.policy].append(row)

    @property
    def policies(self) -> tuple[str, ...]:
        """Policies with measurements, and the reference."""
        return tuple(sorted({row.policy for row in self.rows} | {self.reference_policy}))

    def ratios(
        self, pattern: str, policy: str, n_nodes: NDArray[np.int32], bound: str = "mean"
    ) -> FloatArray:
        """Return the ratios for jobs of these sizes.

        A size outside all classes takes the nearest class; a job of one node sends
        nothing over the network and has ratio 1, as has the reference policy.

        ``bound`` is "mean", or an end of the confidence interval, "low" or "high": classes without
        an interval are ignored then.
        """
        column = {"mean": "ratio", "low": "ratio_low", "high": "ratio_high"}
        need_name("confidence bound", bound, column)
        if policy == self.reference_policy:
            return np.ones(len(n_nodes))
        need_name("policy of the speed-up table", policy, self.policies)
        rows = [row for row in self.rows if row.pattern == pattern and row.policy == policy]
        if not rows:
            known = sorted({row.pattern for row in self.rows if row.policy == policy})
            raise unknown_name(f"pattern measured under {policy!r}", pattern, known)
        if bound != "mean":
            rows = [row for row in rows if row.ratio_low is not None]
            if not rows:
                raise NetcosimError(
                    f"bound {bound!r}: the ratio of {pattern} under {policy!r} has {NO_INTERVAL}; "
                    'use bound "mean", or more snapshots'
                )
        low = np.array([row.min_nodes for row in rows])
        high = np.array([row.max_nodes for row in rows])
        sizes = n_nodes[:, None].astype(np.int64)
        gap = np.maximum(np.maximum(low - sizes, sizes - high), 0)
        values = np.array([getattr(row, column[bound]) for row in rows])
        return np.where(n_nodes == 1, 1.0, values[np.argmin(gap, axis=1)])
