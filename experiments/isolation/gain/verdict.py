"""When isolation pays: ratios to the reference, their intervals, and what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from experiments.isolation.phases import UNKNOWN
from netcosim.report.effect import MAKESPAN, SLOWDOWN, TURNAROUND, Quantity
from queuesim.statistics import MATTERS, Interval

QUANTITIES = {
    "makespan": MAKESPAN,
    "mean_turnaround": TURNAROUND,
    "mean_slowdown": SLOWDOWN,
    "gain_percent": Quantity("run time by node-hours"),
    "by_job_percent": Quantity("run time by job-hours"),
}
"""By column of a table."""
METRICS = {name: QUANTITIES[name].name for name in [*QUANTITIES][:3]}
"""By which isolation is judged; node-hours follow from the gain alone."""
PAPERS_PERCENT = (5.0, 10.0, 20.0)
"""What papers let isolated jobs gain (Pollard et al., SC'18; Jigsaw, HPDC'21)."""
_FLAT = 1e-4
_DIGITS = 9
"""Of a break-even in percent: a ratio of 1 is met to the last bits of its least squares only."""


def overall(words: Sequence[str]) -> str:
    """Combine verdicts of several metrics: those that agree and that none contradicts."""
    clear = set(words) - {UNKNOWN}
    return clear.pop() if len(clear) == 1 else UNKNOWN


@dataclass(frozen=True)
class Gain:
    """What was measured of a policy's jobs."""

    gain: Interval
    """Percent off the run time, mean over node-hours, at the level of a look."""
    by_job: Interval
    """The same, mean over job-hours: small jobs count as much as large ones."""
    snapshots: int
    jobs: int

    def of(self, metric: str) -> Interval:
        """Return the gain that a metric depends on: makespan by work, means over jobs by jobs."""
        return self.gain if metric == "makespan" else self.by_job


@dataclass(frozen=True)
class Line:
    """Ratio of a metric as jobs run so many percent shorter under the isolating policy."""

    at_none: float
    slope: float
    """at_none, slope: The ratio without any gain, and what a percent changes."""
    noise: float
    """Half-width of the interval by scheduling noise around each ratio; nan where it is not
    known."""

    @classmethod
    def through(cls, percent: ArrayLike, ratio: ArrayLike, noise: float) -> Line:
        """Return the line nearest to ratios at some gains (least squares)."""
        slope, at_none = np.polyfit(np.asarray(percent, float), np.asarray(ratio, float), 1)
        return cls(float(at_none), float(slope), noise)

    def at(self, gain_percent: Interval) -> Interval:
        """Return the ratio at a gain, with the intervals of the gain and of scheduling noise."""
        value = self.at_none + self.slope * gain_percent.value
        half = np.hypot(self.slope * (gain_percent.high - gain_percent.low) / 2, self.noise)
        return Interval(value, value - float(half), value + float(half))

    def break_even(self) -> Interval | None:
        """Return the gain in percent from which the ratio is below 1, with scheduling noise.

        None where a gain changes the ratio by less than 0.01 points a percent.
        """
        if self.slope > -_FLAT:
            return None
        ends = [(self.at_none - 1 + off) / -self.slope for off in (0.0, -self.noise, self.noise)]
        # no negative zero
        return Interval(*(round(end, _DIGITS) + 0.0 for end in ends))

    def cannot_decide(self, gain_percent: Interval) -> bool:
        """Return whether no smaller interval of the gain would decide, due to the noise."""
        ends = (gain_percent.low, gain_percent.high)
        off = max(abs(self.at_none + self.slope * g - 1) for g in ends)
        return bool(np.isnan(self.noise)) or off <= max(self.noise, MATTERS)


def with_noise(value: float, ends: Sequence[float], noise: float) -> Interval:
    """Return a simulated ratio with those at both ends of the gain's interval, and the half-width
    of scheduling noise."""
    below, above = value - min([value, *ends]), max([value, *ends]) - value
    return Interval(
        value, value - float(np.hypot(below, noise)), value + float(np.hypot(above, noise))
    )
