"""The page of a results file: what was computed, what failed, each table by its parameters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from experiments.report.page import Section, render_page
from experiments.store import Store, StoredPoint
from netcosim.axes import table_frame
from netsim.inputs import digests
from netsim.units import format_quantity, time_scale

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 200


def sweep_page(store: Store) -> tuple[str, int]:
    """HTML of a store, and how many of its points have failed.

    Tables are shown as means over the points that share all varying parameters but the
    repetition and the seed.

    Raises
    ------
    NetcosimError
        A store that cannot be read.
    """
    points, meta = store.points(), store.meta()
    failed = [point for point in points if point.status == "failed"]
    seconds = sum(point.seconds for point in points)
    done = len(points) - len(failed)
    lead = (
        f"{len(points):,} points, {done:,} done and {len(failed):,} failed, "
        f"{format_quantity(seconds, 'time', 3)} of computing."
    )
    codes = {point.code for point in points}
    if len(codes) > 1:
        lead += f" Careful: they were computed by {len(codes)} different versions of the sources."
    sections = []
    for name in store.table_names():
        frame, relative = _relative_to(table_frame(store, name))
        frame, told = _means(frame)
        told = f"{told} {relative}".strip()
        sections.append(Section(name.replace("_", " "), told, frame))
    if failed:
        sections.append(Section("Failed points", "", _failures(failed)))
    seeds = Counter(_seed(point) for point in points)
    page = render_page(
        f"Sweep {store.path.stem}",
        lead,
        sections,
        config=str(meta.get("config_text", "")),
        seeds={f"run.seed {seed}": f"{count:,} points" for seed, count in sorted(seeds.items())},
        inputs=digests([point.config for point in points]),
    )
    return page, len(failed)


def _relative_to(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """What the table's ratios are relative to, as a sentence; a column if that varies."""
    if "relative_to" not in frame.columns:
        return frame, ""
    named = list(dict.fromkeys(frame["relative_to"]))
    own = [name for name in named if str(name).endswith("at the same point")]
    told = (
        f"Ratios are relative to {named[0]}."
        if len(named) == 1
        else ("Ratios are relative to what stands in relative to.")
    )
    if own:
        told += (
            " Each point has a reference of its own then, whose ratios are 1 at every point by "
            "construction and whose jobs run as logged if run times are measured; a section "
            "[reference] in the config names one for all points."
        )
    return (frame.drop(columns="relative_to") if len(named) == 1 else frame), told


def _means(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Numbers averaged over repetitions, and a sentence that says so."""
    from pandas.api.types import is_numeric_dtype

    repeated = {"point", "run.repetition", "run.seed", "instant", "job"}
    keys = [
        c
        for c in frame.columns
        if c not in repeated and ("." in c or not is_numeric_dtype(frame[c]))
    ]
    values = [c for c in frame.columns if c not in keys and c not in repeated]
    told = f"{len(frame):,} rows"
    if keys and values:
        frame = frame.groupby(keys, sort=False, dropna=False)[values].mean().reset_index()
        told += f"; means over all that share {', '.join(keys)}"
    else:
        frame = frame.drop(columns=["point"])
    if len(frame) > _MOST_ROWS:
        told += f"; the first {_MOST_ROWS} of {len(frame):,} lines (export for all)"
    return _readable(frame.head(_MOST_ROWS)), f"{told}."


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Short times in a small unit, and keys of the machine as a config spells them."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = {}
    for name in frame.columns:
        title, values = str(name).replace("machine.parameters.", "machine."), frame[name]
        if title.endswith("_s") and is_numeric_dtype(values) and 0 < values.abs().max() < 0.1:
            factor, unit = time_scale(float(values.abs().max()))
            title, values = f"{title[:-2]}_{unit}", values * factor
        columns[title] = values
    return pd.DataFrame(columns)


def _failures(points: list[StoredPoint]) -> pd.DataFrame:
    import pandas as pd

    counted = Counter(point.error or "" for point in points)
    first = {point.error or "": point.key[:12] for point in reversed(points)}
    rows = [
        {"error": error, "points": count, "first_point": first[error]}
        for error, count in counted.most_common()
    ]
    return pd.DataFrame(rows)


def _seed(point: StoredPoint) -> str:
    run = point.config.get("run", {})
    return str(run.get("seed", "?")) if isinstance(run, dict) else "?"
