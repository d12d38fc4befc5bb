"""Jobs of each policy as a table that evalys reads (`evalys.jobset.JobSet.from_csv`).

Its columns are Batsim's: times in seconds, ``stretch`` is turnaround over execution time, and
``allocated_resources`` is a procset such as "0-3 7". Jobs that never ran have no row.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from netcosim.archive.extract import ranges
from netcosim.archive.values import ArchivedRun, ArchivedSchedule
from netcosim.export.archive_tables import format_ranges
from netcosim.export.files import archived_run
from netcosim.report.figures.drawing import safe_names
from netcosim.runs.store import Store
from netsim.atomic_files import atomic_write, make_folder
from queuesim.result import COMPLETED

if TYPE_CHECKING:
    import pandas as pd


def write_evalys(store: Store, key: str | None, folder: Path) -> list[Path]:
    """Write ``folder/POLICY.csv`` for every policy of a point."""
    run = archived_run(store, key, "evalys")
    make_folder(folder)
    written = []
    names = safe_names(run.schedules)
    for name, schedule in zip(names, run.schedules.values(), strict=True):
        path = folder / f"{name}.csv"
        with atomic_write(path) as part:
            evalys_frame(run, schedule).to_csv(part, index=False, float_format="%.6f")
        written.append(path)
    return written


def evalys_frame(run: ArchivedRun, schedule: ArchivedSchedule) -> pd.DataFrame:
    """Return the jobs of one policy that ran, in the order of their submission."""
    import pandas as pd

    jobs = run.jobs
    sits = np.diff(schedule.range_ptr) > 0
    ran = np.flatnonzero(np.isfinite(schedule.start_s) & np.isfinite(schedule.end_s) & sits)
    submit_s, start_s, end_s = jobs.submit_s[ran], schedule.start_s[ran], schedule.end_s[ran]
    execution_s = end_s - start_s
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(execution_s > 0, (end_s - submit_s) / execution_s, 1.0)
    return pd.DataFrame(
        {
            "jobID": jobs.job_id[ran],
            "workload_name": jobs.log,
            "submission_time": submit_s,
            "requested_number_of_resources": jobs.n_nodes[ran],
            # -1: none, as in SWF and Batsim
            "requested_time": np.where(np.isinf(jobs.requested_s[ran]), -1, jobs.requested_s[ran]),
            "success": (schedule.outcome[ran] == COMPLETED).astype(np.int64),
            "starting_time": start_s,
            "execution_time": execution_s,
            "finish_time": end_s,
            "waiting_time": start_s - submit_s,
            "turnaround_time": end_s - submit_s,
            "stretch": stretch,
            "allocated_resources": [procset(schedule, int(job)) for job in ran],
        }
    )


def procset(schedule: ArchivedSchedule, job: int) -> str:
    """Format the nodes of a job as a procset: ascending, neighbours joined, "0-3 7"."""
    _, first, length = ranges([np.sort(schedule.nodes_of(job)).astype(np.int32)])
    return format_ranges(first, length)
