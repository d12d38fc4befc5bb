"""coupled.md on three ways to the same turnaround: its table is the stored one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

STUDY = Path(__file__).resolve().parents[1]
WAYS = ("coupled-flow", "coupled-packets", "measured")
METRICS = ["run_time", "turnaround_s", "makespan_s"]


def shown(values: np.ndarray) -> str:
    """Mean and Student's interval over the drawn logs."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.3f} ({values.mean() - half:.3f} .. {values.mean() + half:.3f})"


def test_the_table_is_of_the_stored_rows() -> None:
    page = (STUDY / "coupled.md").read_text(encoding="utf-8")
    stored = pd.read_csv(STUDY / "tables" / "three-ways.csv")
    for (log, jobs), part in stored.groupby(["log", "jobs"]):
        by_way = part.pivot(index="draw", columns="run_time_model", values=METRICS).dropna()
        for way in WAYS:
            ratios = [
                (by_way[metric][way] / by_way[metric]["as-logged"]).to_numpy() for metric in METRICS
            ]
            paired = (
                by_way["turnaround_s"][way] / by_way["turnaround_s"]["coupled-packets"]
            ).to_numpy()
            cells = [*map(shown, ratios), "1" if way == "coupled-packets" else shown(paired)]
            assert (
                f"| {log}, {jobs:,} jobs, {len(by_way)} logs | `{way}` | {' | '.join(cells)} |"
                in page
            )
