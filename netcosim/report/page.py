"""One self-contained HTML page from sections; nothing is loaded from anywhere."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from netcosim.report.figures.drawing import Drawing
from netcosim.report.figures.style import distinct
from netcosim.report.glossary import asset, marked, paragraphs, terms_in
from netcosim.report.svg import figure_html
from netcosim.report.table import table_html
from netcosim.report.templates import part
from netcosim.runs.points import MODEL_VERSION
from netsim.atomic_files import write_text_atomically
from netsim.errors import NetcosimError
from netsim.fingerprint import code_fingerprint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from netcosim.report.table import Table

_NOTHING = Markup()


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: plain values, shown in the order of the fields."""

    title: str
    text: str = ""
    """Plain text; an empty line starts a new paragraph."""
    table: Table | None = None
    """Shown below facts, sentences and figures. Column names that end in a unit (``_s``,
    ``_bytes``, ``_percent``, ...) show it in the head."""
    figure: Figure | None = None
    """Instead of ``drawings``: one that is drawn."""
    caption: str = ""
    """Below the figure, and its text for those who cannot see it."""
    folded: bool = False
    """Shown when its title is clicked."""
    html: Markup = _NOTHING
    """A fragment from `netcosim.report.templates.part`, after all the rest."""
    facts: Sequence[tuple[str, Sequence[str]]] = ()
    """Names, each with a line or several."""
    sentences: Sequence[str] = ()
    """A list, a bullet each."""
    legend: Mapping[str, str] = field(default_factory=dict)
    """Colours of all drawings by name; else each drawing has its own legend."""
    drawings: Sequence[Drawing] = ()
    """Those of one panel are side by side; of the others, more than `OPEN_DRAWINGS` are folded."""


MOST_ROWS = 200
FEW_ROWS, OPEN_ROWS = 12, 30
"""A table of more rows is folded: below a figure, and anywhere."""
OPEN_DRAWINGS = 3
HATCHED, PALE = "hatched", ""
"""Paints of a legend: of what is not significant, and of a name alone."""
AGAIN = ("again", "Reproduce")
WORDS = ("glossary", "Glossary")
"""Anchors and titles of the sections at the end of every page."""


def long_table(
    title: str, table: Table, text: str = "", *, rest: str = "", folded: bool = False
) -> Section:
    """Return a section with the first `MOST_ROWS` rows of a table, with a note if it has more."""
    if len(table) > MOST_ROWS:
        text = f"{text} The first {MOST_ROWS} of {len(table):,} rows{rest}.".lstrip()
    return Section(title, text, table[:MOST_ROWS], folded=folded)


def render_page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    command: str = "",
    config: str = "",
    seeds: Mapping[str, object] | None = None,
    inputs: Mapping[str, str] | None = None,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
) -> str:
    """Return the page's HTML, with a heading and a sentence or two, ``lead``, below it.

    At the end are the command that makes it, the config's text, the seeds by what they are for, and
    the SHA-256 of each file that was read. Scripts and styles are what sections' fragments need;
    trusted, inlined as they are.
    """
    sections = [replace(one, title=one.title[:1].upper() + one.title[1:]) for one in sections]
    anchors = _anchors([section.title for section in sections])
    parts = [part("lead", lead), *map(_section, anchors, sections)]
    contents = [*zip(anchors, (section.title for section in sections), strict=True), AGAIN]
    terms = terms_in("".join(parts))
    lists = [("Seeds", seeds or {}), ("Input files, SHA-256", inputs or {})]
    again = part("section", *AGAIN, part("again", command, config, lists, versions()), False)
    if terms:
        parts.append(part("section", *WORDS, part("glossary", terms), True))
        contents.append(WORDS)
    inline = [f"\n{script}\n" for script in (asset("page.js"), *scripts)]
    page = part(
        "page",
        title,
        Markup(_policy(inline)),
        Markup("\n".join([asset("page.css"), *styles])),
        contents,
        Markup("").join([*parts, again]),
        datetime.now(UTC).isoformat(timespec="seconds"),
        [Markup(script) for script in inline],
    )
    return str(page)


