"""A study's independent points: computed on processes or ranks, stored, and read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netcosim.runs.sweep import SweepSummary, run_points
from netcosim.study.results import Tables, read_tables
from netsim.atomic_files import make_folder

SHOWN_FAILURES = 5


def compute_points(
    function: str,
    points: Sequence[dict[str, Any]],
    store: Path,
    *,
    jobs: int,
    progress: bool,
    executor: str = "",
    retry_failed: bool = False,
    first: Callable[[dict[str, Any]], int] | None = None,
) -> tuple[SweepSummary, Tables] | None:
    """Compute the points that a store does not hold, and return all their tables.

    Parameters
    ----------
    function, points, store, jobs, retry_failed, progress, executor
        As `netcosim.runs.sweep.run_points` takes them; the store's folder is made if it is missing.
    first : callable, optional
        Points of a smaller key are begun first; tables keep the order of the points.

    Returns
    -------
    (SweepSummary, tables) or None
        None on MPI ranks other than 0.
    """
    make_folder(store.parent)
    ordered = points if first is None else sorted(points, key=first)
    summary = run_points(
        function,
        ordered,
        store,
        jobs=jobs,
        retry_failed=retry_failed,
        progress=progress,
        executor=executor,
    )
    return None if summary is None else (summary, read_tables(store, points))


def failure_lines(summary: SweepSummary) -> list[str]:
    """Return a line for each of the first points that failed."""
    return [f"failed: point {key[:12]}: {error}" for key, error in summary.failed[:SHOWN_FAILURES]]
