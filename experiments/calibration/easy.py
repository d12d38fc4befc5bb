"""EASY against published averages: mean bounded slowdown of five public logs.

Gaussier, Glesser, Reis, Trystram: "Improving Backfilling by using Machine Learning to Predict
Running Times", SC'15, whose results lie open beside the paper. Their jobs are cut at their
requested times, sizes are processors (a node here is one processor), a machine has as many as
the log's header states, and there is no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alloc.registry import make_policy
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.logs import first_existing, logs_folder, swf_files
from experiments.kit.papers import Analysis, Options, Point
from netsim.files import read_lines
from netsim.inputs import checked_path, input_file
from netsim.topologies.hyperx import hyperx
from queuesim.metrics import bounded_slowdown
from queuesim.queue import simulate_queue
from workloads.job import Workload, bare_jobs
from workloads.swf import read_swf_header
from workloads.swf_parse import parse_rows

LOGS: dict[str, dict[str, Any]] = read_printed("calibration")["easy"]
FUNCTION = "experiments.calibration.easy:run_point"
ARCHIVE = "Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/"
COLUMNS = ["log", "walltimes", "paper", "simulated", "ratio", "paper_jobs", "jobs", "file"]
MISSING = "not in the logs folder"
QUICK = ("KTH-SP2",)
WALLTIMES = ("requested", "exact")
WITHIN = {
    "requested": (15, "one pass an instant here, one at each event there"),
    "exact": (0.1, "as printed"),
}
"""Percent, and why so much."""
WHY = (
    "Here one scheduling pass follows all that happens in an instant; the study's simulator makes "
    "one at each single event, so jobs that end together before their walltimes are seen one by "
    "one. With exact run times the two are the same."
)


def points(options: Options) -> list[Point]:
    """Return two points a log; if the log is missing, the points note it."""
    folder = logs_folder(options)
    found: list[Point] = []
    for name, log in LOGS.items():
        if options.quick and name not in QUICK:
            continue
        path = first_existing(folder, [name for stem in log["files"] for name in swf_files(stem)])
        file = "" if path is None else input_file(path)
        found += [
            {"experiment": "published-easy", "log": name, "file": file, "walltimes": walltimes}
            for walltimes in WALLTIMES
        ]
    return found


def read_study_log(path: str) -> tuple[Workload, int]:
    """Read a log with the study's filter, and return the machine's processors too.

    Left out are jobs larger than the machine, without a size, with a run time or a request of 0
    or none, or without a submit time. A job's size is field 8, or field 5 where that is missing.
    """
    rows = parse_rows(read_lines(path), path)
    sizes = rows[:, [4, 7]]
    processors = int(read_swf_header(path).max_procs or sizes.max())
    keep = (sizes <= processors).all(axis=1) & (sizes > 0).any(axis=1)
    keep &= (rows[:, 3] > 0) & (rows[:, 8] > 0) & (rows[:, 1] >= 0)
    used = rows[keep]
    used = used[np.argsort(used[:, 1], kind="stable")]
    jobs = bare_jobs(
        path,
        job_id=used[:, 0].astype(np.int64),
        submit_s=used[:, 1].copy(),
        run_time_s=used[:, 3].copy(),
        n_nodes=np.where(used[:, 7] > 0, used[:, 7], used[:, 4]).astype(np.int32),
        requested_s=used[:, 8].copy(),
        dropped={"the study's filter": int((~keep).sum())},
    )
    return jobs, processors


def study_slowdown(jobs: Workload, processors: int, walltimes: str) -> float:
    """Return the mean bounded slowdown (10 s) under EASY, jobs cut at their walltimes.

    These are requested, or exact: the scheduler knows how long a job will run (until it is cut).
    """
    if walltimes == "exact":
        run_s = np.minimum(jobs.run_time_s, jobs.requested_s)
        jobs = replace(jobs, run_time_s=run_s, requested_s=run_s)
    one_router = hyperx((1,), concentration=processors)  # where no placement matters
    result = simulate_queue(
        jobs,
        make_policy(one_router, "baseline", np.random.default_rng(0)),
        overrun="cut",
        rng=np.random.default_rng(0),
    )
    return float(bounded_slowdown(result).mean())


def run_point(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Return one log with one kind of walltimes: table "easy"."""
    row: dict[str, object] = {key: config[key] for key in ("log", "walltimes")}
    if not config["file"]:
        return {"easy": [row | {"jobs": None, "simulated": None, "file": ""}]}
    path = checked_path(config["file"])
    jobs, processors = read_study_log(path)
    simulated = study_slowdown(jobs, processors, config["walltimes"])
    return {"easy": [row | {"jobs": len(jobs), "simulated": simulated, "file": Path(path).name}]}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Add the paper's number and the ratio; a missing log is a row without a value, and a note."""

    table = frames["easy"]
    simulated = table["simulated"].astype(float)
    published = np.array(
        [_paper(*key) for key in zip(table["log"], table["walltimes"], strict=True)]
    )
    table = table.assign(
        paper=published,
        simulated=simulated,
        ratio=simulated / published,
        paper_jobs=[LOGS[name]["jobs"] for name in table["log"]],
        file=table["file"].replace("", MISSING),
    )[COLUMNS]
    claims, notes = [], [WHY]
    for row in table.to_dict("records"):
        name, kind, there = row["log"], row["walltimes"], row["file"] != MISSING
        if kind == WALLTIMES[0] and not there:
            notes.append(
                f"{name}: not computed; put {LOGS[name]['files'][0]}.swf.gz into the logs folder "
                f"(--logs DIR); {ARCHIVE}"
            )
        elif kind == WALLTIMES[0] and row["jobs"] != LOGS[name]["jobs"]:
            notes.append(
                f"{name}: {int(row['jobs']):,} jobs in {row['file']}, the study had "
                f"{LOGS[name]['jobs']:,}: another version of the log"
            )
        if there:
            check = ClaimBuilder("SC'15 and the results published beside it", f"walltimes {kind}")
            what, paper = f"{name}: mean bounded slowdown under EASY", _paper(name, kind)
            within, note = WITHIN[kind]
            claims.append(
                check.near(what, paper, row["simulated"], within=within, unit="%", note=note)
            )
    return Analysis(claims_frame(claims), {"easy": table}, tuple(notes))


def _paper(log: str, walltimes: str) -> float:
    return float(LOGS[log][walltimes])
