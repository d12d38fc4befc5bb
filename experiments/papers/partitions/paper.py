"""Oltchik and Schwartz, Network Partitioning and Avoidable Contention: tables and figures."""

from __future__ import annotations

from experiments.papers.paper import Options, Paper
from experiments.papers.partitions.bisections import FIG1, FIG2, FIG7, TABLES
from experiments.papers.partitions.multiplication import FIG5, FIG6
from experiments.papers.partitions.pairing import FIG3, FIG4
from experiments.papers.partitions.queue import FIGURE as QUEUE
from netsim.errors import NetcosimError, unknown_name

NAME = "partitions"
ROUTINGS = ("dimension-order", "minimal-adaptive")
SETTINGS = ("log",)
"""log: the file of Mira's job log, for "queue"."""


def _check(options: Options) -> None:
    for routing in options.routings:
        if routing not in ROUTINGS:
            raise unknown_name(f"routing for {NAME}", routing, ROUTINGS)
    if len(options.routings) > 1:
        raise NetcosimError(f"{NAME}: {len(options.routings)} routings; one at a time is allowed")
    if options.measure:
        raise NetcosimError(f"{NAME}: measure = {options.measure!r}; this paper has no choice")
    for key in options.settings:
        if key not in SETTINGS:
            raise unknown_name(f"setting of {NAME}", key, SETTINGS)


PAPER = Paper(
    name=NAME,
    title="Oltchik and Schwartz, Network Partitioning and Avoidable Contention",
    figures={f.name: f for f in (*TABLES, FIG1, FIG2, FIG3, FIG4, FIG5, FIG6, FIG7, QUEUE)},
    check=_check,
)
