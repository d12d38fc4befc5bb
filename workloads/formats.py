"""Formats of job logs: how a file is known for one of them, and read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from netsim.files import first_lines
from netsim.parameters import Example, NamesFile, OneOf
from workloads.job import NODE_FIELDS, UNITS, Workload
from workloads.registry import known_log

if TYPE_CHECKING:
    from workloads.importers.entry import Importer


@dataclass(frozen=True)
class Reading:
    """A job log, how it is read, and which of its jobs are left out."""

    log: Annotated[
        str | None,
        "a job log: SWF, a table (.csv), or a scheduler's own (netcosim list importers)",
        NamesFile,
        Example("log.swf"),
    ] = None
    known_log: Annotated[
        str | None, "how to read it (netcosim list logs)", Example("thunder", {"log": "log.swf"})
    ] = None
    processors_per_node: Annotated[
        int | None, "else that of the known log, else that of the log's header", Ge(1), Example(4)
    ] = None
    node_field: Annotated[str, "which processors make a job's size", OneOf(NODE_FIELDS)] = (
        "allocated"
    )
    statuses: Annotated[
        Sequence[int] | None, "only jobs that ended with one of these", Example([1])
    ] = None
    max_nodes: Annotated[int | None, "larger jobs are left out", Ge(1), Example(1024)] = None
    min_run_time_s: Annotated[float | None, "shorter jobs are left out", Ge(0), Example("10 s")] = (
        None
    )
    size_unit: Annotated[
        str | None,
        "unit of job sizes in logs and generators of GPU clusters: node (the default), or gpu for "
        "machines whose nodes are GPUs (gpu-cluster)",
        OneOf(UNITS),
        Example("gpu"),
    ] = None
    bad_lines: Annotated[
        str | None,
        "lines of a log that are not sound: refuse (the default), or drop, which counts them",
        OneOf(("refuse", "drop")),
        Example("drop"),
    ] = None
    log_sha256: str | None = None
    """Digest of the file when the log was first read; not a parameter of a config."""


@dataclass(frozen=True)
class LogFormat:
    """Settings for reading a log."""

    name: str
    description: str
    read: Callable[[Reading], Workload]
    """``read(reading)``: the jobs of ``reading.log``."""
    counts_processors: bool = False
    """Whether jobs have processors and statuses; if not, they have nodes."""
    drops_lines: bool = False
    """Whether ``Reading.bad_lines`` counts."""
    counts_gpus: bool = False
    """Whether jobs have GPUs, and ``Reading.size_unit`` counts."""


def _swf(reading: Reading) -> Workload:
    """Return the jobs of an SWF log; what is known of it counts where nothing is given."""
    from workloads.swf import read_swf

    assert reading.log is not None
    known = None if reading.known_log is None else known_log(reading.known_log)
    statuses = known.statuses if known is not None else None
    most = known.max_nodes if known is not None else None
    return read_swf(
        reading.log,
        processors_per_node=reading.processors_per_node,
        known_processors_per_node=None if known is None else known.processors_per_node,
        node_field=reading.node_field,
        statuses=reading.statuses if reading.statuses is not None else statuses,
        max_nodes=reading.max_nodes if reading.max_nodes is not None else most,
        min_run_time_s=reading.min_run_time_s,
        bad_lines=reading.bad_lines or "refuse",
    )


def _csv(reading: Reading) -> Workload:
    from workloads.csv_jobs import read_csv

    assert reading.log is not None
    return read_csv(reading.log)


_NUMBERS = re.compile(r";.*|[\s\d.-]+")

SWF = LogFormat(
    "swf", "Standard Workload Format, as the Parallel Workloads Archive has it", _swf, True, True
)
TABLE = LogFormat("csv", "a table with the columns job, nodes, arrival_s, run_s", _csv)


def is_csv(path: str | Path) -> bool:
    """Return whether a job log is a table, by its name; it is SWF if not."""
    return str(path).lower().endswith((".csv", ".csv.gz"))


def format_of(path: str | Path) -> LogFormat:
    """Return the format of a log: the first lines identify a scheduler's log, the suffix .csv a
    table.

    Any other file is SWF.
    """
    head = first_lines(path)
    # comments and rows of numbers are no scheduler's: an SWF log imports no importer
    if head and not _NUMBERS.fullmatch(head[0]):
        from workloads.importers.registry import IMPORTERS

        for importer in IMPORTERS.values():
            if importer.looks_like(head):
                return _imported(importer)
    return TABLE if is_csv(path) else SWF


@cache
def _imported(importer: Importer) -> LogFormat:
    """Return a scheduler's log as it is, with the importer's defaults but for the unit of sizes."""

    def read(reading: Reading) -> Workload:
        assert reading.log is not None
        given = {"size_unit": reading.size_unit, "bad_lines": reading.bad_lines}
        given = {name: value for name, value in given.items() if value is not None}
        return importer.read(reading.log, **given)

    drops, gpus = ("bad_lines" in importer.parameters, "size_unit" in importer.parameters)
    return LogFormat(importer.name, importer.description, read, False, drops, gpus)
