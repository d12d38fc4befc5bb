"""Write ``three-ways.csv``.

    python experiments/calibration/tables/three_ways.py LOG NAME JOBS DRAWS

LOG is a file of the Parallel Workloads Archive, NAME "kth-sp2" or "thunder". The first JOBS jobs of
the log are drawn again DRAWS times, in blocks (`workloads.drawn`). Each drawn log runs on random
nodes with run times as logged, and with contention by `coupled-flow`, by `coupled-packets` and by
three rounds of measured speed-ups, logged times being isolated ones. Rows are added one by one;
what is there is not computed again.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import netcosim as nc
from experiments.kit.fat_tree_logs import KTH, fat_tree
from experiments.kit.study_mix import study_mix
from netcosim.config.content import checked_config
from netcosim.runs.run_context import run_context
from workloads.csv_jobs import write_csv
from workloads.drawn import drawn_log
from workloads.job import Workload

TABLE = Path(__file__).resolve().parent / "three-ways.csv"
COLUMNS = ("log", "jobs", "draw", "run_time_model", "run_time", "turnaround_s", "makespan_s")
MACHINES = {"kth-sp2": KTH.machine, "thunder": fat_tree(18)}
SNAPSHOTS = {"kth-sp2": 6, "thunder": 3}
STEADY = {"precision": 0.5, "least_iterations": 8, "most_iterations": 8}
MODELS: dict[str, dict[str, Any]] = {
    "as-logged": {},
    "coupled-flow": {},
    "coupled-packets": {},
    "measured": {"measured": {"rounds": 3, "runtime_reference": "isolated"}},
}


def content(name: str, log: str, model: str) -> dict[str, Any]:
    """A config of a log; Thunder's machine is nearly empty unless all its jobs wait at 0."""
    measures = {"snapshots": SNAPSHOTS[name], "measure": "steady", "steady": STEADY}
    return {
        "machine": {**MACHINES[name], "routing": "d-mod-k"},
        "workload": {
            "log": log,
            "larger_jobs": "drop",
            "all_at_zero": name == "thunder",
            "missing_limits": "run-time",
        },
        "queue": {
            "policies": ["random", "jigsaw"],
            "window": 50,
            "run_time_model": model,
            **MODELS[model],
        },
        "communication": {"mix": study_mix(node_bytes=16 * 1024), "task_mapping": "in-order"},
        "run": {"seed": 1, **(measures if model == "measured" else {"snapshots": 0})},
    }


def first_jobs(name: str, log: str, n_jobs: int) -> Workload:
    """The log's first jobs, as they came."""
    config = content(name, log, "as-logged")
    config["workload"] = {"log": log, "known_log": name, "first_jobs": n_jobs}
    return run_context(checked_config(config | {"communication": {}})).queues.jobs


def row(name: str, jobs: Workload, n_jobs: int, draw: int, model: str) -> dict[str, object]:
    """Means over the jobs of a drawn log under random nodes."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        write_csv(drawn_log(jobs, np.random.default_rng(1000 + draw)), log)
        result = nc.run_cosim(checked_config(content(name, str(log), model)))
    found = result.schedules["random"]
    run_s = found.end_s - found.start_s
    return {
        **dict(zip(COLUMNS, (name, n_jobs, draw, model), strict=False)),
        "run_time": float((run_s / found.workload.run_time_s).mean()),
        "turnaround_s": float((found.end_s - found.workload.submit_s).mean()),
        "makespan_s": float(found.end_s.max() - found.start_s.min()),
    }


def main(arguments: Sequence[str]) -> None:
    """Compute what is not in the table."""
    log, name, n_jobs, draws = arguments[0], arguments[1], int(arguments[2]), int(arguments[3])
    if not TABLE.exists():
        TABLE.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with TABLE.open(encoding="utf-8") as file:
        known = {tuple(found[c] for c in COLUMNS[:4]) for found in csv.DictReader(file)}
    jobs = first_jobs(name, log, n_jobs)
    for draw in range(1, draws + 1):
        for model in MODELS:
            if (name, str(n_jobs), str(draw), model) not in known:
                found = row(name, jobs, n_jobs, draw, model)
                with TABLE.open("a", encoding="utf-8") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(found)
                print(*found.values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
