"""Calendar months of a log, and the jobs that were over before one."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from workloads.job import Workload
from workloads.transform import select

HISTORY_S = 61 * 86400.0
"""Two months before the simulated jobs are what a scheduler may have learnt from."""


def month_window(month: str, start_unix_s: float) -> tuple[float, float]:
    """Return the ends of a calendar month ("2018-10", UTC), from the log's start."""
    year, number = (int(part) for part in month.split("-"))
    begin = datetime(year, number, 1, tzinfo=UTC)
    end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return begin.timestamp() - start_unix_s, end.timestamp() - start_unix_s


def ended_before(jobs: Workload, begin_s: float, within_s: float = HISTORY_S) -> Workload:
    """Return the jobs submitted in the time before an instant that had ended by then, as logged."""
    end_s = np.nan_to_num(jobs.wait_s) + jobs.submit_s + jobs.run_time_s
    return select(jobs, (end_s <= begin_s) & (jobs.submit_s >= begin_s - within_s))
