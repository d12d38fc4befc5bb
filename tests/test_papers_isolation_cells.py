"""Isolation by cell: one setting, simulated directly on every stretch of a log."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.papers.isolation import cells
from experiments.papers.paper import Options
from netcosim.reproduce import reproduce

QUICK = Options(scale="quick")


def test_a_cells_gain_is_the_mean_of_its_stretches() -> None:
    """Student's t of 0.975 with 3 degrees of freedom: 3.182; neighbours that differ count whole."""
    values = [2.0, 6.0, 3.0, 5.0]
    rows = [
        {"log": "thunder", "placement": "random", "drive": "1", "stretch": i, "jobs": 10}
        | {"policy": policy, "taken_off_percent": value if policy == "jigsaw" else 0.0}
        for i, value in enumerate(values)
        for policy in ("random", "jigsaw")
    ]
    [found] = cells.gains(pd.DataFrame(rows)).to_dict("records")
    half = 3.1824 * np.std(values, ddof=1) / 2
    assert found["taken_off"] == 4.0
    assert found["high"] - 4.0 == pytest.approx(half, rel=1e-3)
    assert found["stretches"] == 4
    assert found["jobs"] == 40


def test_a_queue_that_costs_nothing_breaks_even_at_no_gain() -> None:
    """Makespan: the last arrival. Turnaround: 1.04 without gain, 0.94 with 10 % faster jobs."""
    base = {"log": "atlas", "policy": "baseline", "off": 0.0}
    rows = [base | {"makespan_s": 100.0, "mean_turnaround_s": 10.0}]
    for off, turnaround in ((0.0, 10.4), (10.0, 9.4)):
        one = {"log": "atlas", "policy": "jigsaw", "off": off, "makespan_s": 100.0}
        rows.append(one | {"mean_turnaround_s": turnaround})
    found = cells.break_evens(pd.DataFrame(rows)).set_index("metric")
    assert found.loc["makespan", ["ratio", "break_even"]].tolist() == [1.0, 0.0]
    assert found.loc["turnaround", "ratio"] == pytest.approx(1.04)
    assert found.loc["turnaround", "break_even"] == pytest.approx(4.0)


@pytest.mark.full
def test_the_figure_on_made_jobs(tmp_path) -> None:
    done = reproduce("isolation", "cells", out_dir=tmp_path, options=QUICK, progress=False)
    assert done is not None
    assert not done.failed
    gain = done.analysis.tables["gain"]
    assert len(gain) == len(cells.PLACEMENTS) * len(cells.DRIVES)
    assert gain["taken_off"].notna().all()
    assert set(done.analysis.tables["queue"]["metric"]) == set(cells.METRICS)
