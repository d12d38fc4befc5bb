"""The results file of a folder, and points that are stored in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netcosim.runs.outcome import Outcome
from netcosim.runs.points import point_key
from netcosim.runs.store import Store
from netsim.errors import NetcosimError
from netsim.fingerprint import code_fingerprint

RESULTS_FILE = "results.db"
PAGE_FILE = "report.html"
Point = Mapping[str, object]


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
