"""Cells of `netcosim bench-rl`: what contention costs in each, and what 40 weeks can find there.

    python experiments/learning/tables/learning_cells.py FOLDER CANDIDATES.csv LOGS

plays the hand rules of all candidates. FOLDER is that of a run, whose hand rules are not played
again. A cell has power if contention costs its baseline at least `TIMES` times the half-width of
the 95 % interval of the difference between it and the next hand rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.kit.logs import FILES, first_existing
from experiments.kit.results import compute_points
from experiments.learning.cells import MACHINES, SCALES, WORKLOADS, Cell, Jobs, cell
from experiments.learning.output import STORE
from experiments.learning.points import FUNCTION, HANDS, NO_CONTENTION, Training, points_of
from experiments.learning.tables import NEXT, differences
from netcosim.config.content import checked_config
from netcosim.runs.frames import frames_of

METRIC, TIMES = "bounded-stretch", 2.0
LESS = [0.1, 0.7]
"""Communication fractions, instead of 0.5 to 0.9."""
BURSTY = WORKLOADS["bursty"]
STEADY = replace(BURSTY, mean_share=0.1, burst=1)
SYNTHETIC: dict[str, Jobs] = {
    **WORKLOADS,
    "wide bursty": replace(BURSTY, mean_share=0.125),
    "steady": STEADY,
}
GPU: dict[str, Any] = {"max_nodes": 64, "synthetic": {"cluster": "kalos", "load": 8.0}}
"""Published sizes and run times of the GPU cluster Kalos, up to 64 nodes."""
LOGS: dict[str, tuple[int, dict[str, Any]]] = {
    "kth-sp2": (100, {"arrival_factor": 0.8}),
    "thunder": (
        512,
        {"arrival_factor": 0.4, "min_run_time": "60 s", "missing_limits": "run-time"},
    ),
}
"""Nodes that are scaled to the machine's, and more keys."""


def candidates(folder: Path) -> Iterator[Cell]:
    """All of them, with the weeks of the full scale."""
    scale = SCALES["full"]
    for machine, where in MACHINES.items():
        for name, jobs in SYNTHETIC.items():
            yield cell(machine, name, jobs, scale)
            less = replace(jobs, fraction=LESS)
            yield cell(machine, f"{name}, less communication", less, scale)
        plain = cell(machine, "gpu", STEADY, scale)
        content = plain.config.resolved()
        n_jobs = content["workload"]["synthetic"]["n_jobs"]
        gpu = {**GPU, "synthetic": {**GPU["synthetic"], "n_jobs": n_jobs}}
        workloads = {"gpu": {**gpu, "larger_jobs": "drop"}}
        for name, (nodes, keys) in LOGS.items():
            path = first_existing(folder, FILES[name])
            size = {"known_log": name, "size_factor": where.n_nodes / nodes, "larger_jobs": "drop"}
            workloads[name] = {"log": str(path), **size, **keys}
        for name, section in workloads.items():
            config = checked_config({**content, "workload": section})
            yield replace(plain, workload=name, config=config)


def main(folder: Path, out: Path, logs: str) -> None:
    """Play, and write a row a candidate."""
    training = Training(SCALES["full"], METRIC, 1)
    points = [
        point
        for one in candidates(Path(logs))
        for point in points_of(one, training)
        if point["bench_rl"]["player"] == HANDS
    ]
    done = compute_points(
        FUNCTION,
        points,
        folder / STORE,
        jobs=1,
        executor="",
        progress=False,
        retry_failed=True,
        first=lambda point: point["bench_rl"]["workload"] in LOGS,
    )
    assert done is not None
    found = differences(frames_of(done[1])["weeks"], METRIC).set_index("player")
    free, other = found.loc[NO_CONTENTION], found.loc[NEXT]
    table = free[["machine", "workload", "best_hand", "best_hand_score"]].reset_index(drop=True)
    score = table["best_hand_score"]
    table["contention_percent"] = -100 * free["difference"].to_numpy() / score
    table["next_hand"] = other["is"].to_numpy()
    width = (other["high"] - other["low"]).to_numpy() / 2
    table["half_width_percent"] = 100 * width / score
    power = table["contention_percent"] >= TIMES * table["half_width_percent"]
    table["power"] = power.map({True: "yes", False: "no"})
    table.to_csv(out, index=False, float_format="%.4g")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
