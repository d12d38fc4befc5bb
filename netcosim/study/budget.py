"""The time that a study may take."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class TimeBudget:
    """A time budget by the system's clock, so that all processes have the same.

    Attributes
    ----------
    began_s, minutes : float
    jobs : int
        Processes.
    """

    began_s: float
    minutes: float
    jobs: int

    def left_s(self, share: float) -> float:
        """Return the time until this share of the budget has passed."""
        return self.began_s + 60 * self.minutes * share - time.time()

    @property
    def used(self) -> float:
        """The share that has passed, 0 to 1."""
        return min(max(1 - self.left_s(1.0) / (60 * self.minutes), 0.0), 1.0)
