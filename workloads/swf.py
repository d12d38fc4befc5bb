"""Job logs in the Standard Workload Format (SWF), as the Parallel Workloads Archive has them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from workloads.job import Workload
from workloads.swf_parse import SwfHeader, parse_header, parse_rows
from workloads.text import read_text, write_text

NODE_FIELDS = {"allocated": 5, "requested": 8}
"""Which field gives a job's size, by name."""

_A_YEAR_S = 365 * 86400.0


def read_swf_header(path: str | Path) -> SwfHeader:
    """The header comments of a log.

    Raises
    ------
    NetcosimError
        A file that cannot be read.
    """
    return parse_header(read_text(path))


def read_swf(
    path: str | Path,
    *,
    processors_per_node: int = 1,
    node_field: str = "allocated",
    statuses: Collection[int] | None = None,
    max_nodes: int | None = None,
    min_run_time_s: float | None = None,
    name: str | None = None,
) -> Workload:
    """Read a log, plain or gzipped.

    A sound line that cannot be used is left out and counted in ``Workload.dropped`` under
    the first reason that holds, in the order: status, submit time, size, run time, too
    large, too short. Field 12 is the user, field 13 the project. Requested times are
    kept as they are, even below the run time.

    Parameters
    ----------
    path : str or Path
    processors_per_node : int
        Nodes are processors over this, rounded up. 1 where the log counts nodes.
    node_field : {"allocated", "requested"}
        Field 5 or field 8.
    statuses : collection of int, optional
        Only jobs with one of these in field 11 (0 failed, 1 completed, 5 cancelled).
    max_nodes : int, optional
        Larger jobs are left out.
    min_run_time_s : float, optional
        Shorter jobs are left out.
    name : str, optional
        The file's name if left out.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a broken line (named ``file:line``), a log in which no job can
        be used, an unknown node field, a number of processors below 1.
    """
    if node_field not in NODE_FIELDS:
        raise unknown_name("node field", node_field, NODE_FIELDS)
    if processors_per_node < 1:
        raise NetcosimError(f"processors_per_node = {processors_per_node}; it must be at least 1")
    rows = parse_rows(read_text(path), path)
    submit_s, run_s = rows[:, 1], rows[:, 3]
    size_field = NODE_FIELDS[node_field]
    nodes = np.ceil(rows[:, size_field - 1] / processors_per_node)
    reasons: list[tuple[str, NDArray[np.bool_]]] = []
    if statuses is not None:
        for value in np.unique(rows[:, 10]):
            if value not in statuses:
                reasons.append((f"status {value:.0f} is not asked for", rows[:, 10] == value))
    reasons.append(("no submit time", submit_s < 0))
    reasons.append((f"no size in field {size_field}", nodes < 1))
    reasons.append(("run time missing or 0", run_s <= 0))
    if max_nodes is not None:
        reasons.append((f"more than {max_nodes} nodes", nodes > max_nodes))
    if min_run_time_s is not None:
        reasons.append((f"run time below {min_run_time_s:g} s", run_s < min_run_time_s))
    keep = np.ones(len(rows), dtype=np.bool_)
    dropped: dict[str, int] = {}
    for reason, mask in reasons:
        count = int(np.count_nonzero(keep & mask))
        if count:
            dropped[reason] = count
        keep &= ~mask
    if not keep.any():
        why = "; ".join(f"{count} with {reason}" for reason, count in dropped.items())
        raise NetcosimError(f"{path}: no job can be used ({why or 'the log has no job lines'})")
    for what, column in (("nodes", nodes), ("user", rows[:, 11]), ("group", rows[:, 12])):
        if column[keep].max() > np.iinfo(np.int32).max:
            raise NetcosimError(
                f"{path}: a job has {what} = {column[keep].max():.0f}; at most 2147483647 is read"
            )
    used = rows[keep]
    order = np.argsort(used[:, 1], kind="stable")
    used, nodes = used[order], nodes[keep][order]
    requested = used[:, 8]
    no_request = requested <= 0
    wait = used[:, 2]
    return Workload(
        name=Path(path).name if name is None else name,
        job_id=used[:, 0].astype(np.int64),
        submit_s=used[:, 1].copy(),
        run_time_s=used[:, 3].copy(),
        n_nodes=nodes.astype(np.int32),
        requested_s=np.where(no_request, used[:, 3], requested),
        user=np.maximum(used[:, 11], -1).astype(np.int32),
        project=np.maximum(used[:, 12], -1).astype(np.int32),
        wait_s=np.where(wait < 0, np.nan, wait),
        dropped=dropped,
        notes=_notes(no_request, wait < 0, used[:, 1]),
    )


def _notes(
    no_request: NDArray[np.bool_], no_wait: NDArray[np.bool_], submit_s: NDArray[np.float64]
) -> tuple[str, ...]:
    """What a user should know of the log."""
    notes = []
    if no_request.any():
        notes.append(
            f"requested time missing for {100 * no_request.mean():.0f} % of the {len(no_request)} "
            "jobs; their run time is taken"
        )
    if no_wait.all():
        notes.append("wait time missing for all jobs; the submit time may be the start time")
    if submit_s[0] > _A_YEAR_S:
        notes.append(f"the first job is submitted at {submit_s[0]:.0f} s, not near 0")
    return tuple(notes)


def _number(value: float) -> str:
    """Shortest text that reads back as the same number; whole ones without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def write_swf(workload: Workload, path: str | Path, *, processors_per_node: int = 1) -> None:
    """Write a workload as SWF, gzipped if the name ends in .gz.

    Fields 5 and 8 are nodes times ``processors_per_node``, the status is 1, what a
    Workload does not know is -1. Reading it back with the same ``processors_per_node`` gives
    the same jobs.

    Raises
    ------
    NetcosimError
        The file cannot be written.
    """
    top = int(workload.n_nodes.max()) if len(workload) else 0
    lines = [
        "; Version: 2.2",
        f"; Computer: {' '.join(workload.name.split())}",
        f"; MaxJobs: {len(workload)}",
        f"; MaxNodes: {top}",
        f"; MaxProcs: {top * processors_per_node}",
        "; Note: MaxNodes is the largest job",
    ]
    wait_s = np.where(np.isnan(workload.wait_s), -1.0, workload.wait_s)
    columns = (
        workload.job_id.tolist(),
        map(_number, workload.submit_s.tolist()),
        map(_number, wait_s.tolist()),
        map(_number, workload.run_time_s.tolist()),
        (workload.n_nodes.astype(np.int64) * processors_per_node).tolist(),
        map(_number, workload.requested_s.tolist()),
        workload.user.tolist(),
        workload.project.tolist(),
    )
    lines += [
        f"{job} {submit} {wait} {run} {size} -1 -1 {size} {requested} -1 1 "
        f"{user} {project} -1 -1 -1 -1 -1"
        for job, submit, wait, run, size, requested, user, project in zip(*columns, strict=True)
    ]
    write_text(path, "\n".join(lines) + "\n")
