"""A workload from the jobs in a scheduler's log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.hostlist import expand
from netsim.text_numbers import whole_number
from workloads.dependencies import find_cycle, refuse_cycles
from workloads.details import Dependencies, JobDetails, Labels, NodeLists
from workloads.importers.logged import LoggedJob, ParsedLog
from workloads.importers.shared_nodes import shared_nodes
from workloads.job import MAX_TIME_S, Workload, limit_notes, limits_of
from workloads.swf_parse import MAX_INTEGER, NOT_SOUND

TASK = 10**8
"""Task 7 of array 123 gets the number 123 * TASK + 7, which no job of its own has."""

EARLIER_RUN = "an earlier run of a requeued job, or the same line again"
_MOST_NODES = 2**31 - 1
_TASK_ID = re.compile(r"([0-9]{1,8})[_\[]([0-9]{1,7})\]?")


def workload_of(
    parsed: ParsedLog,
    path: str | Path,
    *,
    shared: str = "refuse",
    cores_per_node: int | None = None,
    waits: bool = True,
) -> Workload:
    """Return the jobs that can be used, from the first submitted on.

    ``waits``: whether the log has both submit times and starts. For sharing see
    `workloads.importers.shared_nodes.shared_nodes`.
    """
    dropped = parsed.dropped
    jobs = [job for job in last_runs(parsed.jobs, dropped) if _usable(job, path, parsed)]
    if not jobs:
        why = "; ".join(f"{count:,} with {reason}" for reason, count in dropped.items())
        raise NetcosimError(f"{path}: no job can be used ({why or 'there is none in it'})")
    jobs.sort(key=lambda job: job.submit_s)
    suspended = sum(job.suspended_s > 0 for job in jobs)
    if suspended:
        parsed.notes.append(f"{suspended:,} jobs were suspended for a time; they hold their nodes")
    notes = parsed.notes
    jobs, node_list = _node_lists(jobs, path, parsed)
    jobs, node_list = shared_nodes(jobs, node_list, path, shared, cores_per_node, dropped, notes)
    workload = _columns(jobs, node_list, path, parsed)
    return workload if waits else replace(workload, wait_s=np.full(len(workload), np.nan))


def last_runs(jobs: Sequence[LoggedJob], dropped: Counter[str]) -> list[LoggedJob]:
    """Return the last run of each job, in the order of their first."""
    last: dict[str, LoggedJob] = {}
    for job in jobs:
        other = last.get(job.id)
        if other is not None:
            dropped[EARLIER_RUN] += 1
            if other.start_s > job.start_s:
                continue
        last[job.id] = job
    return list(last.values())


def _usable(job: LoggedJob, path: str | Path, parsed: ParsedLog) -> bool:
    """Return whether a job can be used; if not, it is counted."""
    reason = NOT_SOUND
    with parsed.reading(f"{path}:{job.line}"):
        times = job.submit_s, job.start_s, job.end_s, job.limit_s
        if any(abs(time_s) > MAX_TIME_S for time_s in times):
            raise NetcosimError(f"times go up to {MAX_TIME_S:g} s")
        if job.nodes > _MOST_NODES:
            raise NetcosimError(f"{job.nodes} nodes; at most {_MOST_NODES}")
        reason = ""
    if reason:
        return False
    if isnan(job.submit_s):
        reason = "no submit time"
    elif job.nodes < 1:
        reason = "no number of nodes"
    elif not job.end_s > job.start_s:
        reason = "run time missing or 0"
    if reason:
        parsed.dropped[reason] += 1
    return not reason


def _node_lists(
    jobs: list[LoggedJob],
    path: str | Path,
    parsed: ParsedLog,
) -> tuple[list[LoggedJob], NodeLists | None]:
    """Return the jobs whose node lists are sound and their nodes; lists whose length differs from
    the job's nodes are ignored."""
    if not any(job.hosts for job in jobs):
        return jobs, None
    known: dict[str, int] = {}
    lists: dict[str, NDArray[np.int32]] = {"": np.empty(0, dtype=np.int32)}
    sound, used, odd = [], [], 0
    for job in jobs:
        nodes = lists.get(job.hosts)
        if nodes is None:
            with parsed.reading(f"{path}:{job.line}"):
                names = dict.fromkeys(expand(job.hosts))
                numbers = [known.setdefault(name, len(known)) for name in names]
                nodes = lists[job.hosts] = np.array(numbers, dtype=np.int32)
            if nodes is None:
                continue
        if len(nodes) not in (0, job.nodes):
            odd += 1
            nodes = lists[""]
        sound.append(job)
        used.append(nodes)
    if not sound:
        raise NetcosimError(f"{path}: no job can be used ({len(jobs):,} with a bad node list)")
    if odd:
        parsed.notes.append(
            f"{odd:,} jobs have a node list of another length than their number of nodes; the "
            "list is dropped"
        )
    ptr = np.concatenate(([0], np.cumsum([len(nodes) for nodes in used]))).astype(np.int64)
    return sound, NodeLists(ptr, np.concatenate(used), tuple(known))


