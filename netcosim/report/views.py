"""Interactive views of a run: jobs over time, the machine with its load, contention between jobs.

The fragment works in a page of `netcosim.report.page` with the scripts and styles beside it; it
holds its data, and loads nothing.
"""

from __future__ import annotations

from markupsafe import Markup

from experiments.archive.values import ArchivedRun
from netcosim.report.glossary import asset
from netcosim.report.page import Section
from netcosim.report.payload import BASELINE, parts_of
from netcosim.report.templates import part

SCRIPTS = (*("words", "data", "colours", "hands", "gantt", "places", "machine", "panel", "views"),)
"""In the order of the page, inside of one function: nothing is global."""

TITLE = "Look and ask"


def views_section(kept: ArchivedRun, baseline: str = BASELINE) -> Section:
    """Return the interactive views of a run; its page needs `views_scripts` and `views_styles`.

    Parameters
    ----------
    kept : ArchivedRun
    baseline : str
        What the run's measure divides a job's communication time by.
    """
    return Section(TITLE, html=part("views", Markup(asset("views.html")), parts_of(kept, baseline)))


def views_scripts() -> tuple[str, ...]:
    """JavaScript for the end of a page with `views_section`."""
    inside = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    return (f'(() => {{\n"use strict";\n{inside}}})();',)


def views_styles() -> tuple[str, ...]:
    """CSS of `views_section`."""
    return (asset("views.css"),)
