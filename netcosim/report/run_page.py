"""The page of a run, built from a results file: the result first, then its assumptions.

The fragment works in a page of `netcosim.report.page` with the scripts and styles beside it; it
holds its data, and loads nothing.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from cosim.registry import MEASURES
from netcosim.archive.values import ArchivedRun
from netcosim.report.about import (
    ABOUT,
    CONFIG,
    TITLE,
    config_section,
    is_over_log,
    notes_on,
    run_facts,
)
from netcosim.report.effect import OFF, RUN_TIME, change_of, effect_rows
from netcosim.report.figures.run import run_drawings
from netcosim.report.figures.style import policy_colours
from netcosim.report.glossary import asset
from netcosim.report.page import Section, long_table, render_page
from netcosim.report.payload import BASELINE, parts_of
from netcosim.report.policies import policy_rows
from netcosim.report.templates import part
from netcosim.report.verdict import (
    findings,
    part_effects,
    reference_label,
    repeated,
    run_recommendation,
)
from netcosim.runs.store import Rows, Store
from netcosim.runs.store_format import StoredPoint
from netsim.errors import NetcosimError
from netsim.inputs import digests
from queuesim.observables.registry import OBSERVABLES
from queuesim.statistics import interval_columns

_TEXTS = tomllib.loads(asset("run_page.toml"))
REPORTS, FOLDED, PARTS = (
    {name: (entry["title"], entry.get("text", "")) for name, entry in _TEXTS[kind].items()}
    for kind in ("tables", "folded", "figures")
)
"""Title and text of tables that are open, of long ones, and of the parts of the figures."""
_FIRST = ("reference", "paired", "steady", "steady_shares", "proof")

NO_ARCHIVE = (
    "This file keeps no jobs and links of this run (an older version wrote it, or its config has "
    'run.keep = "tables"), so its page has no charts of them: run the config again for those.'
)
BY_PATTERN = (
    "Minus is less. Intervals: from drawing whole snapshots again; none for fewer than five "
    'snapshots or jobs. With run-time model "measured" these changes are those of the jobs\' run '
    "times in the queue."
)
_SHOWN = {"policies", "speedups", ABOUT, *REPORTS, *FOLDED}


def stored_run_page(store: Store, key: str) -> str:
    """Return the page of one run of a results file.

    Made twice it is the same, except for the time at its end.
    """
    points = [point for point in store.points() if point.key == key]
    if not points or points[0].status != "done":
        raise NetcosimError(f"{store.path}: no finished point {key[:12]}")
    point = points[0]
    tables = store.tables(key)
    if "policies" not in tables or not tables["policies"]:
        raise NetcosimError(f"{store.path}: point {key[:12]} is not of a run: no table of policies")
    text = next(iter(notes_on(tables, CONFIG)), "") or _config_text(point)
    title = next(iter(notes_on(tables, TITLE)), "") or f"{store.path.stem}, point {key[:12]}"
    run = point.config.get("run")
    seeds = run if isinstance(run, Mapping) else {}
    try:
        kept = store.kept(key)
        report = f"netcosim report {shlex.quote(store.path.name)}"
        if len(store.statuses()) > 1:
            report += f" --point {key[:12]}"
        sections = run_sections(tables, kept, point, report)
        return render_page(
            title,
            "",
            sections,
            config=text,
            seeds={f"run.{name}": seeds[name] for name in ("seed", "repetition") if name in seeds},
            inputs=digests([point.config]),
            scripts=views_scripts() if kept is not None else (),
            styles=views_styles() if kept is not None else (),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise NetcosimError(
            f"{store.path}: point {key[:12]}: its tables are not those of a run: "
            f"{type(error).__name__}: {reason}"
        ) from None


def _config_text(point: StoredPoint) -> str:
    """Return a point's resolved config as a file, where it has no text of its own."""
    from netcosim.config.toml_text import toml_text

    return "# Resolved: every key with its value.\n" + toml_text(_known(point.config))


def _known(value: Any) -> Any:
    """Return a content without keys that have no value."""
    if isinstance(value, Mapping):
        return {key: _known(item) for key, item in value.items() if item is not None}
    return [_known(item) for item in value] if isinstance(value, list) else value


