"""Parts of pages from Jinja2 templates: text is escaped, `Markup` is inserted unchanged."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from netcosim.report.glossary import marked, paragraphs


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"marked": marked, "paragraphs": paragraphs}
    return found


def part(name: str, *values: object) -> Markup:
    """Return a macro of ``templates/parts.html``, filled with values."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return Markup(macro(*values))
