"""A run's independent parts: schedules and packet simulations, each an array or a few by name.

A step of a run says what its parts are and asks `TaskRunner` for all of them. Whoever stands behind
it may compute them here one after the other (`SerialExecutor`), on several processes, or find them
where a run that was stopped has left them: a part is the same wherever and whenever it is computed,
and what it gives is numbers alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.packet.model import PacketResult
from netsim.topology import Topology
from queuesim.result import KeptPlacements, QueueResult
from workloads.job import Workload

Columns = Mapping[str, NDArray[Any]]
"""What a part gives: arrays by name, none of them of objects."""
Tell = Callable[[float], None]
"""Called with the share of a part that is done, 0 to 1."""
Progress = Callable[[str, float], None]
"""Called with a part's name and the share of all parts that is done, 0 to 1."""

MOST = 64
"""Parts into which a long row of like things is cut: what a stopped run loses of it at most."""


@dataclass(frozen=True)
class Part:
    """Something to compute.

    Attributes
    ----------
    name : str
        Its own in the whole run, the same in every process.
    compute : callable (tell) -> columns
    digest : str
        Of all that it depends on: parts with equal ones give the same in any run. Empty where
        that is not known.
    """

    name: str
    compute: Callable[[Tell], Columns]
    digest: str = ""


class TaskRunner(Protocol):
    """Gets parts computed."""

    def each(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Columns]:
        """What the parts give, in their order; none of them needs another one of these.

        Raises
        ------
        NetcosimError
            What a part refuses.
        """
        ...


class SerialExecutor:
    """Computes parts in this process, one after the other.

    Runs that differ only in what a part does not depend on, such as points of a sweep that share
    their schedules, compute it once if it is kept.

    Parameters
    ----------
    keep : int
        How many parts with a digest are kept for the next run; the least recently used is dropped
        first.
    """

    def __init__(self, keep: int = 0) -> None:
        self._most = keep
        self._kept: dict[str, Columns] = {}

    def each(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Columns]:
        """See `TaskRunner.each`."""
        found = []
        for done, part in enumerate(parts):
            columns = self._kept.pop(part.digest, None)
            if columns is None:
                columns = part.compute(share_of(progress, part.name, done, len(parts)))
            if part.digest:
                self._kept[part.digest] = columns
                if len(self._kept) > self._most:
                    del self._kept[next(iter(self._kept))]
            found.append(columns)
        return found


@dataclass(frozen=True)
class PrefixedRunner:
    """Parts under names of their own: for what a run does more than once.

    Attributes
    ----------
    parts : TaskRunner
    before : str
        Stands before every name.
    """

    parts: TaskRunner
    before: str

    def each(self, parts: Sequence[Part], progress: Progress | None = None) -> list[Columns]:
        """See `TaskRunner.each`."""
        named = [replace(part, name=self.before + part.name) for part in parts]
        return self.parts.each(named, progress)


def share_of(progress: Progress | None, name: str, done: int, total: int) -> Tell:
    """Tells a part's share as that of all parts, of which so many are done."""

    def tell(share: float) -> None:
        if progress is not None:
            progress(name, (done + share) / total)

    return tell


def within(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Progress of a step that takes this share of the work."""
    if progress is None:
        return None
    return lambda what, share: progress(what, begin + share * (end - begin))


def cut(things: Sequence[Any], most: int = MOST) -> list[Sequence[Any]]:
    """A row in at most so many pieces of one length, but for the last."""
    length = -(-len(things) // most) or 1
    return [things[i : i + length] for i in range(0, len(things), length)]


def packet_columns(result: PacketResult, before: str) -> dict[str, NDArray[Any]]:
    """A packet simulation as columns, with something before their names."""
    return {
        before + field.name: np.asarray(getattr(result, field.name)) for field in fields(result)
    }


def packets_from(columns: Columns, before: str) -> PacketResult:
    """The packet simulation of `packet_columns`."""
    found: dict[str, Any] = {f.name: columns[before + f.name] for f in fields(PacketResult)}
    return PacketResult(**{**found, "end_ps": int(found["end_ps"])})


_TIMES = ("start_s", "end_s", "eligible_s", "promised_s", "scheduling_s", "event_s")
_COLUMNS = (*_TIMES, "overran", "outcome", "allocated_nodes", "event_job", "event_is_start")
_WORDS = ("policy", "order", "backfill", "run_time_model", "window", "overrun", "wall_s")


def schedule_columns(result: QueueResult) -> dict[str, NDArray[Any]]:
    """A schedule as columns, without its jobs and its machine, which everybody has."""
    told = {name: getattr(result, name) for name in (*_WORDS, "first_blocked_s")}
    told["reports"] = {table: dict(row) for table, row in result.reports.items()}
    text = json.dumps(told, default=_plain)
    columns = {name: getattr(result, name) for name in _COLUMNS}
    columns["words"] = np.frombuffer(text.encode(), dtype=np.uint8)
    if result.needs_Bps is not None:
        columns["needs_Bps"] = result.needs_Bps
    if result.placements is not None:
        kept = {field.name: getattr(result.placements, field.name) for field in fields(_KEPT)}
        columns |= {f"placements.{name}": column for name, column in kept.items()}
    return columns


def schedule_from(columns: Columns, workload: Workload, topology: Topology) -> QueueResult:
    """The schedule of `schedule_columns`."""
    found: dict[str, Any] = json.loads(columns["words"].tobytes())
    found |= {name: columns[name] for name in _COLUMNS}
    kept = None
    if "placements.nodes" in columns:
        kept = KeptPlacements(**{f.name: columns[f"placements.{f.name}"] for f in fields(_KEPT)})
    return QueueResult(
        workload=workload,
        topology=topology,
        **found,
        placements=kept,
        needs_Bps=columns.get("needs_Bps"),
    )


_KEPT = KeptPlacements


def _plain(value: object) -> object:
    """A NumPy number as Python's, which JSON knows."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a number or text")