def run_sections(
    tables: Mapping[str, Rows], kept: ArchivedRun | None, point: StoredPoint, report: str
) -> list[Section]:
    """Return the sections of a run's page."""
    run, rest = config_section(point.config, "run"), findings(tables)[1:]
    drawings, over_log = run_drawings(tables, kept), is_over_log(point.config)
    answer = run_recommendation(tables, point.config, point.seconds)
    policies = [str(row["policy"]) for row in tables["policies"]]
    sections = [
        answer.section(),
        *([Section("Results", sentences=rest)] if rest else []),
        Section("Setup", facts=run_facts(tables, kept, point)),
        Section(
            "Policies",
            _about_policies(tables, point),
            policy_rows(tables),
            legend=policy_colours(policies),
            drawings=drawings.get("policies", ()),
        ),
    ]
    if kept is not None:
        measure = MEASURES.get(str(run.get("measure")))
        sections.append(views_section(kept, measure.baseline if measure else BASELINE))
    sections += _own_tables(tables, _FIRST)
    if parts := part_effects(tables):
        title = f"{parts[0].quantity.name.capitalize()} by pattern and size"
        drawn = drawings.get("patterns", ())
        sections.append(Section(title, BY_PATTERN, effect_rows(parts), drawings=drawn))
    for name, (title, text) in PARTS.items():
        if name in drawings:
            sections.append(Section(title, text, drawings=drawings[name]))
    if kept is None:
        sections.append(Section("Schedules and links", NO_ARCHIVE))
    rest = [name for name in REPORTS if name not in _FIRST]
    sections += _own_tables(tables, rest)
    for name, rows in tables.items():
        if name in FOLDED or name not in _SHOWN:
            title, text = heading_of(name)
            sections.append(long_table(title, rows, text, folded=True))
    sections.append(Section("Next steps", html=part("what_next", report, repeated(over_log))))
    return sections


def _about_policies(tables: Mapping[str, Rows], point: StoredPoint) -> str:
    model = config_section(point.config, "queue").get("run_time_model")
    queue = (
        "Waits, turnarounds and bounded slowdowns are means over all jobs of the queue with "
        f"run-time model {model}."
    )
    if "communication_ratio" not in tables["policies"][0]:
        return f"No packets were sent (run.snapshots = 0): no communication times. {queue}"
    return (
        "Communication time is the change of the mean over measured jobs, relative to "
        f"{reference_label(tables)}; in brackets its confidence interval. {queue}"
    )


def _own_tables(tables: Mapping[str, Rows], names: Iterable[str]) -> list[Section]:
    label = reference_label(tables)
    return [
        Section(*REPORTS[name], [_as_change(row, label) for row in tables[name]])
        for name in names
        if name in tables
    ]


def _as_change(row: Mapping[str, object], label: str) -> dict[str, object]:
    """Return a row with the change of run time in place of its saving."""
    if OFF not in row:
        return dict(row)
    ends = interval_columns(RUN_TIME.label(label), change_of(row, OFF))
    return {name: value for name, value in row.items() if not name.startswith(OFF)} | ends


def heading_of(table: str) -> tuple[str, str]:
    """Return the title and the text of a table."""
    title = table.replace("_", " ")
    text = f"{OBSERVABLES[table].description}." if table in OBSERVABLES else ""
    return (REPORTS | FOLDED).get(table, (f"{title[:1].upper()}{title[1:]}", text))


SCRIPTS = (*("words", "data", "colours", "hands", "gantt", "places", "machine", "panel", "views"),)
"""In the order of the page, inside of one function: nothing is global."""

VIEWS_TITLE = "Explore"


def views_section(kept: ArchivedRun, baseline: str = BASELINE) -> Section:
    """Return the interactive views of a run; its page needs `views_scripts` and `views_styles`."""
    return Section(
        VIEWS_TITLE, html=part("views", Markup(asset("views.html")), parts_of(kept, baseline))
    )


def views_scripts() -> tuple[str, ...]:
    """Return JavaScript for the end of a page with `views_section`."""
    inside = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    return (f'(() => {{\n"use strict";\n{inside}}})();',)


def views_styles() -> tuple[str, ...]:
    """Return CSS of `views_section`."""
    return (asset("views.css"),)
