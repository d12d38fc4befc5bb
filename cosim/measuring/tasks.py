"""A run's tasks: schedules and packet simulations, each a few arrays by name.

A step of a run passes one function, and the arguments of its tasks, to a `TaskRunner`. Whatever
implements it may compute them here one after the other (`SerialExecutor`), on other processes, or
find them where a run that was stopped has left them: a task is the same wherever and whenever it is
computed, and its result contains only numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.packet.model import PacketResult
from netsim.topology import Topology
from queuesim.result import PlacementArrays, QueueResult, TimeSpent
from workloads.job import Workload

Columns = Mapping[str, NDArray[Any]]
"""Result of a task: arrays by name, without object arrays."""
ReportProgress = Callable[[float], None]
"""Called with the share of a task that is done, 0 to 1."""
Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is done, 0 to 1."""
Tasks = Mapping[str, tuple[Any, ...]]
"""Arguments by name. A name is unique in the run."""

MOST = 64
"""Number of tasks that a long list is split into: a stopped run loses at most one a process."""


class TaskRunner(Protocol):
    """Computes tasks."""

    def each(
        self,
        compute: Callable[..., Columns],
        tasks: Tasks,
        progress: Progress | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Compute tasks, which are independent of each other.

        Parameters
        ----------
        compute : callable (*arguments, report) -> columns
            Runs here, or in another process on copies of all that it refers to.
        tasks : mapping of str to tuple
        digests : mapping of str to str, optional
            Hash of all inputs of a task, by its name: tasks with equal digests return the same
            columns. Empty if not known.

        Returns
        -------
        list of (*arguments, columns)
            In the order of the tasks.
        """
        ...


class SerialExecutor:
    """Computes tasks in this process, one after the other.

    Runs that differ only in what a task does not depend on, such as points of a sweep that share
    their schedules, compute it once if it is among the ``keep`` most recently used.
    """

    def __init__(self, keep: int = 0) -> None:
        self._most = keep
        self._cache: dict[str, Columns] = {}

    def each(
        self,
        compute: Callable[..., Columns],
        tasks: Tasks,
        progress: Progress | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Compute tasks in this process (see `TaskRunner.each`)."""
        results: list[tuple[Any, ...]] = []
        for name, arguments in tasks.items():
            digest = (digests or {}).get(name, "")
            columns = self._cache.pop(digest, None)
            if columns is None:
                columns = compute(*arguments, share_of(progress, name, len(results), len(tasks)))
            if digest:
                self._cache[digest] = columns
                if len(self._cache) > self._most:
                    del self._cache[next(iter(self._cache))]
            results.append((*arguments, columns))
        return results


@dataclass(frozen=True)
class PrefixedRunner:
    """Adds a prefix to the names of tasks, for steps that a run repeats."""

    tasks: TaskRunner
    prefix: str
    """Prefix of every name."""

    def each(
        self,
        compute: Callable[..., Columns],
        tasks: Tasks,
        progress: Progress | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Compute tasks under prefixed names (see `TaskRunner.each`)."""
        named = {self.prefix + name: arguments for name, arguments in tasks.items()}
        of_named = {self.prefix + name: digest for name, digest in (digests or {}).items()}
        return self.tasks.each(compute, named, progress, of_named)


def share_of(progress: Progress | None, name: str, done: int, total: int) -> ReportProgress:
    """Return a callback that converts a task's progress to the progress of all tasks."""

    def report(share: float) -> None:
        if progress is not None:
            progress(name, (done + share) / total)

    return report


def within(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return the progress callback of a step that is this share of the work."""
    if progress is None:
        return None
    return lambda what, share: progress(what, begin + share * (end - begin))


def cut(items: Sequence[Any], most: int = MOST) -> list[Sequence[Any]]:
    """Split a list into at most ``most`` pieces of equal length (the last may be shorter)."""
    length = -(-len(items) // most) or 1
    return [items[i : i + length] for i in range(0, len(items), length)]


def packet_columns(result: PacketResult, prefix: str) -> dict[str, NDArray[Any]]:
    """Return a packet simulation as columns whose names begin with ``prefix``."""
    return {
        prefix + field.name: np.asarray(getattr(result, field.name)) for field in fields(result)
    }


def packets_from(columns: Columns, prefix: str) -> PacketResult:
    """Return the packet simulation of `packet_columns`."""
    found: dict[str, Any] = {f.name: columns[prefix + f.name] for f in fields(PacketResult)}
    return PacketResult(**{**found, "end_ps": int(found["end_ps"])})


_TIMES = ("start_s", "end_s", "eligible_s", "promised_s", "scheduling_s", "event_s")
_COLUMNS = (*_TIMES, "overran", "outcome", "allocated_nodes", "event_job", "event_is_start")
_GROUPS: dict[str, type[Any]] = {"placements": PlacementArrays, "spent": TimeSpent}
_WORDS = ("policy", "order", "backfill", "run_time_model", "window", "overrun", "wall_s")


def schedule_columns(result: QueueResult) -> dict[str, NDArray[Any]]:
    """Return a schedule as columns, without its jobs and its machine, which all processes have."""
    words = {name: getattr(result, name) for name in (*_WORDS, "first_blocked_s")}
    words["reports"] = {table: dict(row) for table, row in result.reports.items()}
    text = json.dumps(words, default=_plain)
    columns = {name: getattr(result, name) for name in _COLUMNS}
    columns["words"] = np.frombuffer(text.encode(), dtype=np.uint8)
    if result.needs_Bps is not None:
        columns["needs_Bps"] = result.needs_Bps
    for name in _GROUPS:
        group = getattr(result, name)
        for field in () if group is None else fields(group):
            columns[f"{name}.{field.name}"] = getattr(group, field.name)
    return columns


def schedule_from(columns: Columns, workload: Workload, topology: Topology) -> QueueResult:
    """Return the schedule of `schedule_columns`."""
    found: dict[str, Any] = json.loads(columns["words"].tobytes())
    found |= {name: columns[name] for name in _COLUMNS}
    for name, kind in _GROUPS.items():
        names = [field.name for field in fields(kind)]
        if f"{name}.{names[0]}" in columns:
            found[name] = kind(**{one: columns[f"{name}.{one}"] for one in names})
    return QueueResult(
        workload=workload,
        topology=topology,
        **found,
        needs_Bps=columns.get("needs_Bps"),
    )


def _plain(value: object) -> object:
    """Convert a NumPy number to Python's, which JSON supports."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a number or text")
