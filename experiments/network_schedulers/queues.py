"""Figure ``queue``: what a queue costs under network schedulers and routings.

All have the same jobs, placed on the free GPUs of the lowest numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.log_study import study_point
from experiments.kit.papers import Analysis, Options, Point
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import replaced
from netcosim.runs.store import Rows

FUNCTION = "experiments.network_schedulers.queues:run_point"
STUDY = read_data("network_schedulers")["queue"]


def points(options: Options) -> list[Point]:
    """Return a point a number of jobs, scheduler and routing."""
    mix = [{"pattern": "collective", "parameters": STUDY["ring"]} | one for one in STUDY["models"]]
    found = []
    for n_jobs in STUDY["jobs"][options.scale]:
        for scheduler, routing in STUDY["methods"]:
            changes = {
                "machine.routing": routing,
                "workload.synthetic.n_jobs": n_jobs,
                "queue.iterations": {"network_scheduler": scheduler},
                "communication.mix": mix,
                "run.seed": options.seed,
            }
            labels = {"scheduler": scheduler, "routing": routing, "jobs": n_jobs}
            content = replaced(STUDY["config"], changes)
            found.append(study_point("network-schedulers", content, labels))
    return found


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return what a queue costs, relative to isolated iterations: table "queue"."""
    schedule = run_cosim(checked_config(point["config"])).schedules["baseline"]
    jobs = schedule.workload
    run_s, gpus = schedule.end_s - schedule.start_s, jobs.n_nodes
    stretch = run_s / jobs.run_time_s
    row = {
        **point["labels"],
        "gpu_time_ratio": round(float(gpus @ run_s / (gpus @ jobs.run_time_s)), 4),
        "jobs_slowed": round(float((stretch > 1.001).mean()), 4),
        "stretch_p95": round(float(np.quantile(stretch, 0.95)), 4),
        "stretch_max": round(float(stretch.max()), 3),
        "mean_completion_s": round(float((schedule.end_s - jobs.submit_s).mean()), 1),
        "largest_group": int(schedule.reports["network_scheduler"]["largest_group"]),
    }
    return {"queue": [row]}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return all queues."""
    return Analysis(claims_frame([]), {"queue": frames["queue"]})
