"""Figure ``cells``: what isolation gains at the studies' usual setting, simulated cell by cell.

A cell is a log on its own machine, a reference placement and a drive; all else is
`surface_points.USUAL`. Nothing is interpolated: each cell is measured on every stretch of its log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.frames import cells
from experiments.papers.isolation import surface_points as space
from experiments.papers.isolation.base import WINDOW, study_point
from experiments.papers.isolation.scenario_fit import break_even
from experiments.papers.jigsaw.logs import ATLAS, KTH, THUNDER
from experiments.papers.kit.claims import claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.kit.points import MEASURED, OBSERVE
from experiments.papers.paper import Analysis, Options, PaperFigure, Point, Then
from queuesim.statistics import LEAST_WINDOWS, t_of_snapshots

NAME = "isolation-cells"
PLACEMENTS = ("baseline", "slurm-tree", "random")
DRIVES = ("1", "2")
LOGS = (THUNDER, ATLAS, KTH)
METRICS = {"makespan": "makespan_s", "turnaround": "mean_turnaround_s"}


def points(options: Options) -> list[Point]:
    """Each cell on every stretch of its log; drive 1 first."""
    names = [log.name for log in LOGS]
    known = {
        log.name: space.with_submits(sections)
        for log, sections in space.logs(options, scaled=False)
        if options.quick or log.name in names
    }
    found = []
    for drive in DRIVES:
        for log in sorted(known, key=lambda name: names.index(name) if name in names else 0):
            for placement in PLACEMENTS:
                for stretch in range(2 if options.quick else space.STRETCHES):
                    v = {f.name: space.middle(f) for f in space.FACTORS} | space.USUAL
                    v |= {"log": log, "placement": placement, "drive": drive}
                    v["chance"] = str(stretch)
                    large = log in space.SCALED
                    config = space.content(known[log], v, options.seed, large=large)
                    labels = {"log": log, "placement": placement, "drive": drive}
                    found.append(study_point(NAME, config, labels | {"stretch": stretch}))
    return found


def queue_points(frames: Mapping[str, Any], options: Options) -> list[Point]:
    """Each log as logged: Baseline's queue, and Jigsaw's with jobs so much faster."""
    runs = [(space.REFERENCE, "none"), *(("jigsaw", name) for name in space.SCENARIOS_RUN)]
    found = []
    for log, sections in space.logs(options, scaled=False):
        if log.name not in space.AT_ZERO:
            continue
        _, workload, off = next(space.quarters(sections, options))
        for policy, scenario in runs:
            queue = {"policies": [policy], "window": WINDOW, "scenario": scenario}
            config = {
                "machine": sections["machine"],
                "workload": {**workload, "all_at_zero": False},
                "queue": queue | {"run_time_model": "assumed"},
                "run": {"seed": options.seed, "snapshots": 0, "observables": ["runs"]},
            }
            labels = {"log": log.name, "scenario": scenario, "off": off[scenario]}
            found.append(study_point(f"{NAME}-queue", config, labels))
    return found


def gains(steady: pd.DataFrame) -> pd.DataFrame:
    """Percent off Jigsaw's run times in each cell: mean and Student's interval over stretches."""
    isolated = steady[steady["policy"] == "jigsaw"].sort_values("stretch", kind="stable")
    rows = []
    for cell, part in cells(isolated, "log", "placement", "drive"):
        n = len(part)
        found = t_of_snapshots(
            part["taken_off_percent"], np.ones(n), np.arange(n), least_samples=LEAST_WINDOWS
        )
        row = {**cell, "stretches": n, "jobs": int(part["jobs"].sum())}
        rows.append(row | {"taken_off": found.value, "low": found.low, "high": found.high})
    return pd.DataFrame(rows)


def break_evens(runs: pd.DataFrame) -> pd.DataFrame:
    """The gain at which Jigsaw's queue is as Baseline's as logged; 0 if it is with no gain."""
    rows = []
    for cell, part in cells(runs, "log"):
        for metric, column in METRICS.items():
            base = part.loc[part["policy"] == space.REFERENCE, column].iloc[0]
            isolated = part[part["policy"] == "jigsaw"].sort_values("off")
            ratio = (isolated[column] / base).tolist()
            needed = 0.0 if ratio[0] <= 1 else break_even(isolated["off"].tolist(), ratio)
            rows.append({**cell, "metric": metric, "ratio": ratio[0], "break_even": needed})
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """What each cell gains, and what its queue needs as logged."""
    tables = {"gain": gains(frames["steady"])}
    if "runs" in frames:
        tables["queue"] = break_evens(frames["runs"])
    notes = () if options.quick else log_notes(LOGS, options)
    return Analysis(claims_frame([]), tables, notes)


CELLS = PaperFigure(
    "cells",
    "percent off the run time at the usual setting, simulated directly, by log and placement",
    MEASURED,
    points,
    analyse,
    None,
    Then(OBSERVE, queue_points),
)
