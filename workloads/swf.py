"""Job logs in the Standard Workload Format (SWF), as the Parallel Workloads Archive has them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from netsim.files import read_lines, write_text
from netsim.kinds import NONE, need_array, need_kinds, need_real
from netsim.limits import MAX_INDEX
from netsim.topologies.checks import need_int
from workloads.details import Dependencies, JobDetails
from workloads.job import NODE_FIELDS, Workload, limit_notes, limits_of
from workloads.node_size import node_size, size_doubts
from workloads.swf_parse import SwfHeader, parse_header, parse_rows

_A_YEAR_S = 365 * 86400.0


def read_swf_header(path: str | Path) -> SwfHeader:
    """Return the header comments of a log."""
    return parse_header(read_lines(path))[0]


def read_swf(
    path: str | Path,
    *,
    processors_per_node: int | None = None,
    known_processors_per_node: int | None = None,
    node_field: str = "allocated",
    statuses: Collection[int] | None = None,
    max_nodes: int | None = None,
    min_run_time_s: float | None = None,
    name: str | None = None,
    bad_lines: str = "refuse",
) -> Workload:
    """Read a log, plain or gzipped, by submit time.

    A sound line that cannot be used is left out and counted in ``Workload.dropped`` under the first
    reason that holds. A job follows the one in field 17 and is submitted the time of field 18 after
    its end. A job without a requested time has no limit (inf).

    Parameters
    ----------
    path, name
        The name is the file's if left out.
    processors_per_node, known_processors_per_node : int, optional
        Nodes are processors over the first, rounded up; else over the second, which
        `workloads.registry.LOGS` has; else over the number in the header.
    node_field : {"allocated", "requested"}
        Field 5 or field 8; a job that lacks the one (-1 or 0) takes the other.
    statuses, max_nodes, min_run_time_s : optional
        Other jobs are left out. A status is in field 11 (0 failed, 1 completed, 5 cancelled).
    bad_lines : {"refuse", "drop"}
        Broken lines are an error, or left out and counted.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> nc.write_swf(nc.laas_workload(5, 16, np.random.default_rng(1)), "jobs.swf.gz")
    >>> jobs = nc.read_swf("jobs.swf.gz", processors_per_node=1)
    >>> len(jobs), jobs.n_nodes.tolist()
    (5, [17, 4, 86, 5, 1])
    """
    need_kinds("read_swf", {"path": (path, (str, Path)), "name": (name, (str, NONE))})
    need_name("node field", node_field, NODE_FIELDS)
    need_name("bad_lines", bad_lines, ("refuse", "drop"))
    header, lines = parse_header(read_lines(path))
    size = node_size(header, given=processors_per_node, known=known_processors_per_node)
    dropped: dict[str, int] = {}
    rows = parse_rows(lines, path, None if bad_lines == "refuse" else dropped)
    procs, from_other = _sizes(rows, node_field)
    nodes = np.ceil(procs / size.processors)
    keep = _usable(rows, _reasons(rows, nodes, statuses, max_nodes, min_run_time_s), dropped)
    if not keep.any():
        why = "; ".join(f"{count} with {reason}" for reason, count in dropped.items())
        raise NetcosimError(f"{path}: no job can be used ({why or 'the log has no job lines'})")
    doubts = *size_doubts(size, header, procs[keep]), *_size_notes(from_other[keep], node_field)
    jobs = _workload(Path(path).name if name is None else name, header, rows[keep], nodes[keep])
    return replace(jobs, dropped=dropped, notes=(size.note, *doubts, *jobs.notes))


def _workload(
    name: str, header: SwfHeader, rows: NDArray[np.float64], nodes: NDArray[np.float64]
) -> Workload:
    """Return the jobs of these lines by submit time, with notes on their times."""
    order = np.argsort(rows[:, 1], kind="stable")
    rows, nodes = rows[order], nodes[order]
    walltime_s = limits_of(rows[:, 8])
    wait = rows[:, 2]
    details, following = _following(rows)
    return Workload(
        start_unix_s=header.unix_start_time,
        name=name,
        job_id=rows[:, 0].astype(np.int64),
        submit_s=rows[:, 1].copy(),
        run_time_s=rows[:, 3].copy(),
        n_nodes=nodes.astype(np.int32),
        requested_s=walltime_s,
        user=np.maximum(rows[:, 11], -1).astype(np.int32),
        project=np.maximum(rows[:, 12], -1).astype(np.int32),
        wait_s=np.where(wait < 0, np.nan, wait),
        details=details,
        notes=(*following, *limit_notes(walltime_s), *_notes(wait < 0, rows[:, 1])),
    )


def _reasons(
    rows: NDArray[np.float64],
    nodes: NDArray[np.float64],
    statuses: Collection[int] | None,
    max_nodes: int | None,
    min_run_time_s: float | None,
) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the reasons for leaving jobs out, and the jobs that each holds for."""
    run_s = rows[:, 3]
    reasons = _statuses_left_out(rows, statuses)
    reasons.append(("no submit time", rows[:, 1] < 0))
    reasons.append(("no size in field 5 or 8", nodes < 1))
    reasons.append(("run time missing or 0", run_s <= 0))
    if max_nodes is not None:
        need_int("read_swf", "max_nodes", max_nodes, 1)
        reasons.append((f"more than {max_nodes} nodes", nodes > max_nodes))
    if min_run_time_s is not None:
        need_real("read_swf", "min_run_time_s", min_run_time_s, 0)
        reasons.append((f"run time below {min_run_time_s:g} s", run_s < min_run_time_s))
    return reasons


