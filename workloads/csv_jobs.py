"""Jobs as a comma-separated table with a header line."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from netsim.errors import NetcosimError
from workloads.job import Workload
from workloads.text import read_text

NEEDED = ("job", "nodes", "arrival_s", "run_s")
OPTIONAL = ("requested_s", "user", "project", "wait_s")
_MOST = 2**31 - 1
_WHOLE = ("job", "nodes", "user", "project")


def read_csv(path: str | Path, *, name: str | None = None) -> Workload:
    """Read a table with the columns job, nodes, arrival_s, run_s, plain or gzipped.

    More columns may be requested_s, user, project and wait_s; others are refused, since
    a misspelt one would go unnoticed. Missing requested times are the run times.

    Raises
    ------
    NetcosimError
        A file that cannot be read, a wrong header, and a line (named ``file:line``) with the
        wrong number of fields, text in a number, nodes or a run time not above 0, or
        an arrival below 0.
    """
    reader = csv.reader(io.StringIO(read_text(path)))
    header = [cell.strip() for cell in next(reader, [])]
    missing = [c for c in NEEDED if c not in header]
    strange = [c for c in header if c not in NEEDED + OPTIONAL]
    if missing or strange or len(set(header)) != len(header):
        raise NetcosimError(
            f"{path}:1: the columns are {', '.join(header) or 'none'}; {', '.join(NEEDED)} are "
            f"needed, {', '.join(OPTIONAL)} may follow"
        )
    columns: dict[str, list[float]] = {c: [] for c in header}
    for cells in reader:
        if not cells:
            continue
        where = f"{path}:{reader.line_num}"
        if len(cells) != len(header):
            raise NetcosimError(f"{where}: {len(cells)} fields; the header has {len(header)}")
        for field, (column, cell) in enumerate(zip(header, cells, strict=True), start=1):
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {cell!r}; a number is needed"
                )
            if column in _WHOLE and (value != int(value) or abs(value) > _MOST):
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {cell!r}; a whole number up to {_MOST} "
                    "is needed"
                )
            least = {"nodes": 1.0, "run_s": 0.0, "arrival_s": 0.0}.get(column)
            if least is not None and (value < least or (column == "run_s" and value == 0)):
                raise NetcosimError(
                    f"{where}: field {field} ({column}) is {cell!r}; it must be "
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
