"""The page of a sweep: which policy is best where, curves, then tables and every point."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from netcosim.axes import table_frame
from netcosim.report.about import ABOUT
from netcosim.report.compared import Compared, compare
from netcosim.report.figures.drawing import Drawing, safe_name
from netcosim.report.figures.style import policy_colours
from netcosim.report.figures.sweep import (
    CLIPPED,
    best_drawings,
    curve_drawings,
    forest_drawing,
)
from netcosim.report.glossary import asset
from netcosim.report.page import Section, long_table, render_page
from netcosim.report.recommendation import Recommendation
from netcosim.report.svg import figure_html
from netcosim.report.sweep_tables import (
    ITEMS,
    LAST,
    averaged,
    best_table,
    failures,
    points_table,
    policies_table,
)
from netcosim.report.sweep_verdict import recommend, verdict
from netcosim.report.swept import REPETITIONS, swept
from netcosim.report.table import LINK
from netcosim.report.templates import part
from netcosim.runs.frames import varying
from netcosim.runs.points import flatten
from netcosim.runs.store import Store
from netcosim.runs.store_format import StoredPoint
from netsim.inputs import digests
from netsim.units import format_quantity

if TYPE_CHECKING:
    import pandas as pd

POLICIES = "policies"
EXPORTED = "; netcosim report --export csv has all"
_FIRST = 3
"""Metrics whose curves are open; the others are folded."""
_FEW_POINTS = 40


@dataclass(frozen=True)
class _Table:
    """A table of all points, and which of its columns are parameters."""

    name: str
    frame: pd.DataFrame
    parameters: tuple[str, ...]

    @property
    def own(self) -> list[str]:
        return [c for c in map(str, self.frame.columns) if c not in (*self.parameters, "point")]

    @property
    def has_items(self) -> bool:
        """Whether its rows are of single things, such as jobs."""
        return not ITEMS.isdisjoint(self.own)


_MOST_TEXTS = 40


def sweep_page(store: Store, pages: Mapping[str, str] | None = None) -> tuple[str, int]:
    """Return the HTML of a store, and how many of its points have failed.

    Parameters
    ----------
    pages : mapping, optional
        Where points have pages, by key.
    """
    points, meta = store.points(), store.meta()
    failed = [point for point in points if point.status == "failed"]
    tables = {name: _table(store, name) for name in store.table_names() if name != ABOUT}
    compared = _compared(tables.get(POLICIES), points)
    sections: list[Section] = []
    about = _what_there_is(points, failed, compared, meta)
    if compared is not None:
        sentences = verdict(compared)
        sections = [
            recommend(compared, _mean_s(points)).section(),
            Section("Setup", "\n\n".join([*sentences[:2], about])),
            *_policy_sections(compared, sentences[2:], tables[POLICIES]),
        ]
    if failed:
        sections.append(Section("Failed points", "", failures(failed)))
    listed = _points_section(store, points, pages or {}, opened=compared is not None)
    if compared is not None:
        del tables[POLICIES]
    rest = [_table_section(table) for table in _in_order(tables.values())]
    sections += [listed, *rest] if compared is not None else [*rest, listed]
    if ABOUT in store.table_names():
        texts = list(dict.fromkeys(map(str, _table(store, ABOUT).frame["text"])))
        more = [f"{len(texts) - _MOST_TEXTS:,} more."] if len(texts) > _MOST_TEXTS else []
        sections.append(Section("Jobs", "\n\n".join([*texts[:_MOST_TEXTS], *more])))
    seeds = Counter(_seed(point) for point in points)
    page = render_page(
        sweep_title(points, store.path),
        "" if compared is not None else about,
        sections,
        command=f"netcosim sweep {Path(str(meta.get('config_file', 'CONFIG.toml'))).name}",
        config=str(meta.get("config_text", "")),
        seeds={f"run.seed {seed}": f"{count:,} points" for seed, count in sorted(seeds.items())},
        inputs=digests([point.config for point in points]),
        styles=[asset("sweep.css")],
    )
    return page, len(failed)


def sweep_title(points: Sequence[StoredPoint], path: Path) -> str:
    """Return the name that the config gives its runs, or that of the results file."""
    runs = [run for point in points if isinstance(run := point.config.get("run"), Mapping)]
    names = {str(run.get("name") or "") for run in runs}
    return next(iter(names)) if len(names) == 1 and names != {""} else path.stem


def sweep_answer(store: Store) -> tuple[Recommendation, list[Section]] | None:
    """Return the recommendation of a sweep's page, its first figure and its first table.

    None without a table of policies.
    """
    compared = _stored_comparison(store)
    if compared is None:
        return None
    drawing = _drawings(compared)[0]
    figure = Section(drawing.title, figure=drawing.draw(), caption=drawing.caption)
    table = Section("Policies", "", policies_table(compared))
    points = store.points()
    return recommend(compared, _mean_s(points)), [figure, table]


def _mean_s(points: Sequence[StoredPoint]) -> float:
    return sum(point.seconds for point in points) / len(points)


def sweep_drawings(store: Store) -> list[Drawing]:
    """Return every drawing of the page, with unique names; none without a table of policies."""
    compared = _stored_comparison(store)
    return [] if compared is None else _drawings(compared)


def _stored_comparison(store: Store) -> Compared | None:
    if POLICIES not in store.table_names():
        return None
    return _compared(_table(store, POLICIES), store.points())


def _drawings(compared: Compared) -> list[Drawing]:
    return [*best_drawings(compared), *(d for group in _curves(compared) for d in group)]


def _table(store: Store, name: str) -> _Table:
    frame = table_frame(store, name)
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


def _policy_sections(compared: Compared, sentences: Sequence[str], table: _Table) -> list[Section]:
    """Return best policies, curves along every axis, and the table that they come from."""
    more = part("comparison", sentences)
    sections = []
    maps = best_drawings(compared)
    if maps:
        inside = [_legend(compared, hatched=True), *_drawn(maps, headed=len(maps) > 1), more]
        sections.append(Section("Best policy by region", html=Markup("").join(inside)))
    groups = _curves(compared)
    for drawings, axis in zip(groups, compared.swept.axes or [None], strict=True):
        inside = [] if axis is None else [_legend(compared)]
        inside += _drawn(drawings, headed=len(drawings) > 1)
        if not maps:
            inside.append(more)
        title = "Policies compared" if axis is None else f"By {axis.title}"
        sections.append(Section(title, CLIPPED, html=Markup("").join(inside)))
    shown = policies_table(compared)
    sections.append(long_table("Policies", shown, _relative_to(table.frame), rest=EXPORTED))
    if len(compared.policies) > 1:
        best = best_table(compared)
        sections.append(long_table("Best policy, point by point", best, rest=EXPORTED, folded=True))
    return sections


def _curves(compared: Compared) -> list[list[Drawing]]:
    """Return the drawings along each axis; of what has no axis, one group."""
    if not compared.swept.axes:
        return [[forest_drawing(compared)]]
    return [curve_drawings(compared, i) for i in range(len(compared.swept.axes))]


def _drawn(drawings: Sequence[Drawing], *, headed: bool) -> list[Markup]:
    """Return the first drawings, and the others folded."""
    shown = [_panels(drawing, headed=headed) for drawing in drawings[:_FIRST]]
    rest = drawings[_FIRST:]
    if rest:
        inside = [_panels(drawing, headed=True) for drawing in rest]
        shown.append(part("folded", [drawing.title for drawing in rest], inside))
    return shown


def _panels(drawing: Drawing, *, headed: bool) -> Markup:
    """Return all panels of a drawing, as many side by side as the page is wide."""
    name = safe_name(drawing.name)
    drawn = [
        figure_html(drawing.panel(number), f"{name}-{number}", panel.words or panel.title)
        for number, panel in enumerate(drawing.panels)
    ]
    return part("panels", drawing.title if headed else "", drawing.caption, drawn)


def _legend(compared: Compared, *, hatched: bool = False) -> Markup:
    found = (compared.best(m, cell) for m in compared.metrics for cell in compared.cells())
    pale = hatched and any(best is not None and best.state == "no interval" for best in found)
    return part("sweep_legend", policy_colours(compared.policies), hatched, pale)


def _relative_to(frame: pd.DataFrame) -> str:
    """Describe what the table's ratios are relative to, as a sentence."""
    if "relative_to" not in frame.columns:
        return ""
    named = list(dict.fromkeys(map(str, frame["relative_to"])))
    text = (
        f"Ratios are relative to {named[0]}."
        if len(named) == 1
        else f"Ratios are relative to {len(named)} references, listed in the exported table."
    )
    if any(name.endswith("at the same point") for name in named):
        text += (
            " Each point then has a separate reference, whose ratios are 1 at every point by "
            "construction and whose jobs run as logged if run times are measured; a section "
            "[reference] in the config names one for all points."
        )
    return text


