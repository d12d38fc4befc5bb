"""Speed-ups of jobs in isolated partitions."""

from __future__ import annotations

import pandas as pd

from experiments.kit.fattree_workloads.cases import SETTINGS
from experiments.kit.frames import against_baseline

SAME_JOB = ("case", "workload", "job", *SETTINGS)
"""Columns by which a job is the same in two placements."""


def against_ta(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs in other placements than TA's, with their speed-ups under TA.

    ``speedup`` is by the judge; ``flow_speedup`` of whole jobs' flows, communication alone.
    """
    runs = jobs[~(jobs["alone"] & (jobs["placement"] == "ta"))]
    runs = runs.assign(policy=runs["placement"], flow_s=runs["bound_s"] * runs["stretch"])
    both = against_baseline(runs, ["time_s", "flow_s"], baseline="ta", of=SAME_JOB)
    return both.rename(columns={"time_s_ratio": "speedup", "flow_s_ratio": "flow_speedup"})
