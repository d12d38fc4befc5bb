"""The results file of a folder: points stored, and their tables read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.runs.outcome import Outcome
from netcosim.runs.points import point_key
from netcosim.runs.store import Rows, Store
from netsim.atomic_files import make_folder, write_text_atomically
from netsim.errors import NetcosimError
from netsim.fingerprint import code_fingerprint

if TYPE_CHECKING:
    import pandas as pd

RESULTS_FILE = "results.db"
PAGE_FILE = "report.html"
Point = Mapping[str, object]
Tables = dict[str, Rows]


def results_in(out: Path) -> Path:
    """Return the results file of a folder, neither of which need exist."""
    if out.exists() and not out.is_dir():
        raise NetcosimError(f"{out}: a file; a folder was expected")
    return out / RESULTS_FILE


def put_point(
    store: Store, point: Point, outcome: Outcome, *, config_text: str, title: str
) -> None:
    """Store a point and the entries of the file."""
    with store.together():
        store.put_meta({"config_text": config_text, "title": title})
        store.put(point_key(point), point, outcome, code_fingerprint())


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
