"""Write ``whole-schedules/MODEL.csv``, and ``jobs.csv`` with the brute force.

    python experiments/calibration/tables/whole_schedules.py MODEL...

MODEL is one of ``[whole_schedules.models]`` in ``paper.toml``. ``sent-schedule``, the brute force,
takes a CPU minute or two and depends on no run-time model; the others take less, and are written
again when a model changes. A row has all starts and ends of a schedule.
"""

from __future__ import annotations

import sys

import pandas as pd

from experiments.calibration.whole_schedules import KEYS, SENT, STORED, TIMES, points, run_point
from experiments.kit.papers import Options


def main(models: list[str]) -> None:
    """Compute the schedules of some models."""
    for model in models:
        write(model, [run_point(p) for p in points(Options()) if p["run_time_model"] == model])


def write(model: str, tables: list[dict[str, list[dict[str, object]]]]) -> None:
    """Write a model's schedules; those of the brute force with their jobs."""
    rows = pd.DataFrame([row for table in tables for row in table["schedules"]])
    joined = rows.astype(dict.fromkeys(TIMES, str)).groupby(KEYS, sort=False)[TIMES]
    joined.agg(" ".join).reset_index().to_csv(STORED / f"{model}.csv", index=False)
    if model == SENT:
        jobs = pd.DataFrame([row for table in tables for row in table["jobs"]])
        jobs.to_csv(STORED / "jobs.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