def _statuses_left_out(
    rows: NDArray[np.float64], statuses: Collection[int] | None
) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return a reason for each status in the log that is not selected, and its jobs."""
    if statuses is None:
        return []
    listed = list(statuses) if isinstance(statuses, Collection) else statuses
    selected = need_array("read_swf", "statuses", listed, low=-(2**31)).tolist()
    return [
        (f"status {value:.0f} is not selected", rows[:, 10] == value)
        for value in np.unique(rows[:, 10])
        if value not in selected
    ]


def _usable(
    rows: NDArray[np.float64],
    reasons: list[tuple[str, NDArray[np.bool_]]],
    dropped: dict[str, int],
) -> NDArray[np.bool_]:
    """Return which jobs are used, and count the others by the first reason that holds.

    A job number of an earlier line is the last reason: such a line is part of that job's run.
    """
    usable = np.ones(len(rows), dtype=np.bool_)
    for reason, mask in reasons:
        count = int(np.count_nonzero(usable & mask))
        if count:
            dropped[reason] = count
        usable &= ~mask
    left = np.flatnonzero(usable)
    again = np.delete(left, np.unique(rows[left, 0], return_index=True)[1])
    again = again[rows[again, 0] > 0]
    if len(again):
        dropped["job number of an earlier line"] = len(again)
        usable[again] = False
    return usable


def _following(rows: NDArray[np.float64]) -> tuple[JobDetails, tuple[str, ...]]:
    """Return the jobs that follow others (fields 17 and 18), and notes on them.

    A job can follow only one that comes before it in the log and is used.
    """
    follows = rows[:, 16] > 0
    if not follows.any():
        return JobDetails(), ()
    position = {number: k for k, number in enumerate(rows[:, 0].tolist())}
    before = np.array([position.get(number, len(rows)) for number in rows[:, 16].tolist()])
    known = follows & (before < np.arange(len(rows)))
    pairs = zip(rows[:, 16].tolist(), known.tolist(), strict=True)
    lists = [[("afterany", int(job))] if is_known else [] for job, is_known in pairs]
    think_s = np.where(known & (rows[:, 17] > 0), rows[:, 17], np.nan)
    left = int(np.count_nonzero(follows & ~known))
    notes = [f"{int(known.sum()):,} jobs follow others (fields 17 and 18)"]
    if left:
        notes.append(
            f"{left:,} jobs follow one that is not used or comes after them; they follow none"
        )
    return JobDetails(dependency=Dependencies.of(lists), think_s=think_s), tuple(notes)


def _sizes(
    rows: NDArray[np.float64], node_field: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each job's size in processors, 0 or less where it has none, and which have the other
    field's."""
    other = next(name for name in NODE_FIELDS if name != node_field)
    preferred, instead = (rows[:, NODE_FIELDS[name] - 1] for name in (node_field, other))
    from_other = (preferred <= 0) & (instead > 0)
    return np.where(from_other, instead, preferred), from_other


