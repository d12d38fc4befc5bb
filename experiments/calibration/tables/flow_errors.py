"""Write ``flow_errors.csv`` of `cosim.run_times.flow_errors`, and its rows in coupled.md.

    python experiments/calibration/tables/flow_errors.py

Judges the mixes of ``netcosim reproduce calibration flow --scale full`` with three seeds at both
levels, one after the other: about eight minutes of one core.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.calibration.flow_levels import errors, points, run_point
from experiments.kit.papers import Options

TABLE = Path(__file__).resolve().parents[3] / "cosim" / "run_times" / "flow_errors.csv"
PAGE = Path(__file__).resolve().parents[1] / "coupled.md"
SEEDS = (1, 2, 3)
BEGIN, END = "<!-- flow errors -->\n", "<!-- end -->"
HEAD = (
    "| family, routing | traffic | nodes | jobs | error | extra time | always 1 |\n"
    "|---|---|---|---|---|---|---|\n"
)


def page_row(row: Mapping[Any, Any]) -> str:
    """Return a row of the table in coupled.md."""
    error, one = (
        ", ".join(f"{100 * float(row[name]):.1f}" for name in names)
        for names in (("error_p50", "error_p90", "error_p99"), ("one_p50", "one_p90"))
    )
    return (
        "| {family}, {routing} | {traffic} | {nodes} | {n_jobs} | ".format(**row)
        + f"{error} | {float(row['extra_ratio']):.2f} | {one} |"
    )


def write(jobs: pd.DataFrame) -> None:
    """Write the errors of judged jobs."""
    table = errors(jobs).round(4)
    table.to_csv(TABLE, index=False, lineterminator="\n")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows = "".join(f"{page_row(row)}\n" for row in table.to_dict("records"))
    text = before + BEGIN + HEAD + rows + END + rest.partition(END)[2]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    configs = [point for seed in SEEDS for point in points(Options(scale="full", seed=seed))]
    write(pd.DataFrame([row for config in configs for row in run_point(config)["jobs"]]))
