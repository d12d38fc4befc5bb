"""The page of a sweep: which policy is best where, curves, then tables and every point."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.archive.values import ArchivedRun
from netcosim.report.about import ABOUT, config_section, sweep_facts
from netcosim.report.compared import Compared, compare
from netcosim.report.figures.drawing import Drawing
from netcosim.report.figures.style import policy_colours
from netcosim.report.figures.sweep import (
    BY_REGION,
    CLIPPED,
    COMPARED,
    MOST_PANELS,
    PAIRS,
    TEXTS,
    WAITS,
    spread,
    sweep_drawings,
)
from netcosim.report.page import HATCHED, PALE, Section, long_table, render_page
from netcosim.report.recommendation import Recommendation
from netcosim.report.run_page import heading_of
from netcosim.report.sweep_tables import (
    LAST,
    failures,
    points_table,
    policies_table,
)
from netcosim.report.sweep_verdict import recommend, verdict
from netcosim.report.swept import swept
from netcosim.report.table import LINK
from netcosim.runs.frames import parameters_that_vary
from netcosim.runs.store import Store
from netcosim.runs.store_format import StoredPoint
from netsim.inputs import digests
from netsim.units import format_quantity

if TYPE_CHECKING:
    import pandas as pd

POLICIES = "policies"
EXPORTED = "; netcosim report --export csv has all"
CHANGES = "Communication time is the change in percent from"
_FEW_POINTS, _MOST_TEXTS = 40, 40


@dataclass(frozen=True)
class _Table:
    """A table of all points, and which of its columns are parameters."""

    name: str
    frame: pd.DataFrame
    parameters: tuple[str, ...]

    @property
    def own(self) -> list[str]:
        return [c for c in map(str, self.frame.columns) if c not in (*self.parameters, "point")]


def sweep_page(store: Store, pages: Mapping[str, str] | None = None) -> tuple[str, int]:
    """Return the HTML of a store, and how many of its points have failed."""
    points, meta = store.points(), store.meta()
    failed = [point for point in points if point.status == "failed"]
    tables = {name: _table(store, name) for name in store.table_names() if name != ABOUT}
    compared = _compared(tables.get(POLICIES), points)
    about = _what_there_is(points, failed, compared, meta)
    sections, lead, kept = list[Section](), about, dict[str, ArchivedRun]()
    if compared is not None:
        lead, kept = "", _kept(store, compared)
        sections = [
            recommend(compared, _mean_s(points)).section(),
            Section("Results", sentences=verdict(compared)),
            Section("Setup", facts=[("Points", [about]), *sweep_facts(points, kept)]),
            *_policy_sections(compared, tables.pop(POLICIES), kept),
        ]
    if failed:
        sections.append(Section("Failed points", "", failures(failed)))
    listed = _points_section(store, points, pages or {}, opened=compared is not None)
    rest = [_table_section(table) for table in _in_order(tables.values())]
    sections += [listed, *rest] if compared is not None else [*rest, listed]
    if ABOUT in store.table_names():
        texts = list(dict.fromkeys(map(str, _table(store, ABOUT).frame["text"])))
        more = [f"{len(texts) - _MOST_TEXTS:,} more."] if len(texts) > _MOST_TEXTS else []
        sections.append(Section("Jobs", "\n\n".join([*texts[:_MOST_TEXTS], *more])))
    seeds = Counter(_seed(point) for point in points)
    page = render_page(
        sweep_title(points, store.path),
        lead,
        sections,
        command=f"netcosim sweep {Path(str(meta.get('config_file', 'CONFIG.toml'))).name}",
        config=str(meta.get("config_text", "")),
        seeds={f"run.seed {seed}": f"{count:,} points" for seed, count in sorted(seeds.items())},
        inputs=digests([point.config for point in points]),
    )
    return page, len(failed)


def sweep_title(points: Sequence[StoredPoint], path: Path) -> str:
    """Return the name that the config gives its runs, or that of the results file."""
    names = {str(config_section(point.config, "run").get("name") or "") for point in points}
    return next(iter(names)) if len(names) == 1 and names != {""} else path.stem


def sweep_answer(store: Store) -> tuple[Recommendation, list[Section]] | None:
    """Return the recommendation of a sweep's page, its first figure and its first table.

    None without a table of policies.
    """
    compared = stored_comparison(store)
    if compared is None:
        return None
    drawings = sweep_drawings(compared, {})
    first = next(iter(drawings.values()), [])[:1]
    table = Section("Policies", "", policies_table(compared))
    return recommend(compared, _mean_s(store.points())), [Section("", drawings=first), table]


def _mean_s(points: Sequence[StoredPoint]) -> float:
    return sum(point.seconds for point in points) / len(points)


def stored_drawings(store: Store) -> list[Drawing]:
    """Return every drawing of the page; none without a table of policies."""
    compared = stored_comparison(store)
    if compared is None:
        return []
    found = sweep_drawings(compared, _kept(store, compared))
    return [drawing for drawings in found.values() for drawing in drawings]


def stored_comparison(store: Store) -> Compared | None:
    """Return the policies at every point of a store; None without a table of policies."""
    if POLICIES not in store.table_names():
        return None
    return _compared(_table(store, POLICIES), store.points())


def _kept(store: Store, compared: Compared) -> dict[str, ArchivedRun]:
    """Return what was kept of a point of each of some cells, by key."""
    keys = {cell: key for key, cell in reversed([*compared.swept.cells.items()])}
    some = [keys[cell] for cell in spread(sorted(keys), MOST_PANELS)]
    found = ((key, store.kept(key)) for key in some)
    return {key: kept for key, kept in found if kept is not None}


def _table(store: Store, name: str) -> _Table:
    frame = store.frame(name)
    own: set[str] = set()
    for key in dict.fromkeys(frame["point"]):
        own |= {str(column) for row in store.rows(key, name)[:1] for column in row}
    parameters = [str(c) for c in frame.columns if c != "point" and c not in own]
    return _Table(name, frame, tuple(parameters))


def _compared(table: _Table | None, points: Sequence[StoredPoint]) -> Compared | None:
    """Return the policies at every point; None where the table is another's, or empty."""
    if table is None or not {"policy", "point"} <= set(table.frame.columns):
        return None
    configs = {point.key: point.config for point in points}
    found = compare(table.frame, swept(table.frame, table.own), configs)
    return found if found.metrics else None