def job_numbers(jobs: Sequence[LoggedJob]) -> list[int]:
    """Return a unique integer for each job: its own number where the log has one."""
    numbers: list[int | None] = []
    taken: set[int] = set()
    for job in jobs:
        number = job.number
        if number is None:
            number = whole_number(job.id)
        if number is None and (task := _TASK_ID.fullmatch(job.id)):
            number = int(task[1]) * TASK + int(task[2])
        if number is not None and (number in taken or number > MAX_INTEGER[1]):
            number = None
        if number is not None:
            taken.add(number)
        numbers.append(number)
    following = iter(range(max((n for n in taken if n < TASK), default=0) + 1, 2**53))
    unused = (number for number in following if number not in taken)
    return [next(unused) if number is None else number for number in numbers]


def _columns(
    jobs: Sequence[LoggedJob],
    node_list: NodeLists | None,
    path: str | Path,
    parsed: ParsedLog,
) -> Workload:
    """Return the columns of usable jobs, sorted by submit time."""
    notes = parsed.notes
    first_s = jobs[0].submit_s
    submit_s = np.array([job.submit_s for job in jobs]) - first_s
    wait_s = np.array([job.start_s for job in jobs]) - submit_s - first_s
    early = wait_s < 0
    if early.any():
        notes.append(
            f"{int(early.sum()):,} jobs start before they are submitted; their wait is not known"
        )
    run_time_s = np.array([job.end_s - job.start_s for job in jobs])
    walltime_s = limits_of(np.array([job.limit_s for job in jobs]))
    notes += limit_notes(walltime_s)
    account = Labels.of(job.account for job in jobs)
    numbers = job_numbers(jobs)
    workload = Workload(
        name=Path(path).name,
        job_id=np.array(numbers, dtype=np.int64),
        submit_s=submit_s,
        run_time_s=run_time_s,
        n_nodes=np.array([job.nodes for job in jobs], dtype=np.int32),
        requested_s=walltime_s,
        user=Labels.of(job.user for job in jobs).code,
        project=account.code,
        wait_s=np.where(early, np.nan, wait_s),
        dropped=dict(parsed.dropped),
        details=JobDetails(
            partition=_labels([job.partition for job in jobs]),
            account=account if account.known.any() else None,
            qos=_labels([job.qos for job in jobs]),
            node_list=node_list,
            priority=_numbers([job.priority for job in jobs]),
            dependency=_dependencies(jobs, numbers, notes),
            pattern=_labels([job.pattern for job in jobs]),
            communication_fraction=_numbers([job.communication_fraction for job in jobs]),
            bytes_per_node_s=_numbers([job.bytes_per_node_s for job in jobs]),
            status=_labels([job.status for job in jobs]),
        ),
        notes=tuple(notes),
        start_unix_s=first_s,
    )
    if parsed.bad_lines == "refuse" or not find_cycle(workload):
        refuse_cycles(workload, path)
        return workload
    notes.append("jobs wait for each other in cycles: all dependencies are left out")
    details = replace(workload.details, dependency=None)
    return replace(workload, details=details, notes=tuple(notes), dropped=dict(parsed.dropped))


def _labels(words: list[str]) -> Labels | None:
    return Labels.of(words) if any(words) else None


def _numbers(values: list[float]) -> NDArray[np.float64] | None:
    numbers = np.array(values, dtype=np.float64)
    return None if np.isnan(numbers).all() else numbers


def _dependencies(
    jobs: Sequence[LoggedJob], numbers: Sequence[int], notes: list[str]
) -> Dependencies | None:
    """Return dependencies by job number; count those on jobs that the log lacks."""
    if not any(job.waits_for for job in jobs):
        return None
    of_id: dict[str, list[int]] = {}
    for job, number in zip(jobs, numbers, strict=True):
        of_id.setdefault(job.id, []).append(number)
        base = re.split(r"[_\[]", job.id, maxsplit=1)[0]
        if base != job.id:
            of_id.setdefault(base, []).append(number)
    gone = 0
    lists: list[list[tuple[str, int]]] = []
    for job in jobs:
        own = [(kind, n) for kind, other in job.waits_for for n in of_id.get(other, ())]
        gone += sum(other not in of_id for _, other in job.waits_for)
        lists.append(list(dict.fromkeys(own)))
    if gone:
        notes.append(f"{gone:,} dependencies on jobs that are not among those used are left out")
    return Dependencies.of(lists)
