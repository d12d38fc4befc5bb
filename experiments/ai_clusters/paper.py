"""AI clusters: what contention costs the queue, and what takes it away.

Jobs of Kalos, generated ones of Philly's kind and of a cluster of very large jobs, on the servers
that schedulers give today.
"""

from __future__ import annotations

from typing import Any

from experiments.ai_clusters import cells, draw
from experiments.kit.data import paper_figures, read_data
from experiments.kit.logs import logs_folder
from experiments.kit.papers import Options, Paper, check_known
from netsim.errors import NetcosimError


def check(options: Options) -> None:
    """Raise NetcosimError for what the study does not have; the routing is one of its factors."""
    if options.routings:
        raise NetcosimError("--routing: the routing is a factor of this study, not a choice")
    check_known(options, "ai-clusters", (), ("logs",))
    logs_folder(options)


PARTS: dict[str, tuple[Any, ...]] = {
    "cells": (cells.FUNCTION, cells.points, cells.analyse, draw.draw),
}
PAPER = Paper(
    name="ai-clusters",
    title=read_data("ai_clusters")["title"],
    figures=paper_figures("ai_clusters", PARTS),
    check=check,
    default="cells",
)
