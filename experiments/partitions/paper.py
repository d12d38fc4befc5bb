"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention: tables and figures."""

from __future__ import annotations

from experiments.kit.data import paper_figures, read_data
from experiments.kit.papers import Options, Paper, check_known
from experiments.partitions import bisections, multiplication, pairing, queue
from netsim.errors import NetcosimError

NAME = "partitions"
ROUTINGS = ("dimension-order", "minimal-adaptive")
SETTINGS = ("log",)
"""log: the file of Mira's job log, for "queue"."""


def _check(options: Options) -> None:
    check_known(options, NAME, ROUTINGS, SETTINGS)
    if len(options.routings) > 1:
        raise NetcosimError(f"{NAME}: {len(options.routings)} routings; one at a time is allowed")


PARTS = bisections.PARTS | pairing.PARTS | multiplication.PARTS | queue.PARTS
PAPER = Paper(
    name=NAME,
    title=read_data(NAME)["title"],
    figures={**bisections.TABLES, **paper_figures(NAME, PARTS)},
    check=_check,
)
