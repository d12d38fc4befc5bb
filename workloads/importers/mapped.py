"""Any table of jobs, in CSV or Parquet, whose columns the user names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Annotated

from netsim.errors import NetcosimError, need_name, unknown_name
from workloads.dependencies import parse_dependency
from workloads.importers.assemble import workload_of
from workloads.importers.dates import LogClock, Zone, in_order
from workloads.importers.entry import Importer
from workloads.importers.gpu_sizes import GpusPerNode, SizeUnit, count_by
from workloads.importers.logged import BadLines, LoggedJob, ParsedLog
from workloads.importers.shared_nodes import SharedNodes
from workloads.importers.tables import TableRow, TableRows, csv_rows, parquet_rows
from workloads.job import NODE, Workload

COLUMNS = (
    "job",
    "nodes",
    "gpus",
    "submit",
    "start",
    "end",
    "run",
    "wait",
    "requested",
    "user",
    "account",
    "partition",
    "qos",
    "node_list",
    "priority",
    "dependency",
    "status",
    "pattern",
    "communication_fraction",
    "bytes_per_node_s",
)
"""What a column of a table may be taken for."""

ColumnMap = Annotated[Sequence[str], 'the mapping of columns, NAME=COLUMN, such as "job=JobID"']


def _reader(rows_in: Callable[[str | Path], TableRows]) -> Callable[..., Workload]:
    def read(
        path: str | Path,
        *,
        columns: ColumnMap = (),
        timezone: Zone = "UTC",
        shared_nodes: SharedNodes = "refuse",
        size_unit: SizeUnit = NODE,
        gpus_per_node: GpusPerNode = 8,
        bad_lines: BadLines = "refuse",
    ) -> Workload:
        """Read a table.

        Needed are job, nodes or gpus, submit, and end or run; without start or wait, jobs start
        when they are submitted and waits are not known. A column with a name in `COLUMNS` need not
        be mapped. Times are dates or numbers of seconds on any clock, lengths are seconds or
        hours:minutes:seconds, node lists are host lists, dependencies as "afterok:12:13".
        """
        how = timezone, shared_nodes, size_unit, gpus_per_node, bad_lines
        rows = mapped_rows(path, rows_in(path), columns)
        return read_rows(rows, path, *how, refuse_twice=True)

    return read


read_mapped_csv = _reader(csv_rows)
"""Read a table in CSV, separated by commas, semicolons, tabs or bars."""
read_mapped_parquet = _reader(parquet_rows)
"""Read a table in Parquet; needs pyarrow."""


def mapped_rows(path: str | Path, rows: TableRows, columns: Sequence[str]) -> Iterator[TableRow]:
    """Return the rows of a table with the names of `COLUMNS`, as NAME=COLUMN maps them."""
    taken, names = _mapped(path, rows.columns, columns), list(rows.columns)
    return (TableRow(row.where, row.line, taken, row.cells, names, row.fault) for row in rows)


def read_rows(
    rows: Iterable[TableRow],
    path: str | Path,
    timezone: str,
    shared_nodes: str,
    size_unit: str,
    gpus_per_node: int,
    bad_lines: str,
    *,
    refuse_twice: bool = False,
) -> Workload:
    """Return the jobs of rows with the names of `COLUMNS`; see `read_mapped_csv`."""
    clock, parsed = LogClock(timezone), ParsedLog(bad_lines=bad_lines)
    has: Mapping[str, int] = {}
    seen: dict[str, int] = {}
    for row in rows:
        has = row.at
        with parsed.reading():
            job = _job(row, clock)
            first = seen.setdefault(job.id, row.line) if refuse_twice else row.line
            if first != row.line:
                raise NetcosimError(
                    f"{path}:{row.line}: job {job.id} is listed twice (line {first} has it)"
                )
            if isnan(job.start_s):
                parsed.dropped["never began"] += 1
            elif "nodes" in has and not job.nodes:
                parsed.dropped["no node"] += 1
            else:
                parsed.jobs.append(job)
    if "gpus" in has:
        count_by(parsed, size_unit, gpus_per_node)
    elif has and size_unit != NODE:
        raise NetcosimError(f"{path}: no column for gpus, which size_unit = {size_unit!r} needs")
    waits = not has or "start" in has or "wait" in has
    return workload_of(parsed, path, shared=shared_nodes, waits=waits)


def _mapped(path: str | Path, columns: Mapping[str, int], given: Sequence[str]) -> dict[str, int]:
    """Return the position of each known column, by netcosim's names."""
    taken = {name: columns[name] for name in COLUMNS if name in columns}
    for pair in given:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not column:
            raise NetcosimError(f"columns = {pair!r}; NAME=COLUMN is needed, as in job=JobID")
        need_name("column", name, COLUMNS)
        if column.lower() not in columns:
            raise unknown_name(f"column of {path}", column, columns)
        taken[name] = columns[column.lower()]
    needed = (("job",), ("nodes", "gpus"), ("submit",), ("end", "run"))
    missing = [" or ".join(names) for names in needed if not set(names) & set(taken)]
    if missing:
        raise NetcosimError(
            f"{path}: no column for {', '.join(missing)}; columns = NAME=COLUMN, ... maps columns "
            f"of the table, which has {', '.join(columns)}"
        )
    return taken


def _job(row: TableRow, clock: LogClock) -> LoggedJob:
    """Return the job of a row whose columns have our names."""
    id = row.text("job")
    if not id:
        raise row.wrong("job", "a name or a number is needed")
    run_s, wait_s = row.length_s("run"), row.length_s("wait")
    submit, start, end = (row.date(name, clock) for name in ("submit", "start", "end"))
    if not {"start", "wait"} & set(row.at):
        wait_s = 0.0
    if isnan(start[0]):
        start = submit[0] + wait_s, submit[1] + wait_s
    if isnan(end[0]):
        end = start[0] + run_s, start[1] + run_s
    submit_s, start_s, end_s = in_order(submit, start, end, run_s)
    try:
        waits_for = tuple(parse_dependency(row.text("dependency")))
    except NetcosimError as error:
        raise NetcosimError(f"{row.where}: {error}") from None
    return LoggedJob(
        id=id.removesuffix(".0"),
        line=row.line,
        submit_s=submit_s,
        start_s=start_s,
        end_s=end_s,
        limit_s=row.length_s("requested"),
        nodes=row.integer("nodes"),
        gpus=row.integer("gpus"),
        hosts=row.text("node_list"),
        status=row.text("status").lower(),
        user=row.text("user"),
        account=row.text("account"),
        partition=row.text("partition"),
        qos=row.text("qos"),
        priority=row.number("priority", least=-1e300),
        waits_for=waits_for,
        pattern=row.text("pattern"),
        communication_fraction=row.number("communication_fraction", most=1.0),
        bytes_per_node_s=row.number("bytes_per_node_s"),
    )


IMPORTERS = (
    Importer("csv", "any table in CSV, with a map of its columns", read_mapped_csv),
    Importer(
        "parquet",
        "any table in Parquet, with a map of its columns (needs pyarrow)",
        read_mapped_parquet,
    ),
)
