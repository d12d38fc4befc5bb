"""EASY against published averages: mean bounded slowdown of five public logs.

Gaussier, Glesser, Reis, Trystram: "Improving Backfilling by using Machine Learning to Predict
Running Times", SC'15, whose results lie open beside the paper. Their jobs are cut at their
requested times, sizes are processors (a node here is one processor), a machine has as many as
the log's header says, and there is no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alloc.registry import make_policy
from experiments.inputs import checked_path, input_file
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.logs import logs_folder
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from netsim.files import read_lines
from netsim.topology import Topology, build_topology
from queuesim.metrics import bounded_slowdown
from queuesim.queue import simulate_queue
from workloads.job import Workload
from workloads.swf import read_swf_header
from workloads.swf_parse import parse_rows

if TYPE_CHECKING:
    import pandas as pd

FUNCTION = "experiments.papers.calibration.easy:run_point"
ARCHIVE = "Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/"


@dataclass(frozen=True)
class Published:
    """A log of the study.

    Attributes
    ----------
    files : tuple of str
        Names without ``.swf`` and ``.gz``; the first found is taken.
    jobs : int
        As many as the study's results count.
    requested, exact : float
        Mean bounded slowdown as printed, with the users' walltimes and with the run times.
    """

    files: tuple[str, ...]
    jobs: int
    requested: float
    exact: float


LOGS: dict[str, Published] = {
    "KTH-SP2": Published(("KTH-SP2-1996-2", "KTH-SP2-1996-2.1-cln"), 28_481, 92.6, 71.7),
    "CTC-SP2": Published(("CTC-SP2-1996-3.1-cln",), 77_199, 49.6, 37.2),
    "SDSC-SP2": Published(("SDSC-SP2-1998-4.2-cln",), 54_006, 87.9, 70.5),
    "SDSC-BLUE": Published(("SDSC-BLUE-2000-4.2-cln",), 232_542, 36.5, 30.6),
    "CEA-Curie": Published(("CEA-Curie-2011-2.1-cln",), 295_540, 202.1, 69.9),
}
QUICK = ("KTH-SP2",)
WALLTIMES = ("requested", "exact")
WITHIN = {"requested": 0.15, "exact": 0.001}
RULES = {
    "requested": "within 15 %: one pass an instant here, one at each event there",
    "exact": "within 0.1 %, as printed",
}
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


def flat_machine(n_nodes: int) -> Topology:
    """Nodes on one router: where no placement matters."""
    none = np.empty(0, dtype=np.int32)
    return build_topology(
        family="graph",
        name=f"flat-{n_nodes}",
        shape=None,
        node_router=np.zeros(n_nodes, dtype=np.int32),
        n_routers=1,
        router_src=none,
        router_dst=none,
        router_kind=none,
        router_kinds=(),
        router_bandwidth_Bps=1,
        router_latency_s=0.0,
        node_bandwidth_Bps=1,
        node_latency_s=0.0,
    )


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
    result = simulate_queue(
        jobs,
        make_policy(flat_machine(processors), "baseline", np.random.default_rng(0)),
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
        name, kind, file = row["log"], row["walltimes"], row["file"]
        log = LOGS[name]
        paper = log.requested if kind == "requested" else log.exact
        there = bool(file)
        rows.append({
            "log": name,
            "walltimes": kind,
            "paper": paper,
            "ours": row["ours"] if there else None,
            "ratio": row["ours"] / paper if there else None,
            "paper_jobs": log.jobs,
            "jobs": int(row["jobs"]) if there else None,
            "file": file if there else "not in the logs folder",
        })  # fmt: skip
        if not there:
            if kind == WALLTIMES[0]:
                notes.append(
                    f"{name}: not computed; put {log.files[0]}.swf.gz into the logs folder "
                    f"(--logs DIR); {ARCHIVE}"
                )
            continue
        if kind == WALLTIMES[0] and int(row["jobs"]) != log.jobs:
            notes.append(
                f"{name}: {int(row['jobs']):,} jobs in {file}, the study had "
                f"{log.jobs:,}: another version of the log"
            )
        claims.append(
            Claim(
                claim=f"{name}: mean bounded slowdown under EASY",
                where="SC'15 and the results published beside it",
                condition=f"walltimes {kind}",
                paper=paper,
                ours=row["ours"],
                holds=abs(row["ours"] / paper - 1) <= WITHIN[kind],
                rule=RULES[kind],
            )
        )
    return Analysis(claims_frame(claims), {"easy": pd.DataFrame(rows)}, tuple(notes))


EASY_FIGURE = PaperFigure(
    name="easy",
    description="EASY's mean bounded slowdown on public logs, beside published averages",
    function=FUNCTION,
    points=points,
    analyse=analyse,
)
