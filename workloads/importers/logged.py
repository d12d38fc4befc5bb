"""A job in a scheduler's log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import nan
from typing import Annotated

from netsim.parameters import OneOf

BadLines = Annotated[
    str, "lines that are not sound: stop, or leave them out", OneOf(("refuse", "drop"))
]


@dataclass(slots=True)
class LoggedJob:
    """A job as logged; missing values are nan or empty.

    Attributes
    ----------
    id : str
        As the log writes it; two jobs with the same are runs of one job.
    line : int
        In the file, for errors.
    number : int or None
        The log's own whole number of it, if that is not ``id``.
    submit_s, start_s, end_s : float
        Unix time, or any other clock.
    limit_s : float
        Requested walltime.
    nodes, cpus, gpus : int
        0: not logged.
    hosts : str
        A host list (`netsim.hostlist`).
    waits_for : tuple of (str, str)
        Kinds of `workloads.details.DEPENDENCY_KINDS` with ids of jobs; the id of an array is used
        for all its tasks.
    """

    id: str
    line: int
    number: int | None = None
    submit_s: float = nan
    start_s: float = nan
    end_s: float = nan
    limit_s: float = nan
    nodes: int = 0
    cpus: int = 0
    gpus: int = 0
    hosts: str = ""
    status: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    priority: float = nan
    waits_for: tuple[tuple[str, str], ...] = ()
    pattern: str = ""
    communication_fraction: float = nan
    bytes_per_node_s: float = nan


@dataclass
class Found:
    """Result of reading a file.

    Attributes
    ----------
    jobs : list of LoggedJob
        Those that ran, in any order.
    dropped : Counter of str
        Lines that are no such job, by reason.
    notes : list of str
    """

    jobs: list[LoggedJob] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
