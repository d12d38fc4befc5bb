"""Checkpoints: what a job keeps when it leaves before its end, and what the interruption costs.

A run restores its job's last checkpoint (not on its first start), works, and writes a checkpoint
after each interval of work but the last. All of these are seconds at rate 1: contention slows them
alike. Without an interval a job begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Annotated, NamedTuple

from annotated_types import Ge, Gt

from netsim.errors import NetcosimError
from netsim.parameters import Example, ReadIf, check_values

MOST_WRITING = 1000
"""Times as long as a job works it may write."""
LEAST_WALLTIME_S = 1.0
"""The walltime of a job that restarts although it has exceeded its walltime."""


class Spent(NamedTuple):
    """Seconds at rate 1 of a run, by what they were spent on."""

    useful_s: float
    lost_s: float
    checkpoint_s: float
    restart_s: float


@dataclass(frozen=True)
class Checkpoints:
    """``[queue.checkpoint]``: how often jobs save their work, and what that costs."""

    interval_s: Annotated[
        float | None,
        "work between two checkpoints, in seconds at rate 1; without it an interrupted job begins "
        "anew",
        Gt(0),
        Example("30 min"),
    ] = None
    write_s: Annotated[
        float,
        "time to write a checkpoint, during which a job does no work",
        Ge(0),
        ReadIf(("interval_s",), lambda s: s is not None, "queue.checkpoint.interval is given"),
        Example("20 s", beside={"interval": "30 min"}),
    ] = 0.0
    restart_s: Annotated[
        float,
        "time that an interrupted job needs before it works again, at each of its restarts",
        Ge(0),
        Example("5 min"),
    ] = 0.0

    def __post_init__(self) -> None:
        check_values("checkpoint", self)
        if self.interval_s and self.write_s > MOST_WRITING * self.interval_s:
            raise NetcosimError(
                f"queue.checkpoint: write = {self.write_s:g} s is more than {MOST_WRITING:,} times "
                f"interval = {self.interval_s:g} s, so jobs would hardly work; raise interval"
            )

    def _n_writes(self, left_s: float) -> int:
        """Return the checkpoints of a run to the end; none is at the end itself."""
        return max(ceil(left_s / (self.interval_s or inf)) - 1, 0)

    def planned(self, left_s: float, *, restarts: bool) -> Spent:
        """Return what a run to the end spends, with so much work left."""
        restart_s = self.restart_s if restarts else 0.0
        return Spent(left_s, 0.0, self._n_writes(left_s) * self.write_s, restart_s)

    def walltime_s(self, requested_s: float, saved_s: float) -> float:
        """Return the walltime of a restart: the requested one less what is saved.

        So a job exceeds its walltime only if it would without interruptions, at rate 1.
        """
        written_s = self.write_s * saved_s / (self.interval_s or inf)
        return max(requested_s - saved_s - written_s + self.restart_s, LEAST_WALLTIME_S)

    def spent(self, executed_s: float, left_s: float, *, restarts: bool) -> Spent:
        """Return what an interrupted run has spent; of its work, only what a checkpoint has."""
        restart_s = min(executed_s, self.restart_s) if restarts else 0.0
        since_s = executed_s - restart_s
        if self.interval_s is None:
            return Spent(0.0, since_s, 0.0, restart_s)
        period_s = self.interval_s + self.write_s
        n = min(int(since_s / period_s), self._n_writes(left_s))
        since_s = max(since_s - n * period_s, 0.0)
        lost_s = min(since_s, self.interval_s)
        written_s = n * self.write_s + (since_s - lost_s)
        return Spent(n * self.interval_s, lost_s, written_s, restart_s)
