"""Write ``whole-schedules/MODEL.csv``, and ``jobs.csv`` with the brute force.

    python experiments/calibration/tables/whole_schedules.py MODEL...

MODEL is one of ``[whole_schedules.models]`` in ``paper.toml``. ``sent-schedule``, the brute force,
and ``sent-again`` take 6 minutes each; the others take one, and are written again when a run-time
model changes. A row has the starts and ends of all jobs of a schedule.
"""

from __future__ import annotations

import sys

import pandas as pd

from experiments.calibration.whole_schedules import KEYS, SENT, STORED, TIMES, points, run_point
from netcosim.reproduce.paper import Options


def main(models: list[str]) -> None:
    """Compute the schedules of some models."""
    for model in models:
        tables = [run_point(p) for p in points(Options()) if p["run_time_model"] == model]
        rows = pd.DataFrame([row for table in tables for row in table["schedules"]])
        joined = rows.astype(dict.fromkeys(TIMES, str)).groupby(KEYS, sort=False)[TIMES]
        joined.agg(" ".join).reset_index().to_csv(STORED / f"{model}.csv", index=False)
        if model == SENT:
            jobs = pd.DataFrame([row for table in tables for row in table["jobs"]])
            jobs.to_csv(STORED / "jobs.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
