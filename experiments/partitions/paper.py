"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention: tables and figures."""

from __future__ import annotations

from experiments.kit.data import paper_figures, read_data
from experiments.kit.papers import Options, Paper
from experiments.partitions import bisections, multiplication, pairing, queue
from netsim.errors import NetcosimError, need_name

NAME = "partitions"
ROUTINGS = ("dimension-order", "minimal-adaptive")
SETTINGS = ("log",)
"""log: the file of Mira's job log, for "queue"."""


def _check(options: Options) -> None:
    for routing in options.routings:
        need_name(f"routing for {NAME}", routing, ROUTINGS)
    if len(options.routings) > 1:
        raise NetcosimError(f"{NAME}: {len(options.routings)} routings; one at a time is allowed")
    if options.measure:
        raise NetcosimError(f"{NAME}: measure = {options.measure!r}; this paper has no choice")
    for key in options.settings:
        need_name(f"setting of {NAME}", key, SETTINGS)


PARTS = bisections.PARTS | pairing.PARTS | multiplication.PARTS | queue.PARTS
PAPER = Paper(
    name=NAME,
    title=read_data(NAME)["title"],
    figures={**bisections.TABLES, **paper_figures(NAME, PARTS)},
    check=_check,
)
