"""Batches of a log's jobs beside other seeds: the coverage by hand, and the page's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.calibration.batch_means import CASE, contained, points, run_point, summary
from experiments.kit.papers import Options
from netcosim.runs.queue_intervals import METRICS

STUDY = Path(__file__).resolve().parents[1]
DOCS = STUDY.parents[1] / "docs"


def stored_means() -> pd.DataFrame:
    """Return the stored table "means"."""
    return pd.read_csv(STUDY / "tables" / "batch-means.csv")


def test_coverage_by_hand() -> None:
    """Logarithms 0, 0 and 3 are 1.5, 1.5 and 3 off the mean of the other two.

    Student's t for 39 degrees of freedom is 2.0227, and the mean of two widens the interval by the
    square root of 1.5: half-widths are 1.24, 1.73 and 3.22. The errors' root mean square is 0.9,
    the deviation of the logarithms the square root of 3.
    """
    within, size = contained(np.array([0.0, 0, 3]), np.array([0.5, 0.7, 1.3]))
    assert within.tolist() == [0, 1, 1]
    assert size == pytest.approx(0.9 / 3**0.5)


def test_shares_of_a_case_by_hand() -> None:
    """Of the three logs above, the first passes: two of three intervals hold, not its own.

    It decides for both others, whose intervals hold.
    """
    rows = [
        {"workload": "synthetic", "load": 0.9, "jobs": 10, "seed": seed, "metric": metric}
        | {"passes": seed == 0, "of_parts": 0.1 * seed}
        | {column: np.exp(value) for column in ("logged", "ratio")}
        | {f"{column}_error": error for column in ("logged", "ratio")}
        for seed, (value, error) in enumerate(((0, 0.5), (0, 0.7), (3, 1.3)))
        for metric in METRICS
    ]
    row = summary(pd.DataFrame(rows)).iloc[0]
    assert row[["logs", "pass"]].tolist() == [3, 1]
    assert row[["contain", "contain_batched", "contain_own"]].tolist() == [2 / 3, 1, 0]
    assert row[["of_parts_low", "of_parts_high"]].tolist() == [0, 0.2]
    none_pass = summary(pd.DataFrame(rows).assign(passes=False))
    assert none_pass[["contain_batched", "contain_own"]].isna().all(axis=None)


def test_a_point_has_the_stored_row() -> None:
    """Of the first log of 100,000 jobs at 0.7."""
    stored = stored_means()
    point = next(p for p in points(Options()) if (p["load"], p["jobs"]) == (0.7, 100_000))
    found = pd.DataFrame(run_point(point)["means"])
    row = stored.merge(found[list(point)].drop_duplicates())
    assert len(row) == len(METRICS)
    pd.testing.assert_frame_equal(found, row, rtol=1e-4, check_dtype=False)


def test_the_page_has_the_stored_cases() -> None:
    """The table, and the sentences below it."""
    means = stored_means()
    table, page = summary(means), (DOCS / "queue.md").read_text(encoding="utf-8")
    cases = []
    for row in table.to_dict("records"):
        name = "" if row["workload"] == "synthetic" else f" of cluster `{row['workload']}`"
        shares = (row[f"contain{of}"] for of in ("", "_batched", "_own"))
        cells = (
            f"{row['jobs']:,}{name}",
            f"{row['load']:g}",
            f"{row['of_parts_low']:.2f} to {row['of_parts_high']:.2f}",
            f"{row['pass']} of {row['logs']}",
            f"{row['error_low']:.2g} to {row['error_high']:.2g}",
            *("-" if np.isnan(share) else f"{100 * share:.0f} %" for share in shares),
        )
        cases.append(f"| {' | '.join(cells)} |\n")
    assert "|---|\n" + "".join(cases) + "\n" in page
    lines = " ".join(page.split())
    near = table[(table["load"] == 0.95) & (table["jobs"] == 500_000)].iloc[0]
    assert (
        f"{near['pass']} of {near['logs']} logs pass, and {100 * near['contain_own']:.0f} %"
        in lines
    )
    strict = means.merge(near[list(CASE)].to_frame().T.infer_objects())
    low = strict.groupby("seed")[["of_parts", "of_batches"]].transform("max").max(axis=1) < 0.35
    row = summary(strict.assign(passes=low)).iloc[0]
    assert f"worse: {100 * row['contain_own']:.0f} % of {row['pass']} logs below 0.35" in lines
    assert (
        f"if it does, {100 * near['contain_batched']:.0f} % of the intervals contain the mean"
        in lines
    )
    used = table[table["pass"] > 0]
    errors = (f"{error:.2g}" for error in used["makespan_error"].agg(["min", "max"]))
    assert f"the makespan's error is {' to '.join(errors)}" in lines
    makespans = means[means["metric"] == "makespan"].merge(used[list(CASE)])
    most = makespans.groupby(list(CASE))["ratio_error"].mean().max()
    assert f"at most {100 * most:.2g} % in the mean of a case" in lines


def test_the_figure_at_quick_scale(reproduced: Any) -> None:
    tables = reproduced("calibration", "batch-means").analysis.tables
    assert tables["batches"]["logs"].tolist() == [6, 6]
    assert len(tables["means"]) == 2 * 6 * len(METRICS)
