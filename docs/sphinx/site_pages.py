"""What the site adds to its pages: the order, the commands, the docstrings, the notebooks.

Each is put in when a page is read, so that a page on a code forge shows nothing of it.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import draw_house
from myst_parser.sphinx_ import Parser
from nav import NAV
from notebook import markdown_of, read_notebook

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

NAMES = re.compile(r"^`\w+`(?: · `\w+`)*$", re.M)
"""A line of nothing but names of `netcosim`, as in docs/commands.md."""


class NotebookParser(Parser):
    """A notebook as a page: its texts, its code, what it showed."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse what the notebook says in Markdown."""
        super().parse(markdown_of(read_notebook(inputstring)), document)


def order_of_pages() -> str:
    """The site's navigation, for its first page."""
    return "\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
        for caption, pages in NAV.items()
    )


def docstrings_of(names: list[str]) -> str:
    """Directives that show the docstrings of names of `netcosim`."""
    import netcosim

    lines = ["```{eval-rst}"]
    for name in names:
        thing = getattr(netcosim, name)
        if inspect.isclass(thing):
            lines += [f".. autoclass:: netcosim.{name}", "   :members:", ""]
        else:
            lines += [f".. autofunction:: netcosim.{name}", ""]
    return "\n".join([*lines, "```"])


def commands() -> str:
    """Every command of the command line with its arguments."""
    from netcosim.cli import build_parser

    return "\n".join(_command(build_parser(), 1))


def _command(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    actions = [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]
    inner = [a for a in actions if isinstance(a, argparse._SubParsersAction)]
    if level > 1:
        yield f"\n{'#' * level} {parser.prog}\n"
        yield from _told(parser.description or "")
        rows = [_row(parser, a) for a in actions if a not in inner]
        if rows:
            yield "\n".join(["| argument | what |", "|---|---|", *rows])
    for subparsers in inner:
        helps = {choice.dest: choice.help for choice in subparsers._choices_actions}
        for name, one in subparsers.choices.items():
            one.description = one.description or f"{helps[name]}."
            yield from _command(one, level + 1)


def _told(description: str) -> Iterator[str]:
    """A command's docstring: its lines of examples as a block, the rest as paragraphs."""
    for paragraph in re.split(r"\n\s*\n", description.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if all(line.startswith(("netcosim ", "mpiexec ")) for line in lines):
            yield "\n".join(["```text", *lines, "```", ""])
        else:
            yield " ".join(lines) + "\n"


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = parser._get_formatter()._format_args(action, action.dest.upper())
    name = " ".join([*action.option_strings[-1:], *([value] if value else [])])
    given = vars(action) | {"prog": parser.prog}
    told = (action.help or "") % given
    if action.default not in (None, False, [], argparse.SUPPRESS) and "default" not in told:
        told += f"; by default {action.default}"
    told += " (needed)" if action.required and action.option_strings else ""
    cells = [f"`{name}`", told.removeprefix("; ")]
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def fill(app: Sphinx, page: str, content: list[str]) -> None:
    """Put into a page's text what the site adds to it."""
    if page == app.config.root_doc:
        content[0] += "\n" + order_of_pages() + "\n"
    elif page == "docs/commands":
        text = NAMES.sub(lambda line: docstrings_of(re.findall(r"\w+", line[0])), content[0])
        content[0] = text + "\n" + commands() + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("builder-inited", lambda _: draw_house.main())
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