def _what_there_is(
    points: Sequence[StoredPoint],
    failed: Sequence[StoredPoint],
    compared: Compared | None,
    meta: dict[str, object],
) -> str:
    """Describe how many points there are, over what, and what a reader must know of them."""
    seconds = sum(point.seconds for point in points)
    text = f"{len(points):,} points"
    if compared is not None and compared.swept.axes:
        axes = [f"{a.title} ({_format_values(a.labels)})" for a in compared.swept.axes]
        text += f" over {' and '.join(axes)}"
    repeated = len(set(compared.swept.repetitions.values())) if compared is not None else 1
    if repeated > 1:
        text += f", {repeated} repetitions"
    text += (
        f": {len(points) - len(failed):,} done and {len(failed):,} failed, "
        f"{format_quantity(seconds, 'time', 3)} of computing."
    )
    codes = {point.code for point in points}
    if len(codes) > 1:
        text += f" Careful: they were computed by {len(codes)} different versions of the sources."
    if compared is None:
        text += " They have no table of policies: all tables are listed unchanged."
    paper = meta.get("paper")
    if isinstance(paper, str):
        text += f" They belong to a paper; netcosim reproduce {paper} draws its figures."
    return text


def _format_values(labels: Sequence[str]) -> str:
    if len(labels) <= 4:
        return ", ".join(labels)
    return f"{len(labels)} from {labels[0]} to {labels[-1]}"


def _policy_sections(
    compared: Compared, table: _Table, kept: Mapping[str, ArchivedRun]
) -> list[Section]:
    """Return the drawings, and the tables that they come from."""
    paints = policy_colours(compared.policies)
    states = [compared.best(m, cell) for m in compared.metrics for cell in compared.cells()]
    of_maps = {**paints, "not significant": HATCHED}
    if any(best is not None and best.state == "no interval" for best in states):
        of_maps["pale: best value, but no interval"] = PALE
    legends = {BY_REGION: of_maps, PAIRS: {}, WAITS: {}, COMPARED: {}}
    sections = [
        Section(title, TEXTS.get(title, CLIPPED), legend=legends.get(title, paints), drawings=drawn)
        for title, drawn in sweep_drawings(compared, kept).items()
    ]
    shown = policies_table(compared)
    sections.append(
        long_table("Policies", shown, _relative_to(table.frame, CHANGES), rest=EXPORTED)
    )
    return sections


def _relative_to(frame: pd.DataFrame, what: str = "Ratios are relative to") -> str:
    """Describe what the table's ratios are relative to, as a sentence."""
    if "relative_to" not in frame.columns:
        return ""
    named = list(dict.fromkeys(map(str, frame["relative_to"])))
    text = (
        f"{what} {named[0]}."
        if len(named) == 1
        else f"{what} {len(named)} references, listed in the exported table."
    )
    if any(name.endswith("at the same point") for name in named):
        text += (
            " Each point then has a separate reference, which does not change at any point by "
            "construction and whose jobs run as logged if run times are measured; a section "
            "[reference] in the config names one for all points."
        )
    return text


def _points_section(
    store: Store, points: Sequence[StoredPoint], pages: Mapping[str, str], *, opened: bool
) -> Section:
    """Return every point, with a link to its page, or the command that makes it if it is a run."""
    parameters = parameters_that_vary([point.config for point in points])
    path = shlex.quote(str(store.path)) if opened else None
    shown = points_table(points, parameters, path)
    text = "The command of a row opens that point as a run." if opened else ""
    if pages:
        shown = shown.assign(**{LINK: [pages.get(point.key, "") for point in points]})
        text = "Each point is a run, with its own page."
    folded = not opened or len(points) > _FEW_POINTS
    return long_table("Points", shown, text, rest=EXPORTED, folded=folded)


def _in_order(tables: Iterable[_Table]) -> list[_Table]:
    """Return the tables by name, those of `LAST` last."""

    def rank(table: _Table) -> tuple[int, str]:
        return LAST.index(table.name) + 1 if table.name in LAST else 0, table.name

    return sorted(tables, key=rank)


def _table_section(table: _Table) -> Section:
    frame = table.frame.drop(columns="point", errors="ignore")
    title, text = heading_of(table.name)
    text = " ".join(filter(None, (" ".join(text.split()), _relative_to(frame))))
    spelt = frame.rename(columns=lambda c: str(c).replace("machine.parameters.", "machine."))
    return long_table(title, spelt, text, rest=EXPORTED, folded=table.name in LAST)


def _seed(point: StoredPoint) -> str:
    return str(config_section(point.config, "run").get("seed", "?"))
