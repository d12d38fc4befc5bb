"""Points of a study: computed on processes or ranks, stored, and their tables read together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcosim.runs.points import Point, point_key
from netcosim.runs.store import Rows, Store
from netcosim.runs.sweep import SweepSummary, run_points
from netsim.atomic_files import make_folder, write_text_atomically
from netsim.fingerprint import code_fingerprint

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, Rows]


def compute_points(
    function: str,
    points: Sequence[dict[str, Any]],
    store: Path,
    *,
    jobs: int,
    progress: bool,
    executor: str = "",
    retry_failed: bool = False,
    first: Callable[[dict[str, Any]], int] | None = None,
) -> tuple[SweepSummary, Tables] | None:
    """Compute the points that a store does not hold; return the summary and all their tables.

    It takes what `netcosim.runs.sweep.run_points` takes, makes the store's folder if it is missing,
    and begins points of a smaller key ``first``; tables keep the order of the points. MPI ranks
    other than 0 return None.
    """
    make_folder(store.parent)
    ordered = points if first is None else sorted(points, key=first)
    summary = run_points(
        function,
        ordered,
        store,
        jobs=jobs,
        retry_failed=retry_failed,
        progress=progress,
        executor=executor,
    )
    return None if summary is None else (summary, read_tables(store, points))


def stored_keys(results: Path) -> set[str]:
    """Return the keys of the points that today's sources have computed and stored."""
    if not results.exists():
        return set()
    with Store(results, "read") as store:
        code = code_fingerprint()
        return {p.key for p in store.points() if p.status == "done" and p.code == code}


def computing_s(results: Path, points: Sequence[Point]) -> float:
    """Return the seconds that points of a results file took to compute."""
    keys = set(map(point_key, points))
    with Store(results, "read") as store:
        return sum(point.seconds for point in store.points() if point.key in keys)


def read_tables(path: str | Path, points: Sequence[Point]) -> Tables:
    """Return the tables of these points, joined over the points in their order.

    Points that failed are left out.
    """
    tables: dict[str, list[Mapping[str, object]]] = {}
    with Store(path, "read") as store:
        done = {key for key, status in store.statuses().items() if status == "done"}
        for key in dict.fromkeys(map(point_key, points)):
            for name, found in store.tables(key).items() if key in done else ():
                tables.setdefault(name, []).extend(found)
    return dict(tables)


def write_tables(
    folder: Path, frames: Mapping[str, pd.DataFrame], float_format: str | None = None
) -> list[Path]:
    """Write a CSV file a table, each whole or not at all; return their paths."""
    make_folder(folder)
    files = []
    for name, frame in frames.items():
        files.append(folder / f"{name}.csv")
        write_text_atomically(files[-1], frame.to_csv(index=False, float_format=float_format))
    return files
