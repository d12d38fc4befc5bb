"""Policies on a dragonfly, what is measured of their workloads, and their ratios to one policy."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.kit.frames import against_baseline
from experiments.kit.papers import Options

LEVEL_SPREAD = "level-spread"
GROUPING = ("simple", "slurm", "rdg")
SPREADING = ("rdr", "rrr", "rdn", "rrn")
POLICIES = (*GROUPING, LEVEL_SPREAD, *SPREADING)
MEASURES = {"last": "time_us", "rank0": "rank0_us", "rank0-cut": "rank0_cut_us"}
"""Communication time of a job, by name: its last rank's end (the default); rank 0's end (a
broadcast's last rank's), which the authors' program printed; the same cut to whole
microseconds. Each is averaged over the jobs of a kind."""
DEFAULT_MEASURE = "last"
QUADRANTS = ("reference better", "other better", "other better small", "other better large", "tie")
"""x and y above 1; below 1; x below and y above; x above and y below; x or y equal to 1."""


def measure_column(options: Options) -> str:
    """Return the column of the measure that is compared."""
    return MEASURES[options.measure or DEFAULT_MEASURE]


def dots_of(times: pd.DataFrame, column: str, reference: str) -> pd.DataFrame:
    """Return one row a workload and policy: x and y, small and large jobs' time ratios."""
    keys = ["routing", "workload", "policy"]
    wide = times.pivot_table(index=keys, columns="kind", values=column, sort=False).reset_index()
    wide = wide.rename(columns={"small": "x", "large": "y"})[[*keys, "x", "y"]]
    found = against_baseline(wide, ["x", "y"], baseline=reference, of=keys[:2])
    return found.drop(columns=["x", "y"]).rename(columns={"x_ratio": "x", "y_ratio": "y"})


def quadrant(dots: pd.DataFrame) -> NDArray[np.int64]:
    """Return the index into `QUADRANTS` of each dot, (n,)."""
    x, y = dots["x"], dots["y"]
    corners = [(x > 1) & (y > 1), (x < 1) & (y < 1), (x < 1) & (y > 1), (x > 1) & (y < 1)]
    return np.select(corners, range(4), QUADRANTS.index("tie"))


def reductions(dots: pd.DataFrame) -> NDArray[np.float64]:
    """Return by how many percent the reference is below each dot, small and large jobs, (n, 2)."""
    return np.asarray(100 * (1 - 1 / dots[["x", "y"]].to_numpy()))