def _size_notes(from_other: NDArray[np.bool_], node_field: str) -> tuple[str, ...]:
    """Return a note on the jobs whose size is from the field that was not selected."""
    count = int(np.count_nonzero(from_other))
    if not count:
        return ()
    other = next(name for name in NODE_FIELDS if name != node_field)
    who = f"all {count:,}" if count == len(from_other) else f"{count:,}"
    return (
        f"{who} jobs have no {node_field} processors (field {NODE_FIELDS[node_field]}); their "
        f"{other} ones (field {NODE_FIELDS[other]}) are taken",
    )


def _notes(no_wait: NDArray[np.bool_], submit_s: NDArray[np.float64]) -> tuple[str, ...]:
    """Return notes on the log for the user."""
    notes = []
    if no_wait.all():
        notes.append("wait time missing for all jobs; the submit time may be the start time")
    if submit_s[0] > _A_YEAR_S:
        notes.append(f"the first job is submitted at {submit_s[0]:.0f} s, not near 0")
    return tuple(notes)


def _number(value: float) -> str:
    """Return the shortest text that reads back as the same number; integers without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _fields_17_18(workload: Workload) -> tuple[list[int], list[str]]:
    """Return the job that each follows and its think time, -1 for none.

    SWF has one such job; of several, and of other kinds than "afterany", none is written.
    """
    n, details = len(workload), workload.details
    if details.dependency is None:
        return [-1] * n, ["-1"] * n
    lists = [details.dependency[k] for k in range(n)]
    before = [
        pairs[0][1] if len(pairs) == 1 and pairs[0][0] == "afterany" else -1 for pairs in lists
    ]
    think_s = (
        np.full(n, -1.0) if details.think_s is None else np.nan_to_num(details.think_s, nan=-1)
    )
    return before, [
        _number(s) if job > 0 else "-1" for job, s in zip(before, think_s.tolist(), strict=True)
    ]


def write_swf(workload: Workload, path: str | Path, *, processors_per_node: int = 1) -> None:
    """Write a workload as SWF, gzipped if the name ends in .gz.

    Fields 5 and 8 are nodes times ``processors_per_node``, the status is 1, what a Workload does
    not contain is -1. Reading it back with the same ``processors_per_node`` gives the same jobs.

    Parameters
    ----------
    workload : Workload
    path : str or path
    processors_per_node : int
        What fields 5 and 8 count a node as.

    Raises
    ------
    NetcosimError
        The file cannot be written.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> from pathlib import Path
    >>> nc.write_swf(nc.laas_workload(5, 16, np.random.default_rng(1)), "jobs.swf")
    >>> Path("jobs.swf").read_text().splitlines()[3]
    '; MaxNodes: 86'
    """
    need_kinds("write_swf", {"workload": (workload, Workload), "path": (path, (str, Path))})
    need_int("write_swf", "processors_per_node", processors_per_node, 1, MAX_INDEX)
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
        map(_number, np.where(np.isinf(workload.requested_s), -1, workload.requested_s).tolist()),
        workload.user.tolist(),
        workload.project.tolist(),
        *_fields_17_18(workload),
    )
    lines += [
        f"{job} {submit} {wait} {run} {size} -1 -1 {size} {requested} -1 1 "
        f"{user} {project} -1 -1 -1 {before} {think}"
        for job, submit, wait, run, size, requested, user, project, before, think in zip(
            *columns, strict=True
        )
    ]
    write_text(path, "\n".join(lines) + "\n")
