"""Formats of job logs: how a file with a certain ending is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from netsim.parameters import NamesFile, OneOf
from workloads.csv_jobs import read_csv
from workloads.job import Workload
from workloads.registry import known_log
from workloads.swf import NODE_FIELDS, read_swf, read_swf_header


@dataclass(frozen=True)
class Reading:
    """A job log, how it is read, and which of its jobs are left out.

    Attributes
    ----------
    log_sha256 : str or None
        What the file held when the log was asked for; no parameter of a config.
    """

    log: Annotated[str | None, "a job log: SWF, or a table if it ends in .csv", NamesFile] = None
    known_log: Annotated[str | None, "how to read it (netcosim list logs)"] = None
    processors_per_node: Annotated[
        int | None, "else as the known log has it, else as the log's header says", Ge(1)
    ] = None
    node_field: Annotated[str, "which processors make a job's size", OneOf(NODE_FIELDS)] = (
        "allocated"
    )
    statuses: Annotated[Sequence[int] | None, "only jobs that ended with one of these"] = None
    max_nodes: Annotated[int | None, "larger jobs are left out", Ge(1)] = None
    min_run_time_s: Annotated[float | None, "shorter jobs are left out", Ge(0)] = None
    log_sha256: str | None = None


@dataclass(frozen=True)
class LogFormat:
    """An entry of `FORMATS`.

    Attributes
    ----------
    name, description : str
    endings : tuple of str
        Of the names of its files, in lower case.
    read : callable
        ``read(reading)``: the jobs of ``reading.log``.
    start_unix_s : callable
        ``start_unix_s(path)``: the time 0 of its clock; None where the log does not say.
    counts_processors : bool
        Whether jobs have processors and statuses; if not, they have nodes.
    """

    name: str
    description: str
    endings: tuple[str, ...]
    read: Callable[[Reading], Workload]
    start_unix_s: Callable[[str], float | None]
    counts_processors: bool


def _swf(reading: Reading) -> Workload:
    """The jobs of an SWF log; what is known of it counts where nothing is given."""
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
    )


def _csv(reading: Reading) -> Workload:
    assert reading.log is not None
    return read_csv(reading.log)


FORMATS: dict[str, LogFormat] = {
    entry.name: entry
    for entry in (
        LogFormat(
            "csv",
            "a table with the columns job, nodes, arrival_s, run_s",
            (".csv", ".csv.gz"),
            _csv,
            lambda path: None,
            counts_processors=False,
        ),
        LogFormat(
            "swf",
            "Standard Workload Format, as the Parallel Workloads Archive has it",
            (),
            _swf,
            lambda path: read_swf_header(path).unix_start_time,
            counts_processors=True,
        ),
    )
}
"""Formats by name; a file whose ending no format has is SWF."""


def format_of(path: str) -> LogFormat:
    """The format of a log, by the file's name."""
    found = (entry for entry in FORMATS.values() if path.lower().endswith(entry.endings))
    return next(found, FORMATS["swf"])
