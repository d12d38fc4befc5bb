"""Workloads made from workloads: scaled, cut, filtered. Nothing is changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from workloads.job import MAX_TIME_S, Workload


def select(workload: Workload, keep: NDArray[np.bool_] | NDArray[np.integer]) -> Workload:
    """Return the jobs of a mask or of a list of positions; nothing is counted as dropped."""
    return replace(
        workload,
        job_id=workload.job_id[keep],
        submit_s=workload.submit_s[keep],
        run_time_s=workload.run_time_s[keep],
        n_nodes=workload.n_nodes[keep],
        requested_s=workload.requested_s[keep],
        user=workload.user[keep],
        project=workload.project[keep],
        wait_s=workload.wait_s[keep],
        details=workload.details.take(keep),
    )


def drop(workload: Workload, unwanted: NDArray[np.bool_], reason: str) -> Workload:
    """Leave out the jobs of a mask, counted in ``dropped``; the workload itself if none is."""
    count = int(np.count_nonzero(unwanted))
    if count == 0:
        return workload
    dropped = dict(workload.dropped)
    dropped[reason] = dropped.get(reason, 0) + count
    return replace(select(workload, ~unwanted), dropped=dropped)


def scale_arrivals(workload: Workload, factor: float) -> Workload:
    """Multiply all submit times; 0.5 makes jobs come twice as fast (Jigsaw's Aug- and Nov-Cab)."""
    if not (np.isfinite(factor) and factor > 0):
        raise NetcosimError(f"arrival_factor = {factor}; it must be above 0")
    last_s = float(workload.submit_s[-1]) * factor if len(workload) else 0.0
    if last_s > MAX_TIME_S:
        raise NetcosimError(
            f"arrival_factor = {factor:g}: the last job comes at {last_s:g} s; times go up to "
            f"{MAX_TIME_S:g} s"
        )
    return replace(workload, submit_s=workload.submit_s * factor)


def all_at_zero(workload: Workload) -> Workload:
    """Submit all jobs at time 0, in the order of the log."""
    return replace(workload, submit_s=np.zeros(len(workload)))


def from_zero(workload: Workload) -> Workload:
    """Shift submit times so that the first job comes at time 0."""
    if len(workload) == 0:
        return workload
    first_s = float(workload.submit_s[0])
    unix_s = None if workload.start_unix_s is None else workload.start_unix_s + first_s
    return replace(workload, submit_s=workload.submit_s - first_s, start_unix_s=unix_s)


def scale_sizes(workload: Workload, factor: float) -> Workload:
    """Multiply job sizes, rounded up."""
    if not (np.isfinite(factor) and factor > 0):
        raise NetcosimError(f"size_factor = {factor}; it must be above 0")
    # 10 * 0.1 is a little above 1 in floating point: whole results must not be rounded up.
    with np.errstate(over="ignore"):
        scaled = np.ceil(np.round(workload.n_nodes * factor, 9))
    if len(scaled) and scaled.max() > np.iinfo(np.int32).max:
        raise NetcosimError(
            f"size_factor = {factor:g}: a job has {float(workload.n_nodes.max()) * factor:g} nodes"
        )
    return _resized(workload, np.maximum(scaled, 1).astype(np.int32))


def round_sizes(workload: Workload, sizes: Sequence[int]) -> Workload:
    """Round job sizes up to the next of these; those above the largest stay as they are."""
    offered = np.unique(np.asarray(sizes, dtype=np.int32))
    place = np.searchsorted(offered, workload.n_nodes)
    next_up = offered[np.minimum(place, len(offered) - 1)]
    return _resized(workload, np.maximum(next_up, workload.n_nodes))


def _resized(workload: Workload, n_nodes: NDArray[np.int32]) -> Workload:
    """Change the sizes of jobs; a job of another size loses its recorded nodes."""
    details = workload.details
    if details.node_list is not None:
        nodes = details.node_list.without(n_nodes != workload.n_nodes)
        details = replace(details, node_list=nodes)
    return replace(workload, n_nodes=n_nodes, details=details)


def drop_larger(workload: Workload, max_nodes: int) -> Workload:
    """Leave out jobs of more than ``max_nodes`` nodes, counted in ``dropped``."""
    return drop(workload, workload.n_nodes > max_nodes, f"more than {max_nodes} nodes")


def drop_shorter(workload: Workload, min_run_time_s: float) -> Workload:
    """Leave out jobs that run for less than ``min_run_time_s``, counted in ``dropped``."""
    return drop(
        workload, workload.run_time_s < min_run_time_s, f"run time below {min_run_time_s:g} s"
    )


def refuse_empty(workload: Workload, before: Workload) -> Workload:
    """Return the workload itself; refuse one without jobs, which it had ``before`` a cut."""
    if len(workload) or not len(before):
        return workload
    reasons = [k for k, n in workload.dropped.items() if n != before.dropped.get(k, 0)]
    raise NetcosimError(
        f"workload {workload.name}: all {len(before):,} jobs are left out "
        f"({', '.join(reasons)}): they want {before.n_nodes.min()} to {before.n_nodes.max()} "
        f"nodes, run for {before.run_time_s.min():g} to {before.run_time_s.max():g} s and are "
        f"submitted at {before.submit_s[0]:g} to {before.submit_s[-1]:g} s"
    )


def refuse_larger(workload: Workload, max_nodes: int) -> Workload:
    """Return the workload itself; refuse one with a job that does not fit."""
    large = np.flatnonzero(workload.n_nodes > max_nodes)
    if len(large):
        first = int(large[0])
        raise NetcosimError(
            f"workload {workload.name}: job {workload.job_id[first]} wants "
            f"{workload.n_nodes[first]} nodes, the machine has {max_nodes} ({len(large):,} such "
            'jobs); larger_jobs = "drop" leaves them out'
        )
    return workload


def time_window(workload: Workload, start_s: float, end_s: float) -> Workload:
    """Return the jobs submitted in ``[start_s, end_s)``; times stay (see `from_zero`)."""
    if not end_s > start_s:
        raise NetcosimError(f"time window {start_s} to {end_s} s; the end must be after the start")
    outside = (workload.submit_s < start_s) | (workload.submit_s >= end_s)
    return drop(workload, outside, f"submitted outside {start_s:g} to {end_s:g} s")


def head(workload: Workload, n_jobs: int) -> Workload:
    """Return the first jobs; the whole workload if it has fewer."""
    if n_jobs < 1:
        raise NetcosimError(f"n_jobs = {n_jobs}; it must be at least 1")
    beyond = np.arange(len(workload)) >= n_jobs
    return drop(workload, beyond, f"after the first {n_jobs} jobs")