def _policy(scripts: Sequence[str]) -> str:
    """Return the page's content security policy: these scripts alone run, nothing is loaded.

    Styles need "unsafe-inline" for the attributes of drawings; without a source to load from,
    they cannot reach a network.
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "font-src data:; base-uri 'none'; form-action 'none'"
    )


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write the page, whole or not at all."""
    path = Path(path)
    if path.name in ("", "..") or path.is_dir():
        raise NetcosimError(f"{path}: a folder; the name of a page was expected")
    write_text_atomically(path, page)
    return path


def _section(anchor: str, section: Section) -> Markup:
    inside = [paragraphs(section.text)]
    if section.facts:
        facts = [(name, marked_once(lines)) for name, lines in section.facts if lines]
        inside.append(part("facts", facts))
    if section.sentences:
        inside.append(part("sentences", marked_once(section.sentences)))
    if section.legend:
        inside.append(part("legend", section.legend))
    inside += _drawn(anchor, section)
    if section.table is not None:
        table = table_html(section.table)
        drawn = section.figure is not None or section.drawings
        rows = len(section.table)
        folded = rows > (FEW_ROWS if drawn else OPEN_ROWS) and not section.folded
        inside.append(part("folded", f"{rows} rows", table) if folded else table)
    inside.append(section.html)
    return part("section", anchor, section.title, Markup("").join(inside), section.folded)


def _drawn(anchor: str, section: Section) -> list[Markup]:
    """Return a section's figures: those of one panel side by side, then groups of panels."""
    if section.figure is not None:
        return [figure_html(section.figure, anchor, section.title, section.caption)]
    single = [drawing for drawing in section.drawings if len(drawing.panels) == 1]
    groups = [drawing for drawing in section.drawings if len(drawing.panels) > 1]
    found = []
    if single:
        drawn = [_panels(f"{anchor}-{i}", one, section)[0] for i, one in enumerate(single)]
        width = single[0].size_in[0]
        found.append(part("panels", "", "", width, drawn) if len(drawn) > 1 else drawn[0])
    shown = [
        part(
            "panels",
            drawing.title if len(section.drawings) > 1 else "",
            drawing.caption,
            drawing.size_in[0],
            _panels(f"{anchor}-{i}-of-several", drawing, section),
        )
        for i, drawing in enumerate(groups)
    ]
    found += shown[:OPEN_DRAWINGS]
    if rest := groups[OPEN_DRAWINGS:]:
        inside = Markup("").join(shown[OPEN_DRAWINGS:])
        found.append(part("folded", "; ".join(drawing.title for drawing in rest), inside))
    return found


def _panels(name: str, drawing: Drawing, section: Section) -> list[Markup]:
    """Return each panel as a figure; the only one has the drawing's title and caption."""
    one = len(drawing.panels) == 1
    return [
        figure_html(
            drawing.figure(number, legend=not section.legend),
            f"{name}-{number}",
            (panel.title if not one else "") or drawing.title or panel.title,
            panel.words,
            drawing.caption if one else "",
        )
        for number, panel in enumerate(drawing.panels)
    ]


def marked_once(lines: Sequence[str]) -> list[Markup]:
    """Return lines as HTML, each term explained where it first occurs in any of them."""
    return marked("\n".join(" ".join(line.split()) for line in lines)).split("\n")


def figures_of(sections: Sequence[Section]) -> list[tuple[str, Callable[[], Figure]]]:
    """Return names of the figures of some sections, and what draws each."""
    found: list[tuple[str, Callable[[], Figure]]] = []
    for section in sections:
        if section.figure is not None:
            found.append((section.title, partial(getattr, section, "figure")))
        found += [(drawing.name, drawing.draw) for drawing in section.drawings]
    return found


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return names for links: the title in small letters, numbered where it comes again."""
    bases = (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles)
    return distinct((base or "section" for base in bases), [AGAIN[0], WORDS[0]])


_PACKAGES = ("netcosim", "numpy", "numba", "scipy", "simpy", "networkx", "pydantic", "pandas")


def versions() -> dict[str, str]:
    """Return versions of the program, its model and its libraries, by name."""
    found = {"model": f"{MODEL_VERSION} (sources {code_fingerprint()})"}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found | {"python": platform.python_version(), "system": platform.platform()}
