"""A study's folder as a paper: its figures, and what the command line may ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.kit.data import paper_figures, read_data
from experiments.kit.logs import logs_folder
from experiments.kit.papers import Options, Paper, check_known
from netsim.errors import NetcosimError

A_FACTOR = "the routing is a factor of this study, not a choice"
NO_PACKETS = "this paper sends no packets; it has no routing to choose"


def checker(
    paper: str, settings: Sequence[str], routings: Iterable[str] = (), *, no_routing: str = ""
) -> Callable[[Options], None]:
    """Return a check that raises NetcosimError for a routing, measure or setting that is unknown.

    ``no_routing`` is why there is none to choose. Of settings, ``logs`` must be a folder.
    """
    known = tuple(routings)

    def check(options: Options) -> None:
        if options.routings and no_routing:
            raise NetcosimError(f"--routing: {no_routing}")
        check_known(options, paper, known, settings)
        if "logs" in settings:
            logs_folder(options)

    return check


def folder_paper(
    folder: str,
    parts: Mapping[str, tuple[Any, ...]],
    check: Callable[[Options], None],
    default: str = "",
) -> Paper:
    """Return the paper of a folder whose ``paper.toml`` has a title and a line a figure.

    ``parts`` has of each figure what `PaperFigure` takes after its description.
    """
    name, title = folder.replace("_", "-"), read_data(folder)["title"]
    return Paper(name, title, paper_figures(folder, parts), check, default)
