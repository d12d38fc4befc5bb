"""Jobs as a comma-separated table with a header line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from netsim.errors import NetcosimError
from netsim.files import read_lines
from workloads.job import Workload
from workloads.swf_parse import MAX_TIME_S, number_of, short

NEEDED = ("job", "nodes", "arrival_s", "run_s")
OPTIONAL = ("requested_s", "user", "project", "wait_s")
_MOST = 2**31 - 1
_WHOLE = ("job", "nodes", "user", "project")


def is_csv(path: str | Path) -> bool:
    """Whether a job log is a table, by its name; it is SWF if not."""
    return str(path).lower().endswith((".csv", ".csv.gz"))


def read_csv(path: str | Path, *, name: str | None = None) -> Workload:
    """Read a table with the columns job, nodes, arrival_s, run_s, plain or gzipped.

    More columns may be requested_s, user, project and wait_s; others are refused, since
    a misspelt one would go unnoticed. Missing requested times are the run times.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a wrong header, and a line (named ``file:line``) with the
        wrong number of fields, text in a number, nodes or a run time not above 0, or
        an arrival below 0, a time above `workloads.swf_parse.MAX_TIME_S`.
    """
    rows = _cells(path)
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    missing = [c for c in NEEDED if c not in header]
    strange = [c for c in header if c not in NEEDED + OPTIONAL]
    if missing or strange or len(set(header)) != len(header):
        raise NetcosimError(
            f"{path}:1: the columns are {short(', '.join(header)) or 'none'}; "
            f"{', '.join(NEEDED)} are needed, {', '.join(OPTIONAL)} may follow"
        )
    columns: dict[str, list[float]] = {c: [] for c in header}
    for line, cells in rows:
        if not cells:
            continue
        where = f"{path}:{line}"
        if len(cells) != len(header):
            raise NetcosimError(f"{where}: {len(cells)} fields; the header has {len(header)}")
        for field, (column, cell) in enumerate(zip(header, cells, strict=True), start=1):
            value = number_of(cell)
            if value is None:
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {short(cell)!r}; a number is needed"
                )
            if column in _WHOLE and (abs(value) > _MOST or value != int(value)):
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {short(cell)!r}; a whole number up to "
                    f"{_MOST} is needed"
                )
            if abs(value) > MAX_TIME_S:
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {short(cell)!r}; times go up to "
                    f"{MAX_TIME_S:g} s"
                )
            least = {"nodes": 1.0, "run_s": 0.0, "arrival_s": 0.0}.get(column)
            if least is not None and (value < least or (column == "run_s" and value == 0)):
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {short(cell)!r}; it must be "
                    f"{'above 0' if column != 'arrival_s' else 'at least 0'}"
                )
            columns[column].append(value)
    n = len(columns["job"])
    if n == 0:
        raise NetcosimError(f"{path}: the table has no jobs")
    table = {c: np.array(v, dtype=np.float64) for c, v in columns.items()}
    order = np.argsort(table["arrival_s"], kind="stable")
    table = {c: v[order] for c, v in table.items()}
    requested = table.get("requested_s", np.full(n, -1.0))
    no_request = requested <= 0
    notes = (
        (
            f"requested time missing for {100 * no_request.mean():.0f} % of the {n} jobs; "
            "their run time is taken",
        )
        if no_request.any()
        else ()
    )
    wait = table.get("wait_s", np.full(n, -1.0))
    return Workload(
        name=Path(path).name if name is None else name,
        job_id=table["job"].astype(np.int64),
        submit_s=table["arrival_s"],
        run_time_s=table["run_s"],
        n_nodes=table["nodes"].astype(np.int32),
        requested_s=np.where(no_request, table["run_s"], requested),
        user=table.get("user", np.full(n, -1.0)).astype(np.int32),
        project=table.get("project", np.full(n, -1.0)).astype(np.int32),
        wait_s=np.where(wait < 0, np.nan, wait),
        notes=notes,
    )


def _cells(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The table's lines as cells, each with its line number."""
    reader = csv.reader(read_lines(path))
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise NetcosimError(f"{path}:{reader.line_num}: not valid CSV: {error}") from None
        if cells is None:
            return
        yield reader.line_num, cells
