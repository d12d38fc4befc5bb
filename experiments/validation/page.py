"""The page, the table and the lines on the screen of a validation."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.validation.registry import Group
from experiments.validation.row import (
    COLUMNS,
    Curve,
    Measured,
    Row,
    Setting,
    as_record,
    as_text,
    failed,
)
from netcosim.report.figures.drawing import Form, write_figures
from netcosim.report.figures.style import INK, colour, grid, marker, new_figure
from netcosim.report.page import Section, figures_of, render_page, write_page
from netcosim.runs.progress import progress

PAGE, TABLE, RECORDS = "validation.html", "validation.csv", "validation.json"


def write_validation(
    folder: Path, found: Mapping[str, Measured], seeds: Mapping[str, object], form: Form = "svg"
) -> list[Path]:
    """Write page, CSV, JSON and the figure into a folder, each whole or not at all.

    ``found`` is what each group has measured, ``seeds`` the command that reproduces the numbers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = [as_record(name, row) for name, m in found.items() for row in m.rows]
    sections = sections_of(found)
    page = render_page("Validation", lead_of(found), sections, seeds=seeds)
    table = pd.DataFrame(records, columns=list(COLUMNS)).to_csv(index=False)
    return [
        write_page(folder / PAGE, page),
        write_page(folder / TABLE, table),
        write_page(folder / RECORDS, json.dumps(records, indent=1) + "\n"),
        *write_figures(figures_of(sections), folder, form),
    ]


def lead_of(found: Mapping[str, Measured]) -> str:
    """Return a sentence on how many rows hold and fail."""
    rows = [row for m in found.values() for row in m.rows]
    return f"{counted(rows)}; all measured here and now."


def counted(rows: Sequence[Row]) -> str:
    """Return how many of the rows hold, and how many fail if any does."""
    holding = sum(row.verdict == "holds" for row in rows)
    failing = f", {len(rows) - holding} fails" if holding < len(rows) else ""
    return f"{holding} of {len(rows)} rows hold{failing}"


def sections_of(found: Mapping[str, Measured]) -> list[Section]:
    """Return the table, then a figure of all curves."""
    rows = [as_text(name, row) for name, m in found.items() for row in m.rows]
    cells = (
        "simulated: the value of this run. difference: simulated less expected, in the row's unit. "
        "allowed: range of the simulated value; 0 is no difference at all."
    )
    sections = [Section("Rows", cells, pd.DataFrame(rows))]
    curves = [curve for m in found.values() for curve in m.curves]
    if curves:
        panels = dict.fromkeys(curve.panel for curve in curves)
        caption = "; ".join(panels) + ". Lines without marks are published, marks are measured."
        sections.append(Section("Curves", "", figure=draw(curves), caption=caption))
    return sections


def draw(curves: list[Curve]) -> Figure:
    """Draw a panel for each kind of curve: published ones as plain lines, netcosim's with marks."""
    panels = list(dict.fromkeys(curve.panel for curve in curves))
    figure, axes = new_figure(4.4 * max(2, len(panels)), 3.8, 1, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        here = [curve for curve in curves if curve.panel == panel]
        for number, curve in enumerate(here):
            look: dict[str, Any] = (
                {"color": INK, "linewidth": 1.0}
                if curve.published
                else {"color": colour(number), "marker": marker(number), "linestyle": "--"}
            )
            axis.plot(curve.x, curve.y, label=curve.name, **look)
        axis.set_title(panel)
        axis.set_xlabel("offered load")
        axis.set_xlim(0, 1)
        axis.set_ylim(0, None)
        grid(axis, "both")
        axis.legend(frameon=False, fontsize=8)
    return figure


def lines_of(found: Mapping[str, Measured], seconds: Mapping[str, float]) -> list[str]:
    """Return a line a group, then each row that fails."""
    width = max(map(len, found))
    lines = []
    for name, m in found.items():
        lines.append(f"{name:<{width}}  {counted(m.rows)}, {seconds[name]:.1f} s")
    for name, row in failed(found):
        cells = as_text(name, row)
        lines.append(
            f"fails: {name}: {row.what}: {cells['simulated']}, expected {cells['expected']} "
            f"({row.source}), allowed {row.allowed}"
        )
    return lines


def measure_groups(
    groups: Sequence[Group], setting: Setting, *, shown: bool = True
) -> tuple[dict[str, Measured], dict[str, float]]:
    """Return what each group measures, and how many seconds it took, by its name."""
    found, seconds = {}, {}
    with progress(len(groups), "groups", shown=shown) as show:
        for number, group in enumerate(groups):
            show.at(number, group.name)
            started = time.perf_counter()
            found[group.name] = group.measure(setting)
            seconds[group.name] = time.perf_counter() - started
        show.at(len(groups), "done")
    return found, seconds
