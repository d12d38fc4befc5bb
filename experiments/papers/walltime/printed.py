"""Numbers printed in Tang et al., "Reducing Fragmentation on Torus-Connected Supercomputers"."""

from __future__ import annotations

from typing import NamedTuple

MONTHS = tuple(f"2009-0{month}" for month in range(3, 9))
METRICS = ("loss_of_capacity", "wait_min", "bounded_slowdown")
METRIC_NAMES = {
    "loss_of_capacity": "loss of capacity",
    "wait_min": "average wait",
    "bounded_slowdown": "average bounded slowdown",
}

TABLE_II: dict[tuple[str, str], tuple[float, ...]] = {
    ("fcfs", "loss_of_capacity"): (0.176, 0.212, 0.190, 0.149, 0.124, 0.157),
    ("fcfs", "wait_min"): (104.2, 115.7, 126.2, 169.7, 58.33, 172.6),
    ("fcfs", "bounded_slowdown"): (6.47, 6.83, 8.39, 13.4, 4.50, 10.1),
    ("wfp", "loss_of_capacity"): (0.169, 0.174, 0.148, 0.129, 0.131, 0.135),
    ("wfp", "wait_min"): (78.57, 80.68, 88.58, 142.0, 47.46, 142.7),
    ("wfp", "bounded_slowdown"): (5.48, 4.40, 4.42, 8.54, 3.22, 6.75),
}
"""Base, by month from March to August 2009; minutes for the wait."""


class Gains(NamedTuple):
    """What the text says of relative gains.

    Attributes
    ----------
    most_mean : float
        The largest average over the months of any scheme ("up to").
    most, least : float or None
        The largest and the smallest of any month without ActRun.
    """

    most_mean: float
    most: float | None = None
    least: float | None = None


GAINS: dict[tuple[str, str], Gains] = {
    ("loss_of_capacity", "fcfs"): Gains(0.15, 0.33),
    ("loss_of_capacity", "wfp"): Gains(0.05),
    ("wait_min", "fcfs"): Gains(0.27, 0.37, -0.06),
    ("wait_min", "wfp"): Gains(0.27, 0.46, -0.12),
    ("bounded_slowdown", "fcfs"): Gains(0.22, 0.33, 0.04),
    ("bounded_slowdown", "wfp"): Gains(0.17, 0.27, -0.11),
}
ADJEST_BEST = 9 / 12
"""Share of months and orders in which AdjEst loses less capacity than SL, PF and Combo."""
ACTRUN_BEST = 9 / 12
"""Share in which ActRun loses the least capacity ("except for three cases")."""
ACTRUN_WAIT_BEST = 1.0
"""Share in which jobs wait least under ActRun."""

FIG9 = (
    ("loss_of_capacity", 0.0, 0.90),
    ("loss_of_capacity", 0.05, 0.45),
    ("wait_min", 0.20, 0.52),
    ("bounded_slowdown", 0.10, 0.56),
)
"""Metric, gain, and the share of the 48 cases with a larger gain."""
FIG9_ANY = 0.88
FIG9_WAIT_CUT = (10.0, 66.0, 34 / 48)
FIG9_SLOWDOWN_CUT = (1.0, 22 / 48)

NEAR_ZERO_FCFS = {"512": (0.75, 0.80), "1K/2K": (0.50, 0.60), "4K/8K": (0.35, 0.38)}
"""Shares of jobs with a waiting time of nearly zero: Base, Combo (Fig. 10)."""
WITHIN_300_FCFS = {"512": (0.92, 0.98)}
MEDIAN_LARGE_MIN = {"fcfs": 490.0, "wfp": 380.0}
"""Median wait of 16K/32K jobs, in minutes."""