def _points_section(
    store: Store, points: Sequence[StoredPoint], pages: Mapping[str, str], *, opened: bool
) -> Section:
    """Return every point, with a link to its page, or the command that makes it if it is a run."""
    flat = [flatten(point.config) for point in points]
    path = shlex.quote(str(store.path)) if opened else None
    shown = points_table(points, flat, varying(flat), path)
    text = "The command of a row opens that point as a run." if opened else ""
    if pages:
        shown = shown.assign(**{LINK: [pages.get(point.key, "") for point in points]})
        text = "Each point is a run, with its own page."
    folded = not opened or len(points) > _FEW_POINTS
    return long_table("Points", shown, text, rest=EXPORTED, folded=folded)


def _in_order(tables: Iterable[_Table]) -> list[_Table]:
    """Return the tables, what names single things last."""

    def rank(table: _Table) -> tuple[bool, int, str]:
        last = LAST.index(table.name) + 1 if table.name in LAST else 0
        return table.has_items, last, table.name

    return sorted(tables, key=rank)


def _table_section(table: _Table) -> Section:
    frame, how = averaged(table.frame, table.parameters)
    text = " ".join(filter(None, (how, _relative_to(frame))))
    folded = table.name in LAST or table.has_items
    spelt = frame.rename(columns=lambda c: str(c).replace("machine.parameters.", "machine."))
    return long_table(table.name.replace("_", " "), spelt, text, rest=EXPORTED, folded=folded)


def _seed(point: StoredPoint) -> str:
    run = point.config.get("run", {})
    return str(run.get(REPETITIONS[0].rpartition(".")[2], "?")) if isinstance(run, dict) else "?"
