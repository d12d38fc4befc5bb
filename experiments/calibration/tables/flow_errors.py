"""Write ``flow_errors.csv`` of `cosim.run_times.flow_errors`.

    python experiments/calibration/tables/flow_errors.py

Judges the mixes of ``netcosim reproduce calibration flow --scale full`` at both levels, one after
the other: about an hour of one core.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.calibration.flow_levels import errors, points, run_point
from netcosim.reproduce.paper import Options

TABLE = Path(__file__).resolve().parents[3] / "cosim" / "run_times" / "flow_errors.csv"


def write(jobs: pd.DataFrame) -> None:
    """Write the errors of judged jobs."""
    errors(jobs).round(4).to_csv(TABLE, index=False, lineterminator="\n")


if __name__ == "__main__":
    configs = points(Options(scale="full"))
    write(pd.DataFrame([row for config in configs for row in run_point(config)["jobs"]]))
