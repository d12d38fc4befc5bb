"""Figure ``three-ways``: what contention does to a queue, by three kinds of run times.

The first jobs of a log are drawn again, in blocks (`workloads.drawn`). Each drawn log runs on
random nodes with run times as logged, and with contention by `coupled-flow`, by `coupled-packets`
and by three rounds of measured speed-ups, logged times being isolated ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import netcosim as nc
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.fat_tree_logs import KTH, THUNDER
from experiments.kit.logs import log_notes, present
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.study_mix import study_mix
from netcosim.config.content import checked_config
from netcosim.runs.run_context import run_context
from netcosim.runs.store import Rows
from netsim.inputs import checked_path
from workloads.csv_jobs import write_csv
from workloads.drawn import drawn_log

FUNCTION = "experiments.calibration.three_ways:run_point"
LOGS = (KTH, THUNDER)
STUDY = read_data("calibration")["three_ways"]
MODELS: dict[str, dict[str, Any]] = STUDY["models"]
"""Keys of ``[queue]`` by the name of a model."""


def points(options: Options) -> list[Point]:
    """Return a point for each drawn log and model, and an empty one for a log that is missing."""
    files = {log.name: sections["workload"]["log"] for log, sections in present(LOGS, options)}
    return [
        {"log": name, "file": files[name], "jobs": jobs, "draw": draw, "run_time_model": model}
        for name, (jobs, draws) in STUDY[options.scale].items()
        for draw in range(1, draws + 1)
        for model in MODELS
        if name in files
    ] or [{"log": ""}]


def content(name: str, log: str, model: str) -> dict[str, Any]:
    """Return a config; Thunder's machine is nearly empty unless all its jobs wait at 0."""
    [machine] = [log.machine for log in LOGS if log.name == name]
    run: dict[str, Any] = {"seed": 1, "snapshots": 0}
    if model == "measured":
        run |= STUDY["measured"] | {"snapshots": STUDY["snapshots"][name]}
    return {
        "machine": {**machine, "routing": "d-mod-k"},
        "workload": {"log": log, "all_at_zero": name == THUNDER.name, **STUDY["workload"]},
        "queue": {**STUDY["queue"], "run_time_model": model, **MODELS[model]},
        "communication": {"mix": study_mix(node_bytes=16 * 1024), "task_mapping": "in-order"},
        "run": run,
    }


def run_point(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Return means over the jobs of a drawn log under random nodes: table "queues"."""
    if not point["log"]:
        return {"queues": []}
    name, path, model = point["log"], checked_path(point["file"]), point["run_time_model"]
    logged = content(name, path, "as-logged")
    logged["workload"] = {"log": path, "known_log": name, "first_jobs": point["jobs"]}
    jobs = run_context(checked_config(logged | {"communication": {}})).queues.jobs
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        write_csv(drawn_log(jobs, np.random.default_rng(1000 + point["draw"])), log)
        result = nc.run_cosim(checked_config(content(name, str(log), model)))
    found = result.schedules["random"]
    run_s = found.end_s - found.start_s
    row = {key: point[key] for key in ("log", "jobs", "draw", "run_time_model")} | {
        "run_time": float((run_s / found.workload.run_time_s).mean()),
        "turnaround_s": float((found.end_s - found.workload.submit_s).mean()),
        "makespan_s": float(found.end_s.max() - found.start_s.min()),
    }
    return {"queues": [row]}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the means of each drawn log and model."""
    notes = log_notes(LOGS, options)
    return Analysis(claims_frame([]), {"queues": frames.get("queues", pd.DataFrame())}, notes)
