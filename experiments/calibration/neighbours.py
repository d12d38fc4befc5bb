"""Figure ``neighbours``: jobs taken out one by one, beside the parts that a run keeps.

A run with ``keep = "all"`` splits what its neighbours cost a job by what each sends over the links
that the job uses. Here every neighbour is really taken out, and the snapshot sent again: what the
job gains by that is compared with the part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cosim.network.ensemble import Ensemble
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import cells
from experiments.kit.papers import Analysis, Options, Point
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.points import replaced
from netcosim.runs.store import Rows

FUNCTION = "experiments.calibration.neighbours:run_point"
STUDY = read_data("calibration")["neighbours"]
COLUMNS = {
    "rank_correlation": "median",
    "first_is_first": "mean",
    "by_chance": "mean",
    "sum_of_gains": "median",
}
"""Of a job: how its neighbours' parts and removals go together; and how jobs are averaged."""


def points(options: Options) -> list[Point]:
    """Return a point a machine; in quick the last one, with few jobs."""
    found: list[Point] = []
    for name, own in STUDY["machines"].items():
        changes = {
            "machine": own["machine"],
            "queue": {"policies": own["policies"], "run_time_model": "as-logged"},
            "workload.synthetic.mean_nodes": own["mean_nodes"],
            **(STUDY["quick"] if options.quick else {}),
        }
        config = checked_config(replaced(STUDY["config"], changes)).resolved()
        found.append({"experiment": "neighbours", "machine": name, "config": config})
    return found[-1:] if options.quick else found


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return a row a policy and job that is held up: table "jobs"."""
    result = run_cosim(checked_config(point["config"]))
    return {
        "jobs": [
            {"machine": point["machine"], "policy": name, **row}
            for name in result.schedules
            for row in rows_of(result, name)
        ]
    }


def rows_of(result: CosimResult, name: str) -> list[dict[str, float]]:
    """Return `COLUMNS` of each job that is held up under a policy."""
    measured, near = result.measured[name], result.neighbours[name]
    assert result.study is not None
    side, rows = result.study.sides[name], []
    for number in np.unique(measured.snapshot).tolist():
        here = np.flatnonzero(measured.snapshot == number)
        jobs = [int(job) for job in measured.job[here]]
        placed = [side.placed(job, result.study.communication(job)) for job in jobs]
        gain_s = np.zeros((len(jobs), len(jobs)))
        for out in range(len(jobs)):
            rest = [i for i in range(len(jobs)) if i != out]
            if rest:
                run = Ensemble(side.network, [placed[i] for i in rest]).packets(stream=number)
                gain_s[rest, out] = measured.time_s[here][rest] - run.time_s
        for i, row in enumerate(here.tolist()):
            excess_s = measured.time_s[row] - near.alone_s[row]
            if excess_s < STUDY["least_excess"] * near.alone_s[row] or len(jobs) < 4:
                continue
            mine = slice(near.ptr[row], near.ptr[row + 1])
            part = dict(zip(near.job[mine].tolist(), near.part[mine].tolist(), strict=True))
            others = [k for k in range(len(jobs)) if k != i]
            parts = np.array([part.get(jobs[k], 0.0) for k in others])
            gained = gain_s[i, others] / excess_s
            if parts.std() and gained.std():
                correlation = np.corrcoef(rankdata(parts), rankdata(gained))[0, 1]
                first = float(parts.argmax() == gained.argmax())
                values = (correlation, first, 1 / len(others), gained.sum())
                rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the jobs' averages by machine and policy."""
    rows = [
        {**key, "jobs": len(part), **part.agg(COLUMNS).to_dict()}
        for key, part in cells(frames["jobs"], "machine", "policy")
    ]
    return Analysis(claims_frame([]), {"neighbours": pd.DataFrame(rows)})
