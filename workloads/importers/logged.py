"""A job in a scheduler's log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import nan
from typing import Annotated

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from workloads.swf_parse import NOT_SOUND

BadLines = Annotated[
    str, "lines that are not sound: stop, or leave them out", OneOf(("refuse", "drop"))
]

DROP_HINT = 'bad_lines = "drop" leaves such lines out'


@dataclass(slots=True)
class LoggedJob:
    """A job as logged; missing values are nan or empty."""

    id: str
    """As the log writes it; two jobs with the same are runs of one job."""
    line: int
    """In the file, for errors."""
    number: int | None = None
    """The log's own whole number of it, if that is not ``id``."""
    submit_s: float = nan
    start_s: float = nan
    end_s: float = nan
    """submit_s, start_s, end_s: Unix time, or any other clock."""
    limit_s: float = nan
    """Requested walltime; nan: none."""
    suspended_s: float = 0.0
    """Time within the run in which its nodes were given to others."""
    nodes: int = 0
    cpus: int = 0
    gpus: int = 0
    """nodes, cpus, gpus: 0: not logged."""
    hosts: str = ""
    """A host list (`netsim.hostlist`)."""
    status: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    priority: float = nan
    waits_for: tuple[tuple[str, str], ...] = ()
    """Kinds of `workloads.details.DEPENDENCY_KINDS` with ids of jobs; the id of an array is used
    for all its tasks."""
    pattern: str = ""
    communication_fraction: float = nan
    bytes_per_node_s: float = nan


@dataclass
class ParsedLog:
    """Result of reading a file."""

    jobs: list[LoggedJob] = field(default_factory=list)
    """Those that ran, in any order."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Lines that are no such job, by reason."""
    notes: list[str] = field(default_factory=list)
    bad_lines: str = "refuse"
    """See `BadLines`."""

    def reading(self, where: str = "") -> _Reading:
        """Leave out and count what is not sound within the block, or stop and name ``where``."""
        return _Reading(self, where)


class _Reading:
    """The block of `ParsedLog.reading`."""

    def __init__(self, parsed: ParsedLog, where: str) -> None:
        self._found, self._where = parsed, where

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ValueError):
            return False
        if self._found.bad_lines == "refuse":
            place = f"{self._where}: " if self._where else ""
            raise NetcosimError(f"{place}{error}; {DROP_HINT}") from None
        self._found.dropped[NOT_SOUND] += 1
        return True
