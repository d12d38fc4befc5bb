"""Jobs of ``sacct --json`` as cells of the columns that ``sacct -P`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads.importers.json_jobs import json_jobs, need_list
from workloads.swf_parse import short

COLUMNS = (
    *("jobid", "jobidraw", "state", "submit", "eligible", "start", "end", "elapsedraw"),
    *("suspended", "timelimit", "allocnodes", "alloccpus", "alloctres", "nodelist", "user"),
    *("account", "partition", "qos", "priority", "submitline"),
)


def looks_like(head: Sequence[str]) -> bool:
    """Return whether a file that begins with these lines is one."""
    text = "".join(head)
    names = ('"allocation_nodes"', '"association"', '"data_parser/', '"openapi/dbv0')
    return any(line[:1] == "{" for line in head) and any(name in text for name in names)


def json_cells(path: str | Path) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each job, and why it is not sound if it is not."""
    for entry in json_jobs(path):
        try:
            yield _cells(entry), ""
        except ValueError as error:
            yield [], str(error)


def _cells(entry: Any) -> list[str]:
    """Return the cells of a job, in the order of `COLUMNS`."""
    trackable = _at(entry, "tres", "allocated") or _at(entry, "tres", "requested")
    counts: dict[str, float] = {}
    for one in need_list("tres", trackable):
        kind, name = _at(one, "type"), _at(one, "name")
        count = _number(one, "count")
        counts[f"{kind}/{name}" if name else str(kind)] = count or 0.0
    limit = _number(entry, "time", "limit")
    nodes = _number(entry, "allocation_nodes")
    state = _at(entry, "state", "current")
    return [
        _job_id(entry),
        _whole(_number(entry, "job_id")),
        str(state[0] if isinstance(state, list) and state else state or ""),
        *(_whole(_number(entry, "time", name) or None) for name in ("submission", "eligible")),
        *(_whole(_number(entry, "time", name) or None) for name in ("start", "end", "elapsed")),
        _whole(_number(entry, "time", "suspended")),
        "" if limit is None else f"{_whole(limit)}:00",
        _whole(nodes),
        _whole(counts.get("cpu")),
        ",".join(f"{name}={_whole(count)}" for name, count in counts.items()),
        *(str(_at(entry, name) or "") for name in ("nodes", "user", "account", "partition", "qos")),
        _whole(_number(entry, "priority")),
        str(_at(entry, "submit_line") or ""),
    ]


def _job_id(entry: Any) -> str:
    """Return the job's id as ``sacct -P`` prints it: 12, 12_3 of an array, 12+1 of parts."""
    array, task = _number(entry, "array", "job_id"), _number(entry, "array", "task_id")
    first, part = _number(entry, "het", "job_id"), _number(entry, "het", "job_offset")
    if array and task is not None:
        return f"{_whole(array)}_{_whole(task)}"
    if array and (tasks := _at(entry, "array", "task")):
        return f"{_whole(array)}_[{tasks}]"
    if first and part is not None:
        return f"{_whole(first)}+{_whole(part)}"
    return _whole(_number(entry, "job_id"))


def _at(entry: Any, *keys: str) -> Any:
    """Return what is at a path of keys; None where one is missing."""
    for key in keys:
        if entry is None:
            return None
        if not isinstance(entry, Mapping):
            raise ValueError(f"{key} is looked for in {short(repr(entry))}; an object is needed")
        entry = entry.get(key)
    return entry


def _number(entry: Any, *keys: str) -> float | None:
    """Return a number, given so or as {set, infinite, number}; None if not set or infinite."""
    value = _at(entry, *keys)
    if isinstance(value, Mapping):
        if not value.get("set") or value.get("infinite"):
            return None
        value = value.get("number")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e18:
        raise ValueError(f"{'.'.join(keys)} is {short(repr(value))}; a number is needed")
    return float(value)


def _whole(value: float | None) -> str:
    return "" if value is None else str(int(value))
