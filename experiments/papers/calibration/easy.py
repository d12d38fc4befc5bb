"""EASY against published averages: mean bounded slowdown of five public logs.

Gaussier, Glesser, Reis, Trystram: "Improving Backfilling by using Machine Learning to Predict
Running Times", SC'15, whose results lie open beside the paper. Their jobs are cut at their
requested times, sizes are processors (a node here is one processor), a machine has as many as
the log's header says, and there is no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.registry import make_policy
from experiments.inputs import checked_path, input_file
from experiments.papers.calibration.printed import LOGS
from experiments.papers.kit.claims import Says, claims_frame
from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from netsim.files import read_lines
from netsim.topologies.hyperx import hyperx
from queuesim.metrics import bounded_slowdown
from queuesim.queue import simulate_queue
from workloads.job import Workload
from workloads.swf import read_swf_header
from workloads.swf_parse import parse_rows

if TYPE_CHECKING:
    import pandas as pd

FUNCTION = "experiments.papers.calibration.easy:run_point"
ARCHIVE = "Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/"


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
    """Two points a log; a log that is not there has points too, which say so."""
    folder = logs_folder(options)
    found: list[Point] = []
    for name, log in LOGS.items():
        if options.quick and name not in QUICK:
            continue
        names = [f"{stem}.swf{zipped}" for stem in log.files for zipped in (".gz", "")]
        there = [] if folder is None else [n for n in names if (folder / n).is_file()]
        file = input_file(folder / there[0]) if folder is not None and there else ""
        found += [
            {"experiment": "published-easy", "log": name, "file": file, "walltimes": walltimes}
            for walltimes in WALLTIMES
        ]
    return found


def read_study_log(path: str) -> tuple[Workload, int]:
    """A log as the study's filter leaves it, and the machine's processors.

    Left out are jobs larger than the machine, without a size, with a run time or a request of 0
    or none, or without a submit time. A job's size is field 8, or field 5 where that is missing.
    """
    rows = parse_rows(read_lines(path), path)
    processors = int(read_swf_header(path).max_procs or rows[:, [4, 7]].max())
    size = np.where(rows[:, 7] > 0, rows[:, 7], rows[:, 4])
    keep = (rows[:, [4, 7]] <= processors).all(axis=1) & (size > 0)
    keep &= (rows[:, 3] > 0) & (rows[:, 8] > 0) & (rows[:, 1] >= 0)
    order = np.argsort(rows[keep, 1], kind="stable")
    used, size = rows[keep][order], size[keep][order]
    nobody = np.full(len(used), -1, dtype=np.int32)
    jobs = Workload(
        name=path,
        job_id=used[:, 0].astype(np.int64),
        submit_s=used[:, 1].copy(),
        run_time_s=used[:, 3].copy(),
        n_nodes=size.astype(np.int32),
        requested_s=used[:, 8].copy(),
        user=nobody,
        project=nobody,
        wait_s=np.full(len(used), np.nan),
        dropped={"the study's filter": int((~keep).sum())},
    )
    return jobs, processors


def study_slowdown(jobs: Workload, processors: int, walltimes: str) -> float:
    """Mean bounded slowdown (10 s) under EASY, jobs cut at their walltimes.

    Parameters
    ----------
    jobs : Workload
    processors : int
        Of the machine.
    walltimes : {"requested", "exact"}
        Exact: the scheduler knows how long a job will run (until it is cut).
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
    """One log with one kind of walltimes: table "easy"."""
    row: dict[str, object] = {key: config[key] for key in ("log", "walltimes")}
    if not config["file"]:
        return {"easy": [row | {"jobs": None, "ours": None, "file": ""}]}
    path = checked_path(config["file"])
    jobs, processors = read_study_log(path)
    ours = study_slowdown(jobs, processors, config["walltimes"])
    return {"easy": [row | {"jobs": len(jobs), "ours": ours, "file": Path(path).name}]}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Paper, ours, ratio; a log that is not there is a row without ours, and a note."""
    import pandas as pd

    rows: list[dict[str, object]] = []
    claims, notes = [], [WHY]
    for row in frames["easy"].to_dict("records"):
        name, kind, there = row["log"], row["walltimes"], bool(row["file"])
        paper = LOGS[name].requested if kind == "requested" else LOGS[name].exact
        jobs = int(row["jobs"]) if there else None
        rows.append(
            {
                "log": name,
                "walltimes": kind,
                "paper": paper,
                "ours": row["ours"] if there else None,
                "ratio": row["ours"] / paper if there else None,
                "paper_jobs": LOGS[name].jobs,
                "jobs": jobs,
                "file": row["file"] if there else "not in the logs folder",
            }
        )
        if kind == WALLTIMES[0] and not there:
            notes.append(
                f"{name}: not computed; put {LOGS[name].files[0]}.swf.gz into the logs folder "
                f"(--logs DIR); {ARCHIVE}"
            )
        elif kind == WALLTIMES[0] and jobs != LOGS[name].jobs:
            notes.append(
                f"{name}: {jobs:,} jobs in {row['file']}, the study had "
                f"{LOGS[name].jobs:,}: another version of the log"
            )
        if there:
            says = Says("SC'15 and the results published beside it", f"walltimes {kind}")
            what, (within, note) = f"{name}: mean bounded slowdown under EASY", WITHIN[kind]
            claims.append(says.near(what, paper, row["ours"], within=within, unit="%", note=note))
    return Analysis(claims_frame(claims), {"easy": pd.DataFrame(rows)}, tuple(notes))


EASY_FIGURE = PaperFigure(
    name="easy",
    description="EASY's mean bounded slowdown on public logs, beside published averages",
    function=FUNCTION,
    points=points,
    analyse=analyse,
)
